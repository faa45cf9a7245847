// Time as an argument: nanoseconds of a monotonic clock. The caller chooses the clock:
// CLOCK_MONOTONIC, or the virtual time of a simulated link.
#pragma once

#include <cstdint>
#include <limits>

#include <rpcrdma/base/clock.h>

namespace rpcrdma::fabric {

using Time = std::int64_t;
inline constexpr Time kNever = std::numeric_limits<Time>::max();
using base::kMicrosecond;
using base::kMillisecond;
using base::kSecond;

}  // namespace rpcrdma::fabric
