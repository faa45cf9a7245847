#include <gtest/gtest.h>

#include <rpcrdma/load/split.h>

namespace rpcrdma::load {
namespace {

protocol::CallTimes times(fabric::Time sent, fabric::Time arrived, fabric::Time replied) {
  return {sent - 5, sent, arrived, replied, replied + 5};
}

fabric::Time sum(const Split& s) {
  return s.sending.value_or(0) + s.reading.value_or(0) + s.working.value_or(0) + s.rest;
}

TEST(Split, IntoWhatEachEndMeasured) {
  const Split s = split(times(1000, 1100, 2000), ServerTimes{200, 300});
  EXPECT_EQ(s.sending, 100);
  EXPECT_EQ(s.reading, 200);
  EXPECT_EQ(s.working, 300);
  EXPECT_EQ(s.rest, 400);
  EXPECT_FALSE(s.implausible);
}

TEST(Split, WithoutTheServersTimesItIsInTheRest) {
  const Split s = split(times(1000, 1100, 2000), std::nullopt);
  EXPECT_EQ(s.sending, 100);
  EXPECT_FALSE(s.reading);
  EXPECT_FALSE(s.working);
  EXPECT_EQ(s.rest, 900);
  EXPECT_FALSE(s.implausible);
}

TEST(Split, WhenTheReplyCameFirstSendingIsInTheRest) {
  for (const fabric::Time arrived : {0, 2000, 2100}) {
    const Split s = split(times(1000, arrived, 2000), ServerTimes{200, 300});
    EXPECT_FALSE(s.sending) << arrived;
    EXPECT_EQ(s.rest, 500) << arrived;
  }
}

TEST(Split, TheServerBeganBeforeTheAcknowledgementCame) {
  const Split s = split(times(1000, 1900, 2000), ServerTimes{200, 700});
  EXPECT_EQ(s.sending, 100);
  EXPECT_EQ(s.rest, 0);
}

TEST(Split, AServerThatLiesDoesNotBreakTheSum) {
  constexpr std::uint64_t kMost = UINT64_MAX;
  for (const ServerTimes lie :
       {ServerTimes{1002, 0}, ServerTimes{0, 1002}, ServerTimes{501, 501}, ServerTimes{kMost, 0},
        ServerTimes{0, kMost}, ServerTimes{kMost, kMost}, ServerTimes{1, kMost},
        ServerTimes{kMost, 1}, ServerTimes{kMost / 2 + 1, kMost / 2 + 1}}) {
    const Split s = split(times(1000, 1100, 2000), lie);
    EXPECT_TRUE(s.implausible) << lie.reading << " " << lie.working;
    EXPECT_EQ(sum(s), 1000) << lie.reading << " " << lie.working;
    EXPECT_GE(*s.reading, 0);
    EXPECT_GE(*s.working, 0);
    EXPECT_EQ(s.rest, 0);
  }
}

TEST(Split, ClocksMayDifferByOneInAThousand) {
  for (const ServerTimes close :
       {ServerTimes{0, 1001}, ServerTimes{1001, 0}, ServerTimes{500, 501}}) {
    const Split s = split(times(1000, 0, 2000), close);
    EXPECT_FALSE(s.implausible);
    EXPECT_EQ(sum(s), 1000);
  }
}

TEST(Split, AClockThatWentBackTookNoTime) {
  const Split s = split(times(2000, 1500, 1000), ServerTimes{0, 0});
  EXPECT_EQ(sum(s), 0);
  EXPECT_FALSE(s.implausible);
}

}  // namespace
}  // namespace rpcrdma::load
