// Durations with a fixed relative error: mergeable, bounded, no allocation.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rpcrdma::base {

// Counts values 0 .. 2^48-1 (nanoseconds: 78 hours; larger values count as the maximum) in buckets
// whose width is at most 1/32 of their value. A quantile, returned as the middle of a bucket, is
// off by at most 1.6 %.
class Histogram {
 public:
  void add(std::int64_t value);  // a negative value (the clock stepped back) counts as 0
  void merge(const Histogram& other);

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::int64_t min() const { return count_ == 0 ? 0 : min_; }
  [[nodiscard]] std::int64_t max() const { return max_; }
  // The sum of all values; saturates at 2^64 - 1. An integer, so that the order of merging does not
  // matter.
  [[nodiscard]] std::uint64_t sum() const { return sum_; }
  [[nodiscard]] double mean() const;
  // Returns the value below which the fraction `q` (0..1) of all values lies; 0 if empty.
  [[nodiscard]] std::int64_t quantile(double q) const;

  // The non-empty buckets, lowest first, for storing a histogram.
  struct Bucket {
    std::uint32_t index = 0;
    std::uint32_t count = 0;
  };
  template <typename Function>
  void for_each_bucket(Function&& f) const {
    if (count_ == 0) return;
    const auto [first, end] = used();
    for (std::size_t i = first; i < end; ++i) {
      if (buckets_[i] != 0) f(Bucket{static_cast<std::uint32_t>(i), buckets_[i]});
    }
  }
  // Returns the smallest value that counts in a bucket.
  [[nodiscard]] static std::uint64_t lowest_of(std::size_t bucket);
  // Rebuilds a stored histogram; nothing if no histogram can have these parts.
  [[nodiscard]] static std::optional<Histogram> restore(std::int64_t min, std::int64_t max,
                                                        std::uint64_t sum,
                                                        std::span<const Bucket> buckets);

 private:
  static constexpr unsigned kSubBits = 5;
  static constexpr unsigned kMaxBits = 48;
  static constexpr std::size_t kBuckets = (kMaxBits - kSubBits + 1) << kSubBits;

  friend class CompactHistogram;
  static std::size_t bucket_of(std::uint64_t value);
  static std::uint64_t middle_of(std::size_t bucket);
  // The buckets from the smallest value to the largest, of a histogram that is not empty: a few of
  // all, mostly.
  struct Used {
    std::size_t first = 0;
    std::size_t end = 0;
  };
  [[nodiscard]] Used used() const {
    return {bucket_of(static_cast<std::uint64_t>(min_)),
            bucket_of(static_cast<std::uint64_t>(max_)) + 1};
  }

  std::array<std::uint32_t, kBuckets> buckets_{};  // a full bucket stays full
  std::uint64_t count_ = 0;
  std::int64_t min_ = 0;
  std::int64_t max_ = 0;
  std::uint64_t sum_ = 0;
};

// A Histogram that stores only its non-empty buckets, for tables with many rows: 8 bytes for each.
class CompactHistogram {
 public:
  CompactHistogram() = default;
  explicit CompactHistogram(const Histogram& h);

  void add(std::int64_t value);  // allocates only if the bucket is new
  void merge(const CompactHistogram& other);

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::int64_t max() const { return max_; }
  [[nodiscard]] std::uint64_t sum() const { return sum_; }
  [[nodiscard]] std::size_t bucket_count() const { return buckets_.size(); }  // non-empty ones
  [[nodiscard]] Histogram expanded() const;

 private:
  // Of the first bucket that is not below `index`.
  [[nodiscard]] std::size_t place_of(std::uint32_t index) const;

  std::vector<Histogram::Bucket> buckets_;  // by index
  std::uint64_t count_ = 0;
  std::int64_t min_ = 0;
  std::int64_t max_ = 0;
  std::uint64_t sum_ = 0;
};

}  // namespace rpcrdma::base
