// Tests the statistics of comparisons with values computed by hand and by SciPy 1.10.1, and by
// simulation.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include <rpcrdma/report/statistics.h>

namespace rpcrdma::report {
namespace {

base::Histogram histogram_of(std::initializer_list<std::int64_t> values) {
  base::Histogram h;
  for (const std::int64_t v : values) h.add(v);
  return h;
}

TEST(Statistics, NormalDistribution) {
  EXPECT_NEAR(two_sided(0), 1, 1e-12);
  EXPECT_NEAR(two_sided(1.959963984540054), 0.05, 1e-12);
  EXPECT_NEAR(two_sided(-2.5758293035489004), 0.01, 1e-12);
  EXPECT_NEAR(z_of(0.05), 1.959963984540054, 1e-9);
  EXPECT_NEAR(z_of(0.01), 2.5758293035489004, 1e-9);
  EXPECT_NEAR(z_of(1), 0, 1e-9);
}

// scipy.stats.mannwhitneyu(y, x, method="asymptotic"), values below 64 have a bucket each.
TEST(Statistics, RankSumWithTies) {
  const auto r = rank_sum(histogram_of({1, 2, 2, 3, 5, 8, 8, 13, 21, 34}),
                          histogram_of({2, 3, 3, 8, 9, 13, 22, 22, 40, 41, 50}));
  ASSERT_TRUE(r);
  EXPECT_DOUBLE_EQ(r->u, 77.5);
  EXPECT_NEAR(r->p, 0.1196407, 1e-6);
  EXPECT_NEAR(r->superiority, 77.5 / 110, 1e-12);
  EXPECT_GT(r->z, 0);
}

TEST(Statistics, RankSumWithoutTies) {
  const auto r = rank_sum(histogram_of({10, 11, 12, 13, 14}), histogram_of({1, 2, 3, 4, 15}));
  ASSERT_TRUE(r);
  // Only 15 is above all five: 5 of 25 pairs. z = (|5 - 12.5| - 0.5) / sqrt(25 * 11 / 12).
  EXPECT_DOUBLE_EQ(r->u, 5);
  EXPECT_NEAR(r->z, -7 / std::sqrt(25.0 * 11 / 12), 1e-12);
  EXPECT_NEAR(r->p, 0.1436721, 1e-6);
}

TEST(Statistics, EqualDistributionsDoNotDiffer) {
  const auto same = histogram_of({1, 2, 3, 4, 5, 6, 7});
  const auto r = rank_sum(same, same);
  EXPECT_DOUBLE_EQ(r->p, 1);
  EXPECT_DOUBLE_EQ(r->superiority, 0.5);
  const auto all_tied = rank_sum(histogram_of({7, 7, 7}), histogram_of({7, 7}));
  EXPECT_DOUBLE_EQ(all_tied->p, 1);
  EXPECT_FALSE(rank_sum(same, base::Histogram()));
  EXPECT_FALSE(rank_sum(base::Histogram(), same));
}

TEST(Statistics, LargeCountsDoNotOverflow) {
  const base::Histogram::Bucket many{100, UINT32_MAX};
  const base::Histogram::Bucket more{101, UINT32_MAX};
  const auto low = static_cast<std::int64_t>(base::Histogram::lowest_of(100));
  const auto high = static_cast<std::int64_t>(base::Histogram::lowest_of(101));
  const auto a = base::Histogram::restore(low, low, 1, std::span(&many, 1));
  const auto b = base::Histogram::restore(high, high, 1, std::span(&more, 1));
  ASSERT_TRUE(a && b);
  const auto r = rank_sum(*a, *b);
  EXPECT_DOUBLE_EQ(r->superiority, 1);
  EXPECT_DOUBLE_EQ(r->p, 0);
  EXPECT_DOUBLE_EQ(rank_sum(*a, *a)->p, 1);
}

// 1 to 60: Wilson's interval for 0.5 of 60 at 95 % is 0.3773 to 0.6227, ranks 22 and 38.
TEST(Statistics, IntervalOfAQuantile) {
  base::Histogram h;
  for (std::int64_t v = 1; v <= 60; ++v) h.add(v);
  const auto interval = quantile_interval(h, 0.5, 1.959963984540054);
  ASSERT_TRUE(interval);
  EXPECT_DOUBLE_EQ(interval->low, 22);
  EXPECT_DOUBLE_EQ(interval->high, 39);  // the upper edge of the bucket of 38
  EXPECT_FALSE(quantile_interval(base::Histogram(), 0.5, 2));
  const auto one = quantile_interval(histogram_of({5}), 0.99, 2);
  EXPECT_DOUBLE_EQ(one->low, 5);
  EXPECT_DOUBLE_EQ(one->high, 5);
}

TEST(Statistics, QuantilesNeedEnoughCalls) {
  EXPECT_EQ(observations_for(0.5), 20U);
  EXPECT_EQ(observations_for(0.9), 50U);
  EXPECT_EQ(observations_for(0.99), 500U);
  EXPECT_EQ(observations_for(0.999), 5000U);
  base::Histogram h;
  for (int i = 0; i < 499; ++i) h.add(1000 + i);
  EXPECT_FALSE(quantile_change(h, h, 0.99, 2.5)->range);
  h.add(2000);
  EXPECT_TRUE(quantile_change(h, h, 0.99, 2.5)->range);
  EXPECT_FALSE(quantile_change(h, base::Histogram(), 0.5, 2.5));
}

TEST(Statistics, AZeroLatencyIsNoDivisionByZero) {
  base::Histogram zero;
  for (int i = 0; i < 100; ++i) zero.add(0);
  const auto change = quantile_change(zero, zero, 0.5, 2.5);
  EXPECT_DOUBLE_EQ(change->ratio, 1);
  EXPECT_FALSE(change->certain());
  EXPECT_TRUE(std::isfinite(change->range->low) && std::isfinite(change->range->high));
}

base::Histogram draw(std::mt19937_64& random, int n, double factor) {
  std::lognormal_distribution<double> latency(11, 0.7);
  base::Histogram h;
  for (int i = 0; i < n; ++i) h.add(static_cast<std::int64_t>(factor * latency(random)));
  return h;
}

// The intervals contain the true ratio about as often as they promise, and the test errs as seldom.
TEST(Statistics, ErrAsSeldomAsTheyPromise) {
  std::mt19937_64 random(37);
  constexpr int kRuns = 400;
  const double z = z_of(0.05);
  for (const double factor : {1.0, 1.5}) {
    int rejected = 0;
    int missed_p50 = 0;
    int missed_p99 = 0;
    for (int run = 0; run < kRuns; ++run) {
      const auto a = draw(random, 800, 1);
      const auto b = draw(random, 700, factor);
      rejected += rank_sum(a, b)->p < 0.05 ? 1 : 0;
      const auto missed = [&](double q) {
        const auto change = quantile_change(a, b, q, z);
        return change->range->low > factor || change->range->high < factor ? 1 : 0;
      };
      missed_p50 += missed(0.5);
      missed_p99 += missed(0.99);
    }
    // 5 % of 400 are 20, with a standard deviation of 4.4.
    if (factor == 1) {
      EXPECT_GT(rejected, 6);
      EXPECT_LT(rejected, 38);
    } else {
      EXPECT_EQ(rejected, kRuns);
    }
    EXPECT_LT(missed_p50, 38);
    EXPECT_LT(missed_p99, 38);
    EXPECT_GT(missed_p50 + missed_p99, 2);  // the intervals are not needlessly wide
  }
}

// scipy.stats.binomtest(k, n, share).pvalue
TEST(Statistics, Rates) {
  EXPECT_NEAR(rates_differ({3, 12}, {100, 100}), 0.03515625, 1e-9);
  EXPECT_NEAR(rates_differ({0, 1}, {100, 100}), 1, 1e-9);
  EXPECT_NEAR(rates_differ({0, 8}, {200, 100}), std::pow(1.0 / 3, 8), 1e-9);
  EXPECT_NEAR(rates_differ({5, 5}, {100, 100}), 1, 1e-9);
  EXPECT_LT(rates_differ({1000, 2000}, {1e6, 1e6}), 1e-10);
  EXPECT_GT(rates_differ({1000, 2010}, {1e6, 2e6}), 0.5);
  EXPECT_DOUBLE_EQ(rates_differ({0, 0}, {100, 100}), 1);
  EXPECT_DOUBLE_EQ(rates_differ({1, 2}, {0, 100}), 1);
  EXPECT_TRUE(std::isfinite(rates_differ({1, 2}, {1, 1e19})));
  EXPECT_TRUE(std::isfinite(rates_differ({0, 2000}, {1, 1e19})));
}

TEST(Statistics, HolmsCorrection) {
  double a = 0.01, b = 0.04, c = 0.03, d = 0.005;
  std::vector<double*> all{&a, &b, &c, &d};
  correct_for_many(all);
  EXPECT_DOUBLE_EQ(d, 0.02);
  EXPECT_DOUBLE_EQ(a, 0.03);
  EXPECT_DOUBLE_EQ(c, 0.06);
  EXPECT_DOUBLE_EQ(b, 0.06);
}

}  // namespace
}  // namespace rpcrdma::report
