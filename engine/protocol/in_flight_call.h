// In-flight Call: a Call that is on a connection, its buffers, and the memory advertised for it. It
// ends when nothing can access any of that any more, which can be after its Call has ended.
#pragma once

#include "reply_check.h"
#include "slots.h"

#include <array>
#include <span>

#include <rpcrdma/protocol/memory_pool.h>
#include <rpcrdma/protocol/message.h>
#include <rpcrdma/protocol/reduction.h>
#include <rpcrdma/protocol/versions.h>
#include <rpcrdma/wire/chunks.h>

namespace rpcrdma::protocol {

struct InFlightCall {
  std::uint32_t generation = 0;
  bool used = false;
  std::uint32_t call = kNoSlot;  // kNoSlot: it has ended

  std::uint32_t version = kVersionOne;
  std::uint32_t inv_handle = 0;  // version 2: the handle that the Reply may invalidate; 0: none
  Block send;
  std::uint32_t send_bytes = 0;
  bool sent = false;  // the Send is complete, or there is none

  // Advertised: Read chunks, Write chunks, Reply chunk. `valid`: the peer may still use it.
  std::array<wire::Segment, kMaxSegments> segments;
  std::array<bool, kMaxSegments> valid;
  std::uint32_t segment_count = 0;
  std::array<std::uint32_t, kMaxSegments> positions;  // of the Read chunks' segments
  std::uint32_t read_segments = 0;
  std::array<std::uint32_t, kMaxResults> write_segments;
  std::uint32_t write_chunks = 0;
  std::uint32_t reply_segments = 0;
  std::uint32_t next_fence = 0;  // handles before it are invalidated, or being invalidated
  std::uint32_t fencing = 0;     // invalidations in flight

  std::array<Block, kMaxPieces> copies;  // of pieces that the peer reads
  std::uint32_t copy_count = 0;
  std::uint32_t pull = kNoSlot;  // the Read chunks of its Reply are being read

  Block reply;     // the Reply chunk
  Block received;  // the Reply's Receive

  void start(std::uint32_t of_call);
  // Returns whether the peer can use no handle. Valid as long as no invalidation has been posted.
  [[nodiscard]] bool nothing_to_fence() const;
  // Returns whether no handle is left and no invalidation is in flight.
  [[nodiscard]] bool fenced() const {
    return nothing_to_fence() || (fencing == 0 && next_fence == segment_count);
  }
  // Returns false if the peer was given no such handle, or it was invalidated.
  bool drop_handle(std::uint32_t handle);
  [[nodiscard]] OfferedChunks offered() const;
  // Releases the blocks of advertised memory and of the Reply.
  void give_blocks(MemoryPool& pool);
  void give_send(MemoryPool& pool);
};

}  // namespace rpcrdma::protocol
