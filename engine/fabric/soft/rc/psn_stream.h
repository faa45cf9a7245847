// Observes one sequence of PSNs: counts the transmissions of each, and finds the message it belongs
// to.
#pragma once

#include <cstdint>
#include <memory>

namespace rpcrdma::soft {

class PsnStream {
 public:
  // A packet that takes `psns` PSNs from `psn` on (several for a READ request). Returns how often
  // `psn` has occurred, including this time.
  std::uint64_t see(std::uint32_t psn, std::uint32_t psns, bool begins_message);
  // Returns the message of `psn`, as observed; 0: it began too long ago, or before the first
  // observed packet.
  [[nodiscard]] std::uint64_t message_of(std::uint32_t psn) const;

 private:
  struct State;
  // Allocated on demand: some kilobytes that a connection which only responds does not need.
  struct Free {
    void operator()(State* state) const;
  };
  std::unique_ptr<State, Free> state_;
};

}  // namespace rpcrdma::soft
