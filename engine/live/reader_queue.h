// Reader queue: blocks that wait for one reader, with a limit on their bytes. Events that do not
// fit are lost to this reader and reported to it. The queue keeps sums per ring, so that at each
// Loss event emitted = received + lost.
//
// After a loss it accepts nothing until half of the room is free again: one large gap is better
// than many small ones.
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
  // `most`: bytes that may wait; should have room for several batches. For packets, one block of
  // statistics reports the sums of all rings.
  explicit ReaderQueue(std::size_t most, Content content = Content::kEvents)
      : most_(most), content_(content) {}

  // The first blocks of the stream. They are not counted.
  void begin(std::span<const std::uint8_t> blocks, std::int64_t wall_offset);

  // Returns how many of the batch's events did not fit.
  std::uint64_t add(const EventBatch& batch);

  // Reports new losses if there is room again.
  void emit_losses(std::int64_t now);
  // Reports the sums of all rings with new events. With `end` it does so even without room.
  void emit_sums(std::int64_t now, bool end = false);

  // After a loss: whether half of the room is free again.
  [[nodiscard]] bool has_room() const { return !full_ || waiting().size() <= most_ / 2; }
  [[nodiscard]] std::span<const std::uint8_t> waiting() const {
    return std::span(bytes_).subspan(gone_);
  }
  // The first `n` waiting bytes have been sent.
  void went(std::size_t n);
  // Swaps all waiting bytes with an empty buffer.
  void swap(std::vector<std::uint8_t>& buffer);

 private:
  struct Sums {
    std::uint64_t received = 0, lost = 0;  // including what still waits
    std::uint64_t last_emitted = 0, last_lost = 0;
  };

  Sums& sums(std::uint32_t ring);
  bool reopen();
  void emit(std::uint32_t ring, std::int64_t now);
  void put_statistics(base::PcapngBlocks& blocks, std::int64_t wall_now) const;
  void append(std::span<const std::uint8_t> blocks);

  const std::size_t most_;
  const Content content_;
  std::int64_t wall_offset_ = 0;
  std::vector<std::uint8_t> bytes_;
  std::size_t gone_ = 0;  // bytes already sent
  bool full_ = false;
  std::vector<Sums> rings_;  // by number
};

}  // namespace rpcrdma::trace
