// A capture as `rpcrdma export` writes it, in both formats: well-formed, slices beside or within
// one another, and as many Calls in one as in the other.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rpcrdma::fuzz {

void check_timelines(const std::uint8_t* data, std::size_t size);

}  // namespace rpcrdma::fuzz
