// Tallies of Calls and the limits that are checked against them.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <rpcrdma/load/tally.h>
#include <rpcrdma/load/threshold.h>

namespace rpcrdma::load {
namespace {

Sample sample(End end = End::kRight) {
  Sample s;
  s.end = end;
  s.procedure = 1;
  s.bytes = 100;
  s.due = 1000;
  s.times = {1010, 1030, 1040, 1060, 1063};
  return s;
}

TEST(Tally, PartsAreTheWholeLatency) {
  Tally t;
  t.add(sample());
  EXPECT_EQ(t.latency().max(), 63);
  EXPECT_EQ(t.part(Part::kTurn).max(), 10);
  EXPECT_EQ(t.part(Part::kCredit).max(), 20);
  EXPECT_EQ(t.part(Part::kReply).max(), 30);
  EXPECT_EQ(t.part(Part::kFence).max(), 3);
  EXPECT_EQ(t.procedure(1).calls, 1U);
  EXPECT_EQ(t.procedure(1).latency.max(), 63);
  EXPECT_EQ(t.procedure(0).calls, 0U);
}

TEST(Tally, PartsOfTheReplyAreItsWhole) {
  Tally t;
  Sample s = sample();
  s.server = {7, 8};
  t.add(s);
  EXPECT_EQ(t.part(Part::kSend).max(), 10);
  EXPECT_EQ(t.part(Part::kRead).max(), 7);
  EXPECT_EQ(t.part(Part::kPeer).max(), 8);
  EXPECT_EQ(t.part(Part::kNetwork).max(), 5);
  EXPECT_EQ(t.part(Part::kPeerOrNetwork).count(), 0U);
  EXPECT_EQ(t.implausible(), 0U);
}

TEST(Tally, WithoutTheServersTimesPartsAreFewer) {
  Tally t;
  Sample s = sample();
  s.times.arrived = 0;
  t.add(s);
  for (const Part part : {Part::kSend, Part::kRead, Part::kPeer, Part::kNetwork}) {
    EXPECT_EQ(t.part(part).count(), 0U);
  }
  EXPECT_EQ(t.part(Part::kPeerOrNetwork).max(), 30);
}

TEST(Tally, WhatFailedHasNoLatencyAndNoBytes) {
  Tally t;
  t.add(sample());
  t.add(sample(End::kError));
  t.add(sample(End::kMismatch));
  EXPECT_EQ(t.calls(), 3U);
  EXPECT_EQ(t.errors(), 1U);
  EXPECT_EQ(t.mismatches(), 1U);
  EXPECT_EQ(t.right(), 1U);
  EXPECT_EQ(t.bytes(), 100U);
  EXPECT_EQ(t.latency().count(), 1U);
}

TEST(Tally, MergedEqualsTogether) {
  Tally a;
  Tally b;
  Sample again = sample();
  again.attempts = 3;
  again.server = {0, 1000};
  a.add(sample());
  a.add_reason("timed out");
  b.add(again);
  b.add(sample(End::kError));
  b.add_reason("timed out");
  b.add_reason("closed");
  a.merge(b);
  EXPECT_EQ(a.calls(), 3U);
  EXPECT_EQ(a.errors(), 1U);
  EXPECT_EQ(a.bytes(), 200U);
  EXPECT_EQ(a.resent(), 2U);
  EXPECT_EQ(a.latency().count(), 2U);
  EXPECT_EQ(a.part(Part::kReply).count(), 2U);
  EXPECT_EQ(a.part(Part::kPeer).count(), 1U);
  EXPECT_EQ(a.implausible(), 1U);
  EXPECT_EQ(a.procedure(1).calls, 3U);
  EXPECT_EQ(a.reasons().at("timed out"), 2U);
  EXPECT_EQ(a.reasons().at("closed"), 1U);
}

TEST(Tally, ReasonsAreBounded) {
  Tally a;
  Tally b;
  for (int i = 0; i < 100; ++i) a.add_reason(fmt::format("reason {}", i));
  for (int i = 0; i < 100; ++i) b.add_reason(fmt::format("another {}", i));
  EXPECT_EQ(a.reasons().size(), 17U);
  EXPECT_EQ(a.reasons().at("other reasons"), 84U);
  a.merge(b);
  EXPECT_EQ(a.reasons().size(), 17U);
  EXPECT_EQ(a.reasons().at("other reasons"), 184U);
}

TEST(Thresholds, ShowWhatIsAboveThem) {
  Tally t;
  for (int i = 0; i < 100; ++i) t.add(sample());
  Thresholds limits;
  for (const char* text :
       {"p50=63ns", "p99=62ns", "max=1us", "mean=0.05us", "errors=0", "mismatches=0"}) {
    ASSERT_TRUE(limits.add(text)) << text;
  }
  EXPECT_EQ(limits.passed(t),
            (std::vector<std::string>{"p99 is 63 ns, above 62 ns", "mean is 63 ns, above 50 ns"}));
}

TEST(Thresholds, ACallThatWasNotAnsweredRightTookLongerThanAny) {
  Tally t;
  for (int i = 0; i < 95; ++i) t.add(sample());
  t.add(sample(End::kError));
  t.add(sample(End::kMismatch));
  Thresholds limits;
  for (const char* text : {"p90=1h", "p99=1h", "max=1h", "mean=1h", "errors=0", "errors=1",
                           "mismatches=0", "not_begun=1", "not_begun=2"}) {
    ASSERT_TRUE(limits.add(text)) << text;
  }
  const std::string why =
      " is above 3600.000 s: of 100 Calls 2 failed, 1 did not end, 2 never started; these count as "
      "infinitely long";
  EXPECT_EQ(
      limits.passed(t, {2, 1}),
      (std::vector<std::string>{"p99" + why, "max" + why, "mean" + why, "errors are 1, above 0",
                                "mismatches are 1, above 0", "not_begun are 2, above 1"}));
}

TEST(Thresholds, APercentileIsOfAllCalls) {
  Tally t;
  Sample slow = sample();
  slow.times.ended = 1000 + 5000;
  for (int i = 0; i < 89; ++i) t.add(sample());
  for (int i = 0; i < 10; ++i) t.add(slow);
  Thresholds limits;
  ASSERT_TRUE(limits.add("p90=1us"));
  ASSERT_TRUE(limits.add("p99=10us"));
  // With 100 Calls the 99th was still answered, with 101 it was not.
  EXPECT_EQ(limits.passed(t), (std::vector<std::string>{"p90 is 5 us, above 1 us"}));
  EXPECT_EQ(limits.passed(t, {1, 0}), (std::vector<std::string>{"p90 is 5 us, above 1 us"}));
  EXPECT_EQ(limits.passed(t, {2, 0}).size(), 2U);
}

TEST(Thresholds, ALatencyThatIsNotKnownKeepsNoLimit) {
  Thresholds limits;
  ASSERT_TRUE(limits.add("p999=1h"));
  ASSERT_TRUE(limits.add("errors=5"));
  EXPECT_EQ(limits.passed(Tally()),
            std::vector<std::string>{"p999 is unknown: no Call was answered"});
}

// Of 1000 Calls 49 take 1 s and one takes 10 s.
TEST(Thresholds, PercentilesBetweenAreMeasuredUnderBothNames) {
  Tally tally;
  for (int i = 0; i < 1000; ++i) {
    Sample s;
    s.times.ended = i < 950   ? fabric::kMillisecond
                    : i < 999 ? fabric::kSecond
                              : 10 * fabric::kSecond;
    tally.add(s);
  }
  const auto passed = [&](const char* limit) {
    Thresholds limits;
    EXPECT_TRUE(limits.add(limit)) << limit;
    return !limits.passed(tally).empty();
  };
  EXPECT_FALSE(passed("p95=2ms"));
  EXPECT_TRUE(passed("p95=900us"));
  EXPECT_TRUE(passed("p99=2ms"));
  for (const char* met : {"p99.9=2s", "p999=2s", "p99.99=11s"}) EXPECT_FALSE(passed(met)) << met;
  for (const char* not_met : {"p99.9=900ms", "p999=900ms", "p99.99=2s", "p9999=2s"}) {
    EXPECT_TRUE(passed(not_met)) << not_met;
  }
}

TEST(Thresholds, NoErrorsAreAllowedUnlessALimitSaysSo) {
  Tally t;
  t.add(sample(End::kError));
  Thresholds none;
  none.allow_no_errors();
  EXPECT_EQ(none.passed(t), std::vector<std::string>{"errors are 1, above 0"});
  Thresholds some;
  ASSERT_TRUE(some.add("errors=1"));
  some.allow_no_errors();
  EXPECT_TRUE(some.passed(t).empty());
}

TEST(Thresholds, WhatMakesNoSenseIsRefused) {
  Thresholds limits;
  const auto why = [&](std::string_view text) { return limits.add(text).error().message; };
  EXPECT_EQ(why("p99=200"), "\"200\" is not a duration with its unit, such as 200us or 5ms");
  EXPECT_EQ(why("p99="), "\"\" is not a duration with its unit, such as 200us or 5ms");
  EXPECT_EQ(why("errors=few"), "\"few\" is not a whole number");
  EXPECT_EQ(why("errors=-1"), "\"-1\" is not a whole number");
  EXPECT_NE(why("p98=1ms").find("\"p98=1ms\" is not a limit"), std::string::npos);
  EXPECT_NE(why("p99").find("is not a limit"), std::string::npos);
}

}  // namespace
}  // namespace rpcrdma::load
