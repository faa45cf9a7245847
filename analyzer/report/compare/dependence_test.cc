// Tests the estimate of dependence on independent latencies, on drifts and on stalls, and that it
// keeps comparisons of equal, bursty runs from finding differences.
#include "dependence.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include <rpcrdma/report/statistics.h>

namespace rpcrdma::report {
namespace {

// A run of Calls, in order of time.
struct Course {
  std::vector<Dependence::Counts> bins;
  base::Histogram total;

  void add(std::size_t bin, std::int64_t ns) {
    if (bins.size() <= bin) bins.resize(bin + 1);
    ++bins[bin][latency_bucket(ns)];
    total.add(ns);
  }
};

constexpr std::size_t kBins = 200;

// `wander`: standard deviation of the logarithm of a level that changes ten times in a run.
Course run_of(std::mt19937_64& random, int calls_in_bin, double wander) {
  std::normal_distribution<double> normal;
  Course run;
  double level = 0;
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    if (bin % (kBins / 10) == 0) level = wander * normal(random);
    for (int i = 0; i < calls_in_bin; ++i) {
      run.add(bin, static_cast<std::int64_t>(std::exp(11 + level + 0.7 * normal(random))));
    }
  }
  return run;
}

TEST(DependenceOfCalls, IsOneWithoutAny) {
  std::mt19937_64 random(1);
  double sum = 0;
  for (int i = 0; i < 50; ++i) {
    const Course run = run_of(random, 10, 0);
    const Dependence d(run.bins);
    ASSERT_TRUE(d.known());
    EXPECT_GE(d.of_ranks(), 1);
    EXPECT_LT(d.of_ranks(), 2.6);
    sum += d.of_ranks();
  }
  EXPECT_LT(sum / 50, 1.3);
}

// All Calls of a batch are alike: a batch shows as much as one Call.
TEST(DependenceOfCalls, IsTheSizeOfABatchWhoseCallsAreAlike) {
  Course run;
  for (std::size_t bin = 0; bin < 20; ++bin) {
    for (int i = 0; i < 50; ++i) run.add(bin, bin % 2 == 0 ? 10'000 : 1'000'000);
  }
  EXPECT_NEAR(Dependence(run.bins).of_ranks(), 50, 1e-6);
}

// By hand: four batches of two Calls, scores 1/4 and 3/4 (two latencies, four Calls of each).
// Batches aa, ab, ab, bb: between 1/4 of 3 degrees, within 1/4 of 4; the correlation is
// (1/12 - 1/16) / (1/12 + 1/16) = 1/7, the effect 1 + 1/7.
TEST(DependenceOfCalls, OfAKnownExample) {
  Course run;
  const std::int64_t a = 10'000;
  const std::int64_t b = 1'000'000;
  for (const auto& [bin, ns] : std::initializer_list<std::pair<std::size_t, std::int64_t>>{
           {0, a}, {0, a}, {1, a}, {1, b}, {2, a}, {2, b}, {3, b}, {3, b}}) {
    run.add(bin, ns);
  }
  EXPECT_NEAR(Dependence(run.bins).of_ranks(), 1 + 1.0 / 7, 1e-9);
}

TEST(DependenceOfCalls, IsUnknownOfFewBatches) {
  EXPECT_FALSE(Dependence().known());
  EXPECT_EQ(Dependence().of_ranks(), 1);
  EXPECT_EQ(Dependence().of_quantile(0.99, 1000), 1);
  Course run;
  for (std::size_t bin = 0; bin < 3; ++bin) run.add(bin, 5000);
  EXPECT_FALSE(Dependence(run.bins).known());
  run.add(3, 5000);
  EXPECT_TRUE(Dependence(run.bins).known());
  EXPECT_EQ(Dependence(run.bins).of_ranks(), 1);  // all Calls are alike
}

// A stall delays the Calls of one batch: the tail depends on it, the median hardly.
TEST(DependenceOfCalls, OfATailIsThatOfItsStall) {
  std::mt19937_64 random(3);
  Course run = run_of(random, 20, 0);
  for (int i = 0; i < 100; ++i) run.add(57, 500'000'000);
  const Dependence d(run.bins);
  const double tail = d.of_quantile(0.99, run.total.quantile(0.99));
  EXPECT_GT(tail, 20);
  EXPECT_LT(d.of_ranks(), tail / 2);
}

// Two runs whose level wanders, of equal distribution: without the estimate, the test and the
// ranges find differences in most pairs.
TEST(DependenceOfCalls, KeepsEqualRunsFromDiffering) {
  std::mt19937_64 random(5);
  constexpr int kPairs = 100;
  int naive = 0;
  int tested = 0;
  int certain = 0;
  for (int i = 0; i < kPairs; ++i) {
    const Course a = run_of(random, 25, 0.5);
    const Course b = run_of(random, 25, 0.5);
    const Dependence of_a(a.bins);
    const Dependence of_b(b.bins);
    naive += rank_sum(a.total, b.total)->p < 0.01 ? 1 : 0;
    tested += rank_sum(a.total, b.total, {of_a.of_ranks(), of_b.of_ranks()})->p < 0.01 ? 1 : 0;
    const auto change = quantile_change(a.total, b.total, 0.5, z_of(0.01),
                                        {of_a.of_quantile(0.5, a.total.quantile(0.5)),
                                         of_b.of_quantile(0.5, b.total.quantile(0.5))});
    certain += change->certain() ? 1 : 0;
  }
  EXPECT_GT(naive, kPairs / 2);
  EXPECT_LT(tested, kPairs / 8);
  EXPECT_LT(certain, kPairs / 8);
}

}  // namespace
}  // namespace rpcrdma::report
