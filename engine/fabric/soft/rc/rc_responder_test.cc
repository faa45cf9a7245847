// The responder against a hand-made peer: execution in order, RNR, duplicates, repeated Reads and
// their limits, and ACKs.
#include "rc_responder.h"

#include "lone_qp_for_tests.h"
#include "packet_fields.h"

namespace rpcrdma::soft {
namespace {

using fabric::Status;
using testing::Flying;
using testing::Given;
using testing::kMtu;
using testing::kTheirPsn;
using testing::lone_options;
using testing::LoneQp;
using testing::PairOptions;
using wire::Opcode;

Given send(std::uint32_t psn, std::size_t payload = 10) {
  Given g;
  g.psn = psn;
  g.payload = payload;
  return g;
}

Given read(std::uint32_t psn, fabric::MemoryRegion remote, std::uint32_t length) {
  Given g;
  g.opcode = Opcode::kReadRequest;
  g.psn = psn;
  g.remote = remote;
  g.length = length;
  return g;
}

TEST(RcResponder, AcksCoalesce) {
  LoneQp q;
  for (std::uint64_t i = 0; i < 5; ++i) q.side.post_receive(i, 100 * i, 100);
  for (std::uint32_t i = 0; i < 5; ++i) q.give(send(kTheirPsn + i));
  const auto answers = q.sent();
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].packet().bth.psn, kTheirPsn + 4);
  EXPECT_EQ(answers[0].packet().aeth.msn, 5U);
  EXPECT_EQ(q.side.take().size(), 5U);
}

TEST(RcResponder, AnAckShowsHowManyReceivesThereAre) {
  LoneQp q;
  for (std::uint64_t i = 0; i < 8; ++i) q.side.post_receive(i, 100 * i, 100);
  q.give(send(kTheirPsn));
  EXPECT_EQ(q.answer(kTheirPsn), 5);  // 7 are left; table 46: code 5 is 6 credits, code 6 is 8
  PairOptions o = lone_options();
  o.parameters.flow_control = false;
  LoneQp without(o);
  without.side.post_receive(1, 0, 100);
  without.give(send(kTheirPsn));
  EXPECT_EQ(without.answer(kTheirPsn), 0x1f);
}

TEST(RcResponder, ASendWithoutReceiveIsToWait) {
  LoneQp q;
  q.give(send(kTheirPsn));
  // Sent before the peer knew: not a gap, so no NAK.
  q.give(send(kTheirPsn + 1));
  q.give(send(kTheirPsn + 2));
  EXPECT_EQ(q.answer(kTheirPsn), testing::kRnr | 12);
  q.give(send(kTheirPsn + 3));
  EXPECT_TRUE(q.sent().empty());
  q.side.post_receive(1, 0, 100);
  q.give(send(kTheirPsn));
  EXPECT_EQ(q.answer(kTheirPsn), 0);
  ASSERT_EQ(q.side.take().size(), 1U);
  // And again.
  q.give(send(kTheirPsn + 1));
  EXPECT_EQ(q.answer(kTheirPsn + 1), testing::kRnr | 12);
  EXPECT_EQ(q.side.qp.counters().rnr_out, 2U);
  EXPECT_EQ(q.side.qp.counters().naks_out, 0U);
}

TEST(RcResponder, AWriteWithImmediateWaitsForItsReceiveWithItsLastPacketOnly) {
  LoneQp q;
  const auto there = q.side.advertise(1000, 1000, testing::kWritable);
  Given g;
  g.opcode = Opcode::kWriteFirst;
  g.payload = kMtu;
  g.remote = there;
  g.length = kMtu + 3;
  g.value = 1;
  q.give(g);
  EXPECT_EQ(q.answer(kTheirPsn), 0);
  g.opcode = Opcode::kWriteLastImm;
  g.psn = kTheirPsn + 1;
  g.payload = 3;
  g.extra = 0xabcd;
  q.give(g);
  EXPECT_EQ(q.answer(kTheirPsn + 1), testing::kRnr | 12);
  EXPECT_TRUE(q.holds(1000 + kMtu, 3, 0));
  q.side.post_receive(9, 0, 0);
  q.give(g);
  EXPECT_EQ(q.answer(kTheirPsn + 1), 0);
  EXPECT_TRUE(q.holds(1000, kMtu + 3, 1));
  const auto done = q.side.take();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].id, 9U);
  EXPECT_EQ(done[0].bytes, kMtu + 3);
  EXPECT_TRUE(done[0].has_immediate);
  EXPECT_EQ(done[0].immediate, 0xabcdU);
}

TEST(RcResponder, OneNakForAGap) {
  LoneQp q;
  for (std::uint64_t i = 0; i < 8; ++i) q.side.post_receive(i, 100 * i, 100);
  q.give(send(kTheirPsn + 1));
  EXPECT_EQ(q.answer(kTheirPsn), testing::kSequenceNak);
  q.give(send(kTheirPsn + 2));
  q.give(send(kTheirPsn + 1));
  EXPECT_TRUE(q.sent().empty());
  EXPECT_TRUE(q.side.take().empty());
  q.give(send(kTheirPsn));
  EXPECT_EQ(q.answer(kTheirPsn), 5);
  q.give(send(kTheirPsn + 2));
  EXPECT_EQ(q.answer(kTheirPsn + 1), testing::kSequenceNak);
  EXPECT_EQ(q.side.take().size(), 1U);
}

TEST(RcResponder, ADuplicateDoesNotTakeTheNaksPlace) {
  LoneQp q;
  for (std::uint64_t i = 0; i < 3; ++i) q.side.post_receive(i, 100 * i, 100);
  q.give(send(kTheirPsn));
  (void)q.sent();
  q.give(send(kTheirPsn + 2));
  q.give(send(kTheirPsn));
  EXPECT_EQ(q.answer(kTheirPsn + 1), testing::kSequenceNak);
  EXPECT_EQ(q.side.take().size(), 1U);
}

// An answer that waited behind a repeated Read is dropped: the gap is reported again.
TEST(RcResponder, ANakThatWasDroppedIsEmittedAgain) {
  LoneQp q;
  const auto there = q.side.advertise(1000, 100, testing::kReadable);
  q.side.post_receive(1, 0, 100);
  q.give(read(kTheirPsn, there, 10));
  EXPECT_EQ(q.sent().size(), 1U);
  q.give(send(kTheirPsn + 2));
  q.give(read(kTheirPsn, there, 10));
  q.give(send(kTheirPsn + 2));
  const auto all = q.sent();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].opcode(), 0x10);
  EXPECT_EQ(all[1].packet().aeth.syndrome, testing::kSequenceNak);
}

TEST(RcResponder, ADuplicateIsAcknowledgedAndNotExecuted) {
  LoneQp q;
  const auto there = q.side.advertise(1000, 1000, testing::kWritable);
  for (std::uint64_t i = 0; i < 3; ++i) q.side.post_receive(i, 100 * i, 100);
  Given w;
  w.opcode = Opcode::kWriteOnly;
  w.payload = 20;
  w.length = 20;
  w.remote = there;
  w.value = 1;
  q.give(w);
  q.give(send(kTheirPsn + 1));
  (void)q.sent();
  w.value = 2;
  q.give(w);
  EXPECT_TRUE(q.holds(1000, 20, 1));
  EXPECT_EQ(q.answer(kTheirPsn + 1), 2);  // the newest
  q.give(send(kTheirPsn + 1));
  EXPECT_EQ(q.answer(kTheirPsn + 1), 2);
  EXPECT_EQ(q.side.take().size(), 1U);
  EXPECT_EQ(q.side.qp.counters().duplicates, 2U);
}

std::vector<int> opcodes(const std::vector<Flying>& all) {
  std::vector<int> o;
  for (const Flying& f : all) o.push_back(f.opcode());
  return o;
}

TEST(RcResponder, AReadIsAnsweredInOrderWithWhatIsAroundIt) {
  LoneQp q;
  std::fill(q.side.buffer.begin() + 1000, q.side.buffer.begin() + 2000, std::uint8_t{7});
  const auto there = q.side.advertise(1000, 1000, testing::kReadable);
  for (std::uint64_t i = 0; i < 3; ++i) q.side.post_receive(i, 100 * i, 100);
  q.give(send(kTheirPsn));
  q.give(read(kTheirPsn + 1, there, 2 * kMtu + 10));
  q.give(send(kTheirPsn + 4));
  q.give(read(kTheirPsn + 5, there, 0));
  q.give(read(kTheirPsn + 6, there, kMtu + 1));
  const auto all = q.sent();
  EXPECT_EQ(opcodes(all), (std::vector<int>{0x11, 0x0d, 0x0e, 0x0f, 0x11, 0x10, 0x0d, 0x0f}));
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].packet().bth.psn, kTheirPsn + i);
  }
  EXPECT_EQ(all[3].packet().payload.size(), 10U);
  EXPECT_EQ(all[5].packet().payload.size(), 0U);
  EXPECT_EQ(all[7].packet().payload.size(), 1U);
  EXPECT_EQ(all[7].packet().payload[0], 7);
}

TEST(RcResponder, MoreReadsThanAgreedAreRefused) {
  LoneQp q;  // 4
  const auto there = q.side.advertise(1000, 1000, testing::kReadable);
  for (std::uint32_t i = 0; i < 5; ++i) q.give(read(kTheirPsn + i, there, 10));
  const auto all = q.sent();
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all[3].opcode(), 0x10);
  EXPECT_EQ(all[4].opcode(), 0x11);
  EXPECT_EQ(all[4].packet().aeth.syndrome, testing::kInvalidNak);
  EXPECT_EQ(q.side.qp.state(), QpState::kError);
}

// The peer has its answer and has the negotiated number of Reads in flight; a copy of an old
// request is still queued.
TEST(RcResponder, AReadThatIsRepeatedIsNotCounted) {
  LoneQp q;
  const auto there = q.side.advertise(1000, 1000, testing::kReadable);
  for (std::uint32_t i = 0; i < 4; ++i) q.give(read(kTheirPsn + i, there, 10));
  EXPECT_EQ(q.sent().size(), 4U);
  for (std::uint32_t i = 0; i < 4; ++i) q.give(read(kTheirPsn + i, there, 10));
  for (std::uint32_t i = 4; i < 8; ++i) q.give(read(kTheirPsn + i, there, 10));
  EXPECT_EQ(q.sent().size(), 8U);
  EXPECT_EQ(q.side.qp.state(), QpState::kReady);
}

TEST(RcResponder, ACopyOfAReadThatWaitsChangesNothing) {
  LoneQp q;
  const auto there = q.side.advertise(1000, 1000, testing::kReadable);
  q.side.post_receive(1, 0, 100);
  q.give(read(kTheirPsn, there, 2 * kMtu));
  q.give(send(kTheirPsn + 2));
  q.give(read(kTheirPsn, there, 2 * kMtu));
  EXPECT_EQ(opcodes(q.sent()), (std::vector<int>{0x0d, 0x0f, 0x11}));
}

TEST(RcResponder, AReadIsRepeatedFromWhereItIsAskedFor) {
  LoneQp q;
  for (std::size_t i = 0; i < 1000; ++i)
    q.side.buffer[1000 + i] = static_cast<std::uint8_t>(i / kMtu);
  const auto there = q.side.advertise(1000, 1000, testing::kReadable);
  q.give(read(kTheirPsn, there, 1000));
  OutPacket out;
  ASSERT_TRUE(q.side.qp.transmit(out, 0));
  ASSERT_TRUE(q.side.qp.transmit(out, 0));
  // While it is being answered; and then the whole once more.
  q.give(read(kTheirPsn + 1, {there.handle, there.offset + kMtu}, 1000 - kMtu));
  auto all = q.sent();
  EXPECT_EQ(opcodes(all), (std::vector<int>{0x0d, 0x0e, 0x0f}));
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].packet().bth.psn, kTheirPsn + 1 + i);
    EXPECT_EQ(all[i].packet().payload[0], i + 1);
  }
  q.give(read(kTheirPsn, there, 1000));
  EXPECT_EQ(q.sent().size(), 4U);
  // A request beyond the original one is not a copy.
  q.give(read(kTheirPsn + 3, there, kMtu + 1));
  EXPECT_TRUE(q.sent().empty());
  EXPECT_EQ(q.side.qp.state(), QpState::kReady);
}

TEST(RcResponder, WhatIsAskedForAgainIsNotSentTwice) {
  LoneQp q;
  const auto there = q.side.advertise(1000, 1000, testing::kReadable);
  q.give(read(kTheirPsn, there, 1000));
  OutPacket out;
  ASSERT_TRUE(q.side.qp.transmit(out, 0));
  q.give(read(kTheirPsn + 2, {there.handle, there.offset + 2 * kMtu}, 1000 - 2 * kMtu));
  const auto all = q.sent();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].packet().bth.psn, kTheirPsn + 2);
}

// An ACK of the newest PSN would imply that the second Read's response, which follows later, was
// lost.
TEST(RcResponder, ADuplicateIsAcknowledgedByItsOwnPsnWhileAReadWaits) {
  LoneQp q;
  const auto there = q.side.advertise(1000, 100, testing::kReadable);
  q.side.post_receive(1, 0, 100);
  q.give(send(kTheirPsn));
  q.give(read(kTheirPsn + 1, there, 10));
  q.give(read(kTheirPsn + 2, there, 10));
  EXPECT_EQ(q.sent().size(), 3U);
  q.give(read(kTheirPsn + 1, there, 10));
  q.give(send(kTheirPsn));
  const auto all = q.sent();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].packet().bth.psn, kTheirPsn);
}

// Linux's rxe completes a Read when an ACK with its PSN arrives, with whatever its memory contains.
TEST(RcResponder, NoAckBearsThePsnOfARead) {
  LoneQp q;
  const auto there = q.side.advertise(1000, 100, testing::kReadable);
  for (std::uint64_t i = 0; i < 3; ++i) q.side.post_receive(i, 100 * i, 100);
  q.give(send(kTheirPsn));
  q.give(send(kTheirPsn + 1));
  q.give(read(kTheirPsn + 2, there, 10));
  EXPECT_EQ(q.sent().size(), 2U);
  q.give(send(kTheirPsn));
  EXPECT_EQ(q.answer(kTheirPsn + 1), 1);  // the newest that is not a Read
  // A later answer implies that the Read's response was sent.
  q.give(send(kTheirPsn + 3));
  (void)q.sent();
  q.give(send(kTheirPsn));
  EXPECT_EQ(q.answer(kTheirPsn + 3), 0);
}

TEST(RcResponder, ASendIsSpreadOverSlicesAndMayBeShorter) {
  LoneQp q;
  const std::array<fabric::Slice, 4> into = {q.side.slice(0, 100), q.side.slice(0, 0),
                                             q.side.slice(1000, 200), q.side.slice(2000, 300)};
  ASSERT_TRUE(q.side.qp.post_receive({3, into}));
  Given g = send(kTheirPsn, kMtu);
  g.opcode = Opcode::kSendFirst;
  q.give(g);
  g = send(kTheirPsn + 1, 100);
  g.opcode = Opcode::kSendLastImm;
  g.extra = 5;
  q.give(g);
  const auto done = q.side.take();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].bytes, kMtu + 100);
  EXPECT_EQ(done[0].immediate, 5U);
  EXPECT_TRUE(q.holds(0, 100, 0xcc));
  EXPECT_TRUE(q.holds(100, 900, 0));
  EXPECT_TRUE(q.holds(1000, 200, 0xcc));
  EXPECT_TRUE(q.holds(2000, 56, 0xcc));
  EXPECT_TRUE(q.holds(2056, 300, 0));
}

TEST(RcResponder, ASendThatDoesNotFitItsReceive) {
  LoneQp q;
  q.side.post_receive(1, 0, kMtu + 9);
  q.side.post_receive(2, 1000, 1000);
  Given g = send(kTheirPsn, kMtu);
  g.opcode = Opcode::kSendFirst;
  q.give(g);
  g = send(kTheirPsn + 1, 10);
  g.opcode = Opcode::kSendLast;
  q.give(g);
  EXPECT_EQ(q.answer(kTheirPsn + 1), testing::kInvalidNak);
  EXPECT_TRUE(q.holds(kMtu, 1000, 0));
  const auto done = q.side.take();
  ASSERT_EQ(done.size(), 2U);
  EXPECT_EQ(done[0].status, Status::kLocalLength);
  EXPECT_EQ(done[1].status, Status::kFlushed);
}

TEST(RcResponder, ASendMayInvalidateWhatIsExposedToThePeer) {
  LoneQp q;
  const auto there = q.side.advertise(1000, 1000, testing::kReadable);
  q.side.post_receive(1, 0, 100);
  q.side.post_receive(2, 0, 100);
  Given g = send(kTheirPsn);
  g.opcode = Opcode::kSendOnlyInv;
  g.extra = there.handle;
  q.give(g);
  EXPECT_EQ(q.answer(kTheirPsn), 1);
  const auto done = q.side.take();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_TRUE(done[0].has_invalidated);
  EXPECT_EQ(done[0].invalidated, there.handle);
  EXPECT_EQ(q.side.memory.advertised(), 0U);
  q.give(g);  // a copy does not do so again
  EXPECT_EQ(q.answer(kTheirPsn), 1);
  g.psn = kTheirPsn + 1;
  q.give(g);
  EXPECT_EQ(q.answer(kTheirPsn + 1), testing::kAccessNak);
  EXPECT_EQ(q.side.qp.state(), QpState::kError);
  ASSERT_EQ(q.side.take().size(), 1U);
}

// A peer that floods gets a bounded number of answers, and still learns why it is refused.
TEST(RcResponder, AFloodOfRepeatedReadsIsBounded) {
  PairOptions o = lone_options();
  o.parameters.responder_resources = 255;
  o.parameters.mtu = 256;
  LoneQp q(o);
  const auto there = q.side.advertise(1000, 100, testing::kReadable);
  for (std::uint64_t i = 0; i < 64; ++i) q.side.post_receive(i, 0, 100);
  std::uint32_t psn = kTheirPsn;
  for (int i = 0; i < 600; ++i) {
    q.give(read(psn++, there, 10));
    (void)q.sent();
  }
  for (std::uint32_t i = 0; i < 600; ++i) {
    q.give(read(kTheirPsn + i, there, 10));
    q.give(read(kTheirPsn + i, there, 9));
    q.give(send(kTheirPsn + i));
  }
  for (int i = 0; i < 256; ++i) q.give(read(psn++, there, 10));
  const auto all = q.sent();
  EXPECT_LE(all.size(), 1024U);
  EXPECT_EQ(all.back().packet().aeth.syndrome, testing::kInvalidNak);
  EXPECT_EQ(q.side.qp.state(), QpState::kError);
}

TEST(RcResponder, PsnsBeginAgainInTheMiddleOfAMessage) {
  PairOptions o = lone_options();
  LoneQp q(o);
  QpParameters p = o.parameters;
  p.receive_psn = wire::kPsnMask;
  q.side.qp.connect({}, p);
  q.side.post_receive(1, 0, 1000);
  Given g = send(wire::kPsnMask, kMtu);
  g.opcode = Opcode::kSendFirst;
  q.give(g);
  g = send(0, 1);
  g.opcode = Opcode::kSendLast;
  q.give(g);
  EXPECT_EQ(q.answer(0), 0);
  EXPECT_EQ(q.side.take().size(), 1U);
  EXPECT_EQ(psn_add(wire::kPsnMask, 2), 1U);
  EXPECT_EQ(psn_diff(1, wire::kPsnMask), 2);
  EXPECT_EQ(psn_diff(wire::kPsnMask, 1), -2);
  EXPECT_EQ(psn_diff(0x800000, 0), -0x800000);
  EXPECT_EQ(psn_diff(0x7fffff, 0), 0x7fffff);
}

// Endless Reads by the peer do not block our own requests.
TEST(RcResponder, AnswersAndRequestsTakeTurns) {
  LoneQp q;
  const auto there = q.side.advertise(1000, 10 * kMtu, testing::kReadable);
  ASSERT_TRUE(q.side.post(fabric::Operation::kSend, 1, 0, 3 * kMtu));
  q.give(read(kTheirPsn, there, 10 * kMtu));
  auto all = opcodes(q.sent());
  ASSERT_EQ(all.size(), 13U);
  all.resize(6);
  EXPECT_EQ(all, (std::vector<int>{0x0d, 0x00, 0x0e, 0x01, 0x0e, 0x02}));
}

}  // namespace
}  // namespace rpcrdma::soft
