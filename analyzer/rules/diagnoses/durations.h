// Adds up durations, and formats durations and percentages for the texts of findings.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include <fmt/core.h>

namespace rpcrdma::rules {

// Two years in nanoseconds: a hundred times as much still fits.
inline constexpr std::int64_t kMaxTotalNs = std::int64_t{1} << 56;

// Adds durations without overflow, even if a capture's clock makes no sense.
inline void add_time(std::int64_t& total, std::int64_t ns) {
  total = std::clamp(total + std::clamp(ns, -kMaxTotalNs, kMaxTotalNs), -kMaxTotalNs, kMaxTotalNs);
}

// "873 ns", "18.2 us", "1.87 ms", "2.05 s"
[[nodiscard]] inline std::string duration(std::int64_t ns) {
  const auto v = static_cast<double>(ns);
  if (ns < 1000) return fmt::format("{} ns", ns);
  if (ns < 1'000'000) return fmt::format("{:.3g} us", v / 1e3);
  if (ns < 1'000'000'000) return fmt::format("{:.3g} ms", v / 1e6);
  return fmt::format("{:.3g} s", v / 1e9);
}

// Returns whole percent.
[[nodiscard]] inline std::int64_t percent(std::int64_t part, std::int64_t of) {
  return of > 0 ? static_cast<std::int64_t>(100.0 * static_cast<double>(part) /
                                            static_cast<double>(of))
                : 0;
}

}  // namespace rpcrdma::rules
