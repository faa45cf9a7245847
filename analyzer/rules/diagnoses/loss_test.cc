#include "loss.h"

#include "nothing_for_tests.h"

#include <gtest/gtest.h>

namespace rpcrdma::rules {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(Recovery, WhatIsSentInVainIsNoTimeOfTheNetwork) {
  Recovery r;
  const auto send_again = [&r](std::uint32_t psn, bool begins) {
    EXPECT_EQ(r.sent_again(psn, kSecond, begins, {}), Stall::kLoss);
    r.held_up(kSecond);
  };
  for (int i = 0; i < 3; ++i) send_again(7, i == 0);
  EXPECT_EQ(r.held_up_ns(), 0);
  r.arrived(7);
  EXPECT_EQ(r.held_up_ns(), 3 * kSecond);
  send_again(9, true);
  EXPECT_EQ(r.held_up_ns(), 3 * kSecond);
  r.went_on(10);
  EXPECT_EQ(r.held_up_ns(), 4 * kSecond);
}

TEST(Recovery, WhatWaitedForAReceiveIsNoTimeOfTheNetwork) {
  wire::Aeth not_ready;
  not_ready.syndrome = 0x20;
  Recovery r;
  r.refused(not_ready, 7, {});
  EXPECT_EQ(r.sent_again(7, kSecond, true, {}), Stall::kNoReceive);
  EXPECT_EQ(r.sent_again(8, 0, false, {}), Stall::kNone);
  EXPECT_EQ(r.sent_again(7, kSecond, false, {}), Stall::kLoss);
}

TEST(Recovery, ARefusalAfterWhichTheRefuserGoesOnEndsNothing) {
  testing::Nothing nothing;
  Findings findings({}, nothing.tracker, nothing.model);
  wire::Aeth refusal;
  refusal.syndrome = 0x60 | static_cast<std::uint8_t>(wire::NakCode::kRemoteAccess);
  roce::PacketMeta meta;
  meta.frame = 5;
  Recovery r;
  r.refused(refusal, 7, meta);
  r.peer_went_on(6);
  EXPECT_FALSE(r.report_fatal(findings, {}, 0, {}));
}

}  // namespace
}  // namespace rpcrdma::rules
