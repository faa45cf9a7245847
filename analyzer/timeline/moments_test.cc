#include "moments.h"

#include <gtest/gtest.h>

namespace rpcrdma::timeline {
namespace {

TEST(Moments, OfMessages) {
  Moments moments;
  EXPECT_FALSE(moments.of_message(0));
  EXPECT_FALSE(moments.of_message(1));
  moments.note(1, 10, 1000);
  moments.note(2, 20, 2000);
  EXPECT_EQ(moments.of_message(1), 1000);
  EXPECT_EQ(moments.of_message(2), 2000);
  EXPECT_FALSE(moments.of_message(0));
  EXPECT_FALSE(moments.of_message(3));
}

TEST(Moments, OfFramesBetweenThem) {
  Moments moments;
  EXPECT_FALSE(moments.of_frame(1));
  moments.note(1, 10, 1000);
  moments.note(2, 20, 2000);
  EXPECT_FALSE(moments.of_frame(9));
  EXPECT_EQ(moments.of_frame(10), 1000);
  EXPECT_EQ(moments.of_frame(19), 1000);
  EXPECT_EQ(moments.of_frame(20), 2000);
  EXPECT_EQ(moments.of_frame(1000), 2000);
}

TEST(Moments, TheOldestGo) {
  Moments moments;
  const std::uint64_t last = 3 * Moments::kRemembered / 2;
  for (std::uint64_t id = 1; id <= last; ++id) {
    moments.note(id, 2 * id, static_cast<std::int64_t>(3 * id));
  }
  const std::uint64_t oldest = last - Moments::kRemembered + 1;
  EXPECT_FALSE(moments.of_message(oldest - 1));
  EXPECT_FALSE(moments.of_frame(2 * oldest - 1));
  for (const std::uint64_t id : {oldest, oldest + 1, last - 1, last}) {
    EXPECT_EQ(moments.of_message(id), static_cast<std::int64_t>(3 * id));
    EXPECT_EQ(moments.of_frame(2 * id + 1), static_cast<std::int64_t>(3 * id));
  }
}

}  // namespace
}  // namespace rpcrdma::timeline
