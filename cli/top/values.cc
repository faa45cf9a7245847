#include "values.h"

#include <cmath>

#include <fmt/core.h>

#include <rpcrdma/plot/units.h>
#include <rpcrdma/report/context.h>

namespace rpcrdma::top {

using plot::Unit;

std::string clock_text(std::int64_t ns) {
  return report::format_clock(ns).substr(0, 8);
}

double rounded(double value) {
  if (value == 0) return 0;
  const double scale = std::pow(10, std::floor(std::log10(value)) - 2);
  return std::round(value / scale) * scale;
}

std::string duration_text(std::int64_t ns) {
  return ns < 0 ? "-" : plot::format_value(Unit::kSeconds, rounded(static_cast<double>(ns) * 1e-9));
}

std::string brief(std::uint64_t value) {
  constexpr std::uint64_t kExact = 10'000;
  return value < kExact ? std::to_string(value)
                        : plot::format_value(Unit::kCount, rounded(static_cast<double>(value)));
}

std::string plural(std::uint64_t n, const char* what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

}  // namespace rpcrdma::top
