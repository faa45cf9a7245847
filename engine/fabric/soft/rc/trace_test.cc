// The trace events of a queue pair: its packets, and the peer's accesses to local memory.
#include "lone_qp_for_tests.h"
#include "support/emitted_events.h"

#include <gmock/gmock.h>

#include <rpcrdma/soft/random.h>

namespace rpcrdma::soft {
namespace {

using fabric::Operation;
using ::testing::ElementsAre;
using testing::Flying;
using ::testing::Gt;
using ::testing::IsEmpty;
using testing::kMtu;
using testing::kOurPsn;
using testing::kTheirPsn;
using testing::LoneQp;
using testing::Pair;
using testing::Side;
using trace::testing::Emitted;
using wire::Opcode;

constexpr std::uint32_t kClient = 1;
constexpr std::uint32_t kServer = 2;

std::uint64_t count(const std::vector<std::string>& lines, std::string_view front) {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      lines, [&](const std::string& line) { return line.starts_with(front); }));
}

void expect_as_counted(const std::vector<std::string>& lines, const QpCounters& counters) {
  EXPECT_EQ(count(lines, "retransmission 0"), counters.retransmitted);
  EXPECT_EQ(count(lines, "retransmission 1"), counters.duplicates);
  EXPECT_EQ(count(lines, "timeout 0"), counters.timeouts);
  EXPECT_EQ(count(lines, "nak 1"), counters.naks_in);
  EXPECT_EQ(count(lines, "rnr 1"), counters.rnr_in);
  EXPECT_EQ(count(lines, "nak 0") + count(lines, "rnr 0"), counters.naks_out);
  EXPECT_EQ(count(lines, "rnr 0"), counters.rnr_out);
}

struct Traced {
  explicit Traced(const testing::PairOptions& options = {}) : pair(options) {
    pair.client.qp.set_trace({&client.tracer, kClient});
    pair.server.qp.set_trace({&server.tracer, kServer});
  }
  Emitted client{kClient};
  Emitted server{kServer};
  Pair pair;
};

TEST(SoftTrace, WhatIsLostIsEmittedAsItIsCounted) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Traced t;
    Random random(seed);
    t.pair.network = [&](Flying f) {
      return random.chance(0.05) ? std::vector<Flying>{} : std::vector<Flying>{std::move(f)};
    };
    const auto there = t.pair.server.advertise(
        0, 4096, fabric::Access::kRemoteRead | fabric::Access::kRemoteWrite);
    for (std::uint64_t i = 0; i < 8; ++i) {
      t.pair.server.post_receive(i, 8192, 2000);
      ASSERT_TRUE(t.pair.client.post(Operation::kSend, i, 0, 2000));
      ASSERT_TRUE(t.pair.client.post(Operation::kWrite, i, 0, 3000, there));
      ASSERT_TRUE(t.pair.client.post(Operation::kRead, i, 0, 3000, there));
    }
    ASSERT_TRUE(t.pair.run());
    EXPECT_EQ(t.pair.client.take().size(), 24U);
    EXPECT_GT(t.pair.client.qp.counters().retransmitted, 0U);
    expect_as_counted(t.client.take(), t.pair.client.qp.counters());
    const auto emitted = t.server.take();
    expect_as_counted(emitted, t.pair.server.qp.counters());
    // Each of the client's Reads, in parts of 8 packets, has one end, whatever was lost of it.
    EXPECT_EQ(count(emitted, "read 1"), 16U);
    EXPECT_EQ(count(emitted, "read end 1"), 16U);
    EXPECT_EQ(count(emitted, "write 1"), 8U);
  }
}

TEST(SoftTrace, ASenderWithoutAReceiveIsEmittedOnBothSides) {
  Traced t;
  ASSERT_TRUE(t.pair.client.post(Operation::kSend, 1, 0, 100));
  bool posted = false;
  t.pair.network = [&](Flying f) {
    // After the peer was asked to wait, a Receive is posted.
    if (!f.from_client && t.pair.server.qp.counters().rnr_out == 2 && !posted) {
      t.pair.server.post_receive(1, 0, 200);
      posted = true;
    }
    return std::vector<Flying>{std::move(f)};
  };
  ASSERT_TRUE(t.pair.run());
  EXPECT_EQ(t.pair.server.qp.counters().rnr_out, 2U);
  EXPECT_THAT(t.client.take(), ElementsAre("rnr 1: psn 4096, count 1, code 12",
                                           "retransmission 0: psn 4096, count 1, code 0",
                                           "rnr 1: psn 4096, count 1, code 12",
                                           "retransmission 0: psn 4096, count 1, code 0"));
  EXPECT_THAT(t.server.take(), ElementsAre("rnr 0: psn 4096, count 1, code 12",
                                           "rnr 0: psn 4096, count 1, code 12"));
}

TEST(SoftTrace, AGapATimeoutAndWhatComesOfThem) {
  LoneQp qp;
  Emitted emitted(kClient);
  qp.side.qp.set_trace({&emitted.tracer, kClient});
  for (std::uint64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(qp.side.post(Operation::kWrite, i, 0, 10, {1, 0}));
  }
  EXPECT_EQ(qp.sent().size(), 3U);
  qp.ack(kOurPsn + 1, testing::kSequenceNak);
  EXPECT_EQ(qp.sent().size(), 2U);
  EXPECT_THAT(emitted.take(), ElementsAre("nak 1: psn 2305, count 1, code 0",
                                          "retransmission 0: psn 2305, count 1, code 0",
                                          "retransmission 0: psn 2306, count 1, code 0"));
  qp.wait();
  EXPECT_EQ(qp.sent().size(), 2U);
  EXPECT_THAT(emitted.take(), ElementsAre("timeout 0: psn 2305, count 1, code 0",
                                          "retransmission 0: psn 2305, count 1, code 0",
                                          "retransmission 0: psn 2306, count 1, code 0"));
  qp.ack(kOurPsn + 2);
  EXPECT_THAT(emitted.take(), IsEmpty());
  // And the peer's retransmissions: a packet after a gap, and a duplicate.
  qp.side.post_receive(1, 0, 100);
  qp.give({.opcode = Opcode::kSendOnly, .psn = kTheirPsn + 1, .payload = 4});
  EXPECT_EQ(qp.answer(kTheirPsn), testing::kSequenceNak);
  qp.give({.opcode = Opcode::kSendOnly, .psn = kTheirPsn, .payload = 4});
  qp.give({.opcode = Opcode::kSendOnly, .psn = kTheirPsn, .payload = 4});
  EXPECT_THAT(emitted.take(), ElementsAre("nak 0: psn 1280, count 1, code 0",
                                          "retransmission 1: psn 1280, count 1, code 0"));
}

TEST(SoftTrace, ThePeersWritesAtTheirEnd) {
  LoneQp qp;
  Emitted emitted(kServer);
  qp.side.qp.set_trace({&emitted.tracer, kServer});
  const auto there = qp.side.advertise(1000, 5000, testing::kWritable);
  qp.give({.opcode = Opcode::kWriteFirst,
           .psn = kTheirPsn,
           .payload = kMtu,
           .remote = there,
           .length = kMtu + 50,
           .value = 1});
  EXPECT_THAT(emitted.take(), IsEmpty());
  qp.give({.opcode = Opcode::kWriteLast, .psn = kTheirPsn + 1, .payload = 50, .value = 2});
  qp.give({.opcode = Opcode::kWriteOnly,
           .psn = kTheirPsn + 2,
           .payload = 7,
           .remote = {there.handle, there.offset + 100},
           .length = 7,
           .value = 3});
  qp.give({.opcode = Opcode::kWriteOnly, .psn = kTheirPsn + 3});
  const auto lines = emitted.take();
  const auto line = [&](int n, std::uint64_t at, unsigned bytes) {
    std::array<char, 100> text{};
    (void)std::snprintf(text.data(), text.size(), "write 1 #%d: %u at %llx, %u bytes, xid 0", n,
                        there.handle, static_cast<unsigned long long>(at), bytes);
    return std::string(text.data());
  };
  EXPECT_THAT(lines, ElementsAre(line(1, there.offset, kMtu + 50), line(2, there.offset + 100, 7),
                                 "write 1 #3: 0 at 0, 0 bytes, xid 0"));
  using Bytes = std::vector<std::uint8_t>;
  EXPECT_THAT(emitted.tails, ElementsAre(Bytes(trace::kOperationTail, 1), Bytes(7, 3), Bytes()));
}

TEST(SoftTrace, ThePeersReadsFromRequestToLastResponse) {
  LoneQp qp;
  Emitted emitted(kServer);
  qp.side.qp.set_trace({&emitted.tracer, kServer});
  std::fill_n(qp.side.buffer.begin() + 1000, 600, std::uint8_t{5});
  const auto there = qp.side.advertise(1000, 600, testing::kReadable);
  const auto ask = [&](std::uint32_t psn, std::uint32_t from, std::uint32_t bytes) {
    qp.give({.opcode = Opcode::kReadRequest,
             .psn = psn,
             .remote = {there.handle, there.offset + from},
             .length = bytes});
  };
  ask(kTheirPsn, 0, 600);
  EXPECT_THAT(emitted.take(), ElementsAre(::testing::StartsWith("read 1 #1: ")));
  EXPECT_EQ(qp.sent().size(), 3U);
  EXPECT_THAT(emitted.take(), ElementsAre("read end 1 #1: status 0, 600 bytes"));
  EXPECT_EQ(emitted.tails[0], std::vector<std::uint8_t>(trace::kOperationTail, 5));
  // All of it was lost: it is executed again, but remains the same Read.
  ask(kTheirPsn, 0, 600);
  EXPECT_EQ(qp.sent().size(), 3U);
  EXPECT_THAT(emitted.take(), ElementsAre("retransmission 1: psn 1280, count 1, code 0"));

  // A Read whose rest is requested again before it was sent ends then, as a whole.
  ask(kTheirPsn + 3, 0, 600);
  OutPacket out;
  ASSERT_TRUE(qp.side.qp.transmit(out, qp.now));
  ask(kTheirPsn + 4, kMtu, 600 - kMtu);
  EXPECT_EQ(qp.sent().size(), 2U);
  EXPECT_THAT(emitted.take(), ElementsAre(::testing::StartsWith("read 1 #2: "),
                                          "retransmission 1: psn 1284, count 1, code 0",
                                          "read end 1 #2: status 0, 600 bytes"));
  EXPECT_EQ(emitted.tails[2], std::vector<std::uint8_t>(trace::kOperationTail, 5));
}

// The peer lost its responses, and its repeated requests arrive in another order.
TEST(SoftTrace, EachReadEndsOnceThoughItIsAskedForAgainBehindOthers) {
  LoneQp qp;
  Emitted emitted(kServer);
  qp.side.qp.set_trace({&emitted.tracer, kServer});
  constexpr std::uint32_t kBytes = 2 * kMtu;
  for (std::size_t n = 0; n < 3; ++n) {
    std::fill_n(qp.side.buffer.begin() + static_cast<std::ptrdiff_t>(1000 + n * kBytes), kBytes,
                static_cast<std::uint8_t>(n + 1));
  }
  const auto there = qp.side.advertise(1000, 3 * kBytes, testing::kReadable);
  const auto ask = [&](std::uint32_t n, std::uint32_t packet = 0) {
    qp.give({.opcode = Opcode::kReadRequest,
             .psn = kTheirPsn + 2 * n + packet,
             .remote = {there.handle, there.offset + n * kBytes + packet * kMtu},
             .length = kBytes - packet * kMtu});
  };
  for (std::uint32_t n = 0; n < 3; ++n) ask(n);
  OutPacket out;
  ASSERT_TRUE(qp.side.qp.transmit(out, qp.now));
  ask(0, 1);  // and everything after it
  EXPECT_EQ(qp.sent().size(), 1U);
  ask(2);
  EXPECT_EQ(qp.sent().size(), 2U);
  ask(1);
  EXPECT_EQ(qp.sent().size(), 2U);
  ask(2);
  EXPECT_EQ(qp.sent().size(), 2U);
  const auto ends = emitted.take("read");
  ASSERT_EQ(ends.size(), 6U);
  EXPECT_THAT(
      std::vector(ends.begin() + 3, ends.end()),
      ElementsAre("read end 1 #1: status 0, 512 bytes", "read end 1 #3: status 0, 512 bytes",
                  "read end 1 #2: status 0, 512 bytes"));
  using Bytes = std::vector<std::uint8_t>;
  EXPECT_THAT(std::vector(emitted.tails.begin() + 3, emitted.tails.end()),
              ElementsAre(Bytes(trace::kOperationTail, 1), Bytes(trace::kOperationTail, 3),
                          Bytes(trace::kOperationTail, 2)));
}

TEST(SoftTrace, AReadOfWhatIsInvalidatedMeanwhile) {
  LoneQp qp;
  Emitted emitted(kServer);
  qp.side.qp.set_trace({&emitted.tracer, kServer});
  const auto there = qp.side.advertise(1000, 600, testing::kReadable);
  qp.give({.opcode = Opcode::kReadRequest, .remote = there, .length = 600});
  OutPacket out;
  ASSERT_TRUE(qp.side.qp.transmit(out, qp.now));
  ASSERT_TRUE(qp.side.qp.invalidate(1, there.handle));
  EXPECT_EQ(qp.sent().size(), 1U);
  EXPECT_THAT(emitted.take(),
              ElementsAre(::testing::StartsWith("read 1 #1: "), "read end 1 #1: status 6, 0 bytes",
                          "nak 0: psn 1281, count 1, code 2"));
}

TEST(SoftTrace, WithoutAListenerNothingIsEmitted) {
  Traced t;
  t.client.tracer.listen(false);
  t.server.tracer.listen(false);
  const auto there =
      t.pair.server.advertise(0, 4096, fabric::Access::kRemoteRead | fabric::Access::kRemoteWrite);
  ASSERT_TRUE(t.pair.client.post(Operation::kSend, 1, 0, 2000));
  ASSERT_TRUE(t.pair.client.post(Operation::kWrite, 1, 0, 3000, there));
  ASSERT_TRUE(t.pair.client.post(Operation::kRead, 1, 0, 3000, there));
  bool posted = false;
  t.pair.network = [&](Flying f) {
    if (t.pair.server.qp.counters().rnr_out == 1 && !posted) {
      t.pair.server.post_receive(1, 8192, 2000);
      posted = true;
    }
    return f.number % 7 == 0 ? std::vector<Flying>{} : std::vector<Flying>{std::move(f)};
  };
  ASSERT_TRUE(t.pair.run());
  EXPECT_EQ(t.pair.client.take().size(), 3U);
  EXPECT_THAT(t.pair.client.qp.counters().retransmitted, Gt(0U));
  EXPECT_EQ(t.client.tracer.ring().emitted(), 0U);
  EXPECT_EQ(t.server.tracer.ring().emitted(), 0U);
}

}  // namespace
}  // namespace rpcrdma::soft
