// Numbers, sizes and durations as people type them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rpcrdma::base {

// Decimal, or hexadecimal behind "0x"; nothing for what is not a number of 32 bits.
[[nodiscard]] std::optional<std::uint32_t> parse_u32(std::string_view text);

// Bytes: a number, with a fraction or without, and k, M, G or T (of 1,000, as dumpcap and tcpdump
// count), or Ki, Mi, Gi, Ti (of 1,024); a B may follow. Nothing for 0 and what is over 2^62.
[[nodiscard]] std::optional<std::uint64_t> parse_size(std::string_view text);

// Nanoseconds: a number of seconds, or with one of ns, us, ms, s, m (or min), h, d. Nothing for 0,
// less than a nanosecond, and over a hundred years.
[[nodiscard]] std::optional<std::int64_t> parse_duration(std::string_view text);

}  // namespace rpcrdma::base
