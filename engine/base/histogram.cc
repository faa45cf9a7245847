#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include <rpcrdma/base/histogram.h>

namespace rpcrdma::base {

namespace {

template <typename T>
T saturating_sum(T a, T b) {
  T sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<T>::max() : sum;
}

}  // namespace

std::size_t Histogram::bucket_of(std::uint64_t value) {
  value = std::min(value, (std::uint64_t{1} << kMaxBits) - 1);
  const auto width = static_cast<unsigned>(std::bit_width(value));
  if (width <= kSubBits + 1) return static_cast<std::size_t>(value);
  const unsigned shift = width - (kSubBits + 1);
  return ((static_cast<std::size_t>(shift) + 1) << kSubBits) +
         static_cast<std::size_t>((value >> shift) & ((1U << kSubBits) - 1));
}

std::uint64_t Histogram::lowest_of(std::size_t bucket) {
  if (bucket < (2U << kSubBits)) return bucket;
  const auto shift = static_cast<unsigned>((bucket >> kSubBits) - 1);
  return ((std::uint64_t{1} << kSubBits) | (bucket & ((1U << kSubBits) - 1))) << shift;
}

std::uint64_t Histogram::middle_of(std::size_t bucket) {
  if (bucket < (2U << kSubBits)) return bucket;
  const auto shift = static_cast<unsigned>((bucket >> kSubBits) - 1);
  return lowest_of(bucket) + (std::uint64_t{1} << shift) / 2;
}

void Histogram::add(std::int64_t value) {
  value = std::max<std::int64_t>(value, 0);
  std::uint32_t& bucket = buckets_[bucket_of(static_cast<std::uint64_t>(value))];
  bucket = saturating_sum(bucket, 1U);
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = std::max(max_, value);
  sum_ = saturating_sum(sum_, static_cast<std::uint64_t>(value));
  ++count_;
}

void Histogram::merge(const Histogram& other) {
  if (other.count_ == 0) return;
  const auto [first, end] = other.used();
  for (std::size_t i = first; i < end; ++i) {
    buckets_[i] = saturating_sum(buckets_[i], other.buckets_[i]);
  }
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  sum_ = saturating_sum(sum_, other.sum_);
  count_ += other.count_;
}

double Histogram::mean() const {
  return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_);
}

std::int64_t Histogram::quantile(double q) const {
  if (count_ == 0) return 0;
  const double wanted = std::clamp(q, 0.0, 1.0) * static_cast<double>(count_);
  std::uint64_t seen = 0;
  const auto [first, end] = used();
  for (std::size_t i = first; i < end; ++i) {
    seen += buckets_[i];
    if (static_cast<double>(seen) >= wanted) {
      return std::clamp(static_cast<std::int64_t>(middle_of(i)), min_, max_);
    }
  }
  return max_;
}

std::optional<Histogram> Histogram::restore(std::int64_t min, std::int64_t max, std::uint64_t sum,
                                            std::span<const Bucket> buckets) {
  Histogram h;
  if (buckets.empty()) {
    return min == 0 && max == 0 && sum == 0 ? std::optional(h) : std::nullopt;
  }
  if (min < 0 || max < min || bucket_of(static_cast<std::uint64_t>(min)) != buckets.front().index ||
      bucket_of(static_cast<std::uint64_t>(max)) != buckets.back().index) {
    return std::nullopt;
  }
  std::int64_t before = -1;
  for (const Bucket& b : buckets) {
    if (b.index >= kBuckets || std::int64_t{b.index} <= before || b.count == 0) return std::nullopt;
    before = b.index;
    h.buckets_[b.index] = b.count;
    h.count_ += b.count;
  }
  h.min_ = min;
  h.max_ = max;
  h.sum_ = sum;
  return h;
}

CompactHistogram::CompactHistogram(const Histogram& h)
    : count_(h.count_), min_(h.min_), max_(h.max_), sum_(h.sum_) {
  h.for_each_bucket([this](Histogram::Bucket b) { buckets_.push_back(b); });
}

// Without a branch: latencies are random, and a branch predicted wrongly costs more than all steps
// of the search.
std::size_t CompactHistogram::place_of(std::uint32_t index) const {
  const Histogram::Bucket* at = buckets_.data();
  std::size_t left = buckets_.size();
  while (left > 1) {
    const std::size_t half = left / 2;
    at += at[half - 1].index < index ? half : 0;
    left -= half;
  }
  const auto before = static_cast<std::size_t>(at - buckets_.data());
  return before + (left == 1 && at->index < index ? 1 : 0);
}

void CompactHistogram::add(std::int64_t value) {
  value = std::max<std::int64_t>(value, 0);
  const auto index =
      static_cast<std::uint32_t>(Histogram::bucket_of(static_cast<std::uint64_t>(value)));
  auto at = buckets_.begin() + static_cast<std::ptrdiff_t>(place_of(index));
  if (at == buckets_.end() || at->index != index) at = buckets_.insert(at, {index, 0});
  at->count = saturating_sum(at->count, 1U);
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = std::max(max_, value);
  sum_ = saturating_sum(sum_, static_cast<std::uint64_t>(value));
  ++count_;
}

void CompactHistogram::merge(const CompactHistogram& other) {
  if (other.count_ == 0) return;
  std::vector<Histogram::Bucket> both;
  both.reserve(buckets_.size() + other.buckets_.size());
  auto a = buckets_.begin();
  for (const Histogram::Bucket& b : other.buckets_) {
    while (a != buckets_.end() && a->index < b.index) both.push_back(*a++);
    both.push_back(b);
    if (a != buckets_.end() && a->index == b.index) {
      both.back().count = saturating_sum(both.back().count, (a++)->count);
    }
  }
  both.insert(both.end(), a, buckets_.end());
  buckets_ = std::move(both);
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  sum_ = saturating_sum(sum_, other.sum_);
  count_ += other.count_;
}

Histogram CompactHistogram::expanded() const {
  Histogram h;
  for (const Histogram::Bucket& b : buckets_) h.buckets_[b.index] = b.count;
  h.count_ = count_;
  h.min_ = min_;
  h.max_ = max_;
  h.sum_ = sum_;
  return h;
}

}  // namespace rpcrdma::base
