#include <gmock/gmock.h>

#include <rpcrdma/protocol/durations.h>

namespace rpcrdma::protocol {
namespace {

using fabric::kMicrosecond;
using fabric::kMillisecond;
using fabric::kSecond;

// The only bucket that is not empty.
std::size_t bucket_of(fabric::Time time) {
  Durations d;
  d.add(time);
  std::size_t found = Durations::kBuckets;
  for (std::size_t i = 0; i < Durations::kBuckets; ++i) {
    if (d.buckets()[i] == 0) continue;
    EXPECT_EQ(d.buckets()[i], 1U);
    EXPECT_EQ(found, Durations::kBuckets) << time;
    found = i;
  }
  return found;
}

TEST(Durations, BucketsEndAtOneTwoAndFive) {
  EXPECT_THAT(
      Durations::kLongest,
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
  for (std::size_t i = 0; i < Durations::kLongest.size(); ++i) {
    EXPECT_EQ(bucket_of(Durations::kLongest[i] - 1), i);
    EXPECT_EQ(bucket_of(Durations::kLongest[i]), i);
    EXPECT_EQ(bucket_of(Durations::kLongest[i] + 1), i + 1);
  }
  EXPECT_EQ(bucket_of(fabric::kNever), Durations::kBuckets - 1);
}

// The look-up by the number of bits finds the same bucket as a linear search.
TEST(Durations, EveryPowerOfTwoLiesWhereItBelongs) {
  for (unsigned bits = 0; bits < 63; ++bits) {
    for (const fabric::Time time : {(fabric::Time{1} << bits) - 1, fabric::Time{1} << bits}) {
      std::size_t bucket = 0;
      while (bucket < Durations::kLongest.size() && time > Durations::kLongest[bucket]) ++bucket;
      EXPECT_EQ(bucket_of(time), bucket) << time;
    }
  }
}

TEST(Durations, AddUp) {
  Durations a, b;
  a.add(3 * kMicrosecond);
  a.add(-1);
  b.add(4 * kMicrosecond);
  b.add(20 * kSecond);
  a += b;
  EXPECT_EQ(a.count(), 4U);
  EXPECT_EQ(a.sum(), 20'000'007'000U);
  EXPECT_EQ(a.buckets()[0], 1U);
  EXPECT_EQ(a.buckets()[2], 2U);
  EXPECT_EQ(a.buckets()[Durations::kBuckets - 1], 1U);
}

}  // namespace
}  // namespace rpcrdma::protocol
