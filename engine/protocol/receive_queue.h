// The Receives of a connection, each with its block. One whose block was kept by a role is posted
// again with a fresh one, so that their number stays what credits promise.
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
  // Takes the blocks of all; error: the pool's.
  [[nodiscard]] fabric::Expected<void> fill();
  // Gives them back, when nothing is received any more.
  void drain();

  // Posts those that are not; returns how many. Error: the connection's, kNoRoom too: there was
  // room for all.
  [[nodiscard]] fabric::Expected<std::uint32_t> post(fabric::Connection& connection);
  [[nodiscard]] std::uint32_t posted() const { return posted_; }
  // The block that a message has come into; null: no Receive is posted under this name.
  [[nodiscard]] const Block* complete(std::uint32_t slot);
  // To be posted again, with the block that it has, or with a fresh one since a role keeps that.
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
