#include "time_scale.h"

#include <limits>

#include <gtest/gtest.h>

namespace rpcrdma::capture {
namespace {

constexpr std::uint64_t kAllOnes = ~std::uint64_t{0};
constexpr std::int64_t kMax = TimeScale::kMaxNs;
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

TEST(TimeScale, TimesOutOfRangeGiveTheLastOne) {
  EXPECT_EQ(TimeScale(6, 0).to_ns(kAllOnes), kMax);
  EXPECT_EQ(TimeScale(9, 0).to_ns(kAllOnes), kMax);
  EXPECT_EQ(TimeScale(0x80, 0).to_ns(kAllOnes), kMax);
  EXPECT_EQ(TimeScale(9, kMax).to_ns(1), kMax);
  EXPECT_EQ(TimeScale(9, kMin).to_ns(0), -kMax);
}

TEST(TimeScale, TicksFinerThanNanosecondsRoundDown) {
  EXPECT_EQ(TimeScale(10, 0).to_ns(19), 1);
  EXPECT_EQ(TimeScale(28, 0).to_ns(kAllOnes), 1);
  EXPECT_EQ(TimeScale(29, 0).to_ns(kAllOnes), 0);
  EXPECT_EQ(TimeScale(0x7f, 0).to_ns(kAllOnes), 0);
}

TEST(TimeScale, BinaryTicks) {
  EXPECT_EQ(TimeScale(0x80 | 32, 0).to_ns(0x180000000), 1'500'000'000);
  EXPECT_EQ(TimeScale(0x80 | 64, 0).to_ns(kAllOnes), 999'999'999);
  EXPECT_EQ(TimeScale(0xff, 0).to_ns(kAllOnes), 0);
}

TEST(TimeScale, WholeSeconds) {
  EXPECT_EQ(TimeScale(0, 0).to_ns(3), 3'000'000'000);
}

}  // namespace
}  // namespace rpcrdma::capture
