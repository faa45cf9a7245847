// Numbers and times as the live views show them: short, and without digits that only flicker.
#pragma once

#include <cstdint>
#include <string>

namespace rpcrdma::top {

// "12:00:00", UTC.
[[nodiscard]] std::string clock_text(std::int64_t ns);
// Drops decimals of large numbers, which would only flicker.
[[nodiscard]] double rounded(double value);
// "12.3 us"; "-" if negative.
[[nodiscard]] std::string duration_text(std::int64_t ns);
// Shortens large numbers, whose last digits would only flicker.
[[nodiscard]] std::string brief(std::uint64_t value);
// "1 host", "2 hosts"
[[nodiscard]] std::string plural(std::uint64_t n, const char* what);

}  // namespace rpcrdma::top
