#include <gtest/gtest.h>

#include <rpcrdma/rules/sent_again.h>

namespace rpcrdma::rules {
namespace {

capture::Address address(std::uint8_t last) {
  const std::uint8_t bytes[] = {192, 0, 2, last};
  return capture::make_ipv4(bytes);
}

const capture::Address kClient = address(1);
const capture::Address kServer = address(2);

LostCall lost(std::uint32_t xid, std::int64_t lost_ns) {
  LostCall call;
  call.lost_ns = lost_ns;
  call.caller = kClient;
  call.responder = kServer;
  call.xid = xid;
  call.digest = 7;
  call.frame = xid;
  return call;
}

FirstCall sent(std::uint32_t xid, std::int64_t time_ns) {
  FirstCall call;
  call.frame = 100 + xid;
  call.time_ns = time_ns;
  call.xid = xid;
  call.digest = 7;
  return call;
}

TEST(LostCalls, TheOldestGoWhenThereAreTooMany) {
  LostCalls calls;
  for (std::uint32_t xid = 0; xid <= kLostCalls; ++xid) calls.add(lost(xid, 0));
  ASSERT_EQ(calls.all().size(), kLostCalls);
  EXPECT_EQ(calls.all().front().xid, 1U);
}

TEST(LostCalls, WhatComesAsAnotherIsTakenOnce) {
  LostCalls calls;
  calls.add(lost(1, 10));
  calls.add(lost(2, 10));
  std::optional<std::size_t> left;
  const LostCalls::Caller caller{5, 20, kClient, left};
  EXPECT_FALSE(calls.called(sent(9, 30), false, caller));
  const auto came = calls.called(sent(2, 40), true, caller);
  ASSERT_TRUE(came);
  EXPECT_EQ(came->xid, 2U);
  EXPECT_TRUE(calls.take_renamed(4).empty());
  const auto taken = calls.take_renamed(5);
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].xid, 1U);
  EXPECT_EQ(taken[0].again_xid, 9U);
  EXPECT_TRUE(calls.empty());
}

// A connection of the same client that began after the loss has ended without the Calls.
TEST(LostCalls, WhatTheNextConnectionHadNotIsPassedOver) {
  LostCalls calls;
  calls.add(lost(1, 10));
  calls.pass_over(kClient, kServer, 5);
  calls.pass_over(kServer, kClient, 20);
  EXPECT_EQ(calls.all().size(), 1U);
  calls.pass_over(kClient, kServer, 20);
  EXPECT_TRUE(calls.empty());
}

TEST(Successor, AwaitsWhatHasNoAnswerAndHasNotCome) {
  auto departed = std::make_shared<Departed>();
  departed->unanswered.push_back({1, 0, 0, 7});
  departed->unanswered.push_back({2, 0, 0, 7});
  Successor successor;
  EXPECT_FALSE(successor.awaits_more());
  successor.follow(departed);
  EXPECT_TRUE(successor.called(sent(1, 0)));
  EXPECT_TRUE(successor.awaits_more());
  EXPECT_FALSE(successor.called(sent(3, 0)));
  EXPECT_TRUE(successor.called(sent(2, 0)));
  EXPECT_FALSE(successor.awaits_more());
  ASSERT_EQ(successor.reported().size(), 1U);
  EXPECT_EQ(successor.reported()[0].rule, RuleId::kReconnect);
  EXPECT_EQ(successor.reported()[0].frames, (std::array<std::uint64_t, 2>{101, 102}));
}

}  // namespace
}  // namespace rpcrdma::rules
