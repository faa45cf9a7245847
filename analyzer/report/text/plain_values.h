// Converts values for the JSON and CSV of reports.
#pragma once

#include <cstdint>

namespace rpcrdma::report {

[[nodiscard]] constexpr double microseconds(std::int64_t ns) {
  return static_cast<double>(ns) / 1e3;
}

[[nodiscard]] constexpr const char* direction_name(bool reverse) {
  return reverse ? "reverse" : "forward";
}

}  // namespace rpcrdma::report
