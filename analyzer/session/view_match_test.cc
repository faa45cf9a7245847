// Two views of the same messages: what is in both, what is missing in one, and the clocks.
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/session/view_match.h>

namespace rpcrdma::session {
namespace {

constexpr std::int64_t kMs = 1'000'000;

class ViewMatching : public ::testing::Test {
 protected:
  // A message whose content depends on its XID.
  ViewedMessage message(std::uint32_t xid, std::int64_t time_ns) {
    ViewedMessage m;
    m.xid = xid;
    m.length = 100;
    m.whole = xid * 7919ULL;
    m.length_known = m.whole_known = true;
    m.frame = ++frame_;
    m.time_ns = time_ns;
    return m;
  }
  void call_in_both(std::uint32_t xid, std::int64_t at) {
    match.here(0, message(xid, at));
    match.there(0, message(xid, at + ahead + delay));
  }
  void reply_in_both(std::uint32_t xid, std::int64_t at) {
    match.there(1, message(xid, at + ahead - delay));
    match.here(1, message(xid, at));
  }

  std::int64_t ahead = 0, delay = 2 * kMs;
  ViewBudget budget;
  // The followed view is that of the client, the other one that of the server.
  ViewMatch match{{.here_recorder = 0, .there_recorder = 1, .both_begin = true}, budget};

 private:
  std::uint64_t frame_ = 0;
};

TEST_F(ViewMatching, EverythingInBoth) {
  for (std::uint32_t i = 0; i < 100; ++i) {
    call_in_both(i, i * 20 * kMs);
    reply_in_both(i, i * 20 * kMs + 10 * kMs);
  }
  match.finish(true, true);
  for (const ViewCounts& k : match.counts()) {
    EXPECT_EQ(k.both, 100U);
    EXPECT_EQ(k.only_here + k.only_there + k.differ + k.not_compared, 0U);
  }
  EXPECT_TRUE(match.differences().empty());
  EXPECT_EQ(budget.used, 0U);
}

TEST_F(ViewMatching, TheOffsetOfTheClocksAndTheTimeAtTheServer) {
  ahead = -3'600'000 * kMs;
  for (std::uint32_t i = 0; i < 10; ++i) {
    call_in_both(i, i * 20 * kMs);
    reply_in_both(i, i * 20 * kMs + 10 * kMs);
  }
  ASSERT_TRUE(match.offset());
  EXPECT_EQ(match.offset()->ns, ahead);
  EXPECT_EQ(match.offset()->error_ns, delay);
  EXPECT_EQ(match.round_trips().count, 10U);
  EXPECT_EQ(match.round_trips().here_ns, 100 * kMs);
  EXPECT_EQ(match.round_trips().there_ns, 60 * kMs);
}

TEST_F(ViewMatching, ACallThatNeverArrived) {
  call_in_both(1, 0);
  match.here(0, message(2, kMs));
  call_in_both(3, 2 * kMs);
  match.finish(true, true);
  EXPECT_EQ(match.counts()[0].only_here, 1U);
  ASSERT_EQ(match.differences().size(), 1U);
  EXPECT_EQ(match.differences()[0].kind, ViewDifference::Kind::kOnlyHere);
  EXPECT_EQ(match.differences()[0].xid, 2U);
  EXPECT_NE(match.differences()[0].frame, 0U);
  EXPECT_EQ(match.differences()[0].other_frame, 0U);
}

TEST_F(ViewMatching, AReplyThatNeverArrivedBeforeTheConnectionBroke) {
  call_in_both(1, 0);
  reply_in_both(1, kMs);
  call_in_both(2, 2 * kMs);
  match.there(1, message(2, 3 * kMs));
  match.finish(true, true);
  EXPECT_EQ(match.counts()[1].only_there, 1U);
}

TEST_F(ViewMatching, AViewThatEndedEarlierMissesNothing) {
  call_in_both(1, 0);
  match.here(0, message(2, kMs));
  match.finish(true, false);
  EXPECT_EQ(match.counts()[0].only_here, 0U);
  EXPECT_EQ(match.counts()[0].not_compared, 1U);
}

TEST_F(ViewMatching, AViewThatBeganLaterMissesNothing) {
  ViewMatch late({.here_recorder = 0, .there_recorder = 1, .both_begin = false}, budget);
  for (std::uint32_t i = 0; i < 2000; ++i) late.here(0, message(i, i));
  late.there(0, message(1500, 1500));
  late.finish(true, true);
  EXPECT_EQ(late.counts()[0].both, 1U);
  EXPECT_EQ(late.counts()[0].not_compared, 1500U);
  EXPECT_EQ(late.counts()[0].only_here, 499U);
}

// Its first Reply can come before that of the followed view, which receives it.
TEST_F(ViewMatching, AViewThatBeganLaterAndShowsItsRepliesFirst) {
  ViewMatch late({.here_recorder = 0, .there_recorder = 1, .both_begin = false}, budget);
  for (std::uint32_t i = 0; i < 5; ++i) late.here(1, message(i, i));
  for (std::uint32_t i = 5; i < 200; ++i) {
    late.there(1, message(i, i));
    late.here(1, message(i, i));
  }
  late.finish(true, true);
  EXPECT_EQ(late.counts()[1].both, 195U);
  EXPECT_EQ(late.counts()[1].not_compared, 5U);
  EXPECT_EQ(late.counts()[1].only_here, 0U);
}

TEST_F(ViewMatching, OtherBytesUnderTheSameXid) {
  match.here(0, message(1, 0));
  ViewedMessage other = message(1, kMs);
  other.whole ^= 1;
  match.there(0, other);
  EXPECT_EQ(match.counts()[0].both, 1U);
  EXPECT_EQ(match.counts()[0].differ, 1U);
}

TEST_F(ViewMatching, AFloodStaysWithinItsBounds) {
  for (std::uint32_t i = 0; i < 300'000; ++i) match.there(0, message(i, i));
  for (std::uint32_t i = 0; i < 300'000; ++i) match.here(0, message(i + 1'000'000, i));
  EXPECT_LE(budget.used, 2 * ViewQueue::kMost);
  match.finish(true, true);
  EXPECT_EQ(budget.used, 0U);
  EXPECT_EQ(match.counts()[0].both, 0U);
}

TEST_F(ViewMatching, TurnedSidesAndHalves) {
  call_in_both(1, 0);
  match.here(1, message(1, kMs));
  match.swap_sides();
  EXPECT_EQ(match.counts()[1].both, 1U);
  match.there(0, message(1, kMs));
  EXPECT_EQ(match.counts()[0].both, 1U);

  // Each half of a packet view shows one sender.
  ViewMatch forward({.here_recorder = 0, .there_recorder = -1, .both_begin = false}, budget);
  ViewMatch back({.here_recorder = 0, .there_recorder = -1, .both_begin = false}, budget);
  for (ViewMatch* m : {&forward, &back}) {
    m->here(0, message(5, 0));
    m->here(1, message(5, kMs));
  }
  forward.there(0, message(5, 0));
  back.there(1, message(5, kMs));
  forward.absorb(back);
  EXPECT_EQ(forward.counts()[0].both, 1U);
  EXPECT_EQ(forward.counts()[1].both, 1U);
}

}  // namespace
}  // namespace rpcrdma::session
