#include "arrivals.h"

#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rpcrdma::model {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

struct ArrivalsTest : ::testing::Test {
  Arrivals arrivals;

  std::vector<std::pair<std::uint32_t, std::int64_t>> acknowledged(std::uint32_t psn,
                                                                   std::int64_t time_ns) {
    std::vector<std::pair<std::uint32_t, std::int64_t>> all;
    arrivals.acknowledged(
        psn, time_ns, [&](CallRef call, std::int64_t took) { all.emplace_back(call.slot, took); });
    return all;
  }
};

TEST_F(ArrivalsTest, TheTimeFromCallToAcknowledgement) {
  arrivals.sent(10, 1000, {1, 1});
  EXPECT_THAT(acknowledged(9, 1100), IsEmpty());
  EXPECT_THAT(acknowledged(10, 1500), ElementsAre(Pair(1, 500)));
  EXPECT_THAT(acknowledged(10, 1600), IsEmpty());
}

TEST_F(ArrivalsTest, OneForSeveralCallsIsAsOldAsTheLast) {
  arrivals.sent(10, 1000, {1, 1});
  arrivals.sent(12, 9000, {2, 1});
  arrivals.sent(13, 9500, {3, 1});
  EXPECT_THAT(acknowledged(12, 9400), ElementsAre(Pair(1, 400), Pair(2, 400)));
  EXPECT_THAT(acknowledged(13, 9900), ElementsAre(Pair(3, 400)));
}

TEST_F(ArrivalsTest, OneForSomethingBehindTheCallSaysNothing) {
  arrivals.sent(10, 1000, {1, 1});
  EXPECT_THAT(acknowledged(11, 90000), IsEmpty());
  EXPECT_THAT(acknowledged(10, 90000), IsEmpty());
}

TEST_F(ArrivalsTest, WhatItUsuallyTakesIsOfAnyMessage) {
  EXPECT_EQ(arrivals.usual_ns(), -1);
  arrivals.sent(10, 1000, {});
  EXPECT_THAT(acknowledged(10, 1400), IsEmpty());
  EXPECT_EQ(arrivals.usual_ns(), 400);
  arrivals.sent(11, 2000, {});
  EXPECT_THAT(acknowledged(11, 3200), IsEmpty());
  EXPECT_EQ(arrivals.usual_ns(), 500);
}

TEST_F(ArrivalsTest, PsnsGoRound) {
  arrivals.sent(0xffffff, 1000, {1, 1});
  arrivals.sent(0, 1100, {2, 1});
  EXPECT_THAT(acknowledged(0, 1300), ElementsAre(Pair(1, 200), Pair(2, 200)));
}

TEST_F(ArrivalsTest, AClockThatStepsBackSaysNothing) {
  arrivals.sent(10, 1000, {1, 1});
  EXPECT_THAT(acknowledged(10, 900), IsEmpty());
}

TEST_F(ArrivalsTest, WithoutAcknowledgementsTheLatestAreKept) {
  for (std::uint32_t psn = 0; psn < 1000; ++psn) arrivals.sent(psn, psn, {psn, 1});
  const auto all = acknowledged(999, 2000);
  ASSERT_EQ(all.size(), 64U);
  EXPECT_EQ(all.front().first, 936U);
  EXPECT_EQ(all.back().first, 999U);
}

}  // namespace
}  // namespace rpcrdma::model
