#include <algorithm>
#include <bit>
#include <utility>

#include <rpcrdma/load/latency_bins.h>

namespace rpcrdma::load {

namespace {

constexpr unsigned kMaxShift = 62;

void add_counts(LatencyBins::Counts& to, const LatencyBins::Counts& from) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (__builtin_add_overflow(to[i], from[i], &to[i])) to[i] = UINT32_MAX;
  }
}

}  // namespace

void LatencyBins::coarsen() {
  ++shift_;
  std::map<std::int64_t, Counts> wider;
  for (const auto& [n, counts] : bins_) {
    add_counts(wider[n >> 1], counts);
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
  std::uint32_t& bucket =
      bins_[ended >> shift_][std::min(static_cast<std::size_t>(width), kBuckets - 1)];
  if (bucket != UINT32_MAX) ++bucket;
}

void LatencyBins::merge(const LatencyBins& other) {
  if (other.bins_.empty()) return;
  LatencyBins from = other;
  while (shift_ < from.shift_) coarsen();
  while (from.shift_ < shift_) from.coarsen();
  for (const auto& [n, counts] : from.bins_) {
    add_counts(bins_[n], counts);
  }
  while (!fits(bins_.begin()->first)) coarsen();
}

std::optional<LatencyBins> LatencyBins::restore(unsigned shift,
                                                std::map<std::int64_t, Counts> bins) {
  LatencyBins restored;
  if (bins.empty()) return shift == kMinShift ? std::optional(restored) : std::nullopt;
  // Within these, no time overflows.
  const std::int64_t limit = std::int64_t{1} << (62 - std::min(shift, 62U));
  if (shift < kMinShift || shift > kMaxShift || bins.begin()->first < -limit ||
      bins.rbegin()->first >= limit || bins.rbegin()->first - bins.begin()->first >= kMost) {
    return std::nullopt;
  }
  restored.shift_ = shift;
  restored.bins_ = std::move(bins);
  return restored;
}

}  // namespace rpcrdma::load
