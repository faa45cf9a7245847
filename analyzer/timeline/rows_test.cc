#include "rows.h"

#include <gtest/gtest.h>

namespace rpcrdma::timeline {
namespace {

TEST(Rows, TheFirstThatIsFree) {
  Rows rows;
  EXPECT_EQ(rows.take(), 0U);
  EXPECT_EQ(rows.take(), 1U);
  EXPECT_EQ(rows.take(), 2U);
  rows.give_back(2);
  rows.give_back(0);
  EXPECT_EQ(rows.take(), 0U);
  EXPECT_EQ(rows.take(), 2U);
  EXPECT_EQ(rows.take(), 3U);
}

}  // namespace
}  // namespace rpcrdma::timeline
