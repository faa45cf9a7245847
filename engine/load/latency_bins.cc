#include <algorithm>
#include <bit>

#include <rpcrdma/load/latency_bins.h>

namespace rpcrdma::load {

void LatencyBins::coarsen() {
  ++shift_;
  std::map<std::int64_t, Counts> wider;
  for (const auto& [n, counts] : bins_) {
    Counts& to = wider[n >> 1];
    for (std::size_t i = 0; i < kBuckets; ++i) to[i] += counts[i];
  }
  bins_ = std::move(wider);
}

bool LatencyBins::fits(std::int64_t n) const {
  return bins_.empty() ||
         std::max(n, bins_.rbegin()->first) - std::min(n, bins_.begin()->first) < kMost;
}

void LatencyBins::add(fabric::Time ended, fabric::Time latency) {
  const auto width =
      std::bit_width(static_cast<std::uint64_t>(std::max<fabric::Time>(latency, 0)) >> 10U);
  while (!fits(ended >> shift_)) coarsen();
  ++bins_[ended >> shift_][std::min(static_cast<std::size_t>(width), kBuckets - 1)];
}

void LatencyBins::merge(const LatencyBins& other) {
  if (other.bins_.empty()) return;
  LatencyBins from = other;
  while (shift_ < from.shift_) coarsen();
  while (from.shift_ < shift_) from.coarsen();
  for (const auto& [n, counts] : from.bins_) {
    Counts& to = bins_[n];
    for (std::size_t i = 0; i < kBuckets; ++i) to[i] += counts[i];
  }
  while (!fits(bins_.begin()->first)) coarsen();
}

}  // namespace rpcrdma::load
