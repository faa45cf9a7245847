#include <random>

#include <gtest/gtest.h>

#include <rpcrdma/index/credits.h>

namespace rpcrdma::index {
namespace {

CreditEntry entry(std::int64_t time, std::uint32_t granted, std::uint32_t in_use) {
  return {time, 1, granted, granted, in_use, 0};
}

TEST(Credits, OneSpikeAmongAMillionIsSeenInAnyWindow) {
  CreditLog log;
  for (int i = 0; i < 1'000'000; ++i) {
    log.add(entry(i * 10, 32, i == 345'678 ? 31 : i == 345'679 ? 0 : 8));
  }
  for (const std::int64_t width : {10'000'000, 4'000'000, 1'000'000}) {
    const std::int64_t from = std::max<std::int64_t>(0, 3'456'780 - width / 2);
    std::uint32_t most = 0;
    std::uint32_t least = 99;
    for (const CreditSpan& s : log.columns(from, from + width, 200)) {
      if (!s.any) continue;
      most = std::max(most, s.in_use_max);
      least = std::min(least, s.in_use_min);
    }
    EXPECT_EQ(most, 31u);
    EXPECT_EQ(least, 0u);
  }
}

TEST(Credits, ColumnsSayWhatEachEntryInThemSays) {
  std::mt19937 random(7);
  CreditLog log;
  std::vector<CreditEntry> all;
  std::int64_t time = 0;
  for (int i = 0; i < 5000; ++i) {
    time += static_cast<std::int64_t>(random() % 100);
    all.push_back(entry(time, random() % 64, random() % 64));
    log.add(all.back());
  }
  for (int round = 0; round < 200; ++round) {
    const auto from = static_cast<std::int64_t>(random() % 200'000);
    const auto to = from + 1 + static_cast<std::int64_t>(random() % 100'000);
    for (const CreditSpan& s : log.columns(from, to, 1 + random() % 50)) {
      CreditSpan expected;
      const CreditEntry* before = nullptr;
      for (const CreditEntry& e : all) {
        if (e.time_ns < s.from_ns) before = &e;
        if (e.time_ns >= s.from_ns && e.time_ns < s.to_ns) expected.add(e);
      }
      if (before != nullptr) expected.add(*before);
      ASSERT_EQ(s.any, expected.any);
      if (!s.any) continue;
      ASSERT_EQ(s.in_use_max, expected.in_use_max);
      ASSERT_EQ(s.in_use_min, expected.in_use_min);
      ASSERT_EQ(s.granted_min, expected.granted_min);
      ASSERT_EQ(s.exhausted, expected.exhausted);
    }
  }
}

TEST(Credits, TwoLogsThatTurnOutToBeOneAreInOrder) {
  CreditLog odd;
  CreditLog even;
  for (std::uint32_t i = 0; i < 200; ++i) (i % 2 != 0 ? odd : even).add(entry(i, 9, i % 7));
  odd.merge(even);
  ASSERT_EQ(odd.size(), 200u);
  for (std::size_t i = 0; i < 200; ++i) {
    EXPECT_EQ(odd.entry(i).time_ns, static_cast<std::int64_t>(i));
    EXPECT_EQ(odd.entry(i).in_use, i % 7);
  }
}

TEST(Credits, NothingIsKnownBeforeTheFirst) {
  CreditLog log;
  EXPECT_FALSE(log.columns(0, 100, 1).front().any);
  log.add(entry(50, 4, 4));
  const auto columns = log.columns(0, 100, 4);
  EXPECT_FALSE(columns[0].any);
  EXPECT_TRUE(columns[2].any);
  EXPECT_TRUE(columns[3].exhausted);
  EXPECT_TRUE(log.columns(5, 5, 3).empty());
}

}  // namespace
}  // namespace rpcrdma::index
