// Arguments that people type.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rpcrdma::cli {

// Decimal, or hexadecimal behind "0x"; nothing for what is not a number of 32 bits.
[[nodiscard]] std::optional<std::uint32_t> parse_u32(std::string_view text);

// With a to z for A to Z.
[[nodiscard]] std::string lower_case(std::string_view text);

// Bytes from hexadecimal digits; white space, ':', ',', '-' and "0x" between bytes are skipped.
// Also takes dumps whose lines begin with an offset of 4 to 8 digits and two or more spaces or a
// colon, and then end at the ASCII column. Nothing for other characters or an odd number of digits.
[[nodiscard]] std::optional<std::vector<std::uint8_t>> parse_hex(std::string_view text);

// A moment: seconds from the start of the capture ("1.5"), seconds since the epoch (from 1e8 on),
// or "YYYY-MM-DD HH:MM:SS[.fraction]" (or with a T between) in UTC.
struct Moment {
  bool relative = false;
  std::int64_t ns = 0;
  [[nodiscard]] std::int64_t absolute(std::int64_t start_ns) const {
    return relative ? start_ns + ns : ns;
  }
};
[[nodiscard]] std::optional<Moment> parse_moment(const std::string& text);

// Bytes: a number, with a fraction or without, and k, M, G or T (of 1,000, as dumpcap and tcpdump
// count), or Ki, Mi, Gi, Ti (of 1,024); a B may follow. Nothing for 0 and what is over 2^62.
[[nodiscard]] std::optional<std::uint64_t> parse_size(std::string_view text);

// Nanoseconds: a number of seconds, or with one of ns, us, ms, s, m (or min), h, d. Nothing for 0,
// less than a nanosecond, and over a hundred years.
[[nodiscard]] std::optional<std::int64_t> parse_duration(std::string_view text);

}  // namespace rpcrdma::cli
