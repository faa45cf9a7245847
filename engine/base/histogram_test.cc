#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/base/histogram.h>

namespace rpcrdma::base {
namespace {

TEST(Histogram, EmptyHasNoQuantile) {
  const Histogram h;
  EXPECT_EQ(h.count(), 0U);
  EXPECT_EQ(h.quantile(0.5), 0);
  EXPECT_EQ(h.max(), 0);
}

TEST(Histogram, SmallValuesAreExact) {
  Histogram h;
  for (std::int64_t v = 1; v <= 60; ++v) h.add(v);
  EXPECT_EQ(h.quantile(0.5), 30);
  EXPECT_EQ(h.min(), 1);
  EXPECT_EQ(h.max(), 60);
  EXPECT_DOUBLE_EQ(h.mean(), 30.5);
}

TEST(Histogram, QuantilesAreWithinTheRelativeError) {
  for (std::int64_t v = 1; v < (std::int64_t{1} << 45); v = v * 17 / 10 + 1) {
    Histogram h;
    h.add(0);
    h.add(v);
    h.add(v * 4);
    EXPECT_NEAR(static_cast<double>(h.quantile(0.6)), static_cast<double>(v),
                static_cast<double>(v) * 0.016 + 1)
        << v;
  }
}

TEST(Histogram, NegativeAndHugeValuesAreClamped) {
  Histogram h;
  h.add(-5);
  h.add(INT64_MAX);
  EXPECT_EQ(h.min(), 0);
  EXPECT_EQ(h.max(), INT64_MAX);
  EXPECT_EQ(h.quantile(0.0), 0);
}

TEST(Histogram, MergedEqualsTogether) {
  std::mt19937_64 random(1);
  Histogram a;
  Histogram b;
  Histogram all;
  for (int i = 0; i < 10000; ++i) {
    const auto v = static_cast<std::int64_t>(random() >> (20 + random() % 30));
    (i % 3 == 0 ? a : b).add(v);
    all.add(v);
  }
  a.merge(b);
  EXPECT_EQ(a.count(), all.count());
  EXPECT_EQ(a.min(), all.min());
  EXPECT_EQ(a.max(), all.max());
  for (const double q : {0.01, 0.5, 0.9, 0.999}) EXPECT_EQ(a.quantile(q), all.quantile(q));
}

std::vector<Histogram::Bucket> buckets_of(const Histogram& h) {
  std::vector<Histogram::Bucket> list;
  h.for_each_bucket([&](Histogram::Bucket b) { list.push_back(b); });
  return list;
}

TEST(Histogram, TheSumIsExactAndStaysAtItsEnd) {
  Histogram h;
  h.add((std::int64_t{1} << 53) + 1);
  h.add(1);
  EXPECT_EQ(h.sum(), (std::uint64_t{1} << 53) + 2);
  for (int i = 0; i < 3; ++i) h.add(INT64_MAX);
  EXPECT_EQ(h.sum(), UINT64_MAX);
  Histogram other;
  other.add(7);
  other.merge(h);
  EXPECT_EQ(other.sum(), UINT64_MAX);
}

TEST(Histogram, RestoredIsTheSame) {
  std::mt19937_64 random(2);
  Histogram h;
  for (int i = 0; i < 1000; ++i) h.add(static_cast<std::int64_t>(random() >> (20 + random() % 43)));
  const auto buckets = buckets_of(h);
  const auto again = Histogram::restore(h.min(), h.max(), h.sum(), buckets);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->count(), h.count());
  EXPECT_EQ(again->sum(), h.sum());
  const auto same = buckets_of(*again);
  ASSERT_EQ(same.size(), buckets.size());
  for (std::size_t i = 0; i < same.size(); ++i) {
    EXPECT_EQ(same[i].index, buckets[i].index);
    EXPECT_EQ(same[i].count, buckets[i].count);
  }
  EXPECT_TRUE(Histogram::restore(0, 0, 0, {}));
}

TEST(Histogram, PartsOfNoHistogramAreRefused) {
  using Buckets = std::vector<Histogram::Bucket>;
  EXPECT_TRUE(Histogram::restore(3, 5, 8, Buckets{{3, 1}, {5, 1}}));
  EXPECT_FALSE(Histogram::restore(1, 0, 0, {}));
  EXPECT_FALSE(Histogram::restore(3, 4, 8, Buckets{{3, 1}, {5, 1}}));
  EXPECT_FALSE(Histogram::restore(2, 5, 8, Buckets{{3, 1}, {5, 1}}));
  EXPECT_FALSE(Histogram::restore(5, 3, 8, Buckets{{5, 1}, {3, 1}}));
  EXPECT_FALSE(Histogram::restore(3, 3, 8, Buckets{{3, 1}, {3, 1}}));
  EXPECT_FALSE(Histogram::restore(3, 5, 8, Buckets{{3, 1}, {4, 0}, {5, 1}}));
  EXPECT_FALSE(Histogram::restore(3, INT64_MAX, 8, Buckets{{3, 1}, {100000, 1}}));
  EXPECT_FALSE(Histogram::restore(-1, 3, 8, Buckets{{0, 1}, {3, 1}}));
}

TEST(Histogram, ABucketBeginsAtItsLowestValue) {
  Histogram h;
  h.add(1000000);
  const auto b = buckets_of(h).front().index;
  EXPECT_LE(Histogram::lowest_of(b), 1000000U);
  EXPECT_GT(Histogram::lowest_of(b + 1), 1000000U);
}

void expect_equal(const Histogram& a, const Histogram& b) {
  EXPECT_EQ(a.count(), b.count());
  EXPECT_EQ(a.min(), b.min());
  EXPECT_EQ(a.max(), b.max());
  EXPECT_EQ(a.sum(), b.sum());
  const auto buckets = [](const Histogram& h) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> list;
    h.for_each_bucket([&](Histogram::Bucket x) { list.emplace_back(x.index, x.count); });
    return list;
  };
  EXPECT_EQ(buckets(a), buckets(b));
}

TEST(CompactHistogram, HoldsWhatAHistogramHolds) {
  std::mt19937_64 random(2);
  Histogram all;
  CompactHistogram compact;
  CompactHistogram odd;
  CompactHistogram even;
  for (int i = 0; i < 10000; ++i) {
    const auto v = static_cast<std::int64_t>(random() >> (random() % 64)) - 1;
    all.add(v);
    compact.add(v);
    (i % 2 == 0 ? even : odd).add(v);
  }
  expect_equal(compact.expanded(), all);
  expect_equal(CompactHistogram(all).expanded(), all);
  even.merge(odd);
  expect_equal(even.expanded(), all);
  CompactHistogram empty;
  empty.merge(even);
  empty.merge(CompactHistogram());
  expect_equal(empty.expanded(), all);
  expect_equal(CompactHistogram(Histogram()).expanded(), Histogram());
}

}  // namespace
}  // namespace rpcrdma::base
