// Reports a violated invariant: aborts, and libFuzzer keeps the input.
#pragma once

namespace rpcrdma::fuzz {

inline void require(bool holds) {
  if (!holds) __builtin_trap();
}

}  // namespace rpcrdma::fuzz
