// What the Read chunks of a message bring: the block that it comes to lie in, the RDMA Reads that
// fetch it, and the message as its reader wants it afterwards.
#pragma once

#include "read_list_check.h"
#include "work_queue.h"

#include <array>

#include <rpcrdma/protocol/memory_pool.h>
#include <rpcrdma/protocol/stream_reader.h>

namespace rpcrdma::protocol {

struct PulledChunks {
  Block block;  // one chunk behind the other
  std::array<Placed, kMaxSegments> items;
  std::uint32_t item_count = 0;
  wire::Bytes stream;
  std::uint32_t next_segment = 0;  // to be read
  std::uint32_t segment_at = 0;    // bytes of it that are read, or being so
  std::uint8_t reads = 0;          // that next_read() has given, modulo 256
  std::uint32_t chunk = 0;         // that it belongs to
  std::uint32_t chunk_at = 0;      // bytes of the chunk that are read, or being so
  std::uint32_t block_at = 0;      // where the chunk begins in `block`

  // Where chunk contents come to lie; with Read chunks once there is a block for them.
  void place(const CheckedReads& message);
  // What the n-th Read chunk brings.
  [[nodiscard]] wire::Bytes content(const CheckedReads& message, std::uint32_t n) const;
  // The next Read, of `most` bytes at most; true: it is the last, which alone is signaled.
  bool next_read(const CheckedReads& message, std::uint32_t most, WorkRequest& work);
  [[nodiscard]] bool all_read(const CheckedReads& message) const {
    return chunk == message.read_count;
  }
};

// Bytes of the block for a message's Read chunks.
[[nodiscard]] std::uint64_t chunk_block_bytes(const CheckedReads& message);

}  // namespace rpcrdma::protocol
