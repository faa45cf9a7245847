// The two clocks of the system, in nanoseconds. Events and deadlines use the monotonic clock, files
// the wall clock.
#pragma once

#include <cstdint>
#include <ctime>

namespace rpcrdma::base {

inline constexpr std::int64_t kMicrosecond = 1'000;
inline constexpr std::int64_t kMillisecond = 1'000'000;
inline constexpr std::int64_t kSecond = 1'000'000'000;

inline std::int64_t clock_ns(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * kSecond + time.tv_nsec;
}
// CLOCK_MONOTONIC: it never goes backwards.
inline std::int64_t monotonic_ns() {
  return clock_ns(CLOCK_MONOTONIC);
}
// CLOCK_REALTIME: since the epoch.
inline std::int64_t wall_clock_ns() {
  return clock_ns(CLOCK_REALTIME);
}

}  // namespace rpcrdma::base
