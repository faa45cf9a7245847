// Communication and transaction IDs (IBA 12.9.4). No ID is reused before all others were, and a
// different seed gives a different order, so that a peer that remembers an earlier run, or guesses,
// does not hit a current ID.
#pragma once

#include <cstdint>

#include <rpcrdma/soft/random.h>

namespace rpcrdma::soft {

// Mixes every bit of `x` into the whole result.
[[nodiscard]] inline std::uint64_t cm_mix(std::uint64_t x) {
  return Random(x).next();
}

class CmIds {
 public:
  explicit CmIds(std::uint64_t seed) : key_(cm_mix(seed)), transaction_(cm_mix(key_)) {}

  // Returns every 32-bit value but 0 once in 2^32 calls: a counter through a permutation (Feistel
  // network).
  [[nodiscard]] std::uint32_t next_communication() {
    for (;;) {
      const std::uint32_t id = permute(counter_++);
      if (id != 0) return id;
    }
  }

  [[nodiscard]] std::uint64_t next_transaction() { return ++transaction_; }

 private:
  [[nodiscard]] std::uint32_t permute(std::uint32_t value) const {
    std::uint32_t left = value >> 16, right = value & 0xffff;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const auto mixed = static_cast<std::uint32_t>(cm_mix(key_ ^ (right | round << 16)) & 0xffff);
      const std::uint32_t next = left ^ mixed;
      left = right;
      right = next;
    }
    return left << 16 | right;
  }

  std::uint64_t key_;
  std::uint64_t transaction_;
  std::uint32_t counter_ = 0;
};

}  // namespace rpcrdma::soft
