// Joins halves whose truth is known: delays, clocks and losses are injected.
#include "halves_for_tests.h"

#include <random>

#include <gmock/gmock.h>

namespace rpcrdma::ends {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kMs;
using testing::kUs;
using ::testing::Not;
using testing::Points;
using ::testing::SizeIs;
using ::testing::StartsWith;
using testing::Taken;

std::uint64_t of(const Ends& ends, Side side) {
  return ends.sides.at(static_cast<std::size_t>(side));
}

std::string all_notes(const Ends& ends) {
  std::string text;
  for (const std::string& note : ends.notes) text += note + '\n';
  return text;
}

TEST(Ends, WithoutADelayNoSideIsAccused) {
  Points p;
  p.calls(1000);
  const Ends ends = p.both();
  EXPECT_EQ(ends.calls_total, 1000U);
  EXPECT_EQ(ends.withheld, 0U);
  EXPECT_EQ(of(ends, Side::kNone), 1000U);
  EXPECT_THAT(ends.verdict, StartsWith("No side is accused"));
  EXPECT_THAT(ends.contradictions, IsEmpty());
}

struct Injected {
  const char* what;
  std::int64_t Taken::*stage;
  Side side;
};

class Injection : public ::testing::TestWithParam<Injected> {};

TEST_P(Injection, IsAttributedToItsSide) {
  Points p;
  p.calls(100);
  Taken slow;
  slow.*GetParam().stage = 20 * kMs;
  p.calls(1000, slow);
  const Ends ends = p.both();
  EXPECT_EQ(ends.withheld, 0U) << all_notes(ends);
  EXPECT_EQ(of(ends, GetParam().side), 1000U) << ends.verdict;
  EXPECT_EQ(of(ends, Side::kNone), 100U);
  EXPECT_THAT(ends.verdict, StartsWith(std::string("The ") + side_key(GetParam().side)));
}

INSTANTIATE_TEST_SUITE_P(Ends, Injection,
                         ::testing::Values(Injected{"slot", &Taken::slot, Side::kClient},
                                           Injected{"post", &Taken::post, Side::kClient},
                                           Injected{"there", &Taken::there, Side::kNetwork},
                                           Injected{"decode", &Taken::decode, Side::kServer},
                                           Injected{"read", &Taken::read, Side::kNetwork},
                                           Injected{"execute", &Taken::execute, Side::kServer},
                                           Injected{"back", &Taken::back, Side::kNetwork},
                                           Injected{"wake", &Taken::wake, Side::kClient}),
                         [](const auto& info) { return info.param.what; });

TEST(Ends, WaitingForACreditIsTheTimeOfWhoLimitsThem) {
  for (const auto& [requested, granted, side] :
       {std::tuple{32, 1, Side::kServer}, std::tuple{1, 32, Side::kClient}}) {
    Points p;
    Taken slow;
    slow.credit = 20 * kMs;
    p.calls(100, slow);
    for (HalfCall& c : p.client.calls) {
      c.requested = static_cast<std::uint16_t>(requested);
      c.granted = static_cast<std::uint16_t>(granted);
    }
    EXPECT_EQ(of(p.both(), side), 100U);
  }
}

TEST(Ends, StagesAddUpToTheCall) {
  Points p;
  Taken t;
  t.read = 200 * kUs;
  t.write = 30 * kUs;
  p.calls(50, t);
  const Ends ends = p.both({.keep_calls = true});
  ASSERT_THAT(ends.calls, SizeIs(50));
  for (const EndsCall& c : ends.calls) {
    std::int64_t sum = 0;
    for (const std::int64_t took : c.took_ns) sum += std::max<std::int64_t>(took, 0);
    EXPECT_EQ(sum, c.end_ns - c.begin_ns);
    EXPECT_EQ(c.took_ns.at(static_cast<std::size_t>(Stage::kRead)), t.read);
    EXPECT_EQ(c.took_ns.at(static_cast<std::size_t>(Stage::kWrite)), t.write);
    EXPECT_EQ(c.took_ns.at(static_cast<std::size_t>(Stage::kExecute)), t.execute);
    EXPECT_EQ(c.name, "NFS v3 READ");
  }
  EXPECT_EQ(ends.connections.at(0).client, "10.0.1.1");
}

TEST(Ends, AnAcknowledgmentProvesThatTheReplyHadArrived) {
  Points p;
  Taken slow;
  slow.back = 20 * kMs;
  p.calls(100);
  p.calls(100, slow);
  // The adapter of the client acknowledged at once; the client looked later.
  for (std::size_t i = 100; i < 200; ++i) {
    p.server.calls[i].ended_ns = p.server.calls[i].reply_ns + 60 * kUs;
  }
  EXPECT_EQ(of(p.both(), Side::kClient), 100U);
}

TEST(Ends, AWireAloneWithAClientLeavesOpenWhatLiesBehind) {
  Points p;
  p.calls(20);
  Taken slow;
  slow.execute = 20 * kMs;
  p.calls(100, slow);
  const Ends with = join({p.client, p.wire}, {});
  EXPECT_EQ(of(with, Side::kServer), 100U);  // the Call was acknowledged early
  for (HalfCall& c : p.wire.calls) c.acknowledged_after = kUnknownNs;
  const Ends without = join({p.client, p.wire}, {});
  EXPECT_EQ(of(without, Side::kInconclusive), 100U);
  EXPECT_THAT(without.verdict, StartsWith("No side is named"));
  EXPECT_THAT(all_notes(without), HasSubstr("No server was recorded"));
}

TEST(Ends, ThreePointsAreOneCall) {
  Points p;
  p.calls(100);
  const Ends ends = join({p.wire, p.server, p.client}, {});
  EXPECT_EQ(ends.calls_total, 100U);
  ASSERT_THAT(ends.connections, SizeIs(1));
  EXPECT_THAT(ends.connections[0].kinds,
              ::testing::ElementsAre(PointKind::kClient, PointKind::kWire, PointKind::kServer));
  EXPECT_TRUE(ends.sources[2].reference);
}

TEST(Ends, XidsThatRepeatAreJoinedByTime) {
  Points p;
  p.calls(300);
  const std::int64_t gap = 60'000 * kMs;
  p.now += gap;
  p.xid = 1;
  p.calls(300);
  p.xid = 5000;
  p.calls(50);
  const Ends ends = p.both();
  EXPECT_EQ(ends.calls_total, 650U);
  EXPECT_EQ(ends.seen_once, 0U);
  EXPECT_EQ(ends.withheld, 0U) << all_notes(ends);
}

TEST(Ends, OnlyTheCommonTimeIsJudged) {
  Points p;
  p.calls(400);
  p.server.calls.erase(p.server.calls.begin(), p.server.calls.begin() + 150);
  p.client.calls.resize(300);
  const Ends ends = p.both();
  EXPECT_EQ(of(ends, Side::kNone), 150U);
  EXPECT_EQ(ends.seen_once, 250U);
  EXPECT_THAT(ends.contradictions, IsEmpty());
  EXPECT_THAT(all_notes(ends), HasSubstr("only the common time is judged"));
}

TEST(Ends, WhatRestsOnLostEventsIsWithheld) {
  Points p;
  Taken slow;
  slow.execute = 20 * kMs;
  p.calls(100);
  p.calls(100, slow);
  for (std::size_t i = 100; i < 200; ++i) p.server.calls[i].unclear = true;
  p.server.lost = 7;
  p.server.calls.erase(p.server.calls.begin() + 40, p.server.calls.begin() + 50);
  const Ends ends = p.both();
  EXPECT_EQ(ends.withheld, 100U);
  EXPECT_EQ(ends.seen_once, 10U);
  EXPECT_EQ(of(ends, Side::kServer), 0U);
  EXPECT_THAT(ends.contradictions, IsEmpty());
  EXPECT_THAT(all_notes(ends), HasSubstr("lost events or packets"));
}

TEST(Ends, AClockThatJumpsIsNamed) {
  Points p;
  p.calls(500);
  p.offset += 3'600'000 * kMs;
  p.calls(500);
  const Ends ends = p.both();
  EXPECT_EQ(ends.sources[1].clock.jumps, 1U);
  EXPECT_THAT(all_notes(ends), HasSubstr("A clock jumped once"));
  EXPECT_LE(ends.withheld, 10U);
  EXPECT_EQ(of(ends, Side::kNetwork) + of(ends, Side::kServer) + of(ends, Side::kClient), 0U);
}

TEST(Ends, SourcesThatDoNotBelongTogetherAreNotJoined) {
  Points p, q;
  p.calls(100);
  q.server = testing::source("other", PointKind::kServer, 9);
  q.calls(100);
  const Ends foreign = join({p.client, q.server}, {});
  EXPECT_FALSE(any(foreign));
  EXPECT_THAT(all_notes(foreign), HasSubstr("no common connection"));
  EXPECT_THAT(foreign.verdict, StartsWith("No side is judged"));

  Points later;
  later.xid = 100'000;
  later.calls(100);
  const Ends apart = join({p.client, later.server}, {});
  EXPECT_FALSE(any(apart));
  EXPECT_THAT(all_notes(apart), HasSubstr("not the same Calls"));
}

TEST(Ends, AReplyThatTheServerNeverSentIsAContradiction) {
  Points p;
  p.calls(100);
  p.server.calls[50].reply_ns = p.server.calls[50].reply_first_ns = kNoTime;
  p.server.calls[60].procedure = 7;
  p.server.calls.erase(p.server.calls.begin() + 70);
  const Ends ends = p.both();
  std::string what;
  for (const Contradiction& c : ends.contradictions) what += c.what + '\n';
  EXPECT_THAT(what, HasSubstr("shows a Reply that server never shows"));
  EXPECT_THAT(what, HasSubstr("different procedures"));
  EXPECT_THAT(what, HasSubstr("shows neither"));
  EXPECT_EQ(ends.withheld, 2U);
}

TEST(Ends, ACallSentTwiceIsOne) {
  Points p;
  p.calls(50);
  HalfCall again = p.client.calls[20];
  p.client.calls[20].superseded = true;
  p.client.calls[20].reply_ns = p.client.calls[20].reply_first_ns = kNoTime;
  again.call_ns += 10 * kUs;
  p.client.calls.push_back(again);
  const Ends ends = p.both();
  EXPECT_EQ(ends.calls_total, 50U);
  EXPECT_EQ(ends.withheld, 0U);
}

TEST(Ends, AFewSlowCallsAccuseNobody) {
  Points p;
  p.calls(900);
  Taken slow;
  slow.execute = 20 * kMs;
  p.calls(100, slow);
  const Ends ends = p.both();
  EXPECT_EQ(of(ends, Side::kServer), 100U);
  EXPECT_THAT(ends.verdict, StartsWith("No side is accused: only 100 of 1000 Calls"));
}

TEST(Ends, LimitsOfTheUserDecideWhatIsSlow) {
  Points p;
  Taken t;
  t.execute = 2 * kMs;
  p.calls(100, t);
  EXPECT_EQ(of(p.both(), Side::kNone), 100U);
  const Ends ends = p.both({.limits = {{"read", kMs}}});
  EXPECT_EQ(of(ends, Side::kServer), 100U);
}

// Whatever the halves are, joining ends, and its sums are consistent.
TEST(Ends, AnyHalvesAreInput) {
  std::mt19937_64 random(41);
  const auto time = [&]() -> std::int64_t {
    switch (random() % 8) {
      case 0:
        return kNoTime;
      case 1:
        return static_cast<std::int64_t>(random());
      case 2:
        return INT64_MAX;
      default:
        return testing::kStart + static_cast<std::int64_t>(random() % 50'000'000);
    }
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<SourceHalves> sources;
    for (std::size_t n = 2 + random() % 3; n > 0; --n) {
      SourceHalves s = testing::source("s", static_cast<PointKind>(random() % 3));
      s.connections.push_back(s.connections.front());
      s.connections.back().kind = static_cast<PointKind>(random() % 3);
      s.connections.back().qpn = {};
      s.connections.back().address[random() % 2] = {};
      for (std::size_t i = random() % 60; i > 0; --i) {
        HalfCall c;
        c.connection = static_cast<std::uint32_t>(random() % 3);
        c.xid = static_cast<std::uint32_t>(random() % 20);
        c.named = random() % 2 == 0;
        c.name = static_cast<std::uint32_t>(random() % 4);
        c.reverse = random() % 4 == 0;
        c.superseded = random() % 5 == 0;
        c.unclear = random() % 9 == 0;
        c.attempts = static_cast<std::uint16_t>(random());
        for (std::int64_t* ns :
             {&c.called_ns, &c.call_first_ns, &c.call_ns, &c.delivered_ns, &c.read_began_ns,
              &c.read_ended_ns, &c.write_began_ns, &c.write_ended_ns, &c.reply_first_ns,
              &c.reply_ns, &c.ended_ns, &c.acknowledged_after, &c.slot_wait, &c.credit_wait}) {
          *ns = time();
        }
        s.calls.push_back(c);
      }
      sources.push_back(std::move(s));
    }
    const Ends ends = join(sources, {.keep_calls = true});
    EXPECT_EQ(ends.calls.size(), ends.calls_total);
    std::uint64_t judged = 0;
    for (const std::uint64_t n : ends.sides) judged += n;
    EXPECT_EQ(judged + ends.withheld + ends.seen_once, ends.calls_total);
    EXPECT_THAT(ends.verdict, Not(IsEmpty()));
  }
}

}  // namespace
}  // namespace rpcrdma::ends
