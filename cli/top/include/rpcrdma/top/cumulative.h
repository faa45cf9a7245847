// What has happened on all gathered endpoints since the view began, for those who subtract: counts
// and latencies that only grow.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <rpcrdma/base/histogram.h>
#include <rpcrdma/top/shown.h>

namespace rpcrdma::top {

struct Cumulative {
  Totals totals;
  base::Histogram latency;  // of all answered Calls
  // Increases when `latency` begins anew, before a bucket is full.
  std::uint64_t latency_epoch = 0;
  // Sums over open connections, now.
  std::size_t open = 0;
  std::uint64_t requested = 0, granted = 0, in_use = 0, waiting = 0;
  trace_reader::ReaderStats events;
  std::uint64_t faults = 0;              // packets affected by declared faults
  std::array<std::uint64_t, 3> found{};  // by rules::Severity
};

}  // namespace rpcrdma::top
