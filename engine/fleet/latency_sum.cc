#include "latency_sum.h"

#include <algorithm>

namespace rpcrdma::fleet {

void LatencySum::add(const base::Histogram& h) {
  if (h.count() == 0) return;
  h.for_each_bucket([this](base::Histogram::Bucket b) {
    if (b.index < kBuckets) buckets_[b.index] += b.count;
  });
  min_ = count_ == 0 ? h.min() : std::min(min_, h.min());
  max_ = std::max(max_, h.max());
  count_ += h.count();
}

std::int64_t LatencySum::quantile(double q) const {
  const double wanted = q * static_cast<double>(count_);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    seen += buckets_[i];
    if (seen == 0 || static_cast<double>(seen) < wanted) continue;
    const std::uint64_t low = base::Histogram::lowest_of(i);
    const std::uint64_t width = base::Histogram::lowest_of(i + 1) - low;
    return std::clamp(static_cast<std::int64_t>(low + width / 2), min_, max_);
  }
  return max_;
}

ViewLatency LatencySum::latency() const {
  if (count_ == 0) return {};
  return {count_, quantile(0.5), quantile(0.99), quantile(0.999), max_};
}

}  // namespace rpcrdma::fleet
