#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include <rpcrdma/model/histogram.h>

namespace rpcrdma::model {
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

}  // namespace
}  // namespace rpcrdma::model
