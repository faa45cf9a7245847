// Adds durations without overflow, even if a capture's clock makes no sense.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rpcrdma::rules {

// Two years in nanoseconds: a hundred times as much still fits.
inline constexpr std::int64_t kMaxTotalNs = std::int64_t{1} << 56;

inline void add_time(std::int64_t& total, std::int64_t ns) {
  total = std::clamp(total + std::clamp(ns, -kMaxTotalNs, kMaxTotalNs), -kMaxTotalNs, kMaxTotalNs);
}

}  // namespace rpcrdma::rules
