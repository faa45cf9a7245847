// Accesses that a peer may not make: they have no effect, the peer gets a NAK, its connection ends,
// and others continue.
#include "lone_qp_for_tests.h"

namespace rpcrdma::soft {
namespace {

using fabric::Operation;
using fabric::Status;
using testing::Flying;
using testing::Given;
using testing::kMtu;
using testing::kReadable;
using testing::kTheirPsn;
using testing::kWritable;
using testing::LoneQp;
using testing::Pair;
using wire::Opcode;

struct Try {
  std::int64_t offset = 0;  // relative to the advertised memory
  std::size_t length = 0;
};

// 300 bytes are advertised.
constexpr Try kOutside[] = {
    {-1, 1}, {-1, 300}, {300, 1}, {299, 2}, {1, 300}, {0, 301}, {-300, 300}, {0x7fffffff, 1},
};

void expect_access_error(Pair& p, const std::vector<std::uint8_t>& before) {
  ASSERT_TRUE(p.run());
  const auto done = p.client.take();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].status, Status::kRemoteAccess);
  EXPECT_EQ(p.server.buffer, before);
  EXPECT_EQ(p.client.qp.state(), QpState::kError);
  EXPECT_EQ(p.server.qp.state(), QpState::kError);
  EXPECT_EQ(p.server.memory.advertised(), 0U);
}

TEST(RcAccess, OutsideOfItsBounds) {
  for (const Operation o : {Operation::kWrite, Operation::kRead}) {
    for (const Try& t : kOutside) {
      Pair p;
      p.server.buffer.assign(p.server.buffer.size(), 5);
      p.client.buffer.assign(p.client.buffer.size(), 6);
      auto there = p.server.advertise(1000, 300, kReadable | kWritable);
      there.offset += static_cast<std::uint64_t>(t.offset);
      ASSERT_TRUE(p.client.post(o, 1, 0, t.length, there));
      expect_access_error(p, p.server.buffer);
      EXPECT_TRUE(std::all_of(p.client.buffer.begin(), p.client.buffer.end(),
                              [](std::uint8_t b) { return b == 6; }));
    }
  }
}

TEST(RcAccess, OffsetAndLengthBeyondTwoToThe64) {
  for (const Operation o : {Operation::kWrite, Operation::kRead}) {
    Pair p;
    auto there = p.server.advertise(1000, 300, kReadable | kWritable);
    there.offset = ~std::uint64_t{0} - 99;
    ASSERT_TRUE(p.client.post(o, 1, 0, 200, there));
    expect_access_error(p, p.server.buffer);
  }
}

TEST(RcAccess, WithoutTheRight) {
  Pair p;
  p.client.buffer.assign(p.client.buffer.size(), 6);
  ASSERT_TRUE(p.client.post(Operation::kWrite, 1, 0, 10, p.server.advertise(0, 300, kReadable)));
  expect_access_error(p, p.server.buffer);
  Pair r;
  ASSERT_TRUE(r.client.post(Operation::kRead, 1, 0, 10, r.server.advertise(0, 300, kWritable)));
  expect_access_error(r, r.server.buffer);
}

TEST(RcAccess, OfAHandleThatIsInvalidatedOrWasNever) {
  for (const Operation o : {Operation::kWrite, Operation::kRead}) {
    Pair p;
    p.client.buffer.assign(p.client.buffer.size(), 6);
    const auto there = p.server.advertise(0, 300, kReadable | kWritable);
    ASSERT_TRUE(p.server.qp.invalidate(4, there.handle));
    EXPECT_EQ(p.server.take().at(0).operation, Operation::kInvalidate);
    EXPECT_EQ(p.server.qp.invalidate(4, there.handle).error().code, fabric::Errc::kBadArgument);
    ASSERT_TRUE(p.client.post(o, 1, 0, 10, there));
    expect_access_error(p, p.server.buffer);
    for (const std::uint32_t handle : {0U, 1U, 0xffU, 0x100U, 0xffffffffU}) {
      Pair q;
      ASSERT_TRUE(q.client.post(o, 1, 0, 10, {handle, 0}));
      expect_access_error(q, q.server.buffer);
    }
  }
}

// The handle is not checked then (9.7.4.1.5).
TEST(RcAccess, OfNoBytesIsAllowed) {
  Pair p;
  ASSERT_TRUE(p.client.post(Operation::kWrite, 1, 0, 0, {0x1234, 5}));
  ASSERT_TRUE(p.client.post(Operation::kRead, 2, 0, 0, {0x1234, 5}));
  ASSERT_TRUE(p.run());
  const auto done = p.client.take();
  ASSERT_EQ(done.size(), 2U);
  EXPECT_EQ(done[1].status, Status::kSuccess);
}

TEST(RcAccess, AWriteWhoseHandleIsInvalidatedInItsMiddle) {
  for (std::uint32_t packets = 1; packets < 4; ++packets) {
    LoneQp q;
    const auto there = q.side.advertise(1000, 4 * kMtu, kWritable);
    Given g;
    g.opcode = Opcode::kWriteFirst;
    g.payload = kMtu;
    g.length = 4 * kMtu;
    g.remote = there;
    for (std::uint32_t i = 0; i < packets; ++i) {
      g.psn = kTheirPsn + i;
      q.give(g);
      g.opcode = Opcode::kWriteMiddle;
    }
    ASSERT_TRUE(q.side.qp.invalidate(1, there.handle));
    // Its place in the table now belongs to another handle.
    (void)q.side.advertise(1000, 4 * kMtu, kWritable);
    g.psn = kTheirPsn + packets;
    if (packets == 3) g.opcode = Opcode::kWriteLast;
    q.give(g);
    EXPECT_TRUE(q.holds(1000, packets * kMtu, 0xcc));
    EXPECT_TRUE(q.holds(1000 + packets * kMtu, 4 * kMtu, 0));
    EXPECT_EQ(q.answer(g.psn), testing::kAccessNak);
    EXPECT_EQ(q.side.qp.state(), QpState::kError);
  }
}

TEST(RcAccess, AReadWhoseHandleIsInvalidatedWhileItIsAnswered) {
  for (std::uint32_t packets = 0; packets < 4; ++packets) {
    LoneQp q;
    const auto there = q.side.advertise(1000, 4 * kMtu, kReadable);
    Given g;
    g.opcode = Opcode::kReadRequest;
    g.length = 4 * kMtu;
    g.remote = there;
    q.give(g);
    OutPacket out;
    for (std::uint32_t i = 0; i < packets; ++i) ASSERT_TRUE(q.side.qp.transmit(out, 0));
    ASSERT_TRUE(q.side.qp.invalidate(1, there.handle));
    EXPECT_EQ(q.answer(kTheirPsn + packets), testing::kAccessNak);
    EXPECT_EQ(q.side.qp.state(), QpState::kError);
  }
}

// The peer acknowledges its answer, and the memory is invalidated; then a copy of its request
// arrives, or still waits.
TEST(RcAccess, ACopyOfAReadThatComesTooLateEndsNothing) {
  for (const bool waits : {false, true}) {
    LoneQp q;
    const auto there = q.side.advertise(1000, 100, kReadable);
    q.side.post_receive(1, 0, 10);
    Given g;
    g.opcode = Opcode::kReadRequest;
    g.length = 100;
    g.remote = there;
    q.give(g);
    EXPECT_EQ(q.sent().size(), 1U);
    if (waits) q.give(g);
    ASSERT_TRUE(q.side.qp.invalidate(2, there.handle));
    if (!waits) q.give(g);
    // The peer gets a NAK in case it still waits.
    EXPECT_EQ(q.answer(kTheirPsn), testing::kAccessNak);
    EXPECT_EQ(q.side.qp.state(), QpState::kReady);
    Given s;
    s.psn = kTheirPsn + 1;
    q.give(s);
    EXPECT_EQ(q.answer(s.psn), 0);
  }
}

TEST(RcAccess, AnothersHandle) {
  MemoryTable memory;
  fabric::Completions completions;
  std::vector<std::uint8_t> bytes(1000);
  const fabric::Memory whole = memory.register_memory(bytes).value();
  QueuePair mine(0x11, 1, {4, 4, 4}, memory, completions);
  QueuePair others(0x22, 2, {4, 4, 4}, memory, completions);
  QpParameters p;
  p.receive_psn = kTheirPsn;
  mine.connect({}, p);
  others.connect({}, p);
  const auto theirs = others.advertise(whole, bytes.data(), 100, kReadable | kWritable).value();
  EXPECT_FALSE(mine.invalidate(1, theirs.handle));
  wire::RocePacket w;
  w.bth.opcode = static_cast<std::uint8_t>(Opcode::kWriteOnly);
  w.bth.psn = kTheirPsn;
  const std::array<std::uint8_t, 4> data = {1, 2, 3, 4};
  w.payload = data;
  w.reth.va = theirs.offset;
  w.reth.rkey = theirs.handle;
  w.reth.dma_length = 4;
  mine.receive(w, 0);
  OutPacket out;
  ASSERT_TRUE(mine.transmit(out, 0));
  EXPECT_EQ(out.header[12], testing::kAccessNak);
  EXPECT_EQ(mine.state(), QpState::kError);
  EXPECT_EQ(bytes[0], 0);
  // The peer of the other queue pair continues.
  others.receive(w, 0);
  EXPECT_EQ(bytes[3], 4);
  EXPECT_EQ(others.state(), QpState::kReady);
}

TEST(RcAccess, AnothersHandleIsNotInvalidatedByASend) {
  MemoryTable memory;
  fabric::Completions completions;
  std::vector<std::uint8_t> bytes(1000);
  const fabric::Memory whole = memory.register_memory(bytes).value();
  QueuePair mine(0x11, 1, {4, 4, 4}, memory, completions);
  QueuePair others(0x22, 2, {4, 4, 4}, memory, completions);
  QpParameters p;
  p.receive_psn = kTheirPsn;
  mine.connect({}, p);
  const auto theirs = others.advertise(whole, bytes.data(), 100, kReadable | kWritable).value();
  ASSERT_TRUE(mine.post_receive({7, {}}));
  wire::RocePacket s;
  s.bth.opcode = static_cast<std::uint8_t>(Opcode::kSendOnlyInv);
  s.bth.psn = kTheirPsn;
  s.invalidate_key = theirs.handle;
  mine.receive(s, 0);
  OutPacket out;
  ASSERT_TRUE(mine.transmit(out, 0));
  EXPECT_EQ(out.header[12], testing::kAccessNak);
  EXPECT_NE(memory.find(0x22, theirs.handle, theirs.offset, 1, fabric::Access::kRemoteRead),
            nullptr);
  std::array<fabric::Completion, 4> done;
  ASSERT_EQ(completions.poll(done), 1U);
  EXPECT_EQ(done[0].status, Status::kFlushed);
}

TEST(RcAccess, HandlesAreBounded) {
  LoneQp q(testing::lone_options());
  for (int i = 0; i < 64; ++i) (void)q.side.advertise(0, 1, kReadable);
  const auto e = q.side.qp.advertise(q.side.whole, q.side.buffer.data(), 1, kReadable);
  EXPECT_EQ(e.error().code, fabric::Errc::kNoRoom);
  q.side.qp.fail("over");
  EXPECT_EQ(q.side.memory.advertised(), 0U);
  EXPECT_EQ(q.side.qp.advertise(q.side.whole, q.side.buffer.data(), 1, kReadable).error().code,
            fabric::Errc::kNotConnected);
}

}  // namespace
}  // namespace rpcrdma::soft
