#pragma once

#include <cstdint>

namespace rpcrdma::soft {

// The default one, of which every connection here is a full member, so that the peer may be a
// limited one (IBA 10.9.3).
constexpr bool of_our_partition(std::uint16_t pkey) {
  return (pkey & 0x7fffU) == 0x7fffU;
}

}  // namespace rpcrdma::soft
