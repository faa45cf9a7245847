// Parses arguments that people type: hex dumps and times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rpcrdma::cli {

// Replaces A to Z by a to z.
[[nodiscard]] std::string lower_case(std::string_view text);

// Parses bytes from hexadecimal digits; skips white space, ':', ',', '-' and "0x" between bytes.
// Also accepts dumps whose lines start with an offset of 4 to 8 digits and two or more spaces or a
// colon, and end at the ASCII column. Returns nothing for other characters or an odd number of
// digits.
[[nodiscard]] std::optional<std::vector<std::uint8_t>> parse_hex(std::string_view text);

// A time: seconds from the start of the capture ("1.5"), seconds since the epoch (from 1e8 on), or
// "YYYY-MM-DD HH:MM[:SS[.fraction]]" (or with a T between), or a time of day
// "HH:MM[:SS[.fraction]]". UTC, unless "Z" or a zone such as "+01:00" follows.
struct Moment {
  bool relative = false;
  std::int64_t ns = 0;
  bool of_day = false;  // ns counts from midnight UTC
  [[nodiscard]] std::int64_t absolute(std::int64_t start_ns) const {
    if (!of_day) return relative ? start_ns + ns : ns;
    return nearest_day(start_ns);
  }

 private:
  // A capture that begins before midnight reaches into the next day: of the two days, the one whose
  // time is less than twelve hours before the start.
  [[nodiscard]] std::int64_t nearest_day(std::int64_t start_ns) const {
    constexpr std::int64_t kDay = 86'400'000'000'000;
    const std::int64_t time = start_ns - (start_ns % kDay + kDay) % kDay + ns;
    return time < start_ns - kDay / 2 ? time + kDay : time;
  }
};
[[nodiscard]] std::optional<Moment> parse_moment(const std::string& text);

}  // namespace rpcrdma::cli
