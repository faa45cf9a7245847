// A Call that a responder has received, until nothing of its Reply is under way any more.
#pragma once

#include "call_check.h"
#include "chunk_writer.h"

#include <array>
#include <span>

#include <rpcrdma/fabric/time.h>
#include <rpcrdma/protocol/memory_pool.h>
#include <rpcrdma/protocol/stream_reader.h>

namespace rpcrdma::protocol {

struct Serving {
  enum class State : std::uint8_t {
    kFree,
    kWaiting,   // for memory for its Read chunks
    kReading,   // its Read chunks are being pulled
    kOwned,     // the upper layer has it
    kReplying,  // the upper layer's Reply is under way
    kRefusing,  // an RDMA_ERROR is, or an option's answer: the upper layer hears nothing of it
  };
  std::uint32_t generation = 0;
  State state = State::kFree;
  CheckedCall call;
  Block received;          // its Receive, if the stream lies there
  bool handed_up = false;  // the upper layer has got it
  fabric::Time received_at = 0;
  fabric::Time pulled_at = 0;   // `handed_up`: its Read chunks were there
  fabric::Time replied_at = 0;  // its Reply, or RDMA_ERROR, goes to the fabric; 0: not yet

  Block chunks;  // what Read chunks bring, one behind the other
  std::array<Placed, kMaxSegments> items;
  std::uint32_t item_count = 0;
  wire::Bytes stream;
  std::uint32_t next_segment = 0;  // to be read
  std::uint32_t segment_at = 0;    // bytes of it that are read, or being so
  std::uint8_t reads = 0;          // that next_read() has given, modulo 256
  std::uint32_t chunk = 0;         // that it belongs to
  std::uint32_t chunk_at = 0;      // bytes of the chunk that are read, or being so
  std::uint32_t block_at = 0;      // where the chunk begins in `chunks`

  std::uint32_t invalidates = 0;  // the handle that its Reply invalidates
  bool has_invalidate = false;

  Block send;
  std::uint32_t send_bytes = 0;
  Block copies;  // of what is written from here
  ChunkWriter writer;

  // Where chunk contents come to lie, once there is a block for them.
  void place_chunks();
  // What the n-th Read chunk brings.
  [[nodiscard]] wire::Bytes chunk_content(std::uint32_t n) const;
  // The next Read, of `most` bytes at most; true: it is the last.
  bool next_read(std::uint32_t most, WorkRequest& work);
  void give_blocks(MemoryPool& pool);
};

// Bytes of the block for a Call's Read chunks.
[[nodiscard]] std::uint64_t chunk_block_bytes(const CheckedCall& call);

}  // namespace rpcrdma::protocol
