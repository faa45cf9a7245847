#include <array>
#include <charconv>
#include <span>

#include <rpcrdma/base/parse.h>

namespace rpcrdma::base {

std::optional<std::uint32_t> parse_u32(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    base = 16;
  }
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

namespace {

struct Unit {
  std::string_view name;
  double factor;
};

// Parses a positive number and one of the units.
std::optional<double> parse_quantity(std::string_view text, std::span<const Unit> units) {
  double value = 0;
  const char* const end = text.data() + text.size();
  // No exponents: "1e" and "1E" would be parsed as the start of one.
  const auto [rest, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (error != std::errc{} || !(value > 0)) return std::nullopt;
  const std::string_view name(rest, static_cast<std::size_t>(end - rest));
  for (const Unit& unit : units) {
    if (unit.name == name) return value * unit.factor;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> parse_size(std::string_view text) {
  static constexpr std::array<Unit, 11> kUnits{{{"", 1},
                                                {"k", 1e3},
                                                {"K", 1e3},
                                                {"M", 1e6},
                                                {"G", 1e9},
                                                {"T", 1e12},
                                                {"Ki", 1024.0},
                                                {"ki", 1024.0},
                                                {"Mi", 1048576.0},
                                                {"Gi", 1073741824.0},
                                                {"Ti", 1099511627776.0}}};
  constexpr double kMost = 4611686018427387904.0;  // 2^62
  if (text.ends_with('B')) text.remove_suffix(1);
  const auto bytes = parse_quantity(text, kUnits);
  if (!bytes || *bytes < 1 || *bytes > kMost) return std::nullopt;
  return static_cast<std::uint64_t>(*bytes);
}

std::optional<std::int64_t> parse_duration(std::string_view text) {
  static constexpr std::array<Unit, 9> kUnits{{{"", 1e9},
                                               {"ns", 1},
                                               {"us", 1e3},
                                               {"ms", 1e6},
                                               {"s", 1e9},
                                               {"m", 60e9},
                                               {"min", 60e9},
                                               {"h", 3600e9},
                                               {"d", 86400e9}}};
  constexpr double kMost = 100 * 365 * 86400e9;
  const auto ns = parse_quantity(text, kUnits);
  if (!ns || *ns < 1 || *ns > kMost) return std::nullopt;
  return static_cast<std::int64_t>(*ns);
}

}  // namespace rpcrdma::base
