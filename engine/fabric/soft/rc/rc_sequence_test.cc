// Which request may follow which (IBA 9.7.4.1): every sequence of three opcodes.
#include "lone_qp_for_tests.h"

namespace rpcrdma::soft {
namespace {

using fabric::Status;
using testing::Given;
using testing::kMtu;
using testing::kTheirPsn;
using testing::LoneQp;
using wire::Opcode;

enum class Within : std::uint8_t { kNothing, kSend, kWrite };
// The state that an opcode requires and leaves; the table of 9.7.4.1, derived by hand.
struct Rule {
  std::uint8_t opcode;
  Within before;
  Within after;
  bool known = true;
  bool takes_receive = false;
};
constexpr auto kN = Within::kNothing;
constexpr auto kS = Within::kSend;
constexpr auto kW = Within::kWrite;
constexpr Rule kRules[] = {
    {0x00, kN, kS},  // SEND First
    {0x01, kS, kS},
    {0x02, kS, kN, true, true},
    {0x03, kS, kN, true, true},
    {0x04, kN, kN, true, true},
    {0x05, kN, kN, true, true},
    {0x06, kN, kW},  // RDMA WRITE First
    {0x07, kW, kW},
    {0x08, kW, kN},
    {0x09, kW, kN, true, true},
    {0x0a, kN, kN},
    {0x0b, kN, kN, true, true},
    {0x0c, kN, kN},              // RDMA READ Request
    {0x13, kN, kN, false},       // atomic operations are not supported
    {0x14, kN, kN, false},       //
    {0x15, kN, kN, false},       // reserved
    {0x16, kS, kN, true, true},  // SEND Last with Invalidate
    {0x17, kN, kN, true, true},  //
    {0x18, kN, kN, false},       // reserved
    {0x1f, kN, kN, false},
};

bool ends(const Rule& r) {
  return r.after == kN;
}
bool is_write(const Rule& r) {
  return r.opcode >= 0x06 && r.opcode <= 0x0b;
}
std::size_t payload_of(const Rule& r) {
  if (!ends(r)) return kMtu;
  return r.opcode == 0x0c || !r.known ? 0 : 20;
}

void check(const std::array<const Rule*, 3>& row) {
  LoneQp q;
  const auto there = q.side.advertise(1000, 4000, testing::kReadable | testing::kWritable);
  const auto spare = q.side.advertise(6000, 10, testing::kReadable);
  const auto spare2 = q.side.advertise(6010, 10, testing::kReadable);
  const auto spare3 = q.side.advertise(6020, 10, testing::kReadable);
  const std::array<std::uint32_t, 3> spares = {spare.handle, spare2.handle, spare3.handle};
  for (std::uint64_t i = 0; i < 3; ++i) q.side.post_receive(i, 8000 + i * 1000, 1000);
  Within state = kN;
  std::size_t messages = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const Rule& r = *row[i];
    Given g;
    g.opcode = static_cast<Opcode>(r.opcode);
    g.psn = kTheirPsn + static_cast<std::uint32_t>(i);
    g.payload = payload_of(r);
    g.remote = there;
    g.extra = spares[i];
    // A Write's first packet specifies its total length.
    std::size_t length = g.payload;
    std::size_t j = i;
    while (j < row.size() && !ends(*row[j])) {
      length += ++j < row.size() ? payload_of(*row[j]) : 20;
    }
    g.length = static_cast<std::uint32_t>(r.opcode == 0x0c ? 100 : length);
    const bool legal = r.known && r.before == state;
    const std::vector<std::uint8_t> before = q.side.buffer;
    const std::uint64_t executed = q.side.qp.counters().packets_in;
    q.give(g);
    if (legal) {
      ASSERT_EQ(q.side.qp.counters().packets_in, executed + 1);
      EXPECT_TRUE(before != q.side.buffer || g.payload == 0 || (is_write(r) && i > 0));
      if (r.takes_receive) ++messages;
      state = r.after;
      const auto answers = q.sent();
      ASSERT_EQ(answers.size(), 1U);
      EXPECT_EQ(answers[0].opcode(), r.opcode == 0x0c ? 0x10 : 0x11);
      EXPECT_TRUE(answers[0].packet().aeth.is_ack());
      continue;
    }
    EXPECT_EQ(q.answer(g.psn), testing::kInvalidNak);
    EXPECT_EQ(before, q.side.buffer);
    EXPECT_EQ(q.side.qp.state(), QpState::kError);
    const auto done = q.side.take();
    ASSERT_EQ(done.size(), 3U);
    for (std::size_t n = 0; n < 3; ++n) {
      EXPECT_EQ(done[n].id, n);
      EXPECT_EQ(done[n].status, n < messages ? Status::kSuccess : Status::kFlushed);
    }
    return;
  }
  EXPECT_EQ(q.side.qp.state(), QpState::kReady);
  EXPECT_EQ(q.side.take().size(), messages);
}

TEST(RcSequence, EveryThreeOpcodesInARow) {
  for (const Rule& a : kRules) {
    for (const Rule& b : kRules) {
      for (const Rule& c : kRules) {
        check({&a, &b, &c});
        ASSERT_FALSE(::testing::Test::HasFailure())
            << std::hex << +a.opcode << ' ' << +b.opcode << ' ' << +c.opcode;
      }
    }
  }
}

// Payloads too short or too long for the opcode; 9.7.4.1.6.
TEST(RcSequence, LengthsThatDoNotFitTheOpcode) {
  struct Case {
    std::vector<std::pair<Opcode, std::size_t>> packets;  // the last one is invalid
    std::uint32_t length = 0;
  };
  const std::vector<Case> cases = {
      {{{Opcode::kSendFirst, kMtu - 1}}},
      {{{Opcode::kSendFirst, kMtu + 1}}},
      {{{Opcode::kSendFirst, 0}}},
      {{{Opcode::kSendOnly, kMtu + 1}}},
      {{{Opcode::kSendFirst, kMtu}, {Opcode::kSendMiddle, kMtu - 4}}},
      {{{Opcode::kSendFirst, kMtu}, {Opcode::kSendMiddle, kMtu + 4}}},
      {{{Opcode::kSendFirst, kMtu}, {Opcode::kSendLast, 0}}},
      {{{Opcode::kSendFirst, kMtu}, {Opcode::kSendLast, kMtu + 1}}},
      {{{Opcode::kSendFirst, kMtu}, {Opcode::kSendLastImm, 0}}},
      {{{Opcode::kWriteOnly, 10}}, 11},
      {{{Opcode::kWriteOnly, 10}}, 9},
      {{{Opcode::kWriteOnly, 0}}, 1},
      {{{Opcode::kWriteOnly, kMtu + 1}}, kMtu + 1},
      {{{Opcode::kWriteFirst, kMtu}}, kMtu - 1},
      {{{Opcode::kWriteFirst, kMtu}, {Opcode::kWriteMiddle, kMtu}}, 2 * kMtu - 1},
      {{{Opcode::kWriteFirst, kMtu}, {Opcode::kWriteLast, 10}}, kMtu},
      {{{Opcode::kWriteFirst, kMtu}, {Opcode::kWriteLast, 10}}, kMtu + 9},
      {{{Opcode::kWriteFirst, kMtu}, {Opcode::kWriteLast, 10}}, kMtu + 11},
      {{{Opcode::kWriteFirst, kMtu}, {Opcode::kWriteLast, 0}}, kMtu},
      {{{Opcode::kWriteFirst, kMtu}}, (1U << 31) + 1},
      {{{Opcode::kReadRequest, 4}}, 4},
      {{{Opcode::kReadRequest, 0}}, (1U << 31) + 1},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    LoneQp q;
    const auto there = q.side.advertise(1000, 4000, testing::kReadable | testing::kWritable);
    q.side.post_receive(1, 8000, 1000);
    const auto& packets = cases[i].packets;
    std::vector<std::uint8_t> before;
    for (std::size_t n = 0; n < packets.size(); ++n) {
      before = q.side.buffer;
      Given g;
      g.opcode = packets[n].first;
      g.psn = kTheirPsn + static_cast<std::uint32_t>(n);
      g.payload = packets[n].second;
      g.remote = there;
      g.length = cases[i].length;
      g.ack_req = false;
      g.value = static_cast<std::uint8_t>(0x70 + n);
      q.give(g);
    }
    EXPECT_EQ(q.answer(kTheirPsn + static_cast<std::uint32_t>(packets.size()) - 1),
              testing::kInvalidNak)
        << i;
    EXPECT_EQ(before, q.side.buffer) << i;
    EXPECT_EQ(q.side.qp.state(), QpState::kError) << i;
  }
}

TEST(RcSequence, WhatIsNoPacketOfThisServiceIsDropped) {
  LoneQp q;
  q.side.post_receive(1, 0, 100);
  // UC SEND Only, RD SEND Only, UD SEND Only, congestion notification, XRC SEND Only, the last.
  for (const int opcode : {0x24, 0x44, 0x64, 0x81, 0xa4, 0xff}) {
    Given g;
    g.opcode = static_cast<Opcode>(opcode);
    g.payload = 10;
    q.give(g);
    EXPECT_TRUE(q.sent().empty()) << opcode;
  }
  wire::RocePacket p;
  p.bth.opcode = static_cast<std::uint8_t>(Opcode::kSendOnly);
  p.bth.psn = kTheirPsn;
  p.bth.tver = 1;
  q.side.qp.receive(p, 0);
  EXPECT_EQ(q.side.qp.counters().dropped, 7U);
  EXPECT_EQ(q.side.qp.state(), QpState::kReady);
  EXPECT_TRUE(q.side.take().empty());
}

}  // namespace
}  // namespace rpcrdma::soft
