// When the ACK of a Send waits for the owner's answer, and when it must not.
#include "lone_qp_for_tests.h"

namespace rpcrdma::soft {
namespace {

using testing::Flying;
using testing::Given;
using testing::kTheirPsn;
using testing::kWritable;
using testing::lone_options;
using testing::LoneQp;
using testing::PairOptions;
using wire::Opcode;

constexpr fabric::Time kHold = 10 * fabric::kMicrosecond;
constexpr fabric::Time kTimeout = 2 * fabric::kMillisecond;
constexpr std::uint8_t kAck = static_cast<std::uint8_t>(Opcode::kAck);

PairOptions holding(const bool& sleeping) {
  PairOptions o = lone_options();
  o.parameters.ack_hold = kHold;
  o.parameters.ack_timeout = kTimeout;
  o.parameters.owner_sleeps = &sleeping;
  return o;
}

// With this many Receives, which the peer knows from the ACK of a first Send.
class AckHold : public ::testing::Test {
 protected:
  void begin(std::size_t receives) {
    for (std::uint64_t i = 0; i <= receives; ++i) q.side.post_receive(i, 100 * i, 100);
    ASSERT_TRUE(give_send());
    ASSERT_EQ(acks(), 1);
  }
  bool give_send() {
    Given g;
    g.psn = psn++;
    g.payload = 10;
    q.give(g);
    return q.side.take().size() == 1;
  }
  // Returns the number of ACKs among all packets sent now.
  int acks() {
    int n = 0;
    for (const Flying& f : q.sent()) n += f.opcode() == kAck ? 1 : 0;
    return n;
  }

  bool sleeping = false;
  LoneQp q{holding(sleeping)};
  std::uint32_t psn = kTheirPsn;
};

TEST_F(AckHold, ItWaitsUntilItsTimeIsOver) {
  begin(16);
  ASSERT_TRUE(give_send());
  EXPECT_EQ(acks(), 0);
  EXPECT_EQ(q.side.qp.deadline(), kHold);
  q.wait();
  EXPECT_EQ(q.answer(kTheirPsn + 1), 7);  // 15 Receives are left: code 7 is 12, code 8 is 16
  EXPECT_EQ(q.side.qp.deadline(), fabric::kNever);
}

TEST_F(AckHold, WhileTheOwnerSleepsItWaitsLonger) {
  begin(16);
  sleeping = true;
  ASSERT_TRUE(give_send());
  EXPECT_EQ(acks(), 0);
  EXPECT_EQ(q.side.qp.deadline(), 20 * kHold);
  q.now = 20 * kHold - 1;
  EXPECT_EQ(acks(), 0);
  q.wait();
  EXPECT_EQ(q.answer(kTheirPsn + 1), 7);
}

// Each Send comes in time to postpone the ACK, but the peer must not send the first of them again.
TEST_F(AckHold, TheOldestSendWaitsForAQuarterOfTheTimeoutAtMost) {
  begin(16);
  sleeping = true;
  constexpr fabric::Time kMost = kTimeout / 4;
  for (int i = 0; i < 4; ++i, q.now += kMost / 4) {
    ASSERT_TRUE(give_send());
    EXPECT_EQ(acks(), 0) << i;
    EXPECT_EQ(q.side.qp.deadline(), std::min(q.now + 20 * kHold, kMost)) << i;
  }
  q.wait();
  EXPECT_EQ(q.now, kMost);
  EXPECT_EQ(acks(), 1);
  // The next one waits for its own time again.
  ASSERT_TRUE(give_send());
  EXPECT_EQ(acks(), 0);
  EXPECT_EQ(q.side.qp.deadline(), q.now + 20 * kHold);
}

TEST_F(AckHold, EachSendBeginsTheTimeAgain) {
  begin(16);
  ASSERT_TRUE(give_send());
  EXPECT_EQ(acks(), 0);
  q.now = kHold - 1;
  ASSERT_TRUE(give_send());
  EXPECT_EQ(acks(), 0);
  EXPECT_EQ(q.side.qp.deadline(), 2 * kHold - 1);
}

TEST_F(AckHold, TheAnswerGoesWithoutIt) {
  begin(16);
  ASSERT_TRUE(give_send());
  ASSERT_TRUE(q.side.post(fabric::Operation::kSend, 1, 5000, 10));
  const auto sent = q.sent();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].opcode(), static_cast<std::uint8_t>(Opcode::kSendOnly));
}

TEST_F(AckHold, TheEighthSendIsAcknowledgedAtOnce) {
  begin(32);
  for (int i = 0; i < 7; ++i) {
    ASSERT_TRUE(give_send());
    EXPECT_EQ(acks(), 0) << i;
  }
  ASSERT_TRUE(give_send());
  EXPECT_EQ(acks(), 1);
}

TEST_F(AckHold, APeerThatKnowsOfFewReceivesIsEmittedAtOnce) {
  begin(3);
  ASSERT_TRUE(give_send());
  EXPECT_EQ(acks(), 0);  // it may send two more
  ASSERT_TRUE(give_send());
  EXPECT_EQ(acks(), 1);
}

TEST_F(AckHold, WhatIsAskedForAgainIsAcknowledgedAtOnce) {
  begin(16);
  Given g;
  g.psn = kTheirPsn;
  g.payload = 10;
  q.give(g);
  EXPECT_EQ(acks(), 1);
}

TEST_F(AckHold, AWriteIsAcknowledgedAtOnce) {
  begin(16);
  ASSERT_TRUE(give_send());
  Given g;
  g.opcode = Opcode::kWriteOnly;
  g.psn = psn;
  g.payload = g.length = 10;
  g.remote = q.side.advertise(5000, 100, kWritable);
  q.give(g);
  EXPECT_EQ(acks(), 1);
}

TEST_F(AckHold, AGapIsEmittedAtOnce) {
  begin(16);
  ++psn;
  Given g;
  g.psn = psn;
  g.payload = 10;
  q.give(g);
  EXPECT_EQ(acks(), 1);
}

}  // namespace
}  // namespace rpcrdma::soft
