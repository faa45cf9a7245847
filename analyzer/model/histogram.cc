#include <algorithm>
#include <bit>

#include <rpcrdma/model/histogram.h>

namespace rpcrdma::model {

std::size_t Histogram::bucket_of(std::uint64_t value) {
  value = std::min(value, (std::uint64_t{1} << kMaxBits) - 1);
  const auto width = static_cast<unsigned>(std::bit_width(value));
  if (width <= kSubBits + 1) return static_cast<std::size_t>(value);
  const unsigned shift = width - (kSubBits + 1);
  return ((static_cast<std::size_t>(shift) + 1) << kSubBits) +
         static_cast<std::size_t>((value >> shift) & ((1U << kSubBits) - 1));
}

std::uint64_t Histogram::middle_of(std::size_t bucket) {
  if (bucket < (2U << kSubBits)) return bucket;
  const auto shift = static_cast<unsigned>((bucket >> kSubBits) - 1);
  const std::uint64_t low = ((std::uint64_t{1} << kSubBits) | (bucket & ((1U << kSubBits) - 1)))
                            << shift;
  return low + (std::uint64_t{1} << shift) / 2;
}

void Histogram::add(std::int64_t value) {
  value = std::max<std::int64_t>(value, 0);
  ++buckets_[bucket_of(static_cast<std::uint64_t>(value))];
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = std::max(max_, value);
  sum_ += static_cast<double>(value);
  ++count_;
}

void Histogram::merge(const Histogram& other) {
  if (other.count_ == 0) return;
  for (std::size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  sum_ += other.sum_;
  count_ += other.count_;
}

double Histogram::mean() const {
  return count_ == 0 ? 0 : sum_ / static_cast<double>(count_);
}

std::int64_t Histogram::quantile(double q) const {
  if (count_ == 0) return 0;
  const double wanted = std::clamp(q, 0.0, 1.0) * static_cast<double>(count_);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    seen += buckets_[i];
    if (seen != 0 && static_cast<double>(seen) >= wanted) {
      return std::clamp(static_cast<std::int64_t>(middle_of(i)), min_, max_);
    }
  }
  return max_;
}

}  // namespace rpcrdma::model
