#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/playground/faults.h>

namespace rpcrdma::playground {
namespace {

TEST(TrialFaults, AreEmittedInTheLanguageOfRules) {
  EXPECT_EQ(to_text({}), "");
  EXPECT_TRUE(to_plan({})->rules.empty());
  Faults f;
  f.loss = 0.01;
  f.corruption = 1;
  f.delay = 2 * fabric::kMillisecond;
  EXPECT_EQ(to_text(f), "drop rate=0.01; corrupt rate=1; delay by=2000000ns");
  f.rules = "duplicate op=ack  # and no more";
  const auto plan = to_plan(f);
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->rules.size(), 4U);
  EXPECT_EQ(plan->rules[0].action, soft::FaultAction::kDuplicate);
  EXPECT_EQ(plan->rules[1].action, soft::FaultAction::kDrop);
  EXPECT_EQ(plan->rules[1].rate, 0.01);
  EXPECT_EQ(plan->rules[3].delay, 2 * fabric::kMillisecond);
}

TEST(TrialFaults, TheSmallestShareIsOneOrNone) {
  Faults f;
  f.reordering = 1e-9;
  EXPECT_TRUE(to_plan(f)) << to_text(f);
}

TEST(TrialFaults, WhatCannotBeIsRefused) {
  Faults share;
  share.loss = 1.5;
  EXPECT_FALSE(to_plan(share));
  Faults delay;
  delay.delay = -1;
  EXPECT_FALSE(to_plan(delay));
  Faults rules;
  rules.rules = "drop; drip";
  const auto plan = to_plan(rules);
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().message, ::testing::HasSubstr("column 7"));
}

}  // namespace
}  // namespace rpcrdma::playground
