// What waits for one reader: blocks, of which there are never many more than was agreed on. Events
// that do not fit are lost to this reader, and told to it: of each ring it keeps the sums, so that
// emitted = received + lost wherever a Loss event stands.
//
// Once something was lost, all is until half of the room is free again: rather one large hole than
// many small ones.
#pragma once

#include "event_batch.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rpcrdma::trace {

enum class Content : std::uint8_t { kEvents, kPackets };

class ReaderQueue {
 public:
  // `most`: bytes that may wait; it should have room for several batches. Of packets the sums of
  // all rings together are told, in a block of statistics.
  explicit ReaderQueue(std::size_t most, Content content = Content::kEvents)
      : most_(most), content_(content) {}

  // What the stream begins with: blocks that are counted by nobody.
  void begin(std::span<const std::uint8_t> blocks, std::int64_t wall_offset);

  // Returns how many of its events did not fit.
  std::uint64_t add(const EventBatch& batch);

  // Losses that the reader has not been told, if there is room again.
  void emit_losses(std::int64_t now);
  // The sums of all rings that had something to tell since; at the `end` whether there is room or
  // not.
  void emit_sums(std::int64_t now, bool end = false);

  [[nodiscard]] std::span<const std::uint8_t> waiting() const {
    return std::span(bytes_).subspan(gone_);
  }
  // The first `n` bytes of these wait no longer.
  void went(std::size_t n);
  // All of it, for an empty buffer.
  void swap(std::vector<std::uint8_t>& buffer);

 private:
  struct Sums {
    std::uint64_t received = 0, lost = 0;  // or will be, when all that waits has gone
    std::uint64_t last_emitted = 0, last_lost = 0;
  };

  Sums& sums(std::uint32_t ring);
  bool has_room();
  void emit(std::uint32_t ring, std::int64_t now);
  void put_statistics(base::PcapngBlocks& blocks, std::int64_t wall_now) const;
  void append(std::span<const std::uint8_t> blocks);

  const std::size_t most_;
  const Content content_;
  std::int64_t wall_offset_ = 0;
  std::vector<std::uint8_t> bytes_;
  std::size_t gone_ = 0;  // of these
  bool full_ = false;
  std::vector<Sums> rings_;  // by number
};

}  // namespace rpcrdma::trace
