#include "line_limit.h"

#include <gtest/gtest.h>

namespace rpcrdma::cli {
namespace {

using fabric::kMillisecond;

TEST(LineLimit, SoManyASecondAndHowManyMore) {
  LineLimit limit(2);
  fabric::Time now = 5 * fabric::kSecond;
  EXPECT_TRUE(limit.starts_new_interval(now));
  EXPECT_TRUE(limit.may_print(now));
  EXPECT_FALSE(limit.starts_new_interval(now));
  EXPECT_TRUE(limit.may_print(now));
  EXPECT_EQ(limit.left_out(), 0U);
  now += 999 * kMillisecond;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(limit.may_print(now));
  EXPECT_EQ(limit.left_out(), 3U);
  now += kMillisecond;
  EXPECT_TRUE(limit.starts_new_interval(now));
  EXPECT_EQ(limit.left_out(), 3U);
  EXPECT_TRUE(limit.may_print(now));
  EXPECT_EQ(limit.left_out(), 0U);
}

}  // namespace
}  // namespace rpcrdma::cli
