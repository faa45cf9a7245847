// Counts the allocations of a test program. Linking counting_new.cc replaces the global operator
// new.
#pragma once

#include <cstddef>

namespace rpcrdma::wire::testing {

[[nodiscard]] std::size_t allocations();

template <typename Function>
std::size_t allocations_in(Function function) {
  const std::size_t before = allocations();
  function();
  return allocations() - before;
}

}  // namespace rpcrdma::wire::testing
