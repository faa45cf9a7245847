// The clock of events, and how far the clock of files is ahead of it.
#pragma once

#include <cstdint>

#include <rpcrdma/base/clock.h>

namespace rpcrdma::trace {

using base::kMicrosecond;
using base::kMillisecond;
using base::kSecond;
using base::monotonic_ns;

// CLOCK_REALTIME less CLOCK_MONOTONIC, ns: of some readings the one that was interrupted least.
inline std::int64_t wall_offset_ns() {
  std::int64_t offset = 0, shortest = INT64_MAX;
  for (int i = 0; i < 5; ++i) {
    const std::int64_t before = monotonic_ns();
    const std::int64_t wall = base::wall_clock_ns();
    const std::int64_t took = monotonic_ns() - before;
    if (took >= shortest) continue;
    shortest = took;
    offset = wall - before - took / 2;
  }
  return offset;
}

}  // namespace rpcrdma::trace
