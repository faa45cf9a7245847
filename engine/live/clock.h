// The two clocks: events have the monotonic one's time, files the wall clock's.
#pragma once

#include <cstdint>
#include <ctime>

namespace rpcrdma::trace {

inline constexpr std::int64_t kMicrosecond = 1'000;
inline constexpr std::int64_t kMillisecond = 1'000'000;
inline constexpr std::int64_t kSecond = 1'000'000'000;

inline std::int64_t clock_ns(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * kSecond + time.tv_nsec;
}
inline std::int64_t monotonic_ns() {
  return clock_ns(CLOCK_MONOTONIC);
}

// CLOCK_REALTIME less CLOCK_MONOTONIC, ns: of some readings the one that was interrupted least.
inline std::int64_t wall_offset_ns() {
  std::int64_t offset = 0, shortest = INT64_MAX;
  for (int i = 0; i < 5; ++i) {
    const std::int64_t before = monotonic_ns();
    const std::int64_t wall = clock_ns(CLOCK_REALTIME);
    const std::int64_t took = monotonic_ns() - before;
    if (took >= shortest) continue;
    shortest = took;
    offset = wall - before - took / 2;
  }
  return offset;
}

}  // namespace rpcrdma::trace
