// The requester against a hand-made peer: opcodes, acknowledgments, retries, RNR waits, credits,
// the window and Reads.
#include "rc_requester.h"

#include "lone_qp_for_tests.h"

#include <numeric>

#include <gmock/gmock.h>

namespace rpcrdma::soft {
namespace {

using fabric::kMillisecond;
using fabric::Operation;
using fabric::Status;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kMtu;
using testing::kOurPsn;
using testing::lone_options;
using testing::LoneQp;
using testing::PairOptions;
using wire::Opcode;

constexpr fabric::MemoryRegion kThere = {0x77, 0x1000};

void send(LoneQp& q, std::uint64_t id, std::size_t packets = 1) {
  ASSERT_TRUE(q.side.post(Operation::kSend, id, 0, packets * kMtu));
}
void read(LoneQp& q, std::uint64_t id, std::size_t packets) {
  ASSERT_TRUE(q.side.post(Operation::kRead, id, 4096, packets * kMtu, kThere));
}
std::vector<std::pair<int, Status>> taken(LoneQp& q) {
  std::vector<std::pair<int, Status>> all;
  for (const auto& c : q.side.take()) all.emplace_back(static_cast<int>(c.id), c.status);
  return all;
}
std::pair<int, Status> ok(int id) {
  return {id, Status::kSuccess};
}
std::pair<int, Status> flushed(int id) {
  return {id, Status::kFlushed};
}

// The opcodes of each operation with 1, 2 and 3 packets (table 35).
TEST(RcRequester, OpcodesOfEachOperation) {
  struct Case {
    Operation operation;
    std::vector<int> one, two, three;
  };
  const std::vector<Case> cases = {
      {Operation::kSend, {4}, {0, 2}, {0, 1, 2}},
      {Operation::kSendImmediate, {5}, {0, 3}, {0, 1, 3}},
      {Operation::kSendInvalidate, {0x17}, {0, 0x16}, {0, 1, 0x16}},
      {Operation::kWrite, {0xa}, {6, 8}, {6, 7, 8}},
      {Operation::kWriteImmediate, {0xb}, {6, 9}, {6, 7, 9}},
      {Operation::kRead, {0xc}, {0xc}, {0xc}},
  };
  for (const Case& c : cases) {
    for (std::size_t packets = 0; packets <= 3; ++packets) {
      LoneQp q;
      fabric::SendRequest r;
      const std::size_t length = packets == 0 ? 0 : packets * kMtu - 1;
      const std::array<fabric::Slice, 2> local = {q.side.slice(0, length / 3),
                                                  q.side.slice(1000, length - length / 3)};
      std::fill_n(q.side.buffer.begin(), length / 3, std::uint8_t{1});
      std::fill_n(q.side.buffer.begin() + 1000, length, std::uint8_t{2});
      r.operation = c.operation;
      r.local = local;
      r.immediate = 0x11223344;
      r.invalidate = 0x55667788;
      r.remote_handle = 0x77;
      r.remote_offset = 0x1000;
      r.solicited = true;
      ASSERT_TRUE(q.side.qp.post_send(r));
      const auto all = q.sent();
      std::vector<int> opcodes;
      std::vector<std::uint8_t> bytes;
      for (std::size_t i = 0; i < all.size(); ++i) {
        const wire::RocePacket p = all[i].packet();
        opcodes.push_back(p.bth.opcode);
        bytes.insert(bytes.end(), p.payload.begin(), p.payload.end());
        const wire::OpcodeInfo& info = wire::opcode_info(p.bth.opcode);
        EXPECT_EQ(p.bth.dest_qp, 0x22U);
        EXPECT_EQ(p.bth.psn, kOurPsn + i);
        EXPECT_EQ(p.bth.pad_count, -p.payload.size() & 3U);
        const bool takes_receive =
            c.operation != Operation::kWrite && c.operation != Operation::kRead;
        EXPECT_EQ(p.bth.solicited, takes_receive && i + 1 == all.size());
        EXPECT_TRUE(p.bth.ack_req || i + 1 != all.size());
        EXPECT_EQ(info.imm ? p.immediate : 0x11223344U, 0x11223344U);
        EXPECT_EQ(info.ieth ? p.invalidate_key : 0x55667788U, 0x55667788U);
        if (info.reth) {
          EXPECT_EQ(p.reth.va, 0x1000U);
          EXPECT_EQ(p.reth.rkey, 0x77U);
          EXPECT_EQ(p.reth.dma_length, length);
        }
      }
      EXPECT_EQ(opcodes, packets <= 1 ? c.one : packets == 2 ? c.two : c.three);
      if (c.operation == Operation::kRead) continue;
      std::vector<std::uint8_t> want(length, 2);
      std::fill_n(want.begin(), length / 3, std::uint8_t{1});
      EXPECT_EQ(bytes, want);
    }
  }
}

TEST(RcRequester, WhatCannotBePosted) {
  PairOptions o = lone_options();
  o.depth = 2;
  o.parameters.initiator_depth = 0;
  LoneQp q(o);
  EXPECT_EQ(q.side.post(Operation::kRead, 1, 0, 10).error().code, fabric::Errc::kBadArgument);
  EXPECT_EQ(q.side.post(Operation::kReceive, 1, 0, 10).error().code, fabric::Errc::kBadArgument);
  EXPECT_EQ(q.side.post(Operation::kSend, 1, 1U << 16, 1).error().code, fabric::Errc::kBadArgument);
  const std::vector<fabric::Slice> five(5, q.side.slice(0, 1));
  fabric::SendRequest r;
  r.local = five;
  EXPECT_EQ(q.side.qp.post_send(r).error().code, fabric::Errc::kBadArgument);
  EXPECT_EQ(q.side.qp.post_receive({1, five}).error().code, fabric::Errc::kBadArgument);
  send(q, 1);
  send(q, 2);
  EXPECT_EQ(q.side.post(Operation::kSend, 3, 0, 1).error().code, fabric::Errc::kNoRoom);
  q.side.qp.fail("the test wants it");
  EXPECT_EQ(q.side.post(Operation::kSend, 3, 0, 1).error().code, fabric::Errc::kNotConnected);
  EXPECT_EQ(q.side.qp.post_receive({}).error().code, fabric::Errc::kNotConnected);
  EXPECT_EQ(q.side.qp.invalidate(1, 1).error().code, fabric::Errc::kNotConnected);
  EXPECT_THAT(taken(q), ElementsAre(flushed(1), flushed(2)));
  EXPECT_STREQ(q.side.qp.reason(), "the test wants it");
  EXPECT_EQ(q.side.qp.deadline(), fabric::kNever);
}

TEST(RcRequester, AnAckCompletesAllBeforeIt) {
  LoneQp q;
  for (std::uint64_t i = 0; i < 3; ++i) send(q, i);
  EXPECT_THAT(q.sent_psns(), ElementsAre(0, 1, 2));
  q.ack(kOurPsn + 1);
  EXPECT_THAT(taken(q), ElementsAre(ok(0), ok(1)));
  q.ack(kOurPsn + 1);  // duplicate
  q.ack(kOurPsn);      // an old one
  q.ack(kOurPsn + 3);  // for a packet not sent
  q.ack(kOurPsn + 3, testing::kAccessNak);
  q.ack(kOurPsn + 1, testing::kAccessNak);  // for a finished request
  q.ack(kOurPsn + 2, 0x40);                 // reserved
  EXPECT_THAT(taken(q), IsEmpty());
  EXPECT_EQ(q.side.qp.counters().ghosts, 4U);
  q.ack(kOurPsn + 2);
  EXPECT_THAT(taken(q), ElementsAre(ok(2)));
  EXPECT_EQ(q.side.qp.deadline(), fabric::kNever);
  EXPECT_THAT(q.sent_psns(), IsEmpty());
}

TEST(RcRequester, AnAtomicAckIsNoAnswer) {
  LoneQp q;
  send(q, 1);
  (void)q.sent();
  q.response(Opcode::kAtomicAck, kOurPsn, 0);
  EXPECT_THAT(taken(q), IsEmpty());
  EXPECT_EQ(q.side.qp.state(), QpState::kReady);
}

TEST(RcRequester, EachNakEndsItInItsWay) {
  const std::vector<std::pair<int, Status>> cases = {
      {0x61, Status::kRemoteInvalid},   {0x62, Status::kRemoteAccess},
      {0x63, Status::kRemoteOperation}, {0x64, Status::kBadResponse},
      {0x7f, Status::kBadResponse},
  };
  for (const auto& [syndrome, status] : cases) {
    LoneQp q;
    q.side.post_receive(9, 0, 10);
    for (std::uint64_t i = 0; i < 4; ++i) send(q, i);
    (void)q.sent();
    q.ack(kOurPsn + 1, static_cast<std::uint8_t>(syndrome));  // acknowledges the first
    EXPECT_THAT(taken(q),
                ElementsAre(ok(0), std::pair(1, status), flushed(2), flushed(3), flushed(9)));
    EXPECT_EQ(q.side.qp.state(), QpState::kError);
    EXPECT_THAT(q.sent_psns(), IsEmpty());
    EXPECT_EQ(q.side.qp.deadline(), fabric::kNever);
  }
}

TEST(RcRequester, ANakOfAGapSendsFromThereOnOnce) {
  LoneQp q;
  for (std::uint64_t i = 0; i < 4; ++i) send(q, i);
  (void)q.sent();
  for (int i = 0; i < 20; ++i) q.ack(kOurPsn + 1, testing::kSequenceNak);
  EXPECT_THAT(q.sent_psns(), ElementsAre(1, 2, 3));
  for (int i = 0; i < 20; ++i) q.ack(kOurPsn + 1, testing::kSequenceNak);
  EXPECT_THAT(q.sent_psns(), IsEmpty());
  q.ack(kOurPsn + 2, testing::kSequenceNak);
  EXPECT_THAT(q.sent_psns(), ElementsAre(2, 3));
  q.wait();
  EXPECT_THAT(q.sent_psns(), ElementsAre(2, 3));
  q.ack(kOurPsn + 2, testing::kSequenceNak);
  EXPECT_THAT(q.sent_psns(), ElementsAre(2, 3));
  q.ack(kOurPsn + 3);
  EXPECT_EQ(taken(q).size(), 4U);
  EXPECT_EQ(q.side.qp.counters().retransmitted, 9U);
}

TEST(RcRequester, GoesOnlyBackToWhatIsStillMissing) {
  LoneQp q;
  send(q, 0, 6);
  (void)q.sent();
  q.wait();
  OutPacket out;
  ASSERT_TRUE(q.side.qp.transmit(out, q.now));
  q.ack(kOurPsn + 3);  // from the first transmission
  const auto again = q.sent();
  ASSERT_EQ(again.size(), 2U);
  EXPECT_EQ(again[0].opcode(), 0x01);
  EXPECT_EQ(again[0].packet().bth.psn, kOurPsn + 4);
  EXPECT_EQ(again[1].opcode(), 0x02);
}

TEST(RcRequester, GivesUpAfterItsRetries) {
  for (std::uint8_t retries = 0; retries <= 7; ++retries) {
    PairOptions o = lone_options();
    o.parameters.retry_count = retries;
    LoneQp q(o);
    q.side.post_receive(9, 0, 10);
    send(q, 1);
    read(q, 2, 1);
    for (int i = 0; i <= retries; ++i) {
      EXPECT_THAT(q.sent_psns(), ElementsAre(0, 1));
      EXPECT_EQ(q.side.qp.deadline(), q.now + (kMillisecond << i));  // twice as long each time
      q.side.qp.expire(q.side.qp.deadline() - 1);                    // not yet
      EXPECT_EQ(q.side.qp.counters().timeouts, static_cast<std::uint64_t>(i));
      q.wait();
    }
    EXPECT_EQ(q.now, (kMillisecond << (retries + 1)) - kMillisecond);
    EXPECT_THAT(taken(q),
                ElementsAre(std::pair(1, Status::kRetriesExceeded), flushed(2), flushed(9)));
    EXPECT_EQ(q.side.qp.state(), QpState::kError);
    EXPECT_STREQ(q.side.qp.reason(), fabric::status_name(Status::kRetriesExceeded));
  }
}

TEST(RcRequester, ProgressGivesTheRetriesAgain) {
  PairOptions o = lone_options();
  o.parameters.retry_count = 1;
  LoneQp q(o);
  send(q, 1, 8);
  for (std::uint32_t i = 0; i < 7; ++i) {
    (void)q.sent();
    q.wait();
    (void)q.sent();
    q.now += kMillisecond / 2;
    q.ack(kOurPsn + i);
    EXPECT_EQ(q.side.qp.deadline(), q.now + kMillisecond);
    EXPECT_EQ(q.side.qp.state(), QpState::kReady);
  }
}

TEST(RcRequester, WaitsNoLongerThanASecondUnlessAskedTo) {
  for (const fabric::Time timeout : {400 * kMillisecond, 2000 * kMillisecond}) {
    PairOptions o = lone_options();
    o.parameters.ack_timeout = timeout;
    LoneQp q(o);
    send(q, 1);
    for (const fabric::Time n : {1, 2, 4, 8}) {
      EXPECT_EQ(q.sent().size(), 1U);
      const fabric::Time longest = std::max(timeout, 1000 * kMillisecond);
      EXPECT_EQ(q.side.qp.deadline() - q.now, std::min(n * timeout, longest));
      q.wait();
    }
  }
}

TEST(RcRequester, TheTimeoutWaitsUntilWhatHasArrivedIsReceived) {
  LoneQp q;
  send(q, 1);
  EXPECT_THAT(q.sent_psns(), ElementsAre(0));
  q.now = q.side.qp.deadline();
  EXPECT_FALSE(q.side.qp.expire(q.now, false));
  EXPECT_THAT(q.sent_psns(), IsEmpty());
  EXPECT_GT(q.side.qp.deadline(), q.now);
  EXPECT_EQ(q.side.qp.counters().timeouts, 0U);
  // There was no answer among it.
  q.now = q.side.qp.deadline();
  EXPECT_TRUE(q.side.qp.expire(q.now, true));
  EXPECT_THAT(q.sent_psns(), ElementsAre(0));
  EXPECT_EQ(q.side.qp.counters().timeouts, 1U);
}

TEST(RcRequester, WithoutATimerItWaits) {
  PairOptions o = lone_options();
  o.parameters.ack_timeout = 0;
  LoneQp q(o);
  send(q, 1);
  EXPECT_EQ(q.sent().size(), 1U);
  EXPECT_EQ(q.side.qp.deadline(), fabric::kNever);
}

TEST(RcRequester, WaitsAsLongAsRnrSays) {
  for (std::uint8_t code = 0; code < 32; ++code) {
    LoneQp q;
    send(q, 1);
    send(q, 2);
    (void)q.sent();
    q.now = 1000;
    q.ack(kOurPsn, static_cast<std::uint8_t>(testing::kRnr | code));
    EXPECT_EQ(q.side.qp.deadline(), q.now + static_cast<fabric::Time>(wire::rnr_timer_ns(code)));
    q.now = q.side.qp.deadline() - 1;
    q.side.qp.expire(q.now);
    EXPECT_THAT(q.sent_psns(), IsEmpty());
    q.wait();
    EXPECT_THAT(q.sent_psns(), ElementsAre(0, 1));
    EXPECT_EQ(q.side.qp.counters().timeouts, 0U);
  }
  // Table 45, by hand.
  EXPECT_EQ(wire::rnr_timer_ns(0), 655'360'000U);
  EXPECT_EQ(wire::rnr_timer_ns(1), 10'000U);
  EXPECT_EQ(wire::rnr_timer_ns(12), 640'000U);
  EXPECT_EQ(wire::rnr_timer_ns(31), 491'520'000U);
}

TEST(RcRequester, RnrRetries) {
  for (const int retries : {0, 1, 3, 7}) {
    PairOptions o = lone_options();
    o.parameters.rnr_retry_count = static_cast<std::uint8_t>(retries);
    o.parameters.retry_count = 0;
    LoneQp q(o);
    send(q, 1);
    const int rounds = retries == 7 ? 1000 : retries;
    for (int i = 0; i < rounds; ++i) {
      EXPECT_THAT(q.sent_psns(), ElementsAre(0));
      // Copies, and NAKs that were in flight, carry no new information.
      for (int copy = 0; copy < 3; ++copy) q.ack(kOurPsn, testing::kRnr | 12);
      q.ack(kOurPsn, testing::kSequenceNak);
      q.wait();
    }
    EXPECT_EQ(q.side.qp.state(), QpState::kReady);
    if (retries == 7) continue;
    EXPECT_THAT(q.sent_psns(), ElementsAre(0));
    q.ack(kOurPsn, testing::kRnr | 12);
    EXPECT_THAT(taken(q), ElementsAre(std::pair(1, Status::kRnrRetriesExceeded)));
  }
}

// A reported gap from before; after the wait everything is retransmitted, and a gap is a new one.
TEST(RcRequester, AGapBehindTheWaitingForAReceiveIsHeeded) {
  LoneQp q;
  send(q, 1);
  send(q, 2);
  (void)q.sent();
  q.ack(kOurPsn, testing::kRnr | 12);
  q.ack(kOurPsn, testing::kSequenceNak);
  EXPECT_THAT(q.sent_psns(), IsEmpty());
  q.wait();
  EXPECT_THAT(q.sent_psns(), ElementsAre(0, 1));
  q.ack(kOurPsn, testing::kSequenceNak);
  EXPECT_THAT(q.sent_psns(), ElementsAre(0, 1));
}

TEST(RcRequester, AnAckEndsTheWaitingForAReceive) {
  LoneQp q;
  send(q, 1);
  send(q, 2);
  (void)q.sent();
  q.ack(kOurPsn, testing::kRnr | 12);
  q.ack(kOurPsn);
  EXPECT_THAT(taken(q), ElementsAre(ok(1)));
  EXPECT_THAT(q.sent_psns(), ElementsAre(1));
}

TEST(RcRequester, ThePeersReceivesLimitSends) {
  LoneQp q;
  for (std::uint64_t i = 0; i < 8; ++i) send(q, i);
  OutPacket out;
  ASSERT_TRUE(q.side.qp.transmit(out, 0));
  q.ack(kOurPsn, 2, 1);  // message 1 is done, two Receives more
  EXPECT_THAT(q.sent_psns(), ElementsAre(1, 2));
  q.ack(kOurPsn + 2, 0, 3);
  // A single message may probe if nothing else is in flight.
  EXPECT_THAT(q.sent_psns(), ElementsAre(3));
  q.ack(kOurPsn + 3, testing::kRnr | 12, 3);
  EXPECT_THAT(q.sent_psns(), IsEmpty());
  q.wait();
  EXPECT_THAT(q.sent_psns(), ElementsAre(3));
  q.ack(kOurPsn + 3, 1, 4);
  EXPECT_THAT(q.sent_psns(), ElementsAre(4));
  q.ack(kOurPsn + 3, 2, 4);  // a Receive was posted in the meantime
  q.ack(kOurPsn + 3, 1, 4);  // an older ACK
  EXPECT_THAT(q.sent_psns(), ElementsAre(5));
  q.ack(kOurPsn + 5, 0x1f, 6);  // the peer no longer reports credits
  EXPECT_THAT(q.sent_psns(), ElementsAre(6, 7));
}

TEST(RcRequester, CreditsDoNotLimitReadsAndWrites) {
  LoneQp q;
  send(q, 1);
  (void)q.sent();
  q.ack(kOurPsn, 0, 1);
  ASSERT_TRUE(q.side.post(Operation::kWrite, 2, 0, kMtu, kThere));
  read(q, 3, 1);
  ASSERT_TRUE(q.side.post(Operation::kWrite, 4, 0, kMtu, kThere));
  ASSERT_TRUE(q.side.post(Operation::kWriteImmediate, 5, 0, kMtu, kThere));
  EXPECT_THAT(q.sent_psns(), ElementsAre(1, 2, 3));
}

// A Read that is requested in parts counts as several messages for the peer.
TEST(RcRequester, CreditsCountThePartsOfReads) {
  PairOptions o = lone_options();
  o.parameters.read_packets = 2;
  LoneQp q(o);
  read(q, 1, 4);
  send(q, 2);
  send(q, 3);
  OutPacket out;
  ASSERT_TRUE(q.side.qp.transmit(out, 0));
  ASSERT_TRUE(q.side.qp.transmit(out, 0));
  testing::Given g;
  g.opcode = Opcode::kReadRespFirst;
  g.psn = kOurPsn;
  g.payload = kMtu;
  g.syndrome = 1;  // one Receive
  g.msn = 2;       // both parts were started
  q.give(g);
  EXPECT_THAT(q.sent_psns(), ElementsAre(4));
}

TEST(RcRequester, FewerPacketsThanTheWindowAreUnderWay) {
  PairOptions o = lone_options();
  o.parameters.window = 4;
  LoneQp q(o);
  send(q, 1, 10);
  auto all = q.sent();
  ASSERT_EQ(all.size(), 4U);
  EXPECT_TRUE(all[3].packet().bth.ack_req);
  q.ack(kOurPsn + 1);
  EXPECT_THAT(q.sent_psns(), ElementsAre(4, 5));
  // A loss does not enlarge a small window.
  PairOptions one = lone_options();
  one.parameters.window = 1;
  LoneQp alone(one);
  send(alone, 1, 10);
  EXPECT_THAT(alone.sent_psns(), ElementsAre(0));
  alone.wait();
  EXPECT_THAT(alone.sent_psns(), ElementsAre(0));
}

TEST(RcRequester, ALossHalvesTheWindow) {
  LoneQp q;  // 16
  send(q, 1, 60);
  EXPECT_EQ(q.sent().size(), 16U);
  q.wait();
  EXPECT_EQ(q.sent().size(), 8U);
  q.wait();
  EXPECT_EQ(q.sent().size(), 4U);
  q.wait();
  EXPECT_EQ(q.sent().size(), 4U);
  q.ack(kOurPsn + 3);
  EXPECT_EQ(q.sent().size(), 5U);
}

TEST(RcRequester, AReadInPartsWithinWhatWasAgreed) {
  PairOptions o = lone_options();
  o.parameters.initiator_depth = 2;
  o.parameters.read_packets = 3;
  LoneQp q(o);
  read(q, 1, 8);
  auto all = q.sent();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].packet().bth.psn, kOurPsn + 3);
  EXPECT_EQ(all[1].packet().reth.va, 0x1000U + 3 * kMtu);
  EXPECT_EQ(all[1].packet().reth.dma_length, 3 * kMtu);
  q.response(Opcode::kReadRespFirst, kOurPsn, kMtu, 1);
  q.response(Opcode::kReadRespMiddle, kOurPsn + 1, kMtu, 2);
  EXPECT_THAT(q.sent_psns(), IsEmpty());
  q.response(Opcode::kReadRespLast, kOurPsn + 2, kMtu, 3);
  all = q.sent();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].packet().bth.psn, kOurPsn + 6);
  EXPECT_EQ(all[0].packet().reth.dma_length, 2 * kMtu);
  q.response(Opcode::kReadRespFirst, kOurPsn + 3, kMtu, 4);
  // A response is lost: the rest of its part is requested, and the later parts.
  q.response(Opcode::kReadRespLast, kOurPsn + 5, kMtu, 6);
  all = q.sent();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].packet().bth.psn, kOurPsn + 4);
  EXPECT_EQ(all[0].packet().reth.va, 0x1000U + 4 * kMtu);
  EXPECT_EQ(all[0].packet().reth.dma_length, 2 * kMtu);
  // Others of the same burst cause no further request.
  q.response(Opcode::kReadRespFirst, kOurPsn + 6, kMtu, 7);
  EXPECT_THAT(q.sent_psns(), IsEmpty());
  const std::array answers{Opcode::kReadRespFirst, Opcode::kReadRespLast, Opcode::kReadRespFirst,
                           Opcode::kReadRespLast};
  for (std::uint32_t i = 4; i < 8; ++i) {
    q.response(answers.at(i - 4), kOurPsn + i, kMtu, static_cast<std::uint8_t>(i + 1));
  }
  const auto done = q.side.take();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].bytes, 8 * kMtu);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_TRUE(q.holds(4096 + i * kMtu, kMtu, static_cast<std::uint8_t>(i + 1))) << i;
  }
  EXPECT_TRUE(q.holds(4096 + 8 * kMtu, kMtu, 0));
}

TEST(RcRequester, AnAckInAReadResponsesPlaceAsksForIt) {
  LoneQp q;
  send(q, 1);
  read(q, 2, 2);
  send(q, 3);
  (void)q.sent();
  q.ack(kOurPsn + 3);
  EXPECT_THAT(taken(q), ElementsAre(ok(1)));
  EXPECT_THAT(q.sent_psns(), ElementsAre(1, 3));
  q.ack(kOurPsn + 3);
  EXPECT_THAT(q.sent_psns(), IsEmpty());
  q.response(Opcode::kReadRespFirst, kOurPsn + 1, kMtu);
  q.response(Opcode::kReadRespLast, kOurPsn + 2, kMtu);
  q.ack(kOurPsn + 3);
  EXPECT_THAT(taken(q), ElementsAre(ok(2), ok(3)));
}

// The first response is lost and the others arrive out of order: that is one gap, and one retry.
TEST(RcRequester, ResponsesOutOfOrderShowAGapOnce) {
  PairOptions o = lone_options();
  o.parameters.retry_count = 1;
  LoneQp q(o);
  read(q, 1, 8);
  (void)q.sent();
  for (const std::uint32_t n : {3U, 2U, 1U, 7U, 6U, 5U, 4U}) {
    q.response(Opcode::kReadRespMiddle, kOurPsn + n, kMtu);
  }
  EXPECT_EQ(q.side.qp.state(), QpState::kReady);
  EXPECT_THAT(q.sent_psns(), ElementsAre(0));
  for (std::uint32_t n = 0; n < 8; ++n) {
    const Opcode opcode = n == 0   ? Opcode::kReadRespFirst
                          : n == 7 ? Opcode::kReadRespLast
                                   : Opcode::kReadRespMiddle;
    q.response(opcode, kOurPsn + n, kMtu);
  }
  EXPECT_THAT(taken(q), ElementsAre(ok(1)));
}

TEST(RcRequester, AReadResponseAcknowledgesWhatComesBeforeIt) {
  LoneQp q;
  send(q, 1);
  ASSERT_TRUE(q.side.post(Operation::kWrite, 2, 0, 3 * kMtu, kThere));
  ASSERT_TRUE(q.side.post(Operation::kRead, 3, 4096, 0, kThere));
  (void)q.sent();
  q.response(Opcode::kReadRespOnly, kOurPsn + 2, 0);  // not the PSN of a Read
  EXPECT_THAT(taken(q), IsEmpty());
  EXPECT_EQ(q.side.qp.counters().ghosts, 1U);
  q.response(Opcode::kReadRespOnly, kOurPsn + 4, 0);
  EXPECT_THAT(taken(q), ElementsAre(ok(1), ok(2), ok(3)));
}

TEST(RcRequester, AReadResponseOfAnotherLengthIsNoAnswer) {
  for (const std::size_t length : {0U, 4U, 99U, 101U, 256U}) {
    LoneQp q;
    ASSERT_TRUE(q.side.post(Operation::kRead, 1, 4096, 100, kThere));
    send(q, 2);
    (void)q.sent();
    q.response(Opcode::kReadRespOnly, kOurPsn, length);
    EXPECT_THAT(taken(q), ElementsAre(std::pair(1, Status::kBadResponse), flushed(2)));
    EXPECT_TRUE(q.holds(4096, 300, 0));
  }
}

TEST(RcRequester, AReadResponseInAnothersPlaceIsNoAnswer) {
  using enum Opcode;
  constexpr std::array kAll{kReadRespFirst, kReadRespMiddle, kReadRespLast, kReadRespOnly};
  struct Case {
    std::uint32_t packets;
    std::vector<Opcode> before;
    Opcode right;
  };
  // Parts of three packets.
  for (const Case& c :
       {Case{1, {}, kReadRespOnly}, Case{2, {}, kReadRespFirst},
        Case{2, {kReadRespFirst}, kReadRespLast}, Case{3, {kReadRespFirst}, kReadRespMiddle},
        Case{5, {kReadRespFirst, kReadRespMiddle}, kReadRespLast},
        Case{5, {kReadRespFirst, kReadRespMiddle, kReadRespLast}, kReadRespFirst},
        Case{4, {kReadRespFirst, kReadRespMiddle, kReadRespLast}, kReadRespOnly}}) {
    for (const Opcode opcode : kAll) {
      PairOptions o = lone_options();
      o.parameters.read_packets = 3;
      LoneQp q(o);
      read(q, 1, c.packets);
      (void)q.sent();
      std::uint32_t psn = kOurPsn;
      for (const Opcode before : c.before) q.response(before, psn++, kMtu);
      EXPECT_EQ(q.side.qp.state(), QpState::kReady);
      q.response(opcode, psn, kMtu);
      EXPECT_EQ(q.side.qp.state(), opcode == c.right ? QpState::kReady : QpState::kError)
          << c.packets << ' ' << c.before.size() << ' ' << static_cast<int>(opcode);
    }
  }
}

// A peer may treat it as a new request, or as a part of what it answered before.
TEST(RcRequester, WhatIsAskedForAgainMayBeginAgainOrGoOn) {
  for (const auto& [middle, last] : {std::pair{Opcode::kReadRespFirst, Opcode::kReadRespLast},
                                     std::pair{Opcode::kReadRespMiddle, Opcode::kReadRespLast}}) {
    LoneQp q;
    read(q, 1, 3);
    (void)q.sent();
    q.response(Opcode::kReadRespFirst, kOurPsn, kMtu);
    q.response(Opcode::kReadRespLast, kOurPsn + 2, kMtu);
    EXPECT_THAT(q.sent_psns(), ElementsAre(1));
    q.response(middle, kOurPsn + 1, kMtu);
    q.response(last, kOurPsn + 2, kMtu);
    EXPECT_THAT(taken(q), ElementsAre(ok(1)));
  }
  for (const Opcode opcode : {Opcode::kReadRespOnly, Opcode::kReadRespLast}) {
    LoneQp q;
    read(q, 1, 2);
    (void)q.sent();
    q.response(Opcode::kReadRespFirst, kOurPsn, kMtu);
    q.wait();
    EXPECT_THAT(q.sent_psns(), ElementsAre(1));
    q.response(opcode, kOurPsn + 1, kMtu);
    EXPECT_THAT(taken(q), ElementsAre(ok(1)));
  }
}

TEST(RcRequester, AReadFillsItsSlices) {
  LoneQp q;
  const std::array<fabric::Slice, 3> into = {q.side.slice(0, 100), q.side.slice(1000, 300),
                                             q.side.slice(2000, 10)};
  fabric::SendRequest r;
  r.operation = Operation::kRead;
  r.local = into;
  ASSERT_TRUE(q.side.qp.post_send(r));
  (void)q.sent();
  q.response(Opcode::kReadRespFirst, kOurPsn, kMtu, 1);
  q.response(Opcode::kReadRespLast, kOurPsn + 1, 410 - kMtu, 2);
  EXPECT_EQ(q.side.take().size(), 1U);
  EXPECT_TRUE(q.holds(0, 100, 1));
  EXPECT_TRUE(q.holds(100, 100, 0));
  EXPECT_TRUE(q.holds(1000, 156, 1));
  EXPECT_TRUE(q.holds(1156, 144, 2));
  EXPECT_TRUE(q.holds(2000, 10, 2));
  EXPECT_TRUE(q.holds(2010, 100, 0));
}

TEST(RcRequester, AFenceWaitsForReads) {
  LoneQp q;
  read(q, 1, 1);
  fabric::SendRequest r;
  r.fence = true;
  r.id = 2;
  ASSERT_TRUE(q.side.qp.post_send(r));
  send(q, 3);
  EXPECT_THAT(q.sent_psns(), ElementsAre(0));
  q.wait();
  EXPECT_THAT(q.sent_psns(), ElementsAre(0));
  q.response(Opcode::kReadRespOnly, kOurPsn, kMtu);
  EXPECT_THAT(q.sent_psns(), ElementsAre(1, 2));
  ASSERT_TRUE(q.side.qp.post_send(r));  // Sends need not wait
  EXPECT_THAT(q.sent_psns(), ElementsAre(3));
}

TEST(RcRequester, WhatIsNotSignaledIsEmittedOnlyIfItFails) {
  LoneQp q;
  fabric::SendRequest r;
  r.signaled = false;
  for (r.id = 1; r.id <= 3; ++r.id) ASSERT_TRUE(q.side.qp.post_send(r));
  (void)q.sent();
  q.ack(kOurPsn + 1, testing::kAccessNak);
  EXPECT_THAT(taken(q), ElementsAre(std::pair(2, Status::kRemoteAccess), flushed(3)));
}

}  // namespace
}  // namespace rpcrdma::soft
