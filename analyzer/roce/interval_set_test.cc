#include <gtest/gtest.h>

#include <rpcrdma/roce/interval_set.h>

namespace rpcrdma::roce {
namespace {

TEST(IntervalSet, JoinsWhatTouches) {
  IntervalSet s;
  EXPECT_TRUE(s.add(0, 10));
  EXPECT_TRUE(s.add(20, 30));
  EXPECT_EQ(s.intervals(), 2U);
  EXPECT_TRUE(s.add(10, 20));
  EXPECT_EQ(s.intervals(), 1U);
  EXPECT_EQ(s.covered(), 30U);
}

TEST(IntervalSet, ShowsOldFromNew) {
  IntervalSet s;
  EXPECT_TRUE(s.add(0, 100));
  EXPECT_FALSE(s.add(0, 100));
  EXPECT_FALSE(s.add(30, 40));
  EXPECT_TRUE(s.add(90, 110));
  EXPECT_EQ(s.covered(), 110U);
  EXPECT_TRUE(s.contains(0, 110));
  EXPECT_FALSE(s.contains(0, 111));
}

TEST(IntervalSet, KeepsOrderWhenFilledBackwards) {
  IntervalSet s;
  EXPECT_TRUE(s.add(20, 30));
  EXPECT_TRUE(s.add(0, 10));
  EXPECT_EQ(s.intervals(), 2U);
  EXPECT_TRUE(s.contains(0, 10));
  EXPECT_TRUE(s.contains(20, 30));
  EXPECT_FALSE(s.contains(5, 25));
}

TEST(IntervalSet, RefusesEmptyAndTooMany) {
  IntervalSet s;
  EXPECT_FALSE(s.add(5, 5));
  for (std::uint64_t i = 0; i < IntervalSet::kMaxIntervals; ++i)
    EXPECT_TRUE(s.add(i * 10, i * 10 + 1));
  EXPECT_FALSE(s.add(100000, 100001));
  EXPECT_EQ(s.intervals(), IntervalSet::kMaxIntervals);
}

}  // namespace
}  // namespace rpcrdma::roce
