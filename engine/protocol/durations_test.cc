#include <algorithm>
#include <cmath>
#include <numeric>

#include <gmock/gmock.h>

#include <rpcrdma/protocol/durations.h>

namespace rpcrdma::protocol {
namespace {

using fabric::kMicrosecond;
using fabric::kMillisecond;
using fabric::kSecond;

// The only bucket that is not empty.
std::size_t bucket_of(fabric::Time time) {
  RoundDurations d;
  d.add(time);
  std::size_t found = RoundDurations::kBuckets;
  for (std::size_t i = 0; i < RoundDurations::kBuckets; ++i) {
    if (d.buckets()[i] == 0) continue;
    EXPECT_EQ(d.buckets()[i], 1U);
    EXPECT_EQ(found, RoundDurations::kBuckets) << time;
    found = i;
  }
  return found;
}

TEST(Durations, BucketsEndAtOneTwoAndFive) {
  EXPECT_THAT(
      RoundDurations::kLongest,
      ::testing::ElementsAre(kMicrosecond, 2 * kMicrosecond, 5 * kMicrosecond, 10 * kMicrosecond,
                             20 * kMicrosecond, 50 * kMicrosecond, 100 * kMicrosecond,
                             200 * kMicrosecond, 500 * kMicrosecond, kMillisecond, 2 * kMillisecond,
                             5 * kMillisecond, 10 * kMillisecond, 20 * kMillisecond,
                             50 * kMillisecond, 100 * kMillisecond, 200 * kMillisecond,
                             500 * kMillisecond, kSecond, 2 * kSecond, 5 * kSecond, 10 * kSecond));
}

TEST(Durations, ABucketHoldsItsLongestTimeAndNoLongerOne) {
  EXPECT_EQ(bucket_of(-5), 0U);
  EXPECT_EQ(bucket_of(0), 0U);
  EXPECT_EQ(bucket_of(1), 0U);
  for (std::size_t i = 0; i < RoundDurations::kLongest.size(); ++i) {
    EXPECT_EQ(bucket_of(RoundDurations::kLongest[i] - 1), i);
    EXPECT_EQ(bucket_of(RoundDurations::kLongest[i]), i);
    EXPECT_EQ(bucket_of(RoundDurations::kLongest[i] + 1), i + 1);
  }
  EXPECT_EQ(bucket_of(fabric::kNever), RoundDurations::kBuckets - 1);
}

// The look-up by the number of bits finds the same bucket as a linear search.
TEST(Durations, EveryPowerOfTwoLiesWhereItBelongs) {
  for (unsigned bits = 0; bits < 63; ++bits) {
    for (const fabric::Time time : {(fabric::Time{1} << bits) - 1, fabric::Time{1} << bits}) {
      std::size_t bucket = 0;
      while (bucket < RoundDurations::kLongest.size() && time > RoundDurations::kLongest[bucket])
        ++bucket;
      EXPECT_EQ(bucket_of(time), bucket) << time;
    }
  }
}

TEST(Durations, RoundOnesAddUp) {
  RoundDurations a, b;
  a.add(3 * kMicrosecond);
  a.add(-1);
  b.add(4 * kMicrosecond);
  b.add(20 * kSecond);
  a += b;
  EXPECT_EQ(a.count(), 4U);
  EXPECT_EQ(a.sum(), 20'000'007'000U);
  EXPECT_EQ(a.buckets()[0], 1U);
  EXPECT_EQ(a.buckets()[2], 2U);
  EXPECT_EQ(a.buckets()[RoundDurations::kBuckets - 1], 1U);
}

TEST(Durations, AreCountedInBothKindsOfBuckets) {
  Durations a, b;
  for (fabric::Time time = 1; time < 100 * kSecond; time = time * 3 / 2 + 1) a.add(time);
  b.add(-1);
  b.add(kMicrosecond);
  a += b;
  EXPECT_EQ(std::reduce(a.round().buckets().begin(), a.round().buckets().end()), a.count());
  EXPECT_EQ(std::reduce(a.native().counts().begin(), a.native().counts().end()), a.count());
  EXPECT_GT(a.count(), 60U);
}

// The only bucket that is not empty.
std::size_t native_bucket_of(fabric::Time time) {
  NativeBuckets n;
  n.add(time);
  const auto counts = n.counts();
  EXPECT_EQ(std::reduce(counts.begin(), counts.end()), 1U);
  return static_cast<std::size_t>(std::ranges::find(counts, 1U) - counts.begin());
}

// As Prometheus defines them: bucket i holds what is above 2^((i-1)/8) seconds and up to 2^(i/8).
TEST(NativeBuckets, EndAtPowersOfTwoOfASecond) {
  constexpr std::size_t kLast = NativeBuckets::kBuckets - 1;
  const auto seconds_at_end = [](std::size_t bucket) {
    return std::exp2(static_cast<double>(NativeBuckets::number_of(bucket)) / 8);
  };
  EXPECT_EQ(NativeBuckets::number_of(0), -192);
  for (std::size_t i = 0; i < kLast; ++i) {
    const double longest = static_cast<double>(NativeBuckets::kLongest[i]);
    const double end = seconds_at_end(i) * 1e9;
    if (NativeBuckets::kLongest[i] == fabric::kNever) {
      EXPECT_GE(end, longest);
      continue;
    }
    // One that is in whole nanoseconds is at most one shorter.
    EXPECT_LE(longest, end * (1 + 1e-15)) << i;
    EXPECT_GE(longest + 1, end * (1 - 1e-15)) << i;
  }
  EXPECT_EQ(NativeBuckets::kLongest[24 * 8], kSecond);
  EXPECT_EQ(NativeBuckets::kLongest[23 * 8], kSecond / 2);
  EXPECT_EQ(NativeBuckets::kLongest[25 * 8], 2 * kSecond);
  // Every time has a bucket of its own.
  EXPECT_EQ(NativeBuckets::kLongest[kLast], fabric::kNever);
}

TEST(NativeBuckets, HoldTheirLongestTimeAndNoLongerOne) {
  EXPECT_EQ(native_bucket_of(-5), 0U);
  EXPECT_EQ(native_bucket_of(0), 0U);
  EXPECT_EQ(native_bucket_of(59), 0U);
  EXPECT_EQ(native_bucket_of(60), 1U);
  for (std::size_t i = 0; i < NativeBuckets::kBuckets; ++i) {
    const fabric::Time longest = NativeBuckets::kLongest[i];
    if (longest == fabric::kNever) break;
    EXPECT_EQ(native_bucket_of(longest - 1), i);
    EXPECT_EQ(native_bucket_of(longest), i);
    EXPECT_EQ(native_bucket_of(longest + 1), i + 1);
  }
  EXPECT_EQ(NativeBuckets::kLongest[native_bucket_of(fabric::kNever)], fabric::kNever);
}

// The look-up finds the same bucket as a linear search.
TEST(NativeBuckets, EveryTimeLiesWhereItBelongs) {
  for (double time = 1; time < 9e18; time *= 1.003) {
    const auto t = static_cast<fabric::Time>(time);
    std::size_t bucket = 0;
    while (t > NativeBuckets::kLongest[bucket]) ++bucket;
    ASSERT_EQ(native_bucket_of(t), bucket) << t;
  }
}

}  // namespace
}  // namespace rpcrdma::protocol
