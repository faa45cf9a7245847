// Time as an argument: nanoseconds of a clock that never goes back. Whose clock it is decides the
// caller: CLOCK_MONOTONIC, or the virtual time of a simulated link.
#pragma once

#include <cstdint>
#include <limits>

namespace rpcrdma::fabric {

using Time = std::int64_t;
inline constexpr Time kNever = std::numeric_limits<Time>::max();
inline constexpr Time kMicrosecond = 1'000;
inline constexpr Time kMillisecond = 1'000'000;
inline constexpr Time kSecond = 1'000'000'000;

}  // namespace rpcrdma::fabric
