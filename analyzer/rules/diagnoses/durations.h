// Formats durations and percentages for the texts of findings.
#pragma once

#include <cstdint>
#include <string>

#include <fmt/core.h>

namespace rpcrdma::rules {

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
