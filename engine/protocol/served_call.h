// A Call that a responder has received, until nothing of its Reply is under way any more.
#pragma once

#include "call_check.h"
#include "chunk_writer.h"
#include "pulled_chunks.h"
#include "slots.h"

#include <rpcrdma/fabric/time.h>
#include <rpcrdma/protocol/memory_pool.h>

namespace rpcrdma::protocol {

struct ServedCall {
  enum class State : std::uint8_t {
    kFree,
    kWaiting,     // for memory for its Read chunks
    kReading,     // its Read chunks are being pulled
    kOwned,       // the upper layer has it
    kReplying,    // the upper layer's Reply is under way
    kAdvertised,  // it was sent, and the peer reads what of it is exposed
    kRefusing,    // an RDMA_ERROR is, or an option's answer: the upper layer hears nothing of it
  };
  std::uint32_t generation = 0;
  State state = State::kFree;
  CheckedCall call;
  Block received;          // its Receive, if the stream lies there
  bool handed_up = false;  // the upper layer has got it
  fabric::Time received_at = 0;
  fabric::Time pulled_at = 0;   // `handed_up`: its Read chunks were there
  fabric::Time replied_at = 0;  // its Reply, or RDMA_ERROR, goes to the fabric; 0: not yet

  PulledChunks pulled;  // its Read chunks, and what is read of the Call

  std::uint32_t reads = kNoSlot;  // of its Reply, in the DoneTable

  std::uint32_t invalidates = 0;  // the handle that its Reply invalidates
  bool has_invalidate = false;

  std::uint64_t chunk_bytes = 0;  // of its Reply

  Block send;
  std::uint32_t send_bytes = 0;
  Block copies;  // of what is written from here
  ChunkWriter writer;

  void give_blocks(MemoryPool& pool);
};

}  // namespace rpcrdma::protocol
