// Produces the RDMA Writes that move parts of a Reply to the segments of chunks. Each segment is
// filled before the next is used (RFC 8166 section 3.4.6). A request is as long as slices, segment
// and fabric allow.
#pragma once

#include "call_check.h"
#include "work_id.h"
#include "work_queue.h"

#include <array>
#include <span>

namespace rpcrdma::protocol {

class ChunkWriter {
 public:
  void clear();
  // Starts a chunk: later calls of add() fill it. It has room for them.
  void begin(const ChunkRange& chunk);
  void add(const fabric::Slice& source);

  // Fills in the next Write; returns false if none is left. `segments`: the array that chunk ranges
  // index; `most`: bytes of one Write.
  [[nodiscard]] bool next(std::span<const wire::Segment> segments, std::uint32_t most,
                          WorkRequest& work);
  // Returns whether there is nothing to write, and was not since clear().
  [[nodiscard]] bool empty() const { return transfer_count_ == 0; }
  // The number of Writes returned so far, modulo WorkId::kParts. Every 32nd is signaled.
  [[nodiscard]] std::uint16_t given() const { return given_; }

 private:
  struct Transfer {
    ChunkRange chunk;
    std::uint32_t sources_end = 0;
  };
  // Each piece, and its roundup.
  static constexpr std::size_t kMaxSources = 2 * kMaxPieces;
  static constexpr std::size_t kMaxTransfers = kMaxPieces + 1;

  std::array<fabric::Slice, kMaxSources> sources_;
  std::array<Transfer, kMaxTransfers> transfers_;
  std::uint32_t source_count_ = 0;
  std::uint32_t transfer_count_ = 0;
  // The current position.
  std::uint32_t transfer_ = 0;
  std::uint32_t source_ = 0;
  std::uint32_t source_at_ = 0;  // bytes
  std::uint32_t segment_ = 0;    // of the chunk
  std::uint32_t segment_at_ = 0;
  std::uint16_t given_ = 0;
};

}  // namespace rpcrdma::protocol
