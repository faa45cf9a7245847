// Packet sequence numbers: 24 bits, compared within half of their range (IBA 9.7.2).
#pragma once

#include <cstdint>

#include <rpcrdma/wire/roce.h>

namespace rpcrdma::soft {

[[nodiscard]] constexpr std::uint32_t psn_add(std::uint32_t psn, std::uint32_t n) {
  return (psn + n) & wire::kPsnMask;
}

// Returns a - b, between -2^23 and 2^23 - 1.
[[nodiscard]] constexpr std::int32_t psn_diff(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>((a - b) << 8) >> 8;
}

}  // namespace rpcrdma::soft
