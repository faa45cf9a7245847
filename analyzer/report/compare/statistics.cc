#include <algorithm>
#include <cmath>
#include <numbers>

#include <rpcrdma/report/statistics.h>

namespace rpcrdma::report {

namespace {

struct Buckets {
  std::vector<base::Histogram::Bucket> list;
  double count = 0;
};

// The histogram's own count can exceed the sum of its buckets, which saturate.
Buckets buckets_of(const base::Histogram& h) {
  Buckets b;
  h.for_each_bucket([&b](base::Histogram::Bucket one) {
    b.list.push_back(one);
    b.count += one.count;
  });
  return b;
}

// Wilson's interval for a share `q` of `n` observations.
Interval wilson(double q, double n, double z) {
  const double square = z * z / n;
  const double middle = q + square / 2;
  const double half = z * std::sqrt(q * (1 - q) / n + square / (4 * n));
  return {std::max(0.0, (middle - half) / (1 + square)),
          std::min(1.0, (middle + half) / (1 + square))};
}

// Passed to std::log, and divided by.
double positive(double ns) {
  return std::max(ns, 1.0);
}

double log_binomial(double n, double k) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
}

}  // namespace

double two_sided(double z) {
  return std::erfc(std::abs(z) / std::numbers::sqrt2);
}

double z_of(double p) {
  double low = 0;
  double high = 40;
  while (high - low > 1e-12) {
    const double middle = (low + high) / 2;
    (two_sided(middle) > p ? low : high) = middle;
  }
  return low;
}

std::optional<RankSum> rank_sum(const base::Histogram& before, const base::Histogram& after,
                                const Effects& effects) {
  const Buckets a = buckets_of(before);
  const Buckets b = buckets_of(after);
  if (a.count == 0 || b.count == 0) return std::nullopt;
  double u = 0;
  double lower = 0;  // values of `before` in lower buckets
  double ties = 0;   // the sum of t^3 - t
  auto x = a.list.begin();
  for (auto y = b.list.begin(); x != a.list.end() || y != b.list.end();) {
    const std::uint32_t index = std::min(x != a.list.end() ? x->index : UINT32_MAX,
                                         y != b.list.end() ? y->index : UINT32_MAX);
    const double of_a = x != a.list.end() && x->index == index ? (x++)->count : 0;
    const double of_b = y != b.list.end() && y->index == index ? (y++)->count : 0;
    u += of_b * (lower + of_a / 2);
    lower += of_a;
    const double t = of_a + of_b;
    ties += t * (t - 1) * (t + 1);
  }
  const double pairs = a.count * b.count;
  const double n = a.count + b.count;
  // Each side contributes to the variance in proportion to one over its number.
  const double effect = (effects[0] * b.count + effects[1] * a.count) / n;
  const double variance = effect * pairs / 12 * (n + 1 - (n > 1 ? ties / (n * (n - 1)) : 0));
  RankSum r;
  r.u = u;
  r.superiority = u / pairs;
  const double off = u - pairs / 2;
  // All values equal: rounding may leave a variance just above zero.
  if (variance <= 1e-12 * pairs * n) return r;
  r.z = std::copysign(std::max(0.0, std::abs(off) - 0.5), off) / std::sqrt(variance);
  r.p = two_sided(r.z);
  return r;
}

std::optional<Interval> quantile_interval(const base::Histogram& h, double q, double z,
                                          double effect) {
  const Buckets b = buckets_of(h);
  if (b.count == 0) return std::nullopt;
  const Interval share = wilson(q, b.count / effect, z);
  const double low_rank = std::max(1.0, std::floor(share.low * b.count));
  const double high_rank = std::min(b.count, std::ceil(share.high * b.count));
  Interval interval;
  double seen = 0;
  bool begun = false;
  for (const auto& bucket : b.list) {
    seen += bucket.count;
    if (!begun && seen >= low_rank) {
      interval.low = std::max(static_cast<double>(base::Histogram::lowest_of(bucket.index)),
                              static_cast<double>(h.min()));
      begun = true;
    }
    if (seen >= high_rank) {
      interval.high = std::min(static_cast<double>(base::Histogram::lowest_of(bucket.index + 1)),
                               static_cast<double>(h.max()));
      break;
    }
  }
  return interval;
}

std::uint64_t observations_for(double q) {
  constexpr double kBeyond = 5;
  constexpr double kLeast = 20;
  const double tail = std::min(q, 1 - q);
  return static_cast<std::uint64_t>(std::ceil(std::max(kLeast, kBeyond / tail - 1e-6)));
}

std::optional<QuantileChange> quantile_change(const base::Histogram& before,
                                              const base::Histogram& after, double q, double z,
                                              const Effects& effects) {
  const auto a = quantile_interval(before, q, z, effects[0]);
  const auto b = quantile_interval(after, q, z, effects[1]);
  if (!a || !b) return std::nullopt;
  QuantileChange change;
  change.q = q;
  change.before = before.quantile(q);
  change.after = after.quantile(q);
  const double of_a = positive(static_cast<double>(change.before));
  const double of_b = positive(static_cast<double>(change.after));
  change.ratio = of_b / of_a;
  const std::uint64_t wanted = observations_for(q);
  if (before.count() < wanted || after.count() < wanted) return change;
  const double at = std::log(change.ratio);
  const double down =
      std::hypot(std::log(of_b / positive(b->low)), std::log(positive(a->high) / of_a));
  const double up =
      std::hypot(std::log(positive(b->high) / of_b), std::log(of_a / positive(a->low)));
  change.range = Interval{std::exp(at - down), std::exp(at + up)};
  return change;
}

double rates_differ(const std::array<std::uint64_t, 2>& count,
                    const std::array<double, 2>& exposure) {
  const auto k = static_cast<double>(count[1]);
  const double n = static_cast<double>(count[0]) + k;
  if (n == 0 || !(exposure[0] > 0) || !(exposure[1] > 0)) return 1;
  constexpr double kLeast = 1e-15;  // of a share, so that neither logarithm is infinite
  const double share = std::clamp(exposure[1] / (exposure[0] + exposure[1]), kLeast, 1 - kLeast);
  const double mean = n * share;
  const double variance = mean * (1 - share);
  constexpr double kExact = 1000;
  if (n > kExact) {
    return two_sided(std::max(0.0, std::abs(k - mean) - 0.5) / std::sqrt(variance));
  }
  // The probability of all divisions that are no more probable than this one.
  const auto log_of = [&](double i) {
    return log_binomial(n, i) + i * std::log(share) + (n - i) * std::log1p(-share);
  };
  const double limit = log_of(k) + 1e-7;
  double p = 0;
  for (double i = 0; i <= n; ++i) {
    if (const double one = log_of(i); one <= limit) p += std::exp(one);
  }
  return std::min(1.0, p);
}

void correct_for_many(std::vector<double*>& probabilities) {
  std::sort(probabilities.begin(), probabilities.end(),
            [](const double* a, const double* b) { return *a < *b; });
  double least = 0;
  auto left = static_cast<double>(probabilities.size());
  for (double* p : probabilities) {
    least = std::max(least, std::min(1.0, *p * left));
    *p = least;
    --left;
  }
}

}  // namespace rpcrdma::report
