// The Read chunks of a message: the block for their content, the RDMA Reads that fetch them, and
// the message as its reader sees it afterwards.
#pragma once

#include "read_list_check.h"
#include "work_id.h"
#include "work_queue.h"

#include <vector>

#include <rpcrdma/protocol/memory_pool.h>
#include <rpcrdma/protocol/stream_reader.h>

namespace rpcrdma::protocol {

struct PulledChunks {
  Block block;  // one chunk after the other
  std::vector<Placed> items;
  wire::Bytes stream;
  std::uint32_t next_segment = 0;  // to be read
  std::uint32_t segment_at = 0;    // bytes of it that are read or being read
  std::uint16_t reads = 0;         // returned by next_read(), modulo kParts
  std::uint32_t chunk = 0;         // that it belongs to
  std::uint32_t chunk_at = 0;      // bytes of the chunk that are read or being read
  std::uint32_t block_at = 0;      // where the chunk begins in `block`

  // Releases the memory of a message with unusually many chunks.
  void shrink() {
    if (items.capacity() > kMaxSegments) std::vector<Placed>().swap(items);
  }

  // So that place() allocates nothing.
  void reserve(const CheckedReads& message) { items.reserve(message.reads.size()); }
  // Assigns memory to the chunks' contents. With Read chunks, `block` must have been acquired.
  void place(const CheckedReads& message);
  // The content of the n-th Read chunk.
  [[nodiscard]] wire::Bytes content(const CheckedReads& message, std::uint32_t n) const;
  // Fills in the next Read, of at most `most` bytes. Returns true for the last one, and for every
  // 32nd, at which reading pauses until it has completed: these alone are signaled, and only
  // completions make room in the send queue.
  bool next_read(const CheckedReads& message, std::uint32_t most, WorkRequest& work);
  [[nodiscard]] bool all_read(const CheckedReads& message) const {
    return chunk == message.reads.size();
  }
};

// Size of the block for a message's Read chunks, bytes.
[[nodiscard]] std::uint64_t chunk_block_bytes(const CheckedReads& message);

}  // namespace rpcrdma::protocol
