// 24-bit packet sequence numbers (IBA volume 1 section 9.7.1): arithmetic modulo 2^24.
#pragma once

#include <cstdint>

#include <rpcrdma/wire/roce.h>

namespace rpcrdma::roce {

// How far `a` is ahead of `b`: -2^23 .. 2^23-1.
[[nodiscard]] constexpr std::int32_t psn_diff(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>((a - b) << 8) >> 8;
}

[[nodiscard]] constexpr std::uint32_t psn_add(std::uint32_t psn, std::uint32_t n) {
  return (psn + n) & wire::kPsnMask;
}

}  // namespace rpcrdma::roce
