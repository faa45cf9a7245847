// Durations and sizes as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace rpcrdma::base {

// "873 ns", "18.2 us", "1.87 ms", "2.050 s"; "-" for a negative one.
[[nodiscard]] std::string format_duration(std::int64_t ns);
// "5003 B", "64 KiB", "1.5 MiB"
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);

}  // namespace rpcrdma::base
