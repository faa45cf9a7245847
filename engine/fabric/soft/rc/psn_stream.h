// One sequence of PSNs as it passes: how often each was there, and which message it is of.
#pragma once

#include <cstdint>
#include <memory>

namespace rpcrdma::soft {

class PsnStream {
 public:
  // A packet that takes `psns` PSNs from `psn` on, several for a READ request. Returns how often
  // `psn` was there, this time included.
  std::uint64_t see(std::uint32_t psn, std::uint32_t psns, bool begins_message);
  // By what has been seen; 0: its message began too long ago, or before all that was seen.
  [[nodiscard]] std::uint64_t message_of(std::uint32_t psn) const;

 private:
  struct State;
  // Over some kilobytes, which a connection that only answers does without.
  struct Free {
    void operator()(State* state) const;
  };
  std::unique_ptr<State, Free> state_;
};

}  // namespace rpcrdma::soft
