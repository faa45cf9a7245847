#pragma once

#include <cstdint>

namespace rpcrdma::soft {

// Only the default partition. Every connection here is a full member, so the peer may be a limited
// one (IBA 10.9.3).
constexpr bool of_our_partition(std::uint16_t pkey) {
  return (pkey & 0x7fffU) == 0x7fffU;
}

}  // namespace rpcrdma::soft
