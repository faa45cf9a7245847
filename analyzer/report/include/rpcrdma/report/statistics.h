// Tests whether two measurements differ by more than noise, on histograms and on counts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <rpcrdma/base/histogram.h>

namespace rpcrdma::report {

// How much the observations of either side depend on each other: n observations show as much as
// n / effect independent ones. At least 1.
using Effects = std::array<double, 2>;

// The standard normal distribution's probability beyond +-|z|.
[[nodiscard]] double two_sided(double z);
// Its inverse: 2.576 for 0.01. `p` from 1e-300 to 1.
[[nodiscard]] double z_of(double p);

// Wilcoxon's rank-sum test (Mann-Whitney U) by the normal approximation, corrected for ties and for
// continuity. All values of a bucket are ties.
struct RankSum {
  double u = 0;            // pairs in which `after` is the larger one; a tie is half a pair
  double z = 0;            // above zero: `after` is larger
  double p = 1;            // two-sided
  double superiority = 0;  // u as a share of all pairs: 0.5 without a difference
};
// Nothing if a histogram is empty.
[[nodiscard]] std::optional<RankSum> rank_sum(const base::Histogram& before,
                                              const base::Histogram& after,
                                              const Effects& effects = {1, 1});

// The interval that contains a quantile of the distribution from which a histogram was drawn: the
// observations whose ranks are the ends of Wilson's interval for `q`. The ends are edges of
// buckets.
struct Interval {
  double low = 0;
  double high = 0;
};
// `z`: 2.576 for 99 %. Nothing if the histogram is empty.
[[nodiscard]] std::optional<Interval> quantile_interval(const base::Histogram& h, double q,
                                                        double z, double effect = 1);

// How many observations a quantile needs, so that enough lie beyond it.
[[nodiscard]] std::uint64_t observations_for(double q);

struct QuantileChange {
  double q = 0.5;
  std::int64_t before = 0;  // ns
  std::int64_t after = 0;
  double ratio = 1;               // after / before
  std::optional<Interval> range;  // that contains the ratio; nothing: too few observations
  [[nodiscard]] bool certain() const { return range && (range->low > 1 || range->high < 1); }
};
// Compares a quantile of two distributions. The intervals of both are combined on the logarithmic
// scale by the method of variance estimates recovery (MOVER). Nothing if a histogram is empty.
[[nodiscard]] std::optional<QuantileChange> quantile_change(const base::Histogram& before,
                                                            const base::Histogram& after, double q,
                                                            double z,
                                                            const Effects& effects = {1, 1});

// Compares two rates: `count[i]` events in `exposure[i]` trials or seconds. Returns the two-sided
// probability that equal rates divide the events at least as unevenly: the exact conditional
// (binomial) test, and its normal approximation for many events. 1 without events or exposure.
[[nodiscard]] double rates_differ(const std::array<std::uint64_t, 2>& count,
                                  const std::array<double, 2>& exposure);

// Holm's correction: raises each probability for the number of tests made.
void correct_for_many(std::vector<double*>& probabilities);

}  // namespace rpcrdma::report
