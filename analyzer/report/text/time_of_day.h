// Times of a source whose clock counts from the start of its machine, as a time of day.
#pragma once

#include <cstdint>

#include <rpcrdma/ends/ends.h>

namespace rpcrdma::report {

// Earlier times since 1970 count from the start of a machine.
inline constexpr std::int64_t kLongestUptimeNs = 365LL * 86'400 * 1'000'000'000;

// The source whose clock shows the time of day, if that of the reference does not; or null.
[[nodiscard]] inline const ends::Source* shows_time_of_day(const ends::Ends& ends) {
  for (const ends::Source& s : ends.sources) {
    if (s.reference || s.clock.stretches.empty()) continue;
    if (s.clock.stretches.front().offset_ns < -kLongestUptimeNs) return &s;
  }
  return nullptr;
}

// A time of the reference as a time of day, if any source shows it.
[[nodiscard]] inline std::int64_t time_of_day(const ends::Ends& ends, std::int64_t ns) {
  const ends::Source* const day = shows_time_of_day(ends);
  if (day == nullptr || ns < 0 || ns >= kLongestUptimeNs) return ns;
  const std::int64_t offset = day->clock.stretches.front().offset_ns;
  return offset > INT64_MIN + kLongestUptimeNs ? ns - offset : ns;
}

}  // namespace rpcrdma::report
