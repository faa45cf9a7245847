#include "lone_qp_for_tests.h"

#include <numeric>

#include <gmock/gmock.h>

namespace rpcrdma::soft {
namespace {

using fabric::Operation;
using fabric::Status;
using testing::Flying;
using testing::Pair;
using testing::PairOptions;

constexpr auto kReadAndWrite = fabric::Access::kRemoteRead | fabric::Access::kRemoteWrite;

void fill(std::vector<std::uint8_t>& bytes) {
  std::uint32_t x = 1;
  for (std::uint8_t& b : bytes) b = static_cast<std::uint8_t>((x = x * 1664525 + 1013904223) >> 24);
}

TEST(QueuePair, ASendArrivesInTheReceive) {
  Pair p;
  fill(p.client.buffer);
  p.server.post_receive(7, 100, 2000);
  ASSERT_TRUE(p.client.post(Operation::kSend, 5, 0, 1000));
  ASSERT_TRUE(p.run());
  const auto sent = p.client.take();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].id, 5U);
  EXPECT_EQ(sent[0].status, Status::kSuccess);
  const auto received = p.server.take();
  ASSERT_EQ(received.size(), 1U);
  EXPECT_EQ(received[0].id, 7U);
  EXPECT_EQ(received[0].bytes, 1000U);
  EXPECT_EQ(received[0].operation, Operation::kReceive);
  EXPECT_TRUE(std::equal(p.client.buffer.begin(), p.client.buffer.begin() + 1000,
                         p.server.buffer.begin() + 100));
}

TEST(QueuePair, AWriteAndAReadMoveTheirBytes) {
  Pair p;
  fill(p.client.buffer);
  const auto there = p.server.advertise(1000, 30000, kReadAndWrite);
  ASSERT_TRUE(p.client.post(Operation::kWrite, 1, 0, 20000, there));
  ASSERT_TRUE(p.client.post(Operation::kRead, 2, 30000, 20000, there));
  ASSERT_TRUE(p.run());
  const auto done = p.client.take();
  ASSERT_EQ(done.size(), 2U);
  EXPECT_EQ(done[0].status, Status::kSuccess);
  EXPECT_EQ(done[1].status, Status::kSuccess);
  EXPECT_EQ(done[1].bytes, 20000U);
  EXPECT_TRUE(std::equal(p.client.buffer.begin(), p.client.buffer.begin() + 20000,
                         p.server.buffer.begin() + 1000));
  EXPECT_TRUE(std::equal(p.client.buffer.begin(), p.client.buffer.begin() + 20000,
                         p.client.buffer.begin() + 30000));
  EXPECT_EQ(p.client.qp.counters().retransmitted, 0U);
  EXPECT_EQ(p.client.qp.counters().timeouts, 0U);
}

TEST(QueuePair, PacketsOfAnotherPartitionAreDropped) {
  for (const auto& [pkey, taken] : {std::pair{0xffffU, true}, std::pair{0x7fffU, true},
                                    std::pair{0x8001U, false}, std::pair{0U, false}}) {
    testing::LoneQp q;
    q.side.post_receive(7, 100, 2000);
    testing::Given g;
    g.payload = 10;
    g.pkey = static_cast<std::uint16_t>(pkey);
    q.give(g);
    EXPECT_EQ(q.side.take().size(), taken ? 1U : 0U) << pkey;
    EXPECT_EQ(q.side.qp.counters().dropped, taken ? 0U : 1U) << pkey;
  }
}

// Loses each packet of an exchange with all operations, one at a time.
TEST(QueuePair, NoLostPacketLosesAnything) {
  for (std::size_t lost = 0;; ++lost) {
    Pair p;
    fill(p.client.buffer);
    const auto there = p.server.advertise(1000, 30000, kReadAndWrite);
    for (std::uint64_t i = 0; i < 3; ++i) p.server.post_receive(i, 40000 + i * 1000, 1000);
    std::size_t n = 0;
    bool met = false;
    p.network = [&](Flying f) {
      if (n++ == lost) {
        met = true;
        return std::vector<Flying>{};
      }
      return std::vector<Flying>{std::move(f)};
    };
    ASSERT_TRUE(p.client.post(Operation::kSend, 1, 0, 900));
    ASSERT_TRUE(p.client.post(Operation::kWrite, 2, 0, 5000, there));
    ASSERT_TRUE(p.client.post(Operation::kRead, 3, 30000, 5000, there));
    ASSERT_TRUE(p.client.post(Operation::kSend, 4, 900, 10));
    ASSERT_TRUE(p.client.post(Operation::kRead, 5, 36000, 100, there));
    ASSERT_TRUE(p.client.post(Operation::kSend, 6, 910, 0));
    ASSERT_TRUE(p.run());
    const auto done = p.client.take();
    ASSERT_EQ(done.size(), 6U) << lost;
    for (std::size_t i = 0; i < done.size(); ++i) {
      EXPECT_EQ(done[i].id, i + 1);
      EXPECT_EQ(done[i].status, Status::kSuccess) << lost;
    }
    const auto received = p.server.take();
    ASSERT_EQ(received.size(), 3U) << lost;
    EXPECT_EQ(received[0].bytes, 900U);
    EXPECT_EQ(received[1].bytes, 10U);
    EXPECT_EQ(received[2].bytes, 0U);
    EXPECT_TRUE(std::equal(p.client.buffer.begin(), p.client.buffer.begin() + 900,
                           p.server.buffer.begin() + 40000));
    EXPECT_TRUE(std::equal(p.client.buffer.begin(), p.client.buffer.begin() + 5000,
                           p.client.buffer.begin() + 30000))
        << lost;
    if (!met) break;
  }
}

}  // namespace
}  // namespace rpcrdma::soft
