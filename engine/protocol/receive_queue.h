// The Receives of a connection, each with its block. If a role kept the block, the Receive is
// posted again with a new one, so that their number stays what the credits promise.
#pragma once

#include "fixed_ring.h"

#include <cstdint>
#include <vector>

#include <rpcrdma/fabric/provider.h>
#include <rpcrdma/protocol/memory_pool.h>

namespace rpcrdma::protocol {

class ReceiveQueue {
 public:
  ReceiveQueue(MemoryPool& pool, std::uint32_t count, std::uint32_t bytes)
      : pool_(pool), bytes_(bytes), slots_(count), idle_(count) {}

  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(slots_.size()); }
  // Acquires the blocks of all Receives; error: the pool's.
  [[nodiscard]] fabric::Expected<void> fill();
  // Releases the blocks when nothing is received any more.
  void drain();

  // Posts all Receives that are not posted; returns their number. Errors: those of the connection,
  // including kNoRoom, since the queue has room for all.
  [[nodiscard]] fabric::Expected<std::uint32_t> post(fabric::Connection& connection);
  [[nodiscard]] std::uint32_t posted() const { return posted_; }
  // Returns the block that holds the message; null: no Receive is posted under this number.
  [[nodiscard]] const Block* complete(std::uint32_t slot);
  // Marks a Receive to be posted again, with its block, or with a new one because a role keeps
  // that.
  void again(std::uint32_t slot);
  [[nodiscard]] fabric::Expected<void> again_fresh(std::uint32_t slot);

 private:
  struct Slot {
    Block block;
    bool posted = false;
  };

  MemoryPool& pool_;
  std::uint32_t bytes_;
  std::vector<Slot> slots_;
  FixedRing<std::uint32_t> idle_;
  std::uint32_t posted_ = 0;
};

}  // namespace rpcrdma::protocol
