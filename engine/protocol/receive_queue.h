// The Receives of a connection, each with its block. If a role kept the block, the Receive is
// posted again with a new one, so that their number stays what the credits promise.
#pragma once

#include "fixed_ring.h"

#include <array>
#include <cstdint>
#include <vector>

#include <rpcrdma/fabric/provider.h>
#include <rpcrdma/protocol/memory_pool.h>

namespace rpcrdma::protocol {

class ReceiveQueue {
 public:
  // `count`: Receives, `least` of which must stay posted; the others may wait until they can all be
  // posted at once.
  ReceiveQueue(MemoryPool& pool, std::uint32_t count, std::uint32_t least, std::uint32_t bytes)
      : pool_(pool), bytes_(bytes), least_(least), slots_(count), idle_(count) {}

  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(slots_.size()); }
  // Acquires the blocks of all Receives; error: the pool's.
  [[nodiscard]] fabric::Expected<void> fill();
  // Releases the blocks when nothing is received any more.
  void drain();

  // Posts all Receives that are not posted, unless they can wait; returns their number. Errors:
  // those of the connection, including kNoRoom, since the queue has room for all.
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
  std::uint32_t least_;
  std::vector<Slot> slots_;
  FixedRing<std::uint32_t> idle_;
  // Of post(), where initializing them would take longer than using them.
  static constexpr std::size_t kBatch = 8;
  std::array<fabric::ReceiveRequest, kBatch> requests_;
  std::array<fabric::Slice, kBatch> slices_;
  std::uint32_t posted_ = 0;
};

}  // namespace rpcrdma::protocol
