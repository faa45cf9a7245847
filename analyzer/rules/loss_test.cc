#include "loss.h"

#include <gtest/gtest.h>

namespace rpcrdma::rules {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(Recovery, WhatIsSentInVainIsNoTimeOfTheNetwork) {
  Recovery r;
  for (int i = 0; i < 3; ++i) r.sent_again(7, kSecond, i == 0, {});
  EXPECT_EQ(r.stalled_ns(), 0);
  r.arrived(7);
  EXPECT_EQ(r.stalled_ns(), 3 * kSecond);
  r.sent_again(9, kSecond, true, {});
  EXPECT_EQ(r.stalled_ns(), 3 * kSecond);
  r.went_on(10);
  EXPECT_EQ(r.stalled_ns(), 4 * kSecond);
}

TEST(Recovery, ARefusalAfterWhichTheRefuserGoesOnEndsNothing) {
  Findings findings{{}};
  wire::Aeth refusal;
  refusal.syndrome = 0x60 | static_cast<std::uint8_t>(wire::NakCode::kRemoteAccess);
  roce::PacketMeta meta;
  meta.frame = 5;
  Recovery r;
  r.refused(refusal, 7, meta);
  r.peer_went_on(6);
  EXPECT_FALSE(r.tell_fatal(findings, {}, 0, {}));
}

}  // namespace
}  // namespace rpcrdma::rules
