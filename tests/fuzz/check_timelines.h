// Checks a capture as exported by `rpcrdma export` in both formats: well-formed, slices are
// disjoint or nested, and both formats have the same number of Calls.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rpcrdma::fuzz {

void check_timelines(const std::uint8_t* data, std::size_t size);

}  // namespace rpcrdma::fuzz
