// Counts the allocations of a test program, and what they hold. Linking counting_new.cc replaces
// the global operator new.
#pragma once

#include <cstddef>

namespace rpcrdma::wire::testing {

[[nodiscard]] std::size_t allocations();
// Bytes that were allocated and not given back, with what the allocator rounds up; of what asked
// for no alignment.
[[nodiscard]] std::size_t live_bytes();

template <typename Function>
std::size_t allocations_in(Function function) {
  const std::size_t before = allocations();
  function();
  return allocations() - before;
}

}  // namespace rpcrdma::wire::testing
