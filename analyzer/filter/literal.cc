// Parses the literals of filters: numbers, durations, times, addresses, bytes.
#include "literal.h"

#include <array>
#include <charconv>
#include <chrono>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace rpcrdma::filter {

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

template <typename T>
std::optional<T> number(std::string_view text, int base = 10) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct Unit {
  std::string_view name;
  std::int64_t ns;
};
constexpr std::array kUnits = {
    Unit{"ns", 1},
    Unit{"us", 1000},
    Unit{"ms", 1'000'000},
    Unit{"s", kSecond},
    Unit{"", kSecond},
    Unit{"m", 60 * kSecond},
    Unit{"min", 60 * kSecond},
    Unit{"h", 3600 * kSecond},
};

// Converts the `digits` after the decimal point of a unit of `unit` nanoseconds.
std::int64_t fraction(std::string_view digits, std::int64_t unit) {
  std::int64_t sum = 0;
  for (const char c : digits) {
    unit /= 10;
    sum += (c - '0') * unit;
  }
  return sum;
}

// `unit` nanoseconds times "12.345".
std::optional<std::int64_t> scaled(std::string_view text, std::int64_t unit) {
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  const std::string_view rest =
      point == std::string_view::npos ? std::string_view() : text.substr(point + 1);
  if (whole.empty() || !is_digit(whole.front())) return std::nullopt;
  if (point != std::string_view::npos && rest.empty()) return std::nullopt;
  for (const char c : rest) {
    if (!is_digit(c)) return std::nullopt;
  }
  const auto units = number<std::int64_t>(whole);
  std::int64_t ns = 0;
  if (!units || __builtin_mul_overflow(*units, unit, &ns) ||
      __builtin_add_overflow(ns, fraction(rest, unit), &ns)) {
    return std::nullopt;
  }
  return ns;
}

// Removes a number of exactly `digits` digits from the front.
bool take(std::string_view& text, std::size_t digits, unsigned& value) {
  if (text.size() < digits || !is_digit(text.front())) return false;
  const auto n = number<unsigned>(text.substr(0, digits));
  if (!n) return false;
  value = *n;
  text.remove_prefix(digits);
  return true;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

// Converts the time of day after a date to nanoseconds.
std::optional<std::int64_t> parse_clock(std::string_view text) {
  unsigned hour = 0;
  unsigned minute = 0;
  unsigned second = 0;
  if (!take(text, ' ') && !take(text, 'T')) return std::nullopt;
  if (!take(text, 2, hour) || !take(text, ':') || !take(text, 2, minute)) return std::nullopt;
  std::int64_t below = 0;
  if (take(text, ':')) {
    if (!take(text, 2, second)) return std::nullopt;
    if (text.starts_with('.')) {
      const auto part = scaled("0" + std::string(text), kSecond);
      if (!part) return std::nullopt;
      below = *part;
      text = {};
    }
  }
  if (!text.empty() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  return (hour * 3600LL + minute * 60LL + second) * kSecond + below;
}

std::string all_bits(std::string bytes, std::size_t prefix, bool ones) {
  for (std::size_t bit = prefix; bit < bytes.size() * 8; ++bit) {
    const auto mask = static_cast<unsigned char>(0x80U >> bit % 8);
    const auto byte = static_cast<unsigned char>(bytes[bit / 8]);
    bytes[bit / 8] = static_cast<char>(ones ? byte | mask : byte & ~mask);
  }
  return bytes;
}

}  // namespace

std::optional<Integer> parse_integer(std::string_view text) {
  Integer out;
  if (text.starts_with('-')) {
    out.negative = true;
    text.remove_prefix(1);
  }
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  const auto value = number<std::uint64_t>(text, hex ? 16 : 10);
  if (!value) return std::nullopt;
  out.magnitude = *value;
  return out;
}

std::optional<std::int64_t> parse_duration(std::string_view text) {
  const bool negative = take(text, '-');
  std::size_t end = 0;
  while (end < text.size() && (is_digit(text[end]) || text[end] == '.')) ++end;
  for (const Unit& unit : kUnits) {
    if (text.substr(end) != unit.name) continue;
    const auto ns = scaled(text.substr(0, end), unit.ns);
    if (!ns) return std::nullopt;
    return negative ? -*ns : *ns;
  }
  return std::nullopt;
}

std::optional<std::int64_t> parse_time(std::string_view text) {
  if (const auto seconds = scaled(text, kSecond)) return seconds;
  if (text.ends_with('Z')) text.remove_suffix(1);
  unsigned year = 0;
  unsigned month = 0;
  unsigned day = 0;
  if (!take(text, 4, year) || !take(text, '-') || !take(text, 2, month) || !take(text, '-') ||
      !take(text, 2, day)) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year)),
                                         std::chrono::month(month), std::chrono::day(day)};
  // 64-bit nanoseconds cover the years 1678 to 2261.
  if (!date.ok() || year < 1678 || year > 2261) return std::nullopt;
  const auto midnight = std::chrono::sys_days(date).time_since_epoch();
  const auto clock = text.empty() ? std::optional<std::int64_t>(0) : parse_clock(text);
  if (!clock) return std::nullopt;
  return std::chrono::nanoseconds(midnight).count() + *clock;
}

std::optional<AddressRange> parse_address(std::string_view text) {
  if (text.starts_with("lid ")) {
    const auto lid = number<std::uint16_t>(text.substr(4));
    if (!lid) return std::nullopt;
    const std::string bytes{static_cast<char>(*lid >> 8), static_cast<char>(*lid & 0xff)};
    return AddressRange{bytes, bytes};
  }
  const std::size_t slash = text.find('/');
  const std::string address(text.substr(0, slash));
  std::array<char, sizeof(in6_addr)> buffer{};
  std::string bytes;
  if (inet_pton(AF_INET, address.c_str(), buffer.data()) == 1) {
    bytes.assign(buffer.data(), sizeof(in_addr));
  } else if (inet_pton(AF_INET6, address.c_str(), buffer.data()) == 1) {
    bytes.assign(buffer.data(), sizeof(in6_addr));
  } else {
    return std::nullopt;
  }
  if (slash == std::string_view::npos) return AddressRange{bytes, bytes};
  const auto prefix = number<std::size_t>(text.substr(slash + 1));
  if (!prefix || *prefix > bytes.size() * 8) return std::nullopt;
  return AddressRange{all_bits(bytes, *prefix, false), all_bits(bytes, *prefix, true)};
}

std::optional<std::string> parse_bytes(std::string_view text) {
  std::string out;
  bool separated = true;  // a separator must be between two bytes
  while (!text.empty()) {
    if (text.front() == ':' || text.front() == '-' || text.front() == '.') {
      if (separated) return std::nullopt;
      separated = true;
      text.remove_prefix(1);
      continue;
    }
    const auto byte = number<std::uint8_t>(text.substr(0, 2), 16);
    if (!byte || text.size() < 2) return std::nullopt;
    out += static_cast<char>(*byte);
    text.remove_prefix(2);
    separated = false;
  }
  if (separated) return std::nullopt;
  return out;
}

}  // namespace rpcrdma::filter
