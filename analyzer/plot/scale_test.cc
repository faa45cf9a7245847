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
  EXPECT_EQ(axis.scale.at(0), 0);
  EXPECT_EQ(axis.scale.at(5), 1);
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

}  // namespace
}  // namespace rpcrdma::plot
