// Tests conclusions from times and the order of packets, if the capture point is near one side or
// the capture is out of order.
#include "exchanges.h"
#include "run.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rpcrdma::scenes {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kMicrosecond = 1000;
constexpr wire::Segment kMemory{0x10, 64, 0x1000};

// Returns the texts of all findings of the rule; empty: none.
std::string found(const Outcome& outcome, const std::string& rule) {
  std::string text;
  for (const rules::Finding& f : outcome.findings) {
    if (f.rule == rule) text += std::string(rules::severity_name(f.severity)) + " " + f.text + "\n";
  }
  return text;
}

std::string inconclusive(const Outcome& outcome, const std::string& rule) {
  for (const rules::Inconclusive& w : outcome.inconclusive) {
    if (w.rule == rule) return w.reason;
  }
  return {};
}

Outcome judged(const Scene& scene) {
  return run(scene, rules::Profile::k8166);
}

// Each Call is acknowledged after `way`, and answered `thinking` later.
void calls(Scene& s, std::int64_t way, std::int64_t thinking, std::uint32_t count = 8) {
  Connection& c = s.connect();
  c.acks = false;
  for (std::uint32_t xid = 1; xid <= count; ++xid) {
    c.call(call(xid));
    s.wait(way);
    c.ack(kServer);
    s.wait(thinking);
    c.reply(reply(xid));
    c.ack(kClient);
  }
}

TEST(SlowPeer, IsNotBlamedForALongWay) {
  Scene s;
  calls(s, 50 * kMillisecond, 0);
  const Outcome outcome = judged(s);
  EXPECT_EQ(found(outcome, "SLOW-PEER"), "");
  EXPECT_EQ(found(outcome, "SLOW-NETWORK"),
            "note 8 of 8 Calls took 1 ms or longer, at least 80 % of it until the responder's "
            "adapter had acknowledged the Call; in total 400 ms of 400 ms\n");
}

TEST(SlowPeer, IsReportedWithoutTheWay) {
  Scene s;
  calls(s, kMillisecond, 9 * kMillisecond);
  const std::string text = found(judged(s), "SLOW-PEER");
  EXPECT_THAT(text, HasSubstr("8 of 8 Calls took 1 ms or longer, at least 80 % of it in the "
                              "responder; in total it had 72.1 ms of 80.2 ms; 8.08 ms until its "
                              "adapter had acknowledged the Calls"));
}

// Two Calls of two seconds make a mean of 81 ms; the median is 20 us.
TEST(SlowPeer, IsNotAccusedForTwoCallsOfFifty) {
  Scene s;
  Connection& c = s.connect();
  for (std::uint32_t xid = 1; xid <= 50; ++xid) {
    c.call(call(xid));
    if (xid == 10 || xid == 30) s.wait(2000 * kMillisecond);
    c.reply(reply(xid));
  }
  const Outcome outcome = judged(s);
  EXPECT_EQ(found(outcome, "SLOW-PEER"), "");
  EXPECT_EQ(found(outcome, "SLOW-NETWORK"), "");
}

// 26 of 50 Calls are slow, then 25 of 50: only the majority makes the peer slow.
TEST(SlowPeer, IsAccusedByTheMedian) {
  for (const std::uint32_t slow : {26U, 25U}) {
    Scene s;
    Connection& c = s.connect();
    for (std::uint32_t xid = 1; xid <= 50; ++xid) {
      c.call(call(xid));
      if (xid <= slow) s.wait(10 * kMillisecond);
      c.reply(reply(xid));
    }
    const std::string text = found(judged(s), "SLOW-PEER");
    if (slow == 26) {
      EXPECT_THAT(text,
                  HasSubstr("26 of 50 Calls took 1 ms or longer, all of it in the responder"));
    } else {
      EXPECT_EQ(text, "");
    }
  }
}

TEST(SlowPeer, NeitherIsReportedWhereBothHaveTheirShare) {
  Scene s;
  calls(s, kMillisecond, kMillisecond);
  const Outcome outcome = judged(s);
  EXPECT_EQ(found(outcome, "SLOW-PEER"), "");
  EXPECT_EQ(found(outcome, "SLOW-NETWORK"), "");
}

// The second Call's acknowledgment is for both: it shows nothing about the time before that Call.
TEST(SlowPeer, IsReportedWhereAcknowledgementsArePutOff) {
  Scene s;
  Connection& c = s.connect();
  c.exchange(1);
  c.acks = false;
  for (std::uint32_t xid = 2; xid <= 16; xid += 2) {
    c.call(call(xid));
    s.wait(5 * kMillisecond);
    c.call(call(xid + 1));
    c.ack(kServer);
    s.wait(kMillisecond);
    c.reply(reply(xid));
    c.reply(reply(xid + 1));
    c.ack(kClient);
  }
  EXPECT_THAT(found(judged(s), "SLOW-PEER"), HasSubstr("all of it in the responder"));
}

// The Call was answered before it was acknowledged.
TEST(SlowPeer, IsReportedWhereAcknowledgementsComeBehindTheReply) {
  Scene s;
  Connection& c = s.connect();
  c.acks = false;
  for (std::uint32_t xid = 1; xid <= 8; ++xid) {
    c.call(call(xid));
    s.wait(5 * kMillisecond);
    c.reply(reply(xid));
    c.ack(kServer);
    c.ack(kClient);
  }
  EXPECT_THAT(found(judged(s), "SLOW-PEER"), HasSubstr("all of it in the responder"));
}

// The Call and the Reply before it are lost together and retransmitted together.
TEST(SlowNetwork, CountsOnceWhatBothSidesStoodStillFor) {
  Scene s;
  Connection& c = s.connect();
  c.acks = false;
  for (std::uint32_t xid = 1; xid <= 16; xid += 2) {
    c.call(call(xid));
    c.ack(kServer);
    const std::uint32_t replied = c.psn(kServer), called = c.psn(kClient);
    c.reply(reply(xid));
    c.call(call(xid + 1));
    s.wait(9 * kMillisecond);
    c.resend(kClient, called);
    c.resend(kServer, replied);
    c.ack(kClient);
    c.ack(kServer);
    s.wait(kMillisecond);
    c.reply(reply(xid + 1));
    c.ack(kClient);
  }
  EXPECT_EQ(found(judged(s), "SLOW-NETWORK"),
            "warning a side stalled before retransmissions for 72.2 ms of the 80.6 ms in which "
            "Calls were in flight (89 %)\n");
}

// The Reply's acknowledgment is lost, and the client is idle for longer than the server's timeout:
// no Call waited for it.
TEST(SlowNetwork, DoesNotCountWhatNoCallWaitedFor) {
  Scene s;
  Connection& c = s.connect();
  for (std::uint32_t xid = 1; xid <= 8; ++xid) {
    c.call(call(xid));
    s.wait(4 * kMillisecond);
    const std::uint32_t replied = c.psn(kServer);
    c.acks = false;
    c.reply(reply(xid));
    s.wait(5 * kMillisecond);
    c.resend(kServer, replied);
    c.ack(kClient);
    c.acks = true;
  }
  EXPECT_EQ(found(judged(s), "SLOW-NETWORK"), "");
}

// A side without a posted Receive delays its peer, and no packet is lost.
TEST(SlowNetwork, IsNotBlamedForWaitingAfterRnrNaks) {
  Scene s;
  Connection& c = s.connect();
  for (std::uint32_t xid = 1; xid <= 24; ++xid) {
    c.acks = false;
    const std::uint32_t called = c.psn(kClient);
    c.call(call(xid));
    c.rnr(kServer, called);
    s.wait(5 * kMillisecond);
    c.resend(kClient, called);
    c.ack(kServer);
    c.acks = true;
    c.reply(reply(xid));
  }
  const Outcome outcome = judged(s);
  EXPECT_NE(found(outcome, "RNR"), "");
  EXPECT_EQ(found(outcome, "SLOW-NETWORK"), "");
  EXPECT_EQ(found(outcome, "RETX-STORM"), "");
}

// Two Calls at a time, as many as the server grants. The acknowledgment of a Reply takes `way`, and
// the next Call follows `pause` later.
Outcome two_at_a_time(std::int64_t latency, std::int64_t way, std::int64_t pause) {
  Scene s;
  Connection& c = s.connect();
  c.acks = false;
  const auto ask = [&](std::uint32_t xid) {
    Message m = call(xid);
    m.credit = 32;
    c.call(m);
    c.ack(kServer);
  };
  const auto answer = [&](std::uint32_t xid) {
    Message m = reply(xid);
    m.credit = 2;
    c.reply(m);
    s.wait(way);
    c.ack(kClient);
    s.wait(pause);
  };
  ask(1);
  answer(1);
  ask(2);
  for (std::uint32_t xid = 3; xid < 16; ++xid) {
    ask(xid);
    s.wait(latency / 2);
    answer(xid - 1);
  }
  return judged(s);
}

TEST(CreditStarved, IsReportedHoweverFarTheRequester) {
  EXPECT_NE(found(two_at_a_time(kMillisecond, 0, 0), "CREDIT-STARVED"), "");
  EXPECT_NE(found(two_at_a_time(kMillisecond, 400 * kMicrosecond, 0), "CREDIT-STARVED"), "");
}

TEST(CreditStarved, IsReportedForASlowRequester) {
  EXPECT_NE(found(two_at_a_time(10 * kMillisecond, 0, 500 * kMicrosecond), "CREDIT-STARVED"), "");
}

TEST(CreditStarved, IsNotReportedForOneThatHasNothingToSend) {
  EXPECT_EQ(found(two_at_a_time(kMillisecond, 0, 500 * kMicrosecond), "CREDIT-STARVED"), "");
}

Message reading(std::uint32_t xid) {
  Message m = call(xid, nfs3::read_call(xid, kMemory.length));
  m.writes = {{kMemory}};
  return m;
}

Message read_reply(std::uint32_t xid) {
  Message m = reply(xid, nfs3::read_reply(xid, kMemory.length).rpc);
  m.writes = {{kMemory}};
  return m;
}

// The RDMA Write precedes the Call that advertises its memory.
TEST(OutOfOrder, AWriteAheadOfItsCallIsNoFault) {
  for (const bool acknowledged_too : {false, true}) {
    Scene s;
    Connection& c = s.connect();
    c.exchange(1);
    c.acks = false;
    c.write(kMemory, pattern(kMemory.length));
    if (acknowledged_too) c.ack(kServer, c.psn(kClient));
    c.call(reading(2));
    if (!acknowledged_too) c.ack(kServer);
    c.ack(kClient);
    c.reply(read_reply(2));
    c.ack(kClient);
    const Outcome outcome = judged(s);
    EXPECT_EQ(found(outcome, "OPS-01"), "");
    EXPECT_EQ(found(outcome, "OPS-03"), "");
    EXPECT_THAT(inconclusive(outcome, "OPS-01"), HasSubstr("out of order"));
    EXPECT_THAT(inconclusive(outcome, "OPS-03"), HasSubstr("out of order"));
  }
}

// The next Call advertises the memory again, but the Write was for the previous one.
TEST(OutOfOrder, ALateWriteIsNoDisorder) {
  Scene s;
  Connection& c = s.connect();
  c.call(reading(1));
  c.write(kMemory, pattern(kMemory.length));
  c.reply(read_reply(1));
  c.write(kMemory, pattern(kMemory.length));
  c.call(reading(2));
  c.write(kMemory, pattern(kMemory.length));
  c.reply(read_reply(2));
  EXPECT_NE(found(judged(s), "OPS-02"), "");
}

// The set-up shows that the connection speaks RPC-over-RDMA; the capture has none of its messages.
TEST(Lost, CountsConnectionsOfWhichNoMessageIsSeen) {
  Scene s;
  Connection& c = s.connect();
  c.acks = false;
  s.lose_next(2);
  c.call(call(1));
  c.call(call(2));
  c.ack(kServer);
  c.disconnect();
  EXPECT_THAT(found(judged(s), "CAPTURE"),
              HasSubstr("2 packets that their receiver acknowledged are not in the capture, on "
                        "connection 1"));
}

// One datagram with several packets, coalesced by segmentation offload before capture.
TEST(Coalesced, IsNoDamage) {
  Scene s;
  Connection& c = s.connect();
  c.exchange(1);
  wire::RocePacket p;
  p.bth.opcode = static_cast<std::uint8_t>(wire::Opcode::kWriteMiddle);
  p.bth.psn = c.psn(kServer);
  const Bytes payload = pattern(40'000);
  p.payload = payload;
  s.damage_next();
  c.packet(kServer, p);
  c.exchange(2);
  const Outcome outcome = judged(s);
  EXPECT_EQ(found(outcome, "ICRC"), "");
  EXPECT_THAT(found(outcome, "CAPTURE"),
              HasSubstr("1 datagram was coalesced by GSO/GRO before capture"));
}

}  // namespace
}  // namespace rpcrdma::scenes
