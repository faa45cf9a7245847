// Served Call: a Call that a responder has received, until nothing of its Reply is in flight.
#pragma once

#include "call_check.h"
#include "chunk_writer.h"
#include "pulled_chunks.h"
#include "slots.h"

#include <array>
#include <initializer_list>
#include <vector>

#include <rpcrdma/fabric/time.h>
#include <rpcrdma/protocol/memory_pool.h>
#include <rpcrdma/protocol/memory_share.h>
#include <rpcrdma/protocol/options.h>

namespace rpcrdma::protocol {

struct ServedCall {
  enum class State : std::uint8_t {
    kFree,
    kWaiting,     // for memory for its Read chunks
    kReading,     // its Read chunks are being pulled
    kOwned,       // the upper layer has it
    kReplying,    // the upper layer's Reply is in flight
    kAdvertised,  // it was sent, and the peer reads the memory that it advertises
    kDropped,     // it has no Reply, and its slot is released with the next flush()
    kRefusing,  // an RDMA_ERROR or an option's answer is in flight; the upper layer does not see it
  };
  std::uint32_t generation = 0;
  State state = State::kFree;
  CheckedCall call;
  Block received;          // its Receive, if the stream lies there
  bool handed_up = false;  // it was delivered to the upper layer
  fabric::Time received_at = 0;
  fabric::Time pulled_at = 0;   // `handed_up`: when its Read chunks were complete
  fabric::Time replied_at = 0;  // when its Reply, or RDMA_ERROR, goes to the fabric; 0: not yet

  // RDMA2_OPTIONAL: rdma_opttype and the rdma_optinfo of its answer.
  struct Option {
    bool delivers = false;  // the Call came in one, and its Reply travels in one, too
    std::uint32_t type = 0;
    std::uint32_t info_bytes = 0;
    std::array<std::uint8_t, kMaxOptionInfo> info;

    [[nodiscard]] wire::Bytes bytes() const { return std::span(info).first(info_bytes); }
  };
  Option option;

  PulledChunks pulled;          // its Read chunks, and what is read of the Call
  fabric::Time pull_until = 0;  // kReading: when they must be complete

  std::uint32_t reads = kNoSlot;  // of its Reply, in the DoneTable

  std::uint32_t invalidates = 0;  // the handle that its Reply invalidates
  bool has_invalidate = false;

  std::uint64_t chunk_bytes = 0;  // of its Reply

  Block send;
  std::uint32_t send_bytes = 0;
  Block copies;     // of pieces that are written from here
  MemoryHeld held;  // of its connection's share, for the blocks of its chunks
  ChunkWriter writer;

  // Chunks as the Reply returns them.
  std::vector<wire::Segment> returned;
  std::vector<wire::WriteChunk> lists;

  // `share`: null: there is none.
  void give_blocks(MemoryPool& pool, MemoryShare* share) {
    if (share != nullptr) share->give(held);
    call.shrink();
    pulled.shrink();
    if (returned.capacity() > kMaxSegments) std::vector<wire::Segment>().swap(returned);
    if (lists.capacity() > kMaxSegments) std::vector<wire::WriteChunk>().swap(lists);
    for (Block* b : {&received, &pulled.block, &send, &copies}) {
      if (*b) pool.release(*b);
      *b = {};
    }
  }
};

}  // namespace rpcrdma::protocol
