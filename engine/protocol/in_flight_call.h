// A Call that is on a connection: the memory that is exposed for it, and what it was sent from.
// It ends when nothing reaches any of that any more, which can be after its Call has ended.
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
  std::uint32_t inv_handle = 0;  // version 2: the one that the Reply may invalidate; 0: none
  Block send;
  std::uint32_t send_bytes = 0;
  bool sent = false;  // the Send is complete, or there is none

  // Exposed: Read chunks, Write chunks, Reply chunk. `valid`: the peer may still use it.
  std::array<wire::Segment, kMaxSegments> segments;
  std::array<bool, kMaxSegments> valid;
  std::uint32_t segment_count = 0;
  std::array<std::uint32_t, kMaxSegments> positions;  // of those of Read chunks
  std::uint32_t read_segments = 0;
  std::array<std::uint32_t, kMaxResults> write_segments;
  std::uint32_t write_chunks = 0;
  std::uint32_t reply_segments = 0;
  std::uint32_t next_fence = 0;  // handles before it are withdrawn, or being so
  std::uint32_t fencing = 0;     // withdrawals under way

  std::array<Block, kMaxPieces> copies;  // of what is read from here
  std::uint32_t copy_count = 0;
  std::uint32_t pull = kNoSlot;  // what its Reply has by Read chunks is being read

  Block reply;     // the Reply chunk
  Block received;  // the Reply's Receive

  void start(std::uint32_t of_call);
  // No handle that the peer could use is left. For one that no withdrawal was posted for.
  [[nodiscard]] bool nothing_to_fence() const;
  // No handle is left, and no withdrawal is under way.
  [[nodiscard]] bool fenced() const {
    return nothing_to_fence() || (fencing == 0 && next_fence == segment_count);
  }
  // False: the peer was given no such handle, or it was withdrawn.
  bool drop_handle(std::uint32_t handle);
  [[nodiscard]] OfferedChunks offered() const;
  // The blocks of what is exposed, and the Reply's.
  void give_blocks(MemoryPool& pool);
  void give_send(MemoryPool& pool);
};

}  // namespace rpcrdma::protocol
