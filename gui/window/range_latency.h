// Latency of the Calls in a range of time, counted again from the rows.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include <rpcrdma/index/store.h>

namespace rpcrdma::gui {

struct RangeLatency {
  std::vector<index::ProcedureTimes> procedures;  // without parts
  std::uint64_t messages = 0;                     // in the range
  std::uint64_t counted = 0;                      // of them: the first ones
};

// For a thread of its own: it reads the store in short steps. Calls that were sent from `from_ns`
// to `to_ns`, both inside; at most `most` messages. Ends early once `cancelled` is set.
[[nodiscard]] RangeLatency range_latency(const index::Store& store, std::int64_t from_ns,
                                         std::int64_t to_ns, std::uint64_t most,
                                         const std::atomic<bool>& cancelled);

}  // namespace rpcrdma::gui
