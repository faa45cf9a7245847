#include "scale.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rpcrdma::plot {
namespace {

using testing::ElementsAre;

TEST(Scale, TicksAreRound) {
  EXPECT_THAT(value_axis(Unit::kCount, 0, 128, false, 5).ticks, ElementsAre(0, 50, 100, 150));
  EXPECT_THAT(value_axis(Unit::kCount, 0, 2, false, 5).ticks, ElementsAre(0, 1, 2));
  EXPECT_THAT(value_axis(Unit::kBytes, 0, 100000, false, 5).ticks,
              ElementsAre(0, 32768, 65536, 98304, 131072));
  EXPECT_THAT(time_axis(Unit::kSeconds, 0, 100, 5).ticks, ElementsAre(0, 30, 60, 90));
  EXPECT_THAT(time_axis(Unit::kSeconds, 0, 7200, 5).ticks, ElementsAre(0, 1800, 3600, 5400, 7200));
  EXPECT_EQ(time_axis(Unit::kSeconds, 0, 86400. * 365, 5).ticks.size(), 4U);  // every 100 days
}

TEST(Scale, LogTicksAreDecades) {
  const Axis axis = value_axis(Unit::kSeconds, 2e-5, 3e-3, true, 6);
  EXPECT_DOUBLE_EQ(axis.scale.low, 1e-5);
  EXPECT_DOUBLE_EQ(axis.scale.high, 1e-2);
  EXPECT_EQ(axis.ticks.size(), 4U);
  EXPECT_THAT(
      value_axis(Unit::kSeconds, 1e-3, 1e-2, true, 6).ticks,
      ElementsAre(1e-3, testing::DoubleEq(2e-3), testing::DoubleEq(5e-3), testing::DoubleEq(1e-2)));
  EXPECT_NEAR(axis.scale.at(1e-4), 1.0 / 3, 1e-9);
  EXPECT_NEAR(axis.scale.value(1.0 / 3), 1e-4, 1e-12);
  EXPECT_EQ(axis.scale.at(0), 0);
  EXPECT_EQ(axis.scale.at(5), 1);
}

TEST(Scale, LogTicksOfBytesArePowersOfTwo) {
  constexpr double kMiB = 1 << 20;
  EXPECT_THAT(value_axis(Unit::kBytes, 20 * kMiB, 401 * kMiB, true, 8).ticks,
              ElementsAre(16 * kMiB, 32 * kMiB, 64 * kMiB, 128 * kMiB, 256 * kMiB, 512 * kMiB));
  EXPECT_THAT(value_axis(Unit::kBytesPerSecond, 1, 1 << 20, true, 3).ticks,
              ElementsAre(1, 1024, 1 << 20));
  EXPECT_THAT(value_axis(Unit::kBytes, 4096, 4096, true, 5).ticks, ElementsAre(4096, 8192));
}

TEST(Scale, EveryRangeHasAnAxis) {
  for (const double low : {0.0, 1e-15, 1.0, 1e9, 1e17}) {
    for (const double size : {0.0, 1e-15, 1e-3, 1.0, 12345.0, 1e18}) {
      for (const Unit unit : {Unit::kCount, Unit::kSeconds, Unit::kBytes, Unit::kBytesPerSecond}) {
        for (const int most : {0, 2, 3, 10}) {
          for (const Axis& axis : {value_axis(unit, low, low + size, false, most),
                                   value_axis(unit, low, low + size, true, most),
                                   time_axis(unit, low, low + size, most)}) {
            EXPECT_LT(axis.scale.low, axis.scale.high) << low << ' ' << size;
            EXPECT_LE(axis.ticks.size(), 64U);
            EXPECT_TRUE(std::is_sorted(axis.ticks.begin(), axis.ticks.end()));
          }
          // The axis covers the value.
          EXPECT_GE(value_axis(unit, 0, size, false, most).scale.high, size * (1 - 1e-9));
        }
      }
    }
  }
}

TEST(WindowAxis, ACutTakesLittleRoom) {
  const Axis axis = window_axis(Unit::kSeconds, {0, 100, {{10, 90}}}, 10);
  const Scale& s = axis.scale;
  ASSERT_EQ(s.cuts.size(), 1U);
  EXPECT_EQ(s.at(0), 0);
  EXPECT_EQ(s.at(100), 1);
  // 20 seconds are shown, and the cut is as wide as 2 % of them.
  EXPECT_NEAR(s.at(10), 10 / 20.4, 1e-9);
  EXPECT_NEAR(s.at(90), 10.4 / 20.4, 1e-9);
  EXPECT_NEAR(s.at(50), 10.2 / 20.4, 1e-9);
  for (double value = 0; value <= 100; value += 2.5) EXPECT_NEAR(s.value(s.at(value)), value, 1e-9);
  for (const double tick : axis.ticks) EXPECT_TRUE(tick <= 10 || tick >= 90) << tick;
  EXPECT_GE(axis.ticks.size(), 6U);
}

TEST(WindowAxis, CutsAtBothEnds) {
  const Axis axis = window_axis(Unit::kSeconds, {0, 300, {{0, 100}, {110, 300}}}, 5);
  EXPECT_EQ(axis.scale.at(300), 1);
  EXPECT_NEAR(axis.scale.at(105), 0.5, 1e-9);
  EXPECT_THAT(axis.ticks, ElementsAre(0, 100, 102, 104, 106, 108, 110, 300));
}

TEST(WindowAxis, CutsThatCannotBeAreIgnored) {
  const Axis axis = window_axis(Unit::kSeconds,
                                {0, 10, {{2, 4}, {3, 5}, {7, 6}, {8, 80}, {NAN, 9}, {9, NAN}}}, 5);
  ASSERT_EQ(axis.scale.cuts.size(), 1U);
  EXPECT_EQ(axis.scale.cuts[0].to, 4);
  EXPECT_TRUE(window_axis(Unit::kSeconds, {0, 10, {{0, 10}}}, 5).scale.cuts.empty());
}

}  // namespace
}  // namespace rpcrdma::plot
