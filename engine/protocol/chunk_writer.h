// The RDMA Writes that put parts of a Reply into the segments of chunks: each segment is filled
// before the next is begun (RFC 8166 section 3.4.6), and a request is as long as slices, segment
// and fabric allow.
#pragma once

#include "call_check.h"
#include "work_queue.h"

#include <array>
#include <span>

namespace rpcrdma::protocol {

class ChunkWriter {
 public:
  void clear();
  // What add() adds from here on goes into this chunk, which has room for it.
  void begin(const ChunkRange& chunk);
  void add(const fabric::Slice& source);

  // The next Write; false: there is none left. `segments`: what ranges of chunks are parts of;
  // `most`: bytes of one Write.
  [[nodiscard]] bool next(std::span<const wire::Segment> segments, std::uint32_t most,
                          WorkRequest& work);
  // How many that has given, modulo 256, which only Writes that `most` cuts into very many reach.
  [[nodiscard]] std::uint8_t given() const { return given_; }

 private:
  struct Transfer {
    ChunkRange chunk;
    std::uint32_t sources_end = 0;
  };
  // Each piece, and its roundup.
  static constexpr std::size_t kMaxSources = 2 * kMaxPieces;
  static constexpr std::size_t kMaxTransfers = kMaxResults + 1;
  // A Write ends with a segment, with a transfer, with as many sources as it may have, or where the
  // fabric's limit is.
  static_assert(kMaxSegments + kMaxTransfers + kMaxSources <= UINT8_MAX);

  std::array<fabric::Slice, kMaxSources> sources_;
  std::array<Transfer, kMaxTransfers> transfers_;
  std::uint32_t source_count_ = 0;
  std::uint32_t transfer_count_ = 0;
  // How far it has come.
  std::uint32_t transfer_ = 0;
  std::uint32_t source_ = 0;
  std::uint32_t source_at_ = 0;  // bytes
  std::uint32_t segment_ = 0;    // of the chunk
  std::uint32_t segment_at_ = 0;
  std::uint8_t given_ = 0;
};

}  // namespace rpcrdma::protocol
