#include "poll_interval.h"

#include <gtest/gtest.h>

namespace rpcrdma::trace {
namespace {

TEST(TracePace, EmptyRingsAreLookedAtLessAndLess) {
  PollInterval poll_interval;
  std::int64_t last = 0;
  for (int i = 0; i < 3; ++i) {
    const std::int64_t sleep = poll_interval.next(0);
    EXPECT_GT(sleep, last);
    last = sleep;
  }
  for (int i = 0; i < 10; ++i) last = poll_interval.next(0);
  EXPECT_EQ(last, PollInterval::kLongest);
}

TEST(TracePace, FullOnesMoreOften) {
  PollInterval poll_interval;
  for (int i = 0; i < 10; ++i) (void)poll_interval.next(0);
  EXPECT_EQ(poll_interval.next(0.1), PollInterval::kLongest / 2);
  for (int i = 0; i < 10; ++i) (void)poll_interval.next(0.1);
  EXPECT_EQ(poll_interval.next(0.1), PollInterval::kShortest);
  EXPECT_EQ(poll_interval.next(0.03), PollInterval::kShortest);
}

TEST(TracePace, ANearlyFullOneAtOnce) {
  PollInterval poll_interval;
  for (int i = 0; i < 10; ++i) (void)poll_interval.next(0);
  EXPECT_EQ(poll_interval.next(0.5), 0);
  EXPECT_GT(poll_interval.next(0.2), 0);
}

}  // namespace
}  // namespace rpcrdma::trace
