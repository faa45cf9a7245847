// Tests which findings are reported, joined, pending and inconclusive.
#include "nothing_for_tests.h"

#include <algorithm>

#include <gtest/gtest.h>

#include <rpcrdma/roce/tracker.h>
#include <rpcrdma/rules/findings.h>

namespace rpcrdma::rules {
namespace {

using roce::PacketMeta;

// A tracker and a model with one connection, between 192.0.2.1 and 192.0.2.2.
class FindingsTest : public ::testing::Test {
 protected:
  FindingsTest() {
    roce::PreparedPacket p;
    const std::array<std::uint8_t, 8> ends{192, 0, 2, 1, 192, 0, 2, 2};
    p.transport.src = capture::make_ipv4(ends.data());
    p.transport.dst = capture::make_ipv4(ends.data() + 4);
    p.decoded = true;
    p.meta = PacketMeta{1, 1};
    p.roce.bth.opcode = static_cast<std::uint8_t>(wire::Opcode::kSendOnly);
    p.roce.bth.dest_qp = 5;
    read.tracker.packet(p);
    connection = read.tracker.connection(0);
    connection.setup = roce::Setup::kCm;
    connection.side[0].counters.packets = connection.side[1].counters.packets = 10;
  }

  Findings& make(Profile profile = Profile::k8166) {
    findings =
        std::make_unique<Findings>(Findings::Options{profile, nullptr}, read.tracker, read.model);
    return *findings;
  }
  [[nodiscard]] Evidence at(std::uint64_t frame, int side = 0) const {
    Evidence e;
    e.connection = &connection;
    e.side = side;
    e.frames = {frame, 0};
    return e;
  }

  testing::Nothing read;
  roce::Connection connection;  // a copy whose counters a test may change
  std::unique_ptr<Findings> findings;
};

const Findings::Text kText = [] { return std::string("text"); };

// Rules with the needs that the tests use.
constexpr RuleId kNeedsNothing = RuleId::kConnLost;
constexpr RuleId kNeedsWholeData = RuleId::kCreditStarved;

TEST_F(FindingsTest, TheSameIsJoinedWithItsFirstFrames) {
  Findings& f = make();
  for (std::uint64_t frame = 1; frame <= 100; ++frame) f.add(kNeedsNothing, at(frame), kText);
  f.finish();
  ASSERT_EQ(f.list().size(), 1U);
  EXPECT_EQ(f.list()[0].count, 100U);
  ASSERT_EQ(f.list()[0].frames.size(), kMaxFrames);
  EXPECT_EQ(f.list()[0].frames.front(), 1U);
  EXPECT_EQ(f.list()[0].frames.back(), kMaxFrames);
  EXPECT_EQ(f.list()[0].connection, 1U);
  EXPECT_EQ(f.list()[0].peer, "192.0.2.1");
}

TEST_F(FindingsTest, SidesAndTopicsStayApart) {
  Findings& f = make();
  f.add(kNeedsNothing, at(1, 0), kText);
  f.add(kNeedsNothing, at(2, 1), kText);
  Evidence other = at(3, 1);
  other.topic = 1;
  f.add(kNeedsNothing, other, kText);
  f.finish();
  ASSERT_EQ(f.list().size(), 3U);
  EXPECT_EQ(f.list()[1].peer, "192.0.2.2");
}

TEST_F(FindingsTest, MoreKindsThanAreKeptAreCounted) {
  Findings& f = make();
  constexpr std::uint32_t kKinds = 5000;
  constexpr std::uint32_t kKept = 4096;
  for (std::uint32_t topic = 0; topic < kKinds; ++topic) {
    Evidence e = at(topic + 1);
    e.topic = topic;
    f.add(kNeedsNothing, e, kText);
    f.add(kNeedsNothing, e, kText);
  }
  f.finish();
  EXPECT_EQ(f.list().size(), kKept);
  EXPECT_EQ(f.omitted()[static_cast<std::size_t>(Severity::kWarning)], (kKinds - kKept) * 2);
}

TEST_F(FindingsTest, SeverityIsThatOfTheProfile) {
  for (const Profile profile : {Profile::k5666, Profile::k8166}) {
    for (const Rule& r : rules()) {
      Findings& f = make(profile);
      Evidence e;
      f.add(r.id, e, kText);
      f.finish();
      if (r.level(profile) == Level::kOff) {
        EXPECT_TRUE(f.list().empty()) << r.name;
      } else {
        ASSERT_EQ(f.list().size(), 1U) << r.name;
        EXPECT_STREQ(severity_name(f.list()[0].severity), level_name(r.level(profile)));
      }
    }
  }
}

TEST_F(FindingsTest, DamagedBytesAccuseNobodyOfAnError) {
  Findings& f = make();
  Evidence e = at(1);
  e.suspect = true;
  f.add(RuleId::kHdr06, e, kText);
  f.add(RuleId::kHdr06, at(2), kText);
  f.finish();
  ASSERT_EQ(f.list().size(), 2U);
  EXPECT_EQ(f.list()[0].severity, Severity::kError);  // errors come first
  EXPECT_EQ(f.list()[1].severity, Severity::kWarning);
  EXPECT_NE(f.list()[1].advice.find("ICRC"), std::string::npos);
}

TEST_F(FindingsTest, WhatNeedsWholeDataWaits) {
  Findings& f = make();
  f.add(kNeedsWholeData, at(1), kText);
  connection.side[1].counters.lost_capture = 1;  // noticed a moment later
  f.connection_closed(connection);
  f.finish();
  EXPECT_TRUE(f.list().empty());
  ASSERT_EQ(f.inconclusive().size(), 1U);
  EXPECT_EQ(f.inconclusive()[0].rule, rule(kNeedsWholeData).name);
  EXPECT_EQ(f.inconclusive()[0].connection, 1U);
  EXPECT_NE(f.inconclusive()[0].reason.find("lost"), std::string::npos);
}

TEST_F(FindingsTest, WhatNeedsWholeDataIsReportedWhenThereIsNoLoss) {
  Findings& f = make();
  f.add(kNeedsWholeData, at(1), kText);
  f.finish();
  EXPECT_EQ(f.list().size(), 1U);
  EXPECT_TRUE(f.inconclusive().empty());
}

// A loss long after a violation does not matter if the rule needs only its own Call.
TEST_F(FindingsTest, WaitingEndsAfterSomeMessages) {
  Findings& f = make();
  f.add(kNeedsWholeData, at(1), kText);
  for (int i = 0; i < 32; ++i) f.message_seen(connection);
  connection.side[0].counters.lost_capture = 1;
  f.finish();
  EXPECT_EQ(f.list().size(), 1U);
}

TEST_F(FindingsTest, OneDirectionIsNotEnoughForBoth) {
  Findings& f = make();
  connection.side[1].counters.packets = 0;
  f.add(kNeedsWholeData, at(1), kText);
  f.finish();
  EXPECT_TRUE(f.list().empty());
  ASSERT_EQ(f.inconclusive().size(), 1U);
  EXPECT_NE(f.inconclusive()[0].reason.find("direction"), std::string::npos);
}

// A reader that holds a message back until its violations are settled learns of that.
TEST_F(FindingsTest, WhatIsPendingIsSettledOnce) {
  std::vector<std::uint64_t> pending, settled;
  Findings f({.on_pending = [&](const Evidence& e) { pending.push_back(e.message); },
              .on_settled = [&](const Evidence& e) { settled.push_back(e.message); }},
             read.tracker, read.model);
  Evidence e = at(1);
  e.message = 7;
  f.add(kNeedsWholeData, e, kText);
  EXPECT_EQ(pending, std::vector<std::uint64_t>{7});
  EXPECT_TRUE(settled.empty());
  for (int i = 0; i < 40; ++i) f.message_seen(connection);
  EXPECT_EQ(settled, std::vector<std::uint64_t>{7});
  f.finish();
  EXPECT_EQ(settled.size(), 1U);
}

// The violations are on many connections, so that none has many pending.
TEST_F(FindingsTest, WhatWaitsIsBoundedOverAllConnections) {
  constexpr std::size_t kConnections = 100000;
  std::vector<roce::Connection> connections(kConnections, connection);
  std::size_t waiting = 0;
  std::size_t most = 0;
  Findings f({.on_pending = [&](const Evidence&) { most = std::max(most, ++waiting); },
              .on_settled = [&](const Evidence&) { waiting -= waiting != 0 ? 1 : 0; }},
             read.tracker, read.model);
  for (std::uint32_t i = 0; i < kConnections; ++i) {
    connections[i].index = i;
    Evidence e = at(1);
    e.connection = &connections[i];
    f.add(kNeedsWholeData, e, kText);
  }
  EXPECT_LE(most, 16384U);
  f.finish();
  EXPECT_EQ(f.list().size() + f.omitted()[static_cast<std::size_t>(Severity::kWarning)] +
                f.omitted()[static_cast<std::size_t>(Severity::kNote)],
            kConnections);
}

TEST_F(FindingsTest, WhatIsFoundOfOneThatIsEvictedKeepsItsName) {
  Findings& f = make();
  f.add(kNeedsNothing, at(1), kText);
  f.connection_evicted(connection);
  f.finish();
  ASSERT_EQ(f.list().size(), 1U);
  EXPECT_EQ(f.list()[0].connection, 1U);
  EXPECT_EQ(f.list()[0].peer, "192.0.2.1");
}

// Side 0 of the connection that was merged is side 1 of the other.
TEST_F(FindingsTest, WhatIsFoundOfADirectionIsOfItsConnection) {
  roce::Connection other = connection;
  other.index = 5;
  Findings& f = make();
  Evidence there = at(2, 0);
  there.connection = &other;
  f.add(kNeedsNothing, there, kText);
  f.add(kNeedsNothing, at(1, 1), kText);
  there.side = 1;
  f.add(kNeedsNothing, there, kText);
  f.connections_merged(connection, other);
  f.finish();
  ASSERT_EQ(f.list().size(), 2U);
  EXPECT_EQ(f.list()[0].count, 2U);
  EXPECT_EQ(f.list()[0].peer, "192.0.2.2");
  EXPECT_EQ(f.list()[1].count, 1U);
  EXPECT_EQ(f.list()[1].peer, "192.0.2.1");
  EXPECT_EQ(f.list()[1].connection, 1U);
}

// The text begins with the share, and the latest clause replaces earlier ones.
TEST_F(FindingsTest, AShareIsStatedWithTheLatestClause) {
  Findings& f = make();
  for (std::uint64_t n = 1; n <= 3; ++n) {
    Evidence e = at(n);
    e.of = 2 * n;
    f.add(kNeedsNothing, e, [n] { return "Calls failed " + std::to_string(n); });
  }
  Evidence last = at(3);
  last.of = 9;
  f.restate(kNeedsNothing, last, [] { return std::string("Calls failed in the end"); });
  f.finish();
  ASSERT_EQ(f.list().size(), 1U);
  EXPECT_EQ(f.list()[0].text, "3 of 9 Calls failed in the end");
  EXPECT_EQ(f.list()[0].count, 3U);
  EXPECT_EQ(f.list()[0].of, 9U);
}

TEST_F(FindingsTest, WhatIsInvalidatedIsNotListed) {
  Findings& f = make();
  Evidence e = at(1);
  e.of = 1;
  f.add(kNeedsNothing, e, kText);
  f.retract(kNeedsNothing, e);
  f.restate(kNeedsNothing, e, kText);
  f.finish();
  EXPECT_TRUE(f.list().empty());
}

// A filter repeats the findings of another.
TEST_F(FindingsTest, WhatIsRepeatedHasItsShareOnce) {
  Findings taken({Profile::k8166}, read.tracker, read.model);
  Findings all(
      Findings::Options{.on_occurrence = [&](const Occurrence& found) { taken.repeat(found); }},
      read.tracker, read.model);
  for (std::uint64_t n = 1; n <= 2; ++n) {
    Evidence e = at(n);
    e.of = 5;
    all.add(kNeedsNothing, e, [] { return std::string("Calls failed"); });
  }
  taken.finish();
  ASSERT_EQ(taken.list().size(), 1U);
  EXPECT_EQ(taken.list()[0].text, "2 of 5 Calls failed");
}

TEST(Share, IsTakenOffATextThatHasOne) {
  EXPECT_EQ(with_share(3, 5, "Calls failed"), "3 of 5 Calls failed");
  EXPECT_EQ(without_share("3 of 5 Calls failed"), "Calls failed");
  for (const char* none : {"", "Calls", "3", "3 of", "3 of 5", "3 of Calls", " of 5 Calls"}) {
    EXPECT_EQ(without_share(none), none);
  }
}

}  // namespace
}  // namespace rpcrdma::rules
