// The coordinator's view: ticks, results, and ranks that leave only ticks.
#include "ranks_for_tests.h"

#include <gmock/gmock.h>

#include <rpcrdma/load_ranks/gather.h>

namespace rpcrdma::load_ranks {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Tick tick(std::uint32_t rank, std::uint64_t second, std::uint64_t calls) {
  Tick t{.rank = rank,
         .round = 0,
         .index = second,
         .elapsed = static_cast<fabric::Time>(second + 1) * fabric::kSecond,
         .interval = {}};
  t.interval.calls = calls;
  t.interval.bytes = 100 * calls;
  for (std::uint64_t i = 0; i < calls; ++i) t.interval.latency.add(50'000);
  return t;
}

void expect_ranks(Gather& gather, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    Row row;
    row.rank = i;
    row.host = "host" + std::to_string(i);
    gather.expect(row);
  }
}

TEST(LoadGather, ARankThatDiesLeavesWhatItsTicksSaid) {
  Gather gather;
  expect_ranks(gather, 2);
  gather.begin_round(0, 0);
  ASSERT_TRUE(gather.take(tick(1, 0, 10), fabric::kSecond).has_value());
  ASSERT_TRUE(gather.take(tick(1, 1, 20), 2 * fabric::kSecond).has_value());
  EXPECT_THAT(gather.missing(0), ElementsAre(0, 1));
  ASSERT_TRUE(gather.take(results_of(0, {{1000, 10}})).has_value());
  EXPECT_THAT(gather.missing(0), ElementsAre(1));
  EXPECT_EQ(gather.heard(0, 1), 2 * fabric::kSecond);
  gather.give_up(0, 1, State::kDead, "signal 9");
  EXPECT_THAT(gather.missing(0), IsEmpty());
  EXPECT_FALSE(gather.take(tick(1, 2, 1), 3 * fabric::kSecond).has_value());
  const Results all = gather.finish();
  ASSERT_EQ(all.rows.size(), 2U);
  const Row& dead = all.rows[1];
  EXPECT_EQ(dead.state, State::kDead);
  EXPECT_EQ(dead.why, "signal 9");
  EXPECT_EQ(dead.last_heard, 2 * fabric::kSecond);
  EXPECT_EQ(dead.calls, 30U);
  EXPECT_EQ(dead.bytes, 3000U);
  EXPECT_EQ(dead.latency.count(), 30U);
  EXPECT_THAT(dead.series.windows(), ElementsAre(::testing::Field(&Window::calls, 10U),
                                                 ::testing::Field(&Window::calls, 20U)));
  // Its Calls are in the whole.
  EXPECT_EQ(all.tally.calls(), 31U);
  EXPECT_EQ(all.latency.count(), 31U);
  EXPECT_TRUE(decode(encode(all)).has_value());
}

TEST(LoadGather, WhoIsNeverHeardIsLost) {
  Gather gather;
  expect_ranks(gather, 1);
  const Results all = gather.finish();
  ASSERT_EQ(all.rows.size(), 1U);
  EXPECT_EQ(all.rows[0].state, State::kLost);
  EXPECT_EQ(all.rows[0].calls, 0U);
}

TEST(LoadGather, SecondsAreCompleteWhenAllHavePassedThem) {
  Gather gather;
  expect_ranks(gather, 2);
  ASSERT_TRUE(gather.take(tick(0, 0, 1), 1).has_value());
  EXPECT_FALSE(gather.complete(0, 0));
  ASSERT_TRUE(gather.take(tick(1, 1, 2), 1).has_value());  // it paused in the first
  EXPECT_TRUE(gather.complete(0, 0));
  EXPECT_EQ(gather.second(0, 0).calls, 1U);
  EXPECT_EQ(gather.second(0, 1).calls, 2U);
  gather.give_up(0, 0, State::kStuck, "");
  EXPECT_TRUE(gather.complete(0, 1));
  gather.forget(0, 0);
  EXPECT_EQ(gather.second(0, 0).calls, 0U);
}

TEST(LoadGather, StrangersAndRepetitionsAreRefused) {
  Gather gather;
  expect_ranks(gather, 1);
  EXPECT_FALSE(gather.take(tick(9, 0, 1), 1).has_value());
  EXPECT_FALSE(gather.take(results_of(9, {})).has_value());
  ASSERT_TRUE(gather.take(tick(0, 5, 1), 1).has_value());
  EXPECT_FALSE(gather.take(tick(0, 4, 1), 1).has_value());
  ASSERT_TRUE(gather.take(results_of(0, {})).has_value());
  EXPECT_FALSE(gather.take(results_of(0, {})).has_value());
}

}  // namespace
}  // namespace rpcrdma::load_ranks
