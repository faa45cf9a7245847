// Numbers, sizes and durations as people type them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rpcrdma::base {

// Decimal, or hexadecimal after "0x"; nothing if it is not a 32-bit number.
[[nodiscard]] std::optional<std::uint32_t> parse_u32(std::string_view text);

// Bytes: a number, optionally with a fraction, and optionally k, M, G or T (powers of 1,000, as in
// dumpcap and tcpdump) or Ki, Mi, Gi, Ti (powers of 1,024); a B may follow. Nothing for 0 and for
// values over 2^62.
[[nodiscard]] std::optional<std::uint64_t> parse_size(std::string_view text);

// Nanoseconds, from a number of seconds or a number with one of ns, us, ms, s, m (or min), h, d.
// Nothing for 0, for less than a nanosecond, and for over a hundred years.
[[nodiscard]] std::optional<std::int64_t> parse_duration(std::string_view text);

}  // namespace rpcrdma::base
