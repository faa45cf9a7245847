// Results of ranks: merged exactly, in any order, and decoded from bytes that may be damaged.
#include "ranks_for_tests.h"

#include <algorithm>
#include <numeric>
#include <random>

#include <gmock/gmock.h>

#include <rpcrdma/load_ranks/tick.h>

namespace rpcrdma::load_ranks {
namespace {

using ::testing::HasSubstr;
using Bytes = std::vector<std::uint8_t>;

std::vector<Results> random_ranks(std::mt19937_64& random, std::uint32_t ranks) {
  std::vector<Results> all;
  for (std::uint32_t i = 0; i < ranks; ++i) {
    // Up to an hour, so that some series and bins are coarser than others.
    const fabric::Time length = (random() % 3 == 0 ? 3600 : 9) * fabric::kSecond;
    all.push_back(results_of(i, random_calls(random, random() % 400, length)));
  }
  return all;
}

Results merged(const std::vector<Results>& parts, const std::vector<std::size_t>& order) {
  Results whole;
  for (const std::size_t i : order) {
    const auto done = merge(whole, parts[i]);
    EXPECT_TRUE(done.has_value());
  }
  return whole;
}

TEST(RankResults, MergedHistogramsAreThoseOfAllRawLatencies) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 20; ++round) {
    std::vector<RawCall> all;
    Results whole;
    for (std::uint32_t rank = 0; rank < 5; ++rank) {
      const auto calls = random_calls(random, random() % 300, 20 * fabric::kSecond);
      all.insert(all.end(), calls.begin(), calls.end());
      ASSERT_TRUE(merge(whole, results_of(rank, calls)).has_value());
    }
    // One rank that made all Calls.
    const Results one = results_of(0, all);
    EXPECT_EQ(whole.latency.to_hgrm(), one.latency.to_hgrm());
    EXPECT_EQ(whole.latency.to_base64(), one.latency.to_base64());
    Results a = whole, b = one;
    a.rows.clear(), b.rows.clear();
    if (std::ranges::count(all, load::End::kRight, &RawCall::end) == 0) continue;
    // Reasons are bounded before the merge, so that their names may differ.
    const auto without_reasons = [](Results& r) {
      load::TallyState state = r.tally.state();
      state.reasons.clear();
      r.tally = *load::Tally::restore(std::move(state));
    };
    without_reasons(a), without_reasons(b);
    EXPECT_EQ(encode(a), encode(b));
  }
}

TEST(RankResults, OrderAndGroupingOfTheMergeDoNotMatter) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 10; ++round) {
    const std::vector<Results> parts = random_ranks(random, 6);
    std::vector<std::size_t> order(parts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const Bytes expected = encode(merged(parts, order));
    for (int i = 0; i < 5; ++i) {
      std::ranges::shuffle(order, random);
      EXPECT_EQ(encode(merged(parts, order)), expected);
      // In two groups, and encoded, as a reduction does it.
      const auto middle = order.begin() + static_cast<std::ptrdiff_t>(random() % order.size());
      const Bytes left = encode(merged(parts, {order.begin(), middle}));
      const Bytes right = encode(merged(parts, {middle, order.end()}));
      const auto both = merge_encoded(left, right);
      ASSERT_TRUE(both.has_value()) << both.error().message;
      EXPECT_EQ(*both, expected);
      EXPECT_EQ(*merge_encoded(right, left), expected);
      EXPECT_LE(both->size(), left.size() + right.size());
    }
  }
}

TEST(RankResults, AreTheSameAfterDecoding) {
  std::mt19937_64 random(3);
  for (const Results& r : random_ranks(random, 10)) {
    const Bytes bytes = encode(r);
    const auto decoded = decode(bytes);
    ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
    EXPECT_EQ(encode(*decoded), bytes);
    EXPECT_EQ(decoded->rows.front().host, r.rows.front().host);
    EXPECT_EQ(decoded->rows.front().offset, r.rows.front().offset);
    EXPECT_EQ(decoded->rows.front().series, r.rows.front().series);
    EXPECT_EQ(decoded->tally.reasons(), r.tally.reasons());
  }
}

TEST(RankResults, ARankIsInThemOnce) {
  Results a = results_of(3, {{1000, 10}});
  const Bytes before = encode(a);
  const auto again = merge(a, results_of(3, {{1000, 10}}));
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().message, "two results of rank 3 in round 0");
  EXPECT_EQ(encode(a), before);
  EXPECT_TRUE(merge(a, results_of(3, {{1000, 10}}, 1)).has_value());
}

TEST(RankResults, DamagedBytesAreRefusedOrStayHarmless) {
  std::mt19937_64 random(4);
  const Bytes good = encode(results_of(1, random_calls(random, 200, 5 * fabric::kSecond)));
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(decode(std::span(good).first(length)).has_value()) << length;
  }
  for (int i = 0; i < 3000; ++i) {
    Bytes bad = good;
    for (std::uint64_t n = 1 + random() % 3; n != 0; --n) {
      bad[random() % bad.size()] = static_cast<std::uint8_t>(random());
    }
    const auto decoded = decode(bad);
    if (!decoded) continue;
    // What was read can be written and merged.
    const Bytes again = encode(*decoded);
    EXPECT_TRUE(decode(again).has_value());
    Results both = *decoded;
    (void)merge(both, results_of(77, {{1000, 10}}));
    (void)decode(encode(both));
  }
}

TEST(RankResults, AnotherVersionIsNamed) {
  Bytes bytes = encode(results_of(0, {}));
  bytes[3] = 9;
  const auto decoded = decode(bytes);
  ASSERT_FALSE(decoded.has_value());
  EXPECT_THAT(decoded.error().message, HasSubstr("version 9, and this program reads version 1"));
  EXPECT_FALSE(decode({}).has_value());
}

TEST(RankResults, TextOfPeersIsPrintable) {
  Results r = results_of(0, {});
  r.rows.front().host = "evil\x1b[31m\xff";
  EXPECT_EQ(decode(encode(r))->rows.front().host, "evil?[31m?");
}

TEST(RankResults, CountsOfOneBucketSaturate) {
  const auto full = [](std::uint32_t rank) {
    Results r = results_of(rank, {{1000, 10}});
    load::TallyState state = r.tally.state();
    const base::Histogram::Bucket bucket{10, UINT32_MAX - 1};
    state.latency = *base::Histogram::restore(10, 10, UINT32_MAX, std::span(&bucket, 1));
    state.calls = UINT32_MAX - 1;
    r.tally = *load::Tally::restore(std::move(state));
    return r;
  };
  const Bytes both = *merge_encoded(encode(full(0)), encode(full(1)));
  const auto decoded = decode(both);
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->tally.latency().count(), UINT32_MAX);
  // The count of Calls is exact, and the other histogram has 64 bits.
  EXPECT_EQ(decoded->tally.calls(), 2 * (std::uint64_t{UINT32_MAX} - 1));
}

TEST(RankTick, IsTheSameAfterDecoding) {
  Tick tick{.rank = 3, .round = 2, .index = 9, .elapsed = 10 * fabric::kSecond, .interval = {}};
  tick.interval.calls = 2;
  tick.interval.errors = 1;
  tick.interval.latency.add(500);
  tick.interval.latency.add(70'000);
  const Bytes bytes = encode(tick);
  const auto decoded = decode_tick(bytes);
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(encode(*decoded), bytes);
  EXPECT_EQ(decoded->index, 9U);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(decode_tick(std::span(bytes).first(length)).has_value());
  }
}

TEST(RankSeries, WidensWhenItIsLong) {
  Series s;
  for (std::uint64_t second = 0; second < 5000; ++second) s.add(second, {1, 0, 10, second});
  EXPECT_EQ(s.shift(), 3U);
  EXPECT_EQ(s.windows().size(), 625U);
  EXPECT_EQ(s.windows()[1], (Window{8, 0, 80, 15}));
  s.add(UINT64_MAX, {1, 0, 0, 0});
  EXPECT_EQ(s.shift(), kMaxWindowShift);
  EXPECT_LE(s.windows().size(), kMostWindows);
}

}  // namespace
}  // namespace rpcrdma::load_ranks
