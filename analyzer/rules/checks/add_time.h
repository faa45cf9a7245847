// Sums of durations that a capture's clock may have made up.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rpcrdma::rules {

// Two years, nanoseconds: a hundred times as much still fits.
inline constexpr std::int64_t kMaxTotalNs = std::int64_t{1} << 56;

inline void add_time(std::int64_t& total, std::int64_t ns) {
  total = std::clamp(total + std::clamp(ns, -kMaxTotalNs, kMaxTotalNs), -kMaxTotalNs, kMaxTotalNs);
}

}  // namespace rpcrdma::rules
