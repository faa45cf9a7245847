// The sum of many histograms. Its counts are wide enough for a fleet's Calls, which fill a bucket
// of a histogram.
#pragma once

#include <array>
#include <cstdint>

#include <rpcrdma/base/histogram.h>
#include <rpcrdma/fleet/view.h>

namespace rpcrdma::fleet {

class LatencySum {
 public:
  void add(const base::Histogram& h);
  [[nodiscard]] ViewLatency latency() const;

 private:
  // As many as a histogram has, see lowest_of().
  static constexpr std::size_t kBuckets = 1408;

  [[nodiscard]] std::int64_t quantile(double q) const;

  std::array<std::uint64_t, kBuckets> buckets_{};
  std::uint64_t count_ = 0;
  std::int64_t min_ = 0, max_ = 0;
};

}  // namespace rpcrdma::fleet
