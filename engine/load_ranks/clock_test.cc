// Clock offsets from simulated ping-pongs.
#include <random>

#include <gtest/gtest.h>

#include <rpcrdma/load_ranks/clock.h>

namespace rpcrdma::load_ranks {
namespace {

using fabric::Time;

TEST(LoadClocks, TheOffsetIsWithinItsErrorHoweverAsymmetricThePathsAre) {
  std::mt19937_64 random(1);
  std::exponential_distribution<double> delay(1e-5);
  for (int i = 0; i < 2000; ++i) {
    const Time truth = static_cast<Time>(random() % 2'000'000'000'000) - 1'000'000'000'000;
    const double one_way = i % 2 == 0 ? 10 : 0.1;  // one path is slower
    OffsetEstimate estimate;
    Time now = 1'000'000;
    for (int n = 0; n < 20; ++n) {
      PingPong p;
      p.sent = now;
      const Time there = now + static_cast<Time>(delay(random) * one_way);
      p.remote = there + truth;
      p.received = there + static_cast<Time>(delay(random));
      now = p.received + 1000;
      estimate.add(p);
    }
    const auto best = estimate.best();
    ASSERT_TRUE(best.has_value());
    EXPECT_LE(std::abs(best->offset - truth), best->error);
    EXPECT_EQ(to_coordinator(to_rank(now, *best), *best), now);
  }
}

TEST(LoadClocks, TheShortestExchangeCounts) {
  OffsetEstimate e;
  EXPECT_FALSE(e.best().has_value());
  e.add({0, 1'000'500, 1000});
  e.add({2000, 1'002'050, 2100});
  e.add({3000, 1'009'000, 4000});
  e.add({5000, 0, 4000});  // the clock does not go back: no exchange
  EXPECT_EQ(e.best(), (ClockOffset{1'000'000, 50}));
}

TEST(LoadClocks, TheStartIsAfterItsAnnouncement) {
  EXPECT_GT(start_time(1000, 5 * fabric::kSecond), 1000 + 5 * fabric::kSecond);
  EXPECT_GT(start_time(1000, -1), 1000);
}

}  // namespace
}  // namespace rpcrdma::load_ranks
