#include <array>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include <rpcrdma/plot/units.h>

namespace rpcrdma::plot {

namespace {

// Four digits, without trailing zeros. That is one more than the units below need, so that ticks
// that differ in the third digit stay distinct.
std::string digits(double value) {
  return fmt::format("{:.4g}", value);
}

template <std::size_t N>
std::string scaled(double value, const std::array<const char*, N>& names, double base,
                   const char* behind) {
  std::size_t i = 0;
  // 999.96 would be written as "1000".
  while (std::abs(value) >= base * 0.99995 && i + 1 < N) {
    value /= base;
    ++i;
  }
  return fmt::format("{}{}{}", digits(value), names[i], behind);
}

std::string seconds(double value) {
  const double size = std::abs(value);
  constexpr std::array<std::pair<double, const char*>, 7> kUnits{
      {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}};
  for (const auto& [length, name] : kUnits) {
    if (size >= length * 0.99995) return fmt::format("{} {}", digits(value / length), name);
  }
  return size == 0 ? "0 s" : fmt::format("{} ns", digits(value * 1e9));
}

}  // namespace

std::string format_value(Unit unit, double value) {
  if (!std::isfinite(value)) return "?";
  constexpr std::array kDecimal{"", " k", " M", " G", " T", " P", " E"};
  constexpr std::array kBinary{" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
  switch (unit) {
    case Unit::kCount:
      // "9999" is not longer than "9.999 k".
      if (std::abs(value) < 1e4 && value == std::floor(value)) return fmt::format("{:.0f}", value);
      return scaled(value, kDecimal, 1000, "");
    case Unit::kSeconds:
      return seconds(value);
    case Unit::kBytes:
      return scaled(value, kBinary, 1024, "");
    case Unit::kPerSecond:
      return scaled(value, kDecimal, 1000, "/s");
    case Unit::kBytesPerSecond:
      return scaled(value, kBinary, 1024, "/s");
  }
  return "?";
}

}  // namespace rpcrdma::plot
