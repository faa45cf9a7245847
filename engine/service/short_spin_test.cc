// When a loop polls for a short while before it sleeps.
#include "short_spin.h"

#include <gtest/gtest.h>

namespace rpcrdma::service {
namespace {

constexpr fabric::Time kLongest = 50'000;

class ShortSpinTest : public ::testing::Test {
 protected:
  // Something was done, and the next message arrives after `gap`. Returns whether it was polled
  // for.
  bool wait(fabric::Time gap) {
    const fabric::Time busy = now_;
    const fabric::Time arrives = now_ + gap;
    bool polled = false;
    while (spin_.polls(busy, now_)) {
      polled = true;
      now_ += 1'000;
      if (now_ < arrives) continue;
      spin_.found(now_);
      return true;
    }
    now_ = std::max(now_, arrives);
    spin_.found(now_);
    return polled;
  }
  int attempts(int sleeps, fabric::Time gap) {
    int n = 0;
    for (int i = 0; i < sleeps; ++i) n += wait(gap) ? 1 : 0;
    return n;
  }

  fabric::Time now_ = 0;
  ShortSpin spin_{kLongest};
};

TEST_F(ShortSpinTest, PollsEachTimeWhileThatPaysOff) {
  (void)attempts(100, 10'000);
  EXPECT_EQ(attempts(100, 10'000), 100);
}

TEST_F(ShortSpinTest, GivesUpOnAPeerThatAnswersSlowly) {
  (void)attempts(20'000, 100'000);
  EXPECT_LE(attempts(40'000, 100'000), 10);
  // And notices when it is quicker.
  (void)attempts(20'000, 10'000);
  EXPECT_EQ(attempts(100, 10'000), 100);
}

TEST_F(ShortSpinTest, OneFailureAmongSuccessesDoesNotCount) {
  (void)attempts(100, 10'000);
  EXPECT_TRUE(wait(100'000));
  EXPECT_EQ(attempts(100, 10'000), 100);
}

// The peer ran on this processor meanwhile.
TEST_F(ShortSpinTest, AMessageAfterAnInterruptionIsNoSuccess) {
  int polled = 0;
  for (int i = 0; i < 20'000; ++i) {
    const fabric::Time busy = now_;
    if (spin_.polls(busy, now_)) ++polled;
    now_ += 10'000;
    spin_.found(now_);
  }
  EXPECT_LE(polled, 20);
}

TEST_F(ShortSpinTest, NeverIfItTakesNoTime) {
  ShortSpin never(0);
  for (int i = 1; i < 100; ++i) EXPECT_FALSE(never.polls(i, i));
}

}  // namespace
}  // namespace rpcrdma::service
