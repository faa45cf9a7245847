// Counts the memory that a test program allocates. Linking live_bytes.cc replaces the global
// operator new.
#pragma once

#include <cstddef>

namespace rpcrdma::report::testing {

struct Heap {
  std::size_t live = 0;  // bytes now
  std::size_t peak = 0;  // the most bytes since reset_peak()
  std::size_t allocations = 0;
};
[[nodiscard]] Heap heap();
// Sets the peak to the bytes that are live now.
void reset_peak();

}  // namespace rpcrdma::report::testing
