// Parses values as users write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rpcrdma::filter {

// A whole number: decimal, or hexadecimal with a 0x prefix.
struct Integer {
  bool negative = false;
  std::uint64_t magnitude = 0;
};
[[nodiscard]] std::optional<Integer> parse_integer(std::string_view text);

// Nanoseconds of "1.5ms", "-3us", "20" (seconds); units ns, us, ms, s, m or min, h. Fractions of a
// nanosecond are dropped.
[[nodiscard]] std::optional<std::int64_t> parse_duration(std::string_view text);

// Nanoseconds since 1970 of "YYYY-MM-DD[ HH:MM[:SS[.fraction]]][Z]" in UTC (or with a T between),
// or of seconds since 1970.
[[nodiscard]] std::optional<std::int64_t> parse_time(std::string_view text);

// First and last address of "10.0.0.1", "10.0.0.0/8", "fe80::/10", "lid 5", in network order.
struct AddressRange {
  std::string low, high;  // equal in length
};
[[nodiscard]] std::optional<AddressRange> parse_address(std::string_view text);

// "00:01:ff", "00-01-ff", "0001ff".
[[nodiscard]] std::optional<std::string> parse_bytes(std::string_view text);

}  // namespace rpcrdma::filter
