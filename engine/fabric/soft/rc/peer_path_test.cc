// The window that all connections to one peer share.
#include "peer_path.h"

#include <array>

#include <gtest/gtest.h>

namespace rpcrdma::soft {
namespace {

using fabric::kMillisecond;
using fabric::kSecond;
using fabric::Time;

constexpr std::uint32_t kMost = 1024;
constexpr std::uint32_t kFirst = PeerPath::kFirstWindow;

struct PeerPathTest : ::testing::Test {
  // A round in which the window was full.
  void round(Time trip, std::uint32_t losses = 0) {
    path.wait(waiters[0]);
    path.answered(now, now + trip);
    now += trip;
    for (std::uint32_t i = 0; i < losses; ++i) path.lost();
    path.acknowledged(path.window());
    path.leave(waiters[0]);
  }
  // Connections that wait for an acknowledgment.
  void busy(std::uint32_t connections) {
    for (std::uint32_t i = 0; i < connections; ++i) path.change(0, 1);
  }

  const std::uint32_t most = kMost;
  PeerPath path{most};
  std::array<PathWaiter, 3> waiters;
  Time now = kSecond;
};

TEST_F(PeerPathTest, GrowsUpToTheMaximumWhileItIsFull) {
  EXPECT_EQ(path.window(), kFirst);
  round(kMillisecond);
  EXPECT_EQ(path.window(), kFirst + kFirst / 4);
  for (int i = 0; i < 20; ++i) round(kMillisecond);
  EXPECT_EQ(path.window(), kMost);
}

TEST_F(PeerPathTest, DoesNotGrowIfItIsNotTheLimit) {
  for (int i = 0; i < 3; ++i) {
    path.answered(now, now + kMillisecond);
    path.acknowledged(path.window());
  }
  EXPECT_EQ(path.window(), kFirst);
}

TEST_F(PeerPathTest, ShrinksWhileAQueueStands) {
  round(10 * kMillisecond);
  EXPECT_GT(path.window(), kFirst);
  const std::uint32_t before = path.window();
  round(10 * kMillisecond + 1);
  EXPECT_EQ(path.window(), before - before / 8);
  for (int i = 0; i < 30; ++i) round(50 * kMillisecond);
  EXPECT_EQ(path.window(), kFirst);
}

TEST_F(PeerPathTest, ALongQueueLeavesASmallWindow) {
  for (int i = 0; i < 9; ++i) round(kMillisecond, kFirst);
  EXPECT_EQ(path.window(), PeerPath::kLeastWindow);
  round(50 * kMillisecond);
  EXPECT_EQ(path.window(), PeerPath::kLeastWindow);
}

TEST_F(PeerPathTest, OneLongRoundTripIsNoQueue) {
  path.answered(now, now + kSecond);
  round(kMillisecond);
  EXPECT_GT(path.window(), kFirst);
}

TEST_F(PeerPathTest, ShrinksWithManyLossesOnly) {
  round(kMillisecond, kFirst / 16);
  EXPECT_EQ(path.window(), kFirst + kFirst / 4);
  const std::uint32_t before = path.window();
  round(kMillisecond, before / 16 + 1);
  EXPECT_EQ(path.window(), before / 2);
}

TEST_F(PeerPathTest, TakesTurnsWhileTheWindowIsFull) {
  path.change(0, kFirst);
  EXPECT_FALSE(path.admits(waiters[0]));
  path.wait(waiters[0]);
  path.wait(waiters[1]);
  EXPECT_EQ(path.next_turn(), nullptr);
  path.change(kFirst, kFirst - 1);
  // The room belongs to those who wait.
  EXPECT_FALSE(path.admits(waiters[2]));
  EXPECT_EQ(path.next_turn(), &waiters[0]);
  EXPECT_EQ(path.next_turn(), nullptr) << "one at a time";
  EXPECT_TRUE(path.admits(waiters[0]));
  EXPECT_FALSE(path.admits(waiters[1]));
  EXPECT_FALSE(path.admits(waiters[2]));
  path.wait(waiters[0]);  // it has more to send
  EXPECT_EQ(path.next_turn(), &waiters[1]);
  path.end_turn(waiters[1]);
  EXPECT_EQ(path.next_turn(), &waiters[0]);
  path.leave(waiters[0]);
  EXPECT_EQ(path.next_turn(), nullptr);
  EXPECT_TRUE(path.admits(waiters[2]));
}

TEST_F(PeerPathTest, OneThatLeavesIsNotCalled) {
  path.change(0, kFirst);
  path.wait(waiters[0]);
  path.wait(waiters[1]);
  path.leave(waiters[0]);
  path.change(kFirst, 0);
  EXPECT_EQ(path.next_turn(), &waiters[1]);
}

TEST_F(PeerPathTest, WaitsTwiceTheLongestRecentRoundTrip) {
  EXPECT_EQ(path.patience(67 * kMillisecond), 67 * kMillisecond);
  path.answered(now, now + 50 * kMillisecond);
  path.answered(now, now + kMillisecond);
  EXPECT_EQ(path.patience(67 * kMillisecond), 100 * kMillisecond);
  // It is forgotten after two seconds.
  now += kSecond + 100 * kMillisecond;
  path.answered(now, now + kMillisecond);
  EXPECT_EQ(path.patience(67 * kMillisecond), 100 * kMillisecond);
  now += kSecond + 100 * kMillisecond;
  path.answered(now, now + kMillisecond);
  EXPECT_EQ(path.patience(67 * kMillisecond), 67 * kMillisecond);
}

TEST_F(PeerPathTest, AfterAPauseNothingIsRecent) {
  path.answered(now, now + 50 * kMillisecond);
  now += 10 * kSecond;
  path.answered(now, now + kMillisecond);
  EXPECT_EQ(path.patience(0), 2 * kMillisecond);
}

TEST_F(PeerPathTest, WhatIsOlderThanAnAnsweredPacketIsNotQueued) {
  busy(PeerPath::kMany);
  EXPECT_TRUE(path.may_be_queued(now));
  path.answered(now + 5 * kMillisecond, now + 6 * kMillisecond);
  EXPECT_TRUE(path.may_be_queued(now)) << "their order is not certain";
  path.answered(now + 5 * kMillisecond + 1, now + 6 * kMillisecond);
  EXPECT_FALSE(path.may_be_queued(now));
  EXPECT_TRUE(path.may_be_queued(now + kMillisecond));
}

TEST_F(PeerPathTest, ASlowPeerAnswersInAnyOrder) {
  busy(PeerPath::kMany);
  path.answered(now + 40 * kMillisecond, now + 80 * kMillisecond);
  EXPECT_TRUE(path.may_be_queued(now));
  EXPECT_FALSE(path.may_be_queued(now - 1));
}

TEST_F(PeerPathTest, SilenceOfAFewMayBeLosses) {
  busy(PeerPath::kMany);
  path.change(1, 0);
  EXPECT_FALSE(path.may_be_queued(now));
  path.change(0, 3);
  EXPECT_TRUE(path.may_be_queued(now));
}

}  // namespace
}  // namespace rpcrdma::soft
