// Histograms of durations with fixed buckets, so that counts of several endpoints and of several
// moments can be added and compared. An add() is a look-up and a few plain increments.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include <rpcrdma/fabric/time.h>
#include <rpcrdma/protocol/native_buckets.h>

namespace rpcrdma::protocol {

// In buckets of round numbers only: for counts that were made elsewhere in other buckets.
class RoundDurations {
 public:
  // Upper bound of each bucket: 1, 2 and 5 of each power of ten, from a microsecond to ten seconds.
  // One more bucket counts longer times.
  static constexpr std::array<fabric::Time, 22> kLongest = [] {
    std::array<fabric::Time, 22> longest{};
    fabric::Time decade = fabric::kMicrosecond;
    for (std::size_t i = 0; i < longest.size(); ++i) {
      constexpr std::array<fabric::Time, 3> kSteps{1, 2, 5};
      longest[i] = kSteps[i % kSteps.size()] * decade;
      if (i % kSteps.size() == kSteps.size() - 1) decade *= 10;
    }
    return longest;
  }();
  static constexpr std::size_t kBuckets = kLongest.size() + 1;

  // A negative time (the clock stepped back) counts as 0. `times`: that many of the same.
  void add(fabric::Time time, std::uint64_t times = 1) {
    time = std::max<fabric::Time>(time, 0);
    std::size_t bucket =
        kFirstOf[static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(time)))];
    while (bucket < kLongest.size() && time > kLongest[bucket]) ++bucket;
    buckets_[bucket] += times;
    count_ += times;
    sum_ += static_cast<std::uint64_t>(time) * times;
  }
  // For counts that were made elsewhere, whose sum is known better than from their buckets.
  void set_sum(std::uint64_t nanoseconds) { sum_ = nanoseconds; }

  RoundDurations& operator+=(const RoundDurations& other) {
    for (std::size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    return *this;
  }

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::uint64_t sum() const { return sum_; }  // nanoseconds
  // Counts per bucket, not cumulative.
  [[nodiscard]] std::span<const std::uint64_t, kBuckets> buckets() const { return buckets_; }

 private:
  // Indexed by a time's number of bits: the bucket of the shortest such time. That of the longest
  // is at most two further.
  static constexpr std::array<std::uint8_t, 65> kFirstOf = [] {
    std::array<std::uint8_t, 65> first{};
    for (std::size_t bits = 1; bits < first.size(); ++bits) {
      const auto shortest = std::uint64_t{1} << (bits - 1);
      std::uint8_t bucket = 0;
      while (bucket < kLongest.size() && static_cast<std::uint64_t>(kLongest[bucket]) < shortest) {
        ++bucket;
      }
      first[bits] = bucket;
    }
    return first;
  }();

  std::array<std::uint64_t, kBuckets> buckets_{};
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
};

// Counts each duration twice: in buckets of round numbers, and in those of Prometheus's native
// histograms. Four kilobytes.
class Durations {
 public:
  // A negative time (the clock stepped back) counts as 0.
  void add(fabric::Time time) {
    round_.add(time);
    native_.add(time);
  }
  Durations& operator+=(const Durations& other) {
    round_ += other.round_;
    native_ += other.native_;
    return *this;
  }

  [[nodiscard]] std::uint64_t count() const { return round_.count(); }
  [[nodiscard]] std::uint64_t sum() const { return round_.sum(); }  // nanoseconds
  [[nodiscard]] const RoundDurations& round() const { return round_; }
  [[nodiscard]] const NativeBuckets& native() const { return native_; }

 private:
  RoundDurations round_;
  NativeBuckets native_;
};

}  // namespace rpcrdma::protocol
