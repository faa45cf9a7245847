// Counts durations in the buckets of Prometheus's native histograms: eight per power of two, so
// that each ends 9 % above the one before it. Their bounds are powers of two of a second, which no
// histogram with other bounds can be converted to, so they are counted where the durations are
// made.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <rpcrdma/fabric/time.h>

namespace rpcrdma::protocol {

class NativeBuckets {
 public:
  // Bucket i of schema n ends at 2^(i / 2^n) seconds and begins at the end of bucket i - 1.
  static constexpr int kSchema = 3;
  // Durations up to 2^kZeroExponent seconds (60 ns), which includes its bound, are in the zero
  // bucket.
  static constexpr int kZeroExponent = -24;
  // Exponent of the end of the last bucket: all of fabric::Time.
  static constexpr int kLastExponent = 34;
  // The zero bucket, then all others.
  static constexpr std::size_t kBuckets =
      (std::size_t{kLastExponent - kZeroExponent} << kSchema) + 1;

  // Returns Prometheus's number of a bucket other than the zero bucket.
  [[nodiscard]] static constexpr int number_of(std::size_t bucket) {
    return (kZeroExponent << kSchema) + static_cast<int>(bucket);
  }
  // The longest duration in each bucket, in whole nanoseconds.
  static constexpr std::array<fabric::Time, kBuckets> kLongest = [] {
    // 2^(i/8) for i from 0 to 7
    constexpr std::array<double, std::size_t{1} << kSchema> kSteps{1.0,
                                                                   1.0905077326652577,
                                                                   1.1892071150027210,
                                                                   1.2968395546510096,
                                                                   1.4142135623730951,
                                                                   1.5422108254079407,
                                                                   1.6817928305074290,
                                                                   1.8340080864093424};
    constexpr auto kMost = std::numeric_limits<fabric::Time>::max();
    std::array<fabric::Time, kBuckets> longest{};
    double octave = static_cast<double>(fabric::kSecond);
    for (int i = 0; i < -kZeroExponent; ++i) octave /= 2;
    for (std::size_t i = 0; i < kBuckets; ++i) {
      const double end = octave * kSteps[i % kSteps.size()];
      longest[i] = end < static_cast<double>(kMost) ? static_cast<fabric::Time>(end) : kMost;
      if (i % kSteps.size() == kSteps.size() - 1) octave *= 2;
    }
    return longest;
  }();

  // A negative time (the clock stepped back) counts as 0.
  void add(fabric::Time time) { ++counts_[bucket_of(time)]; }

  NativeBuckets& operator+=(const NativeBuckets& other) {
    for (std::size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
    return *this;
  }

  // Counts per bucket, not cumulative.
  [[nodiscard]] std::span<const std::uint64_t, kBuckets> counts() const { return counts_; }

 private:
  // Times that share their number of bits and the kBits bits below the highest differ by less than
  // 7 %, so that at most one bound lies among them.
  static constexpr unsigned kBits = 4;

  static std::size_t bucket_of(fabric::Time time) {
    if (time <= kLongest[0]) return 0;
    const auto value = static_cast<std::uint64_t>(time);
    const std::size_t first = kFirstOf[row_of(value)];
    return first + (time > kLongest[first] ? 1 : 0);
  }

  // `value`: at least 2^kBits
  static constexpr std::size_t row_of(std::uint64_t value) {
    const auto width = static_cast<unsigned>(std::bit_width(value));
    return ((width - 1) << kBits | (value >> (width - 1 - kBits) & ((1U << kBits) - 1)));
  }

  // Indexed by row_of(): the bucket of the shortest time of that row.
  static constexpr std::array<std::uint16_t, std::size_t{64} << kBits> kFirstOf = [] {
    std::array<std::uint16_t, std::size_t{64} << kBits> first{};
    std::uint16_t bucket = 0;
    for (std::size_t row = kBits << kBits; row < first.size(); ++row) {
      const std::size_t width = row >> kBits;
      const std::uint64_t shortest = ((1U << kBits) | (row & ((1U << kBits) - 1)))
                                     << (width - kBits);
      while (bucket + 1U < kBuckets && static_cast<std::uint64_t>(kLongest[bucket]) < shortest) {
        ++bucket;
      }
      first[row] = bucket;
    }
    return first;
  }();

  std::array<std::uint64_t, kBuckets> counts_{};
};

}  // namespace rpcrdma::protocol
