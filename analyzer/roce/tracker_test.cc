// Tests of roce::Tracker: order, loss, retransmission, RDMA READs and connection set-up, packet
// by packet.
#include "support/roce_packets.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/roce/tracker.h>
#include <rpcrdma/wire/cm.h>

namespace rpcrdma::roce {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using wire::Opcode;

constexpr std::uint32_t kQpA = 0x11, kQpB = 0x22;
constexpr std::uint32_t kMtu = 256;

// Records all events.
struct Recorder : Listener {
  struct Send {
    std::uint8_t sender;
    std::vector<std::uint8_t> data;
    bool complete;
    std::uint64_t frame;
    bool suspect;
  };
  struct Op {
    OpKind kind;
    std::uint8_t initiator;
    std::uint32_t handle;
    std::uint64_t bytes;
    bool complete;
  };
  std::vector<Send> sends;
  std::vector<Op> ops;
  std::vector<std::uint8_t> data;
  std::vector<std::uint32_t> acks;
  int closed = 0;
  bool answer = false;

  void on_send(const Connection&, const SendMessage& m) override {
    sends.push_back({m.sender, {m.data.begin(), m.data.end()}, m.complete, m.frame, m.suspect});
  }
  void on_operation(const Connection&, Operation& op) override {
    op.want_data = true;
    data.assign(op.length, 0);
  }
  void on_data(const OperationData& event) override {
    std::copy(event.data.begin(), event.data.end(),
              data.begin() + static_cast<std::ptrdiff_t>(event.offset));
  }
  void on_operation_end(const Connection&, const Operation& op) override {
    ops.push_back({op.kind, op.initiator, op.handle, op.bytes, op.complete});
  }
  void on_acknowledge(const Acknowledgement& event) override { acks.push_back(event.psn); }
  void on_close(const Connection&) override { ++closed; }
  bool answers(const Connection&, std::span<const std::uint8_t>, std::uint32_t) override {
    return answer;
  }
};

struct TrackerTest : ::testing::Test {
  Recorder recorded;
  Tracker tracker{recorded};
  Wire net{tracker};

  void a(const wire::RocePacket& p, bool damage = false) { net.give(kA, kB, p, damage); }
  void b(const wire::RocePacket& p, bool damage = false) { net.give(kB, kA, p, damage); }
  // Sends a SEND of several packets from A, first PSN `psn`; the packets in `skip` are not
  // captured.
  void send_from_a(std::uint32_t psn, const std::vector<std::uint8_t>& data,
                   std::initializer_list<std::uint32_t> skip = {}) {
    const auto n = static_cast<std::uint32_t>((data.size() + kMtu - 1) / kMtu);
    for (std::uint32_t i = 0; i < n; ++i) {
      if (std::find(skip.begin(), skip.end(), i) != skip.end()) continue;
      a(piece(psn, data, i, n));
    }
  }
  static wire::RocePacket piece(std::uint32_t psn, const std::vector<std::uint8_t>& data,
                                std::uint32_t i, std::uint32_t n) {
    const Opcode op = n == 1       ? Opcode::kSendOnly
                      : i == 0     ? Opcode::kSendFirst
                      : i == n - 1 ? Opcode::kSendLast
                                   : Opcode::kSendMiddle;
    const std::size_t at = std::size_t{i} * kMtu;
    return packet(op, kQpB, psn + i,
                  wire::Bytes(data).subspan(at, std::min<std::size_t>(kMtu, data.size() - at)));
  }
  const Connection& connection() { return tracker.connection(0); }
};

TEST_F(TrackerTest, SendOfOnePacket) {
  const auto data = pattern(61);
  a(packet(Opcode::kSendOnly, kQpB, 100, data));
  ASSERT_EQ(recorded.sends.size(), 1U);
  EXPECT_EQ(recorded.sends[0].data, data);
  EXPECT_TRUE(recorded.sends[0].complete);
  EXPECT_EQ(tracker.stats().icrc_good, 1U);
}

TEST_F(TrackerTest, SendOfSeveralPacketsOverThePsnWrap) {
  const auto data = pattern(5 * kMtu + 3);
  send_from_a(0xfffffe, data);
  ASSERT_EQ(recorded.sends.size(), 1U);
  EXPECT_EQ(recorded.sends[0].data, data);
  EXPECT_EQ(tracker.stats().retransmitted, 0U);
  EXPECT_EQ(tracker.stats().lost_capture, 0U);
}

TEST_F(TrackerTest, PairsDirectionsByAcknowledgement) {
  a(packet(Opcode::kSendOnly, kQpB, 7, pattern(4)));
  b(ack(kQpA, 7));
  ASSERT_EQ(tracker.connection_count(), 1U);
  EXPECT_EQ(connection().setup, Setup::kInferred);
  EXPECT_EQ(connection().side[0].qpn, kQpA);
  EXPECT_EQ(connection().side[1].qpn, kQpB);
}

TEST_F(TrackerTest, UnrelatedPsnPairsNothing) {
  a(packet(Opcode::kSendOnly, kQpB, 7, pattern(4)));
  b(ack(kQpA, 0x700000));
  EXPECT_EQ(tracker.connection_count(), 2U);
  EXPECT_FALSE(connection().side[0].qpn_known);
}

TEST_F(TrackerTest, MergesDirectionsThatEvidenceJoinsLater) {
  a(packet(Opcode::kSendOnly, kQpB, 7, pattern(4)));
  b(packet(Opcode::kSendOnly, kQpA, 900, pattern(8)));  // nothing joins it yet
  EXPECT_EQ(tracker.connection_count(), 2U);
  a(ack(kQpB, 900));
  // A's ACK for B's PSN: the flows are one connection.
  EXPECT_TRUE(tracker.connection(0).merged_away != tracker.connection(1).merged_away);
  b(packet(Opcode::kSendOnly, kQpA, 901, pattern(9)));
  EXPECT_EQ(recorded.sends.size(), 3U);
}

TEST_F(TrackerTest, PairsByWhatTheListenerKnows) {
  a(packet(Opcode::kSendOnly, kQpB, 7, pattern(4)));
  recorded.answer = true;
  b(packet(Opcode::kSendOnly, kQpA, 900, pattern(8)));
  EXPECT_EQ(tracker.connection_count(), 1U);
  EXPECT_EQ(recorded.sends[1].sender, 1);
}

TEST_F(TrackerTest, TwoConnectionsBetweenTheSamePortsStayApart) {
  a(packet(Opcode::kSendOnly, 0x22, 1000, pattern(4)));
  a(packet(Opcode::kSendOnly, 0x33, 500000, pattern(4)));
  b(ack(0x44, 500000));
  b(ack(0x55, 1000));
  ASSERT_EQ(tracker.connection_count(), 2U);
  EXPECT_EQ(tracker.connection(0).side[0].qpn, 0x55U);
  EXPECT_EQ(tracker.connection(1).side[0].qpn, 0x44U);
}

TEST_F(TrackerTest, RetransmissionAfterLossOnTheWay) {
  const auto data = pattern(4 * kMtu);
  send_from_a(10, data, {1});  // lost before the capture point
  EXPECT_TRUE(recorded.sends.empty());
  b(nak(kQpA, 11));
  for (std::uint32_t i = 1; i < 4; ++i) a(piece(10, data, i, 4));
  ASSERT_EQ(recorded.sends.size(), 1U);
  EXPECT_EQ(recorded.sends[0].data, data);
  EXPECT_EQ(tracker.stats().lost_network, 1U);
  EXPECT_EQ(tracker.stats().retransmitted, 3U);
  EXPECT_EQ(tracker.stats().lost_capture, 0U);
  EXPECT_EQ(tracker.stats().reordered, 0U);
  EXPECT_EQ(tracker.stats().nak, 1U);
}

TEST_F(TrackerTest, GoBackNWithoutANakIsALossToo) {
  const auto data = pattern(4 * kMtu);
  send_from_a(10, data, {1});
  net.wait_for_timeout();
  for (std::uint32_t i = 1; i < 4; ++i) a(piece(10, data, i, 4));
  EXPECT_EQ(recorded.sends.size(), 1U);
  EXPECT_EQ(tracker.stats().lost_network, 1U);
  EXPECT_EQ(tracker.stats().reordered, 0U);
}

TEST_F(TrackerTest, LatePacketIsReorderingNotLoss) {
  const auto data = pattern(4 * kMtu);
  for (const std::uint32_t i : {0U, 2U, 1U, 3U}) a(piece(10, data, i, 4));
  ASSERT_EQ(recorded.sends.size(), 1U);
  EXPECT_EQ(recorded.sends[0].data, data);
  EXPECT_EQ(tracker.stats().reordered, 1U);
  EXPECT_EQ(tracker.stats().retransmitted, 0U);
}

TEST_F(TrackerTest, AcknowledgedButUnseenIsTheCapturesLoss) {
  const auto data = pattern(4 * kMtu);
  send_from_a(10, data, {1});
  b(ack(kQpA, 13));
  a(packet(Opcode::kSendOnly, kQpB, 14, pattern(20)));
  EXPECT_EQ(tracker.stats().lost_capture, 1U);
  EXPECT_EQ(tracker.stats().lost_network, 0U);
  // The broken SEND is reported as incomplete, the next one is whole.
  ASSERT_EQ(recorded.sends.size(), 2U);
  EXPECT_FALSE(recorded.sends[0].complete);
  EXPECT_EQ(recorded.sends[0].data.size(), kMtu);
  EXPECT_TRUE(recorded.sends[1].complete);
}

// A snapshot length of 64 bytes leaves ten behind the BTH: less than a RETH.
constexpr std::size_t kSnap64 = 64 - 14;

TEST_F(TrackerTest, HeadersThatTheCaptureCutAreNotLost) {
  net.captured = kSnap64;
  const auto data = pattern(kMtu);
  a(packet(Opcode::kSendOnly, kQpB, 10, data));
  b(ack(kQpA, 10));
  // A READ of three packets, of which the capture does not show the length.
  b(with_reth(packet(Opcode::kReadRequest, kQpA, 500), 7, 0x1000, 3 * kMtu));
  a(packet(Opcode::kReadRespFirst, kQpB, 500, data));
  a(packet(Opcode::kReadRespMiddle, kQpB, 501, data));
  a(packet(Opcode::kReadRespLast, kQpB, 502, data));
  b(with_reth(packet(Opcode::kWriteFirst, kQpA, 503, data), 7, 0x1000, 2 * kMtu));
  b(packet(Opcode::kWriteLast, kQpA, 504, data));
  a(ack(kQpB, 504));
  b(packet(Opcode::kSendOnly, kQpA, 505, data));
  a(ack(kQpB, 505));
  tracker.finish(1);
  EXPECT_EQ(tracker.stats().headers_cut, 2U);
  EXPECT_EQ(tracker.stats().malformed, 0U);
  EXPECT_EQ(tracker.stats().lost_capture, 0U);
  EXPECT_EQ(tracker.stats().retransmitted, 0U);
  EXPECT_EQ(tracker.connection_count(), 1U);
  for (const Side& side : tracker.connection(0).side) {
    EXPECT_EQ(side.counters.acknowledged_unseen, 0U);
    EXPECT_EQ(side.counters.illegal_sequence, 0U);
  }
  EXPECT_EQ(recorded.sends.size(), 2U);
}

TEST_F(TrackerTest, HeadersThatTheCaptureCutCanBeRetransmitted) {
  net.captured = kSnap64;
  const auto data = pattern(kMtu);
  a(packet(Opcode::kSendOnly, kQpB, 10, data));
  for (int i = 0; i < 2; ++i) {
    a(with_reth(packet(Opcode::kWriteOnly, kQpB, 11, data), 7, 0x1000, kMtu));
    net.wait_for_timeout();
  }
  EXPECT_EQ(tracker.stats().retransmitted, 1U);
  a(packet(Opcode::kSendOnly, kQpB, 14, data));  // two are missing
  b(ack(kQpA, 14));
  EXPECT_EQ(tracker.stats().lost_capture, 2U);
}

TEST_F(TrackerTest, HeadersThatTheCaptureCutEndWhatWasHeld) {
  const auto data = pattern(kMtu);
  a(packet(Opcode::kSendOnly, kQpB, 10, data));
  a(packet(Opcode::kSendOnly, kQpB, 12, data));
  net.captured = kSnap64;
  a(with_reth(packet(Opcode::kWriteOnly, kQpB, 13, data), 7, 0x1000, kMtu));
  EXPECT_EQ(recorded.sends.size(), 2U);
  EXPECT_EQ(tracker.stats().lost_capture, 1U);
}

TEST_F(TrackerTest, CmMessagesThatTheCaptureCutAreCounted) {
  net.captured = kSnap64;
  const auto mad = pattern(256);
  wire::RocePacket p = packet(Opcode::kUdSendOnly, wire::kGsiQp, 1, mad);
  a(p);
  EXPECT_EQ(tracker.stats().cm_cut, 1U);
  EXPECT_EQ(tracker.stats().other_service, 0U);
  EXPECT_EQ(tracker.stats().headers_cut, 0U);
}

TEST_F(TrackerTest, DuplicateSendIsTakenOnce) {
  a(packet(Opcode::kSendOnly, kQpB, 10, pattern(20)));
  net.wait_for_timeout();
  a(packet(Opcode::kSendOnly, kQpB, 10, pattern(20)));
  EXPECT_EQ(recorded.sends.size(), 1U);
  EXPECT_EQ(tracker.stats().retransmitted, 1U);
}

TEST_F(TrackerTest, WhatASecondPointSeesTooWasNotSentAgain) {
  const auto data = pattern(3 * kMtu);
  for (const std::uint64_t point : {0U, 1U}) {
    net.point = point;
    send_from_a(10, data);
    b(ack(kQpA, 12));
    a(packet(Opcode::kSendOnly, kQpB, 13, pattern(8)));
    b(ack(kQpA, 13, 0x20 | 12));  // RNR
  }
  EXPECT_EQ(recorded.sends.size(), 2U);
  EXPECT_EQ(recorded.acks.size(), 2U);
  EXPECT_EQ(tracker.stats().retransmitted, 0U);
  EXPECT_EQ(tracker.stats().rnr, 1U);
  EXPECT_EQ(tracker.stats().captured_twice, 6U);
  EXPECT_EQ(connection().side[0].counters.captured_twice, 4U);
  EXPECT_EQ(connection().side[1].counters.captured_twice, 2U);
}

TEST_F(TrackerTest, WhatIsSentAgainCountsOnceHoweverManyPointsSeeIt) {
  for (int time = 0; time < 2; ++time) {
    net.wait_for_timeout();
    for (const std::uint64_t point : {0U, 1U}) {
      net.point = point;
      a(packet(Opcode::kSendOnly, kQpB, 10, pattern(8)));
    }
  }
  EXPECT_EQ(tracker.stats().retransmitted, 1U);
  EXPECT_EQ(tracker.stats().captured_twice, 2U);
}

TEST_F(TrackerTest, WhatOnePointLacksTheOtherHas) {
  const auto data = pattern(4 * kMtu);
  send_from_a(10, data, {1});
  net.point = 1;
  send_from_a(10, data);
  b(ack(kQpA, 13));
  ASSERT_EQ(recorded.sends.size(), 1U);
  EXPECT_EQ(recorded.sends[0].data, data);
  EXPECT_EQ(tracker.stats().lost_capture + tracker.stats().lost_network, 0U);
  EXPECT_EQ(tracker.stats().retransmitted, 0U);
}

TEST_F(TrackerTest, WriteOfSeveralPackets) {
  const auto data = pattern(3 * kMtu + 5);
  const wire::Bytes bytes(data);
  a(with_reth(packet(Opcode::kWriteFirst, kQpB, 5, bytes.first(kMtu)), 0xabc, 0x1000,
              static_cast<std::uint32_t>(data.size())));
  a(packet(Opcode::kWriteMiddle, kQpB, 6, bytes.subspan(kMtu, kMtu)));
  a(packet(Opcode::kWriteMiddle, kQpB, 7, bytes.subspan(2 * kMtu, kMtu)));
  a(packet(Opcode::kWriteLast, kQpB, 8, bytes.subspan(3 * kMtu)));
  ASSERT_EQ(recorded.ops.size(), 1U);
  EXPECT_TRUE(recorded.ops[0].complete);
  EXPECT_EQ(recorded.ops[0].bytes, data.size());
  EXPECT_EQ(recorded.ops[0].handle, 0xabcU);
  EXPECT_EQ(recorded.data, data);
}

TEST_F(TrackerTest, WriteWithAPacketThatTheCaptureLostIsIncomplete) {
  const auto data = pattern(3 * kMtu);
  const wire::Bytes bytes(data);
  a(with_reth(packet(Opcode::kWriteFirst, kQpB, 5, bytes.first(kMtu)), 0xabc, 0x1000, 3 * kMtu));
  a(packet(Opcode::kWriteLast, kQpB, 7, bytes.subspan(2 * kMtu)));
  b(ack(kQpA, 7));
  ASSERT_EQ(recorded.ops.size(), 1U);
  EXPECT_FALSE(recorded.ops[0].complete);
  EXPECT_EQ(recorded.ops[0].bytes, 2 * kMtu);
  // The bytes after the hole are at the right offset.
  EXPECT_TRUE(std::equal(data.begin() + 2 * kMtu, data.end(), recorded.data.begin() + 2 * kMtu));
}

struct ReadTest : TrackerTest {
  std::vector<std::uint8_t> data = pattern(3 * kMtu);
  wire::RocePacket request() {
    return with_reth(packet(Opcode::kReadRequest, kQpB, 50), 0xabc, 0x2000, 3 * kMtu);
  }
  wire::RocePacket answer(std::uint32_t i) {
    const Opcode op = i == 0   ? Opcode::kReadRespFirst
                      : i == 2 ? Opcode::kReadRespLast
                               : Opcode::kReadRespMiddle;
    return packet(op, kQpA, 50 + i, wire::Bytes(data).subspan(std::size_t{i} * kMtu, kMtu));
  }
};

TEST_F(ReadTest, RequestAndResponses) {
  a(request());
  for (std::uint32_t i = 0; i < 3; ++i) b(answer(i));
  ASSERT_EQ(recorded.ops.size(), 1U);
  EXPECT_EQ(recorded.ops[0].kind, OpKind::kRead);
  EXPECT_TRUE(recorded.ops[0].complete);
  EXPECT_EQ(recorded.data, data);
  // The READ used three PSNs.
  a(packet(Opcode::kSendOnly, kQpB, 53, pattern(4)));
  EXPECT_EQ(recorded.sends.size(), 1U);
  EXPECT_EQ(tracker.connection_count(), 1U);
}

TEST_F(ReadTest, PathMtuFoundFromTheNextPsn) {
  a(request());
  a(packet(Opcode::kSendOnly, kQpB, 53, pattern(4)));
  EXPECT_EQ(recorded.sends.size(), 1U);
  EXPECT_EQ(connection().path_mtu, kMtu);
}

TEST_F(ReadTest, PathMtuFoundFromAPsnThatWasHeldBehindIt) {
  a(packet(Opcode::kSendOnly, kQpB, 48, pattern(4)));
  a(request());  // held: the capture lost 49
  a(packet(Opcode::kSendOnly, kQpB, 53, pattern(4)));
  EXPECT_EQ(recorded.sends.size(), 1U);
  tracker.finish();
  EXPECT_EQ(recorded.sends.size(), 2U);
  EXPECT_EQ(connection().path_mtu, kMtu);
}

TEST_F(ReadTest, PathMtuFoundWhenTheGapBeforeItIsAcknowledged) {
  a(packet(Opcode::kSendOnly, kQpB, 48, pattern(4)));
  a(request());
  a(packet(Opcode::kSendOnly, kQpB, 53, pattern(4)));
  b(ack(kQpA, 49));
  EXPECT_EQ(recorded.sends.size(), 2U);
  EXPECT_EQ(connection().path_mtu, kMtu);
}

TEST_F(ReadTest, ResponsesAgainAreRetransmissions) {
  a(request());
  for (std::uint32_t i = 0; i < 3; ++i) b(answer(i));
  net.wait_for_timeout();
  a(request());
  for (std::uint32_t i = 0; i < 3; ++i) b(answer(i));
  EXPECT_EQ(recorded.ops.size(), 1U);
  EXPECT_EQ(tracker.stats().retransmitted, 4U);
}

TEST_F(ReadTest, ResponsesAtASecondPointAreCopies) {
  for (const std::uint64_t point : {0U, 1U}) {
    net.point = point;
    a(request());
    for (std::uint32_t i = 0; i < 3; ++i) b(answer(i));
  }
  EXPECT_EQ(recorded.ops.size(), 1U);
  EXPECT_EQ(tracker.stats().retransmitted, 0U);
  EXPECT_EQ(tracker.stats().captured_twice, 4U);
}

TEST_F(ReadTest, LostResponseComesWithASecondRequestFromThere) {
  a(request());
  b(answer(0));
  b(answer(2));
  a(with_reth(packet(Opcode::kReadRequest, kQpB, 51), 0xabc, 0x2000 + kMtu, 2 * kMtu));
  b(answer(1));
  b(answer(2));
  ASSERT_EQ(recorded.ops.size(), 1U);
  EXPECT_TRUE(recorded.ops[0].complete);
  EXPECT_EQ(recorded.data, data);
}

TEST_F(ReadTest, ResponsesWithTooFewBytesAreIrregularAndNoLoss) {
  a(request());
  for (std::uint32_t i = 0; i < 3; ++i) {
    wire::RocePacket p = answer(i);
    if (i == 2) p.payload = p.payload.first(kMtu - 24);
    b(p);
  }
  a(packet(Opcode::kSendOnly, kQpB, 53, pattern(4)));
  b(ack(kQpA, 53));
  EXPECT_EQ(connection().side[1].counters.reads_unseen, 0U);
  EXPECT_EQ(connection().side[1].counters.wrong_response, 1U);
  EXPECT_EQ(connection().side[1].counters.first_irregular, 4U);
  ASSERT_EQ(recorded.ops.size(), 1U);
  EXPECT_FALSE(recorded.ops[0].complete);
  EXPECT_EQ(recorded.ops[0].bytes, 3 * kMtu - 24);
}

TEST_F(ReadTest, AnOnlyOfAnotherLengthIsIrregular) {
  a(with_reth(packet(Opcode::kReadRequest, kQpB, 50), 0xabc, 0x2000, 200));
  b(packet(Opcode::kReadRespOnly, kQpA, 50, pattern(150)));
  a(with_reth(packet(Opcode::kReadRequest, kQpB, 51), 0xabc, 0x2000, 200));
  b(packet(Opcode::kReadRespOnly, kQpA, 51, pattern(210)));
  a(packet(Opcode::kSendOnly, kQpB, 52, pattern(4)));
  b(ack(kQpA, 52));
  EXPECT_EQ(connection().side[1].counters.reads_unseen, 0U);
  EXPECT_EQ(connection().side[1].counters.wrong_response, 2U);
  EXPECT_EQ(recorded.ops.size(), 2U);
}

TEST_F(ReadTest, OnliesForFirstMiddleAndLastAreAnIllegalSequence) {
  a(request());
  b(answer(0));
  b(answer(1));
  b(answer(2));
  a(with_reth(packet(Opcode::kReadRequest, kQpB, 53), 0xabc, 0x2000, 3 * kMtu));
  for (std::uint32_t i = 0; i < 3; ++i) {
    wire::RocePacket p = answer(i);
    p.bth.opcode = static_cast<std::uint8_t>(Opcode::kReadRespOnly);
    p.bth.psn += 3;
    b(p);
  }
  // The last could answer a request for it alone.
  EXPECT_EQ(connection().side[1].counters.illegal_sequence, 2U);
}

TEST_F(ReadTest, AnsweredAgainFromTheMiddleIsLegal) {
  a(request());
  b(answer(0));
  a(with_reth(packet(Opcode::kReadRequest, kQpB, 51), 0xabc, 0x2000 + kMtu, 2 * kMtu));
  wire::RocePacket p = answer(1);
  p.bth.opcode = static_cast<std::uint8_t>(Opcode::kReadRespFirst);
  b(p);
  b(answer(2));
  EXPECT_EQ(connection().side[1].counters.illegal_sequence, 0U);
  EXPECT_EQ(connection().side[1].counters.wrong_response, 0U);
  EXPECT_TRUE(recorded.ops.at(0).complete);
}

TEST_F(ReadTest, AnAnswerThatTheCaptureLacksIsCountedUntilItComes) {
  a(request());
  b(answer(0));
  b(answer(2));
  a(packet(Opcode::kSendOnly, kQpB, 53, pattern(4)));
  EXPECT_EQ(connection().side[1].counters.reads_unseen, 0U);
  b(ack(kQpA, 53));
  EXPECT_EQ(connection().side[1].counters.reads_unseen, 1U);
  b(ack(kQpA, 53));
  EXPECT_EQ(connection().side[1].counters.reads_unseen, 1U);
  b(answer(1));
  EXPECT_EQ(connection().side[1].counters.reads_unseen, 0U);
  ASSERT_EQ(recorded.ops.size(), 1U);
  EXPECT_TRUE(recorded.ops[0].complete);
}

TEST_F(TrackerTest, WriteOfAnotherLengthThanItsRethIsCounted) {
  const auto whole = pattern(kMtu + 8);
  const auto write = [&](std::uint32_t psn, std::uint32_t announced) {
    a(with_reth(packet(Opcode::kWriteFirst, kQpB, psn, wire::Bytes(whole).first(kMtu)), 1, 0,
                announced));
    a(packet(Opcode::kWriteLast, kQpB, psn + 1, wire::Bytes(whole).subspan(kMtu)));
  };
  write(1, kMtu + 8);
  EXPECT_EQ(connection().side[0].counters.wrong_length, 0U);
  write(3, kMtu + 7);
  write(5, kMtu + 9);
  EXPECT_EQ(connection().side[0].counters.wrong_length, 2U);
  EXPECT_EQ(connection().side[0].counters.first_irregular, 4U);
}

TEST_F(TrackerTest, WriteOfWhichTheCaptureLacksAPacketHasNoWrongLength) {
  const auto whole = pattern(2 * kMtu + 8);
  a(with_reth(packet(Opcode::kWriteFirst, kQpB, 1, wire::Bytes(whole).first(kMtu)), 1, 0,
              2 * kMtu + 8));
  a(packet(Opcode::kWriteLast, kQpB, 3, wire::Bytes(whole).subspan(2 * kMtu)));
  b(ack(kQpA, 3));
  ASSERT_EQ(connection().side[0].counters.lost_capture, 1U);
  EXPECT_EQ(connection().side[0].counters.wrong_length, 0U);
}

TEST_F(TrackerTest, FirstPacketThatIsNoPathMtuLongIsCounted) {
  a(packet(Opcode::kSendFirst, kQpB, 1, pattern(kMtu)));
  a(packet(Opcode::kSendLast, kQpB, 2, pattern(100)));
  EXPECT_EQ(connection().side[0].counters.wrong_payload, 0U);
  a(packet(Opcode::kSendFirst, kQpB, 3, pattern(100)));
  a(packet(Opcode::kSendLast, kQpB, 4, pattern(kMtu)));
  EXPECT_EQ(connection().side[0].counters.wrong_payload, 1U);
}

TEST_F(TrackerTest, BadIcrcWaitsForAGoodCopy) {
  a(packet(Opcode::kSendOnly, kQpB, 1, pattern(8)));
  a(packet(Opcode::kSendOnly, kQpB, 2, pattern(8, 1)), true);
  EXPECT_EQ(recorded.sends.size(), 1U);
  a(packet(Opcode::kSendOnly, kQpB, 2, pattern(8, 1)));
  ASSERT_EQ(recorded.sends.size(), 2U);
  EXPECT_EQ(recorded.sends[1].data, pattern(8, 1));
  EXPECT_FALSE(recorded.sends[1].suspect);
  EXPECT_EQ(tracker.stats().icrc_bad, 1U);
}

TEST_F(TrackerTest, BadIcrcThatThePeerAcknowledgedIsDamageInTheCapture) {
  a(packet(Opcode::kSendOnly, kQpB, 1, pattern(8)));
  a(packet(Opcode::kSendOnly, kQpB, 2, pattern(8, 1)), true);
  b(ack(kQpA, 2));
  ASSERT_EQ(recorded.sends.size(), 2U);
  EXPECT_TRUE(recorded.sends[1].suspect);
}

// A Call whose PSN was damaged, and the Reply to the copy that came after it.
TEST_F(TrackerTest, ThePsnOfABadIcrcIsNotBelievedWhenItsMessageIsAnswered) {
  a(packet(Opcode::kSendOnly, kQpB, 0x872, pattern(8)));
  b(packet(Opcode::kSendOnly, kQpA, 500, pattern(8, 1)));
  a(packet(Opcode::kSendOnly, kQpB, 0x973, pattern(8, 2)), true);  // 0x873, but for one bit
  for (std::uint32_t i = 0; i < 8; ++i) {
    a(packet(Opcode::kSendOnly, kQpB, 0x873 + i, pattern(8, 2 + i)));
  }
  b(packet(Opcode::kSendOnly, kQpA, 501, pattern(8, 2)));
  a(packet(Opcode::kSendOnly, kQpB, 0x87b, pattern(8, 10)));
  EXPECT_EQ(recorded.sends.size(), 12U);
  EXPECT_EQ(connection().side[0].counters.lost_capture, 0U);
  // It proves no gap either.
  EXPECT_EQ(connection().side[0].counters.reordered, 0U);
  EXPECT_EQ(connection().side[0].counters.lost_network, 0U);
  tracker.finish();
  EXPECT_EQ(recorded.sends.size(), 12U);
  EXPECT_EQ(connection().side[0].counters.lost_capture, 0U);
}

// Holds even if a gap stays open behind it for long.
TEST_F(TrackerTest, NoGapIsAsLongAsADamagedPsnSays) {
  a(packet(Opcode::kSendOnly, kQpB, 1, pattern(8)));
  a(packet(Opcode::kSendOnly, kQpB, 4, pattern(8)), true);
  for (std::uint32_t i = 0; i < 2000; ++i) {
    a(packet(Opcode::kSendOnly, kQpB, 10 + i, pattern(8, i)));
  }
  EXPECT_EQ(recorded.sends.front().suspect, false);
  for (const auto& send : recorded.sends) EXPECT_FALSE(send.suspect);
  EXPECT_EQ(connection().side[0].counters.lost_capture, 8U);
}

TEST_F(TrackerTest, WithoutAnyGoodIcrcPacketsAreTakenAsTheyAre) {
  a(packet(Opcode::kSendOnly, kQpB, 1, pattern(8)), true);
  a(packet(Opcode::kSendOnly, kQpB, 2, pattern(8)), true);
  EXPECT_EQ(recorded.sends.size(), 2U);
  EXPECT_EQ(tracker.stats().icrc_bad, 2U);
}

TEST_F(TrackerTest, RnrNakIsCounted) {
  a(packet(Opcode::kSendOnly, kQpB, 1, pattern(8)));
  b(ack(kQpA, 1, 0x20 | 12));
  EXPECT_EQ(tracker.stats().rnr, 1U);
  EXPECT_EQ(connection().side[1].counters.rnr, 1U);
}

TEST_F(TrackerTest, MiddleWithoutFirstAtTheStartIsAnOrphan) {
  a(packet(Opcode::kWriteMiddle, kQpB, 1, pattern(kMtu)));
  a(packet(Opcode::kWriteLast, kQpB, 2, pattern(8)));
  a(packet(Opcode::kSendOnly, kQpB, 3, pattern(8)));
  EXPECT_EQ(connection().side[0].counters.orphans, 2U);
  EXPECT_EQ(connection().side[0].counters.illegal_sequence, 0U);
  EXPECT_EQ(recorded.sends.size(), 1U);
}

TEST_F(TrackerTest, FirstInsideAMessageIsAnIllegalSequence) {
  a(packet(Opcode::kSendFirst, kQpB, 1, pattern(kMtu)));
  a(packet(Opcode::kSendFirst, kQpB, 2, pattern(kMtu)));
  EXPECT_EQ(connection().side[0].counters.illegal_sequence, 1U);
}

TEST_F(TrackerTest, AGapThatNobodyExplainsCostsBoundedMemory) {
  a(packet(Opcode::kSendOnly, kQpB, 0, pattern(8)));
  for (std::uint32_t psn = 2; psn < 5000; ++psn)
    a(packet(Opcode::kSendOnly, kQpB, psn, pattern(8)));
  // The gap is abandoned after a bounded number of packets, all of which are used.
  EXPECT_EQ(recorded.sends.size(), 4999U);
  EXPECT_EQ(tracker.stats().lost_capture, 1U);
}

TEST_F(TrackerTest, AQpnThatComesBackWithOtherPsnsIsAnotherConnection) {
  a(packet(Opcode::kSendOnly, kQpB, 0x100, pattern(8)));
  b(ack(kQpA, 0x100));
  a(packet(Opcode::kSendOnly, kQpB, 0x900000, pattern(8)));  // behind, counted modulo 2^24
  b(ack(kQpA, 0x900000));
  EXPECT_EQ(recorded.sends.size(), 2U);
  EXPECT_EQ(recorded.closed, 1);
  ASSERT_EQ(tracker.connection_count(), 2U);
  EXPECT_EQ(tracker.connection(1).side[0].qpn, kQpA);
  EXPECT_EQ(tracker.stats().retransmitted, 0U);
  EXPECT_EQ(tracker.stats().lost_capture, 0U);
}

TEST_F(TrackerTest, AnAcknowledgementOfWhatWasNeverSentExplainsNothing) {
  a(packet(Opcode::kSendOnly, kQpB, 10, pattern(8)));
  b(ack(kQpA, 10));
  b(ack(kQpA, 0x300000));
  a(packet(Opcode::kSendOnly, kQpB, 12, pattern(8)));
  EXPECT_EQ(recorded.sends.size(), 1U);  // waits for 11
  a(packet(Opcode::kSendOnly, kQpB, 11, pattern(8)));
  EXPECT_EQ(recorded.sends.size(), 3U);
  EXPECT_EQ(tracker.stats().lost_capture, 0U);
}

TEST_F(TrackerTest, AHeldMessageThatThePeerAnswersHasArrived) {
  a(packet(Opcode::kSendOnly, kQpB, 10, pattern(8)));
  b(ack(kQpA, 10));
  a(packet(Opcode::kSendOnly, kQpB, 12, pattern(8, 77)));  // the capture lost 11
  EXPECT_EQ(recorded.sends.size(), 1U);
  b(packet(Opcode::kSendOnly, kQpA, 500, pattern(8, 77)));  // begins with the same XID
  ASSERT_EQ(recorded.sends.size(), 3U);
  EXPECT_EQ(recorded.sends[1].sender, 0);
  EXPECT_EQ(recorded.sends[2].sender, 1);
}

TEST_F(TrackerTest, AnAcknowledgementThatFitsTwoConnectionsPairsNeither) {
  a(packet(Opcode::kSendOnly, 0x22, 1000, pattern(4)));
  a(packet(Opcode::kSendOnly, 0x33, 1001, pattern(4)));
  b(ack(0x44, 1001));
  EXPECT_FALSE(tracker.connection(0).side[0].qpn_known);
  EXPECT_FALSE(tracker.connection(1).side[0].qpn_known);
}

TEST_F(TrackerTest, ACopyOfTheLatePacketShowsThatItWasNotLost) {
  const auto data = pattern(4 * kMtu);
  for (const std::uint32_t i : {0U, 2U, 1U}) a(piece(10, data, i, 4));
  b(nak(kQpA, 11));
  for (const std::uint32_t i : {1U, 2U, 3U}) a(piece(10, data, i, 4));
  EXPECT_EQ(tracker.stats().reordered, 1U);
  EXPECT_EQ(tracker.stats().lost_network, 0U);
  EXPECT_EQ(tracker.stats().retransmitted, 2U);
}

TEST_F(ReadTest, AnAmbiguousLengthDoesNotFixThePathMtu) {
  a(with_reth(packet(Opcode::kReadRequest, kQpB, 50), 0xabc, 0x2000, 1500));
  a(packet(Opcode::kSendOnly, kQpB, 51, pattern(4)));  // 2048 or 4096
  EXPECT_EQ(recorded.sends.size(), 1U);
  EXPECT_EQ(connection().path_mtu, 0U);
}

TEST_F(ReadTest, AResponseProvesThatItsRequestArrived) {
  a(packet(Opcode::kSendOnly, kQpB, 48, pattern(4)));
  b(ack(kQpA, 48));
  a(request());  // held: the capture lost 49
  for (std::uint32_t i = 0; i < 3; ++i) b(answer(i));
  ASSERT_EQ(recorded.ops.size(), 1U);
  EXPECT_TRUE(recorded.ops[0].complete);
  EXPECT_EQ(recorded.data, data);
  EXPECT_EQ(tracker.stats().lost_capture, 1U);
}

TEST_F(ReadTest, ADamagedResponseWaitsForAGoodCopy) {
  a(request());
  b(answer(0));
  wire::RocePacket damaged = answer(1);
  const auto wrong = pattern(kMtu, 99);
  damaged.payload = wrong;
  b(damaged, true);
  b(answer(2));
  EXPECT_TRUE(recorded.ops.empty());
  b(answer(1));
  ASSERT_EQ(recorded.ops.size(), 1U);
  EXPECT_EQ(recorded.data, data);
}

TEST_F(TrackerTest, IcrcsOfOnePortDoNotJudgeThoseOfTheOther) {
  a(packet(Opcode::kSendOnly, kQpB, 1, pattern(8)));
  b(ack(kQpA, 1), true);  // this port's are not final at the capture point
  b(packet(Opcode::kSendOnly, kQpA, 900, pattern(8)), true);
  EXPECT_EQ(recorded.sends.size(), 2U);
  EXPECT_EQ(tracker.connection_count(), 1U);
}

TEST_F(TrackerTest, FinishGivesOutWhatIsHeldAndCloses) {
  a(packet(Opcode::kSendOnly, kQpB, 0, pattern(8)));
  a(packet(Opcode::kSendOnly, kQpB, 2, pattern(8)));
  tracker.finish();
  EXPECT_EQ(recorded.sends.size(), 2U);
  EXPECT_EQ(recorded.closed, 1);
}

struct CmTest : TrackerTest {
  void mad(bool from_a, const wire::CmMessage& message) {
    wire::CmMad m;
    m.message = message;
    std::vector<std::uint8_t> bytes(wire::kMadBytes);
    (void)wire::encode_cm(m, bytes);
    const wire::RocePacket p = packet(Opcode::kUdSendOnly, wire::kGsiQp, 0, bytes);
    from_a ? a(p) : b(p);
  }
  void req(std::uint32_t id, std::uint32_t qpn, std::uint32_t psn) {
    wire::CmReq m;
    m.local_comm_id = id;
    m.local_qpn = qpn;
    m.starting_psn = psn;
    m.path_mtu = 1;
    mad(true, m);
  }
  void rep(std::uint32_t id, std::uint32_t to, std::uint32_t qpn, std::uint32_t psn) {
    wire::CmRep m;
    m.local_comm_id = id;
    m.remote_comm_id = to;
    m.local_qpn = qpn;
    m.starting_psn = psn;
    mad(false, m);
  }
  void rtu(std::uint32_t id, std::uint32_t to) {
    wire::CmRtu m;
    m.local_comm_id = id;
    m.remote_comm_id = to;
    mad(true, m);
  }
  void dreq(std::uint32_t id, std::uint32_t to, std::uint32_t qpn) {
    wire::CmDreq m;
    m.local_comm_id = id;
    m.remote_comm_id = to;
    m.remote_qpn = qpn;
    mad(true, m);
  }
};

TEST_F(CmTest, AfterALostRepTheRtuShowsThatThereWasOne) {
  req(1, kQpA, 7000);
  rtu(1, 9);
  a(packet(Opcode::kSendOnly, kQpB, 200'000, pattern(8)));
  b(packet(Opcode::kSendOnly, kQpA, 7000, pattern(8)));
  ASSERT_EQ(tracker.connection_count(), 1U);
  EXPECT_EQ(connection().side[1].qpn, kQpB);
  EXPECT_EQ(connection().state, State::kOpen);
  EXPECT_EQ(recorded.sends.size(), 2U);
}

TEST_F(CmTest, OfTwoLostRepsNothingIsGuessed) {
  req(1, kQpA, 7000);
  rtu(1, 9);
  req(2, kQpA + 1, 9000);
  rtu(2, 10);
  a(packet(Opcode::kSendOnly, kQpB, 200'000, pattern(8)));
  EXPECT_EQ(tracker.connection_count(), 3U);
}

TEST_F(CmTest, ALostRepLeavesOneConnection) {
  req(1, kQpA, 100);
  a(packet(Opcode::kSendOnly, kQpB, 100, pattern(8)));
  b(packet(Opcode::kSendOnly, kQpA, 7000, pattern(8)));
  ASSERT_EQ(tracker.connection_count(), 1U);
  EXPECT_EQ(connection().side[1].qpn, kQpB);
  EXPECT_EQ(connection().state, State::kOpen);
}

// A REQ names the PSN that its sender expects (IBA volume 1 section 12.7.32); Linux does so.
TEST_F(CmTest, TheFirstPacketOfASideIsMissed) {
  req(1, kQpA, 5000);
  rep(9, 1, kQpB, 200000);
  a(packet(Opcode::kSendOnly, kQpB, 200000, pattern(8)));
  b(ack(kQpA, 200000));
  a(ack(kQpB, 5000));  // acknowledges a packet that the capture lost
  b(packet(Opcode::kSendOnly, kQpA, 5001, pattern(8)));
  EXPECT_EQ(connection().side[0].counters.lost_capture, 0U);
  EXPECT_EQ(connection().side[1].counters.lost_capture, 1U);
  EXPECT_EQ(recorded.sends.size(), 2U);
}

TEST_F(CmTest, WhatIsLeftOutBehindTheSetUpIsNoLoss) {
  req(1, kQpA, 5000);
  rep(9, 1, kQpB, 7000);
  tracker.skip();
  a(packet(Opcode::kSendOnly, kQpB, 5900, pattern(8)));
  b(ack(kQpA, 5900));
  b(packet(Opcode::kSendOnly, kQpA, 7777, pattern(8)));
  ASSERT_EQ(tracker.connection_count(), 1U);
  EXPECT_EQ(recorded.sends.size(), 2U);
  EXPECT_EQ(tracker.stats().lost_capture, 0U);
  // From here on, missing packets count as missing again.
  a(packet(Opcode::kSendOnly, kQpB, 5903, pattern(8)));
  b(ack(kQpA, 5903));
  EXPECT_EQ(tracker.stats().lost_capture, 2U);
}

TEST_F(CmTest, ARejBelongsToTheRequestThatItNames) {
  req(1, kQpA, 100);
  rep(9, 1, kQpB, 200);
  dreq(1, 9, kQpB);
  req(2, kQpA + 1, 300);
  wire::CmRej rej;
  rej.local_comm_id = 9;  // reused by the passive side
  rej.remote_comm_id = 2;
  rej.reason = 28;
  mad(false, rej);
  ASSERT_EQ(tracker.connection_count(), 2U);
  EXPECT_EQ(tracker.connection(1).state, State::kRejected);
}

TEST_F(CmTest, AnOldDreqDoesNotCloseANewConnection) {
  req(1, kQpA, 100);
  rep(9, 1, kQpB, 200);
  dreq(1, 9, kQpB);
  req(1, kQpA, 5000);
  rep(9, 1, kQpB + 1, 6000);
  dreq(1, 9, kQpB);  // of the first connection, again
  EXPECT_EQ(tracker.connection(1).state, State::kOpen);
}

TEST_F(CmTest, ARequestCapturedAgainAfterTrafficIsNoNewConnection) {
  req(1, kQpA, 100);
  rep(9, 1, kQpB, 200);
  a(packet(Opcode::kSendOnly, kQpB, 100, pattern(8)));
  req(1, kQpA, 100);
  EXPECT_EQ(tracker.connection_count(), 1U);
  EXPECT_EQ(connection().state, State::kOpen);
}

TEST_F(CmTest, ARequestCapturedAtTwoPointsWasSentOnce) {
  req(1, kQpA, 100);
  net.point = 1;
  req(1, kQpA, 100);
  EXPECT_EQ(connection().requests_sent, 1U);
  net.wait_for_timeout();
  net.point = 0;
  req(1, kQpA, 100);
  EXPECT_EQ(connection().requests_sent, 2U);
}

TEST_F(CmTest, TrafficThatGoesOnAfterTheEndIsAConnection) {
  req(1, kQpA, 100);
  rep(9, 1, kQpB, 200);
  a(packet(Opcode::kSendOnly, kQpB, 100, pattern(8)));
  dreq(1, 9, kQpB);
  b(ack(kQpA, 100));
  b(packet(Opcode::kSendOnly, kQpA, 200, pattern(8)));  // was in flight
  EXPECT_EQ(recorded.sends.size(), 1U);
  EXPECT_EQ(tracker.connection_count(), 1U);
  for (std::uint32_t i = 0; i < 100; ++i) a(packet(Opcode::kSendOnly, kQpB, 101 + i, pattern(8)));
  EXPECT_EQ(tracker.connection_count(), 2U);
  EXPECT_GT(recorded.sends.size(), 80U);
}

struct CongestionTest : CmTest {
  struct Signals : Recorder {
    std::vector<std::pair<int, bool>> signals;
    std::vector<bool> marked;
    void on_congestion(const CongestionSignal& event) override {
      signals.emplace_back(event.sender, event.cnp);
    }
    void on_send(const Connection& c, const SendMessage& m) override {
      marked.push_back(m.ce);
      Recorder::on_send(c, m);
    }
  };
  Signals seen;
  Tracker congested{seen};
  Wire wire{congested};
  static wire::RocePacket cnp(std::uint32_t qp) {
    static const std::vector<std::uint8_t> kReserved(16, 0);
    wire::RocePacket p = packet(Opcode::kSendOnly, qp, 0, kReserved);
    p.bth.opcode = 0x81;
    return p;
  }
};

TEST_F(CongestionTest, MarksAndCnpsAreCountedByConnectionAndDirection) {
  wire.give(kA, kB, packet(Opcode::kSendOnly, kQpB, 1, pattern(8)));
  wire.ecn = 2;
  wire.give(kB, kA, ack(kQpA, 1));
  wire.ecn = 3;
  wire.give(kA, kB, packet(Opcode::kSendOnly, kQpB, 2, pattern(8)));
  wire.ecn = 0;
  wire.give(kB, kA, ack(kQpA, 2));
  wire.give(kB, kA, cnp(kQpA));
  wire.give(kB, kA, cnp(kQpA));
  wire.give(kB, kA, cnp(kQpA + 7));  // of no connection
  ASSERT_EQ(congested.connection_count(), 1U);
  const Connection& c = congested.connection(0);
  EXPECT_EQ(c.side[0].counters.ce, 1U);
  EXPECT_EQ(c.side[0].counters.ecn_capable, 1U);
  EXPECT_EQ(c.side[1].counters.ecn_capable, 1U);
  EXPECT_EQ(c.side[0].counters.cnps, 0U);
  EXPECT_EQ(c.side[1].counters.cnps, 2U);
  EXPECT_EQ(congested.stats().cnp, 3U);
  EXPECT_EQ(congested.stats().ce, 1U);
  EXPECT_EQ(congested.stats().other_service, 0U);
  EXPECT_EQ(c.side[1].counters.packets, 2U);
  EXPECT_THAT(seen.signals,
              ElementsAre(std::pair(0, false), std::pair(1, true), std::pair(1, true)));
  EXPECT_EQ(seen.marked, (std::vector<bool>{false, true}));
}

TEST_F(CongestionTest, AMarkStaysWithAPacketThatWaits) {
  wire.give(kA, kB, packet(Opcode::kSendOnly, kQpB, 1, pattern(8)));
  wire.ecn = 3;
  wire.give(kA, kB, packet(Opcode::kSendOnly, kQpB, 3, pattern(8)));
  wire.ecn = 0;
  wire.give(kA, kB, packet(Opcode::kSendOnly, kQpB, 2, pattern(8)));
  EXPECT_EQ(seen.marked, (std::vector<bool>{false, false, true}));
}

// Devices that do not compute ICRCs: their CM messages come from software and have good ones.
struct IcrcTest : CmTest {
  IcrcTest() { net.damages_icrc = true; }
  void set_up() {
    req(1, kQpA, 7000);
    rep(9, 1, kQpB, 5000);
    rtu(1, 9);
  }
  // One Call and its Reply, all four packets captured.
  void exchange(std::uint32_t n, bool bad_a, bool bad_b) {
    a(packet(Opcode::kSendOnly, kQpB, 5000 + n, pattern(8, n)), bad_a);
    b(ack(kQpA, 5000 + n), bad_b);
    b(packet(Opcode::kSendOnly, kQpA, 7000 + n, pattern(8, n)), bad_b);
    a(ack(kQpB, 7000 + n), bad_a);
  }
  void expect_whole(std::size_t exchanges) {
    ASSERT_EQ(recorded.sends.size(), 2 * exchanges);
    for (std::size_t i = 1; i < recorded.sends.size(); ++i) {
      EXPECT_LT(recorded.sends[i - 1].frame, recorded.sends[i].frame);
    }
    EXPECT_EQ(tracker.stats().lost_capture, 0U);
    EXPECT_EQ(tracker.stats().lost_network, 0U);
    EXPECT_EQ(tracker.stats().retransmitted, 0U);
    EXPECT_EQ(connection().side[0].counters.acknowledged_unseen, 0U);
  }
};

TEST_F(IcrcTest, PeersThatAnswerBadIcrcsDoNotCheckThem) {
  set_up();
  for (std::uint32_t n = 0; n < 5; ++n) exchange(n, true, true);
  expect_whole(5);
  for (const auto& send : recorded.sends) EXPECT_FALSE(send.suspect);
  EXPECT_EQ(recorded.acks.size(), 10U);
  EXPECT_EQ(tracker.stats().icrc_bad, 20U);
  EXPECT_EQ(tracker.stats().icrc_accepted, 20U);
  EXPECT_EQ(connection().icrc_accepted, 20U);
}

TEST_F(IcrcTest, OnlyOneSideComputesThem) {
  set_up();
  for (std::uint32_t n = 0; n < 5; ++n) exchange(n, false, true);
  expect_whole(5);
  EXPECT_EQ(tracker.stats().icrc_accepted, 10U);
}

TEST_F(IcrcTest, TheOtherSideComputesThem) {
  set_up();
  for (std::uint32_t n = 0; n < 5; ++n) exchange(n, true, false);
  expect_whole(5);
  EXPECT_EQ(tracker.stats().icrc_accepted, 10U);
}

TEST_F(IcrcTest, ReadsAndTheirResponsesToo) {
  set_up();
  exchange(0, true, true);
  const auto data = pattern(3 * kMtu);
  b(with_reth(packet(Opcode::kReadRequest, kQpA, 7001), 77, 0, 3 * kMtu), true);
  const std::array ops{Opcode::kReadRespFirst, Opcode::kReadRespMiddle, Opcode::kReadRespLast};
  for (std::uint32_t i = 0; i < 3; ++i) {
    a(packet(ops[i], kQpB, 7001 + i, wire::Bytes(data).subspan(std::size_t{i} * kMtu, kMtu)), true);
  }
  ASSERT_EQ(recorded.ops.size(), 1U);
  EXPECT_TRUE(recorded.ops[0].complete);
  EXPECT_EQ(recorded.data, data);
}

TEST_F(IcrcTest, ASendOfManyPacketsWaitsForItsAcknowledgement) {
  set_up();
  const auto data = pattern(6 * kMtu);
  for (std::uint32_t i = 0; i < 6; ++i) a(piece(5000, data, i, 6), true);
  EXPECT_TRUE(recorded.sends.empty());
  b(ack(kQpA, 5005), true);
  ASSERT_EQ(recorded.sends.size(), 1U);
  EXPECT_EQ(recorded.sends[0].data, data);
  EXPECT_TRUE(recorded.sends[0].complete);
}

// Nothing answers in a capture of one direction. But the sender moves on without a retransmission.
TEST_F(IcrcTest, OneDirection) {
  set_up();
  for (std::uint32_t n = 0; n < 40; ++n) {
    a(packet(Opcode::kSendOnly, kQpB, 5000 + n, pattern(8, n)), true);
  }
  EXPECT_EQ(recorded.sends.size(), 40U);
}

TEST_F(IcrcTest, AFewGoodOnesAmongThem) {
  set_up();
  for (std::uint32_t n = 0; n < 200; ++n) exchange(n, n % 10 != 3, n % 10 != 7);
  ASSERT_EQ(recorded.sends.size(), 400U);
  EXPECT_EQ(tracker.stats().lost_capture, 0U);
  EXPECT_GT(tracker.stats().icrc_accepted, tracker.stats().icrc_bad * 9 / 10);
}

// A tool rewrote packets from some frame on.
TEST_F(IcrcTest, FromTheMiddleOn) {
  set_up();
  for (std::uint32_t n = 0; n < 50; ++n) exchange(n, false, false);
  for (std::uint32_t n = 50; n < 100; ++n) exchange(n, true, true);
  EXPECT_EQ(recorded.sends.size(), 200U);
  EXPECT_EQ(tracker.stats().lost_capture, 0U);
  EXPECT_GT(tracker.stats().icrc_accepted, 180U);
  // A second connection of the same ports is judged like the first.
  req(2, kQpA + 100, 100);
  rep(10, 2, kQpB + 100, 200);
  a(packet(Opcode::kSendOnly, kQpB + 100, 200, pattern(8)), true);
  EXPECT_EQ(recorded.sends.size(), 201U);
}

TEST_F(IcrcTest, AConnectionWhoseSetUpIsMissing) {
  set_up();  // of another one: the port's CM messages are good
  a(packet(Opcode::kSendOnly, kQpB + 5, 900, pattern(8)), true);
  b(ack(kQpA + 5, 900), true);
  b(packet(Opcode::kSendOnly, kQpA + 5, 300, pattern(8)), true);
  EXPECT_EQ(recorded.sends.size(), 2U);
}

// A single packet may be damaged, and begins nothing.
TEST_F(IcrcTest, OnePacketToAnUnknownQpBeginsNoConnection) {
  set_up();
  const std::uint32_t before = tracker.connection_count();
  a(packet(Opcode::kSendOnly, kQpB + 5, 900, pattern(8)), true);
  EXPECT_EQ(tracker.connection_count(), before);
  a(packet(Opcode::kSendOnly, kQpB + 5, 901, pattern(8)), true);
  EXPECT_EQ(tracker.connection_count(), before + 1);
  EXPECT_EQ(recorded.sends.size(), 2U);
}

TEST_F(IcrcTest, WithTheCmMessagesToo) {
  wire::CmMad m;
  m.message = wire::CmReq{};
  std::vector<std::uint8_t> bytes(wire::kMadBytes);
  (void)wire::encode_cm(m, bytes);
  a(packet(Opcode::kUdSendOnly, wire::kGsiQp, 0, bytes), true);
  EXPECT_EQ(tracker.stats().cm, 1U);
  for (std::uint32_t n = 0; n < 5; ++n) exchange(n, true, true);
  EXPECT_EQ(recorded.sends.size(), 10U);
  EXPECT_EQ(tracker.stats().icrc_accepted, tracker.stats().icrc_bad);
}

// The first packet is damaged on its way, and retransmitted.
TEST_F(IcrcTest, ADamagedFirstPacketWaitsForItsCopy) {
  set_up();
  a(packet(Opcode::kSendOnly, kQpB, 5000, pattern(8, 1)), true);
  EXPECT_TRUE(recorded.sends.empty());
  a(packet(Opcode::kSendOnly, kQpB, 5000, pattern(8)));
  b(ack(kQpA, 5000));
  ASSERT_EQ(recorded.sends.size(), 1U);
  EXPECT_EQ(recorded.sends[0].data, pattern(8));
  EXPECT_EQ(tracker.stats().icrc_accepted, 0U);
}

// A damaged acknowledgement among good packets acknowledges nothing.
TEST_F(IcrcTest, DamagedAnswersAmongGoodOnesStayDamaged) {
  set_up();
  for (std::uint32_t n = 0; n < 100; ++n) {
    exchange(n, false, false);
    a(packet(Opcode::kSendOnly, kQpB, 5000 + n + 1, pattern(8)), true);
    b(ack(kQpA, 5000 + n + 1), n % 3 == 0);
  }
  EXPECT_EQ(tracker.stats().icrc_accepted, 0U);
}

TEST_F(IcrcTest, NotVerifiedByRequest) {
  auto bytes = ip_packet(kA, kB, packet(Opcode::kSendOnly, kQpB, 1, pattern(8)));
  bytes.back() ^= 1;
  PreparedPacket p;
  p.transport.src = ip(kA);
  p.transport.dst = ip(kB);
  p.transport.data = bytes;
  p.transport.bth = 28;
  p.transport.wire_length = bytes.size() - 28;
  prepare(p, false);
  tracker.packet(p);
  EXPECT_EQ(recorded.sends.size(), 1U);
  EXPECT_EQ(tracker.stats().icrc_bad, 0U);
  EXPECT_EQ(tracker.stats().icrc_off, 1U);
}

}  // namespace
}  // namespace rpcrdma::roce
