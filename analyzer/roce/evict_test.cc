// More connections than the tracker follows.
#include "support/roce_packets.h"

#include <map>

#include <gtest/gtest.h>

#include <rpcrdma/roce/tracker.h>
#include <rpcrdma/wire/cm.h>

namespace rpcrdma::roce {
namespace {

using namespace testing;
using wire::Opcode;

constexpr auto kMost = static_cast<std::uint32_t>(kMaxConnections);

// Counts the events of each connection.
struct EvictionListener : Listener {
  std::map<std::uint32_t, int> opened, closed, evict, sends;
  void on_open(const Connection& c) override { ++opened[c.index]; }
  void on_close(const Connection& c) override {
    EXPECT_EQ(evict.count(c.index), 0U);
    ++closed[c.index];
  }
  void on_evict(const Connection& c) override {
    EXPECT_TRUE(c.evict);
    EXPECT_EQ(closed[c.index], 1);
    ++evict[c.index];
  }
  void on_send(const Connection& c, const SendMessage&) override { ++sends[c.index]; }
};

class Evicted : public ::testing::Test {
 protected:
  // Sends a SEND on the connection to this QP.
  void send(std::uint32_t qp, std::uint32_t psn = 0) {
    wire_.give(kA, kB, packet(Opcode::kSendOnly, qp, psn));
  }
  void cm(std::uint8_t src, std::uint8_t dst, wire::CmMessage message) {
    std::vector<std::uint8_t> mad(wire::kMadBytes);
    ASSERT_TRUE(wire::encode_cm({{}, std::move(message)}, mad));
    wire_.give(src, dst, packet(Opcode::kUdSendOnly, wire::kGsiQp, 0, mad));
  }
  void set_up(std::uint32_t id) {
    wire::CmReq req;
    req.local_comm_id = id;
    req.local_qpn = id + 0x100000;
    cm(kA, kB, req);
    wire::CmRep rep;
    rep.local_comm_id = id + 0x80000000;
    rep.remote_comm_id = id;
    rep.local_qpn = id + 0x200000;
    cm(kB, kA, rep);
  }
  void hang_up(std::uint32_t id) {
    wire::CmDreq dreq;
    dreq.local_comm_id = id;
    dreq.remote_comm_id = id + 0x80000000;
    dreq.remote_qpn = id + 0x200000;
    cm(kA, kB, dreq);
  }

  EvictionListener listener_;
  Tracker tracker_{listener_};
  Wire wire_{tracker_};
};

TEST_F(Evicted, NoneWhileThereIsRoom) {
  for (std::uint32_t qp = 2; qp < kMost + 2; ++qp) send(qp);
  EXPECT_TRUE(listener_.evict.empty());
  EXPECT_EQ(tracker_.stats().evict, 0U);
}

TEST_F(Evicted, TheOneIdleLongest) {
  for (std::uint32_t qp = 2; qp < kMost + 2; ++qp) send(qp);
  send(2, 1);  // connection 0
  send(3, 1);  // connection 1
  send(kMost + 2);
  EXPECT_EQ(listener_.evict, (std::map<std::uint32_t, int>{{2, 1}}));
  EXPECT_EQ(tracker_.find(2), nullptr);
  EXPECT_NE(tracker_.find(0), nullptr);
  EXPECT_EQ(tracker_.connection_count(), kMost + 1);
  EXPECT_EQ(tracker_.stats().evict, 1U);
}

TEST_F(Evicted, ThoseThatAreOverBeforeThoseIdleLonger) {
  for (std::uint32_t qp = 2; qp < kMost + 1; ++qp) send(qp);
  set_up(1);
  hang_up(1);
  send(kMost + 1);
  EXPECT_EQ(listener_.evict, (std::map<std::uint32_t, int>{{kMost - 1, 1}}));
}

TEST_F(Evicted, ComesBackAsANewConnection) {
  for (std::uint32_t qp = 2; qp < kMost + 3; ++qp) send(qp);
  EXPECT_EQ(tracker_.find(0), nullptr);
  send(2, 1);
  EXPECT_EQ(tracker_.connection_count(), kMost + 2);
  EXPECT_EQ(listener_.sends[kMost + 1], 1);
}

// Neither QPs nor communication IDs lead to an evicted connection.
TEST_F(Evicted, NumbersOfOneThatIsGoneAreFree) {
  set_up(1);
  for (std::uint32_t i = 0; i < kMost; ++i) send(2 + i);
  ASSERT_EQ(listener_.evict.count(0), 1U);
  hang_up(1);
  wire_.give(kB, kA, packet(Opcode::kSendOnly, 0x100001, 0));
  wire_.give(kA, kB, packet(Opcode::kSendOnly, 0x200001, 0));
  EXPECT_EQ(listener_.sends.count(0), 0U);
  set_up(1);
  tracker_.finish();
  for (const auto& [index, times] : listener_.closed) EXPECT_EQ(times, 1) << index;
}

// A REP may come from any address and name any QP; an older connection had been inferred.
TEST_F(Evicted, WhateverTheRepSaid) {
  wire::CmReq req;
  req.local_comm_id = 7;
  req.local_qpn = 0x777;
  req.starting_psn = 5;
  cm(kA, kB, req);
  send(0x300000, 5);
  wire::CmRep rep;
  rep.local_comm_id = 8;
  rep.remote_comm_id = 7;
  rep.local_qpn = 0x888;
  cm(3, kA, rep);  // nobody asked for it
  cm(kB, kA, rep);
  for (std::uint32_t i = 0; i < kMost; ++i) send(0x10000 + i);
  ASSERT_EQ(listener_.evict.count(0), 1U);
  send(0x300000, 6);
  send(0x888, 6);
  wire_.give(kB, kA, packet(Opcode::kSendOnly, 0x777, 0));
  EXPECT_EQ(listener_.sends[0], 1);
}

TEST_F(Evicted, OneThatWasMergedAwayIsNotReported) {
  send(2);
  wire_.give(kB, kA, ack(3, 0));
  send(2, 1);
  for (std::uint32_t i = 0; i < 3 * kMost; ++i) send(10 + i);
  tracker_.finish();
  std::uint64_t gone = 0;
  for (const auto& [index, times] : listener_.evict) gone += static_cast<std::uint64_t>(times);
  EXPECT_EQ(tracker_.stats().evict, gone);
}

TEST_F(Evicted, MillionsThatAreOverCostNothing) {
  for (std::uint32_t id = 1; id < 4 * kMost; ++id) {
    set_up(id);
    hang_up(id);
  }
  EXPECT_EQ(tracker_.connection_count(), 4 * kMost - 1);
  EXPECT_EQ(tracker_.stats().evict, 3 * kMost - 1);
  for (const auto& [index, times] : listener_.closed) EXPECT_EQ(times, 1) << index;
}

}  // namespace
}  // namespace rpcrdma::roce
