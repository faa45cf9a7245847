#include <cmath>

#include <fmt/core.h>

#include <rpcrdma/base/quantity.h>

namespace rpcrdma::base {

namespace {

// Formats with `digits` significant digits and never an exponent.
std::string significant(double value, int digits) {
  int decimals = digits - 1;
  for (double v = std::abs(value); v >= 10 && decimals > 0; v /= 10) --decimals;
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (decimals > 0) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

}  // namespace

std::string format_duration(std::int64_t ns) {
  if (ns < 0) return "-";
  const auto v = static_cast<double>(ns);
  if (ns < 1000) return fmt::format("{} ns", ns);
  if (ns < 1000000) return significant(v / 1e3, 3) + " us";
  if (ns < 1000000000) return significant(v / 1e6, 3) + " ms";
  return fmt::format("{:.3f} s", v / 1e9);
}

std::string format_bytes(std::uint64_t bytes) {
  const auto v = static_cast<double>(bytes);
  if (bytes < 10240) return fmt::format("{} B", bytes);
  if (bytes < (10U << 20)) return significant(v / 1024, 4) + " KiB";
  if (bytes < (10ULL << 30)) return significant(v / (1 << 20), 4) + " MiB";
  return significant(v / (1 << 30), 4) + " GiB";
}

}  // namespace rpcrdma::base
