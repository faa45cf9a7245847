// Latencies over time, in coarse buckets: enough to see how much the Calls of one run depend on
// each other (docs/compare.md). Memory is bounded: the width of the bins doubles when needed.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include <rpcrdma/fabric/time.h>

namespace rpcrdma::load {

class LatencyBins {
 public:
  static constexpr std::int64_t kMost = 64;    // bins from the first to the last
  static constexpr unsigned kMinShift = 20;    // 2^20 ns is about a millisecond
  static constexpr std::size_t kBuckets = 24;  // below 1,024 ns, below 2,048 ns, and so on
  // A full bucket stays full.
  using Counts = std::array<std::uint32_t, kBuckets>;

  void add(fabric::Time ended, fabric::Time latency);
  void merge(const LatencyBins& other);
  // Rebuilds stored bins; nothing if no LatencyBins can have these.
  [[nodiscard]] static std::optional<LatencyBins> restore(unsigned shift,
                                                          std::map<std::int64_t, Counts> bins);

  // Bin n starts at n * 2^shift() ns of the clock. Without empty bins.
  [[nodiscard]] unsigned shift() const { return shift_; }
  [[nodiscard]] const std::map<std::int64_t, Counts>& bins() const { return bins_; }

 private:
  // Whether all bins and bin `n` are within kMost.
  [[nodiscard]] bool fits(std::int64_t n) const;
  void coarsen();  // doubles the width

  unsigned shift_ = kMinShift;
  std::map<std::int64_t, Counts> bins_;
};

}  // namespace rpcrdma::load
