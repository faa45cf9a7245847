#include "pace.h"

#include <gtest/gtest.h>

namespace rpcrdma::trace {
namespace {

TEST(TracePace, EmptyRingsAreLookedAtLessAndLess) {
  Pace pace;
  std::int64_t last = 0;
  for (int i = 0; i < 3; ++i) {
    const std::int64_t sleep = pace.next(0);
    EXPECT_GT(sleep, last);
    last = sleep;
  }
  for (int i = 0; i < 10; ++i) last = pace.next(0);
  EXPECT_EQ(last, Pace::kLongest);
}

TEST(TracePace, FullOnesMoreOften) {
  Pace pace;
  for (int i = 0; i < 10; ++i) (void)pace.next(0);
  EXPECT_EQ(pace.next(0.1), Pace::kLongest / 2);
  for (int i = 0; i < 10; ++i) (void)pace.next(0.1);
  EXPECT_EQ(pace.next(0.1), Pace::kShortest);
  EXPECT_EQ(pace.next(0.03), Pace::kShortest);
}

TEST(TracePace, ANearlyFullOneAtOnce) {
  Pace pace;
  for (int i = 0; i < 10; ++i) (void)pace.next(0);
  EXPECT_EQ(pace.next(0.5), 0);
  EXPECT_GT(pace.next(0.2), 0);
}

}  // namespace
}  // namespace rpcrdma::trace
