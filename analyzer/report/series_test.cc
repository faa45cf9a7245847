// Tests that series are bounded and independent of the order of additions.
#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/report/series.h>

namespace rpcrdma::report {
namespace {

constexpr std::int64_t kFirstNs = 1700000000123456789;

struct Sum {
  std::uint64_t n = 0;
  void join(const Sum& other) { n += other.n; }
};
using Sums = Series<Sum>;

void expect_same(const Sums& a, const Sums& b) {
  ASSERT_EQ(a.shift(), b.shift());
  ASSERT_EQ(a.first(), b.first());
  ASSERT_EQ(a.last(), b.last());
  for (std::int64_t n = a.first(); n <= a.last(); ++n) EXPECT_EQ(a.bin(n).n, b.bin(n).n) << n;
}

TEST(Series, OneMomentIsOneBin) {
  Sums s;
  EXPECT_TRUE(s.empty());
  ++s.at(kFirstNs).n;
  EXPECT_EQ(s.shift(), Sums::kMinShift);
  EXPECT_EQ(s.first(), kFirstNs >> Sums::kMinShift);
  EXPECT_EQ(s.last(), s.first());
  EXPECT_EQ(s.bin(s.first()).n, 1U);
}

TEST(Series, WidensOnlyWhenItMust) {
  Sums s;
  const std::int64_t width = s.width_ns();
  ++s.at(0).n;
  ++s.at(255 * width).n;
  EXPECT_EQ(s.width_ns(), width);
  ++s.at(256 * width).n;
  EXPECT_EQ(s.width_ns(), 2 * width);
  EXPECT_EQ(s.first(), 0);
  EXPECT_EQ(s.last(), 128);
  EXPECT_EQ(s.bin(0).n, 1U);
  EXPECT_EQ(s.bin(127).n, 1U);
  EXPECT_EQ(s.bin(128).n, 1U);
}

TEST(Series, BinsBetweenAreEmpty) {
  Sums s;
  ++s.at(0).n;
  ++s.at(std::int64_t{1} << 40).n;
  for (std::int64_t n = s.first() + 1; n < s.last(); ++n) EXPECT_EQ(s.bin(n).n, 0U);
}

std::vector<std::int64_t> times(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 random(seed);
  const unsigned span = 1 + static_cast<unsigned>(random() % 45);
  std::vector<std::int64_t> list;
  for (std::size_t i = 0; i < count; ++i) {
    list.push_back(kFirstNs + static_cast<std::int64_t>(random() >> (64 - span)));
  }
  return list;
}

TEST(Series, TheOrderDoesNotMatter) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<std::int64_t> list = times(seed, 300);
    Sums one;
    for (const std::int64_t t : list) one.at(t).n += static_cast<std::uint64_t>(t) % 7;
    std::sort(list.rbegin(), list.rend());
    Sums other;
    for (const std::int64_t t : list) other.at(t).n += static_cast<std::uint64_t>(t) % 7;
    expect_same(one, other);
  }
}

TEST(Series, MergedIsTheSeriesOfBoth) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Sums a;
    Sums b;
    Sums both;
    for (const std::int64_t t : times(seed, 100)) {
      ++a.at(t).n;
      ++both.at(t).n;
    }
    for (const std::int64_t t : times(seed + 1000, 100)) {
      ++b.at(t).n;
      ++both.at(t).n;
    }
    Sums ab = a;
    ab.merge(b);
    expect_same(ab, both);
    Sums ba = b;
    ba.merge(a);
    expect_same(ba, both);
    ba.merge(Sums());
    expect_same(ba, both);
    Sums from_nothing;
    from_nothing.merge(both);
    expect_same(from_nothing, both);
  }
}

TEST(Series, TimesFromOneEndToTheOther) {
  Sums s;
  ++s.at(INT64_MIN).n;
  ++s.at(INT64_MAX).n;
  ++s.at(0).n;
  EXPECT_LT(s.last() - s.first(), 256);
  std::uint64_t n = 0;
  for (std::int64_t i = s.first(); i <= s.last(); ++i) n += s.bin(i).n;
  EXPECT_EQ(n, 3U);
}

TEST(Series, RestoredBinByBin) {
  Sums s;
  for (const std::int64_t t : times(3, 200)) ++s.at(t).n;
  Sums again;
  for (std::int64_t n = s.first(); n <= s.last(); ++n) {
    if (s.bin(n).n != 0) again.restore(s.shift(), n) = s.bin(n);
  }
  expect_same(again, s);
}

TEST(TrafficBin, JoinsEveryNumber) {
  TrafficBin a;
  a.calls = a.replies = a.errors = a.read_bytes = a.write_bytes = a.inline_bytes = 1;
  a.retransmitted = a.naks = a.rnrs = 1;
  a.outstanding_max = 7;
  a.add_latency(100);
  TrafficBin b = a;
  b.outstanding_max = 9;
  b.add_latency(5000);
  a.join(b);
  EXPECT_EQ(a.calls + a.replies + a.errors + a.read_bytes + a.write_bytes + a.inline_bytes, 12U);
  EXPECT_EQ(a.retransmitted + a.naks + a.rnrs, 6U);
  EXPECT_EQ(a.outstanding_max, 9U);
  EXPECT_EQ(a.latency_count, 3U);
  EXPECT_EQ(a.latency_sum, 5200U);
  EXPECT_EQ(a.latency_max, 5000);
  EXPECT_EQ(a.latency[0], 2U);
  EXPECT_EQ(a.latency[3], 1U);
  TrafficBin copy = a;
  copy.join(TrafficBin{});
  EXPECT_EQ(copy, a);
}

TEST(TrafficBin, LatencyBuckets) {
  EXPECT_EQ(latency_bucket(-1), 0U);
  EXPECT_EQ(latency_bucket(1023), 0U);
  EXPECT_EQ(latency_bucket(1024), 1U);
  EXPECT_EQ(latency_bucket(2047), 1U);
  EXPECT_EQ(latency_bucket(2048), 2U);
  EXPECT_EQ(latency_bucket(INT64_MAX), kLatencyBuckets - 1);
  TrafficBin b;
  EXPECT_EQ(b.latency_quantile(0.5), 0);
  for (int i = 0; i < 99; ++i) b.add_latency(1500);
  b.add_latency(1000000);
  EXPECT_EQ(b.latency_quantile(0.5), 2048);
  EXPECT_EQ(b.latency_quantile(1), 1000000);
}

TEST(CreditBin, KeepsTheExtremes) {
  CreditBin b;
  b.request(128, 3);
  b.grant(32);
  b.grant(64);
  b.request(64, 5);
  EXPECT_EQ(b, (CreditBin{128, 32, 64, 5, true}));
  CreditBin other;
  other.join(b);
  EXPECT_EQ(other, b);
  other.join(CreditBin{});
  EXPECT_EQ(other, b);
  other.grant(0);
  EXPECT_EQ(other.granted_min, 0U);
}

}  // namespace
}  // namespace rpcrdma::report
