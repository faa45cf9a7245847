// The clock of events (CLOCK_MONOTONIC), and its offset from the wall clock of capture files.
#pragma once

#include <cstdint>

#include <rpcrdma/base/clock.h>

namespace rpcrdma::trace {

using base::kMicrosecond;
using base::kMillisecond;
using base::kSecond;
using base::monotonic_ns;

// Returns CLOCK_REALTIME minus CLOCK_MONOTONIC, in ns. It reads both clocks several times and uses
// the reading with the shortest interruption.
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
