#include <gtest/gtest.h>

#include <rpcrdma/model/coverage.h>

namespace rpcrdma::model {
namespace {

TEST(Coverage, WhatIsMovedTwiceCountsOnce) {
  Coverage c;
  c.add(0, 2000);
  c.add(0, 2000);
  EXPECT_EQ(c.covered(), 2000U);
  c.add(2000, 4000);
  c.add(0, 100);
  EXPECT_EQ(c.covered(), 4000U);
  EXPECT_EQ(c.footprint(), 0U);
}

TEST(Coverage, PiecesInAnyOrder) {
  Coverage c;
  c.add(3000, 4000);
  c.add(0, 1000);
  EXPECT_EQ(c.covered(), 2000U);
  EXPECT_GT(c.footprint(), 0U);
  c.add(500, 3500);
  EXPECT_EQ(c.covered(), 4000U);
  c.add(7, 7);
  EXPECT_EQ(c.covered(), 4000U);
  EXPECT_TRUE(c.certain());
}

TEST(Coverage, MorePiecesThanAreKept) {
  Coverage c;
  for (std::uint32_t i = 0; i < 1000; ++i) c.add(i * 10, i * 10 + 5);
  EXPECT_FALSE(c.certain());
  EXPECT_LE(c.footprint(), roce::IntervalSet::kMaxIntervals * 16 + 64);
}

}  // namespace
}  // namespace rpcrdma::model
