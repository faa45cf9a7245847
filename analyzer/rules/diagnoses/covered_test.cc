#include "covered.h"

#include <gtest/gtest.h>

namespace rpcrdma::rules {
namespace {

TEST(Covered, CountsWhatIntervalsShareOnce) {
  Covered c;
  EXPECT_EQ(c.add(10, 20), 10);
  EXPECT_EQ(c.add(15, 25), 5);
  EXPECT_EQ(c.add(25, 30), 5);
  EXPECT_EQ(c.add(12, 30), 0);
}

TEST(Covered, CountsGapsThatALaterOneFills) {
  Covered c;
  EXPECT_EQ(c.add(10, 20), 10);
  EXPECT_EQ(c.add(30, 40), 10);
  EXPECT_EQ(c.add(50, 60), 10);
  EXPECT_EQ(c.add(15, 70), 30);
  EXPECT_EQ(c.add(0, 70), 10);
}

TEST(Covered, CountsNothingTwiceHoweverManyItSpans) {
  Covered c;
  for (std::int64_t at = 0; at < 100; at += 10) EXPECT_EQ(c.add(at, at + 5), 5);
  EXPECT_EQ(c.add(0, 100), 45);  // without the gap after the first, which was dropped
}

// The clock steps back.
TEST(Covered, LeavesOutWhatIsOutOfOrder) {
  Covered c;
  EXPECT_EQ(c.add(10, 20), 10);
  EXPECT_EQ(c.add(5, 15), 0);
  EXPECT_EQ(c.add(30, 25), 0);
  EXPECT_EQ(c.add(20, 21), 1);
}

}  // namespace
}  // namespace rpcrdma::rules
