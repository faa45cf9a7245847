#include "histogram.h"

#include "scale.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace rpcrdma::plot {

namespace {

double edge(int index, int per_decade) {
  const int decade = static_cast<int>(std::floor(static_cast<double>(index) / per_decade));
  const int part = index - decade * per_decade;
  if (per_decade == 3) return std::pow(10.0, decade) * (part == 0 ? 1 : part == 1 ? 2 : 5);
  return std::pow(10.0, static_cast<double>(index) / per_decade);
}

int place(double value, int per_decade) {
  int index = static_cast<int>(std::floor(std::log10(value) * per_decade));
  while (edge(index, per_decade) > value * (1 + 1e-12)) --index;
  while (edge(index + 1, per_decade) <= value * (1 + 1e-12)) ++index;
  return index;
}

}  // namespace

std::vector<Bucket> regroup(const std::vector<Bucket>& buckets, int per_decade) {
  const auto index_of = [&](const Bucket& b) -> std::optional<int> {
    if (b.count == 0 || !std::isfinite(b.low) || !std::isfinite(b.high)) return std::nullopt;
    const double middle =
        (std::clamp(b.low, 0.0, kLargest) + std::clamp(b.high, 0.0, kLargest)) / 2;
    return place(std::max(middle, kSmallestLog), per_decade);
  };
  std::optional<int> first, last;
  for (const Bucket& b : buckets) {
    const auto i = index_of(b);
    if (!i) continue;
    first = first ? std::min(*first, *i) : *i;
    last = last ? std::max(*last, *i) : *i;
  }
  std::vector<Bucket> out;
  if (!first) return out;
  for (int i = *first; i <= *last; ++i) {
    out.push_back({edge(i, per_decade), edge(i + 1, per_decade), 0});
  }
  for (const Bucket& b : buckets) {
    if (const auto i = index_of(b)) out[static_cast<std::size_t>(*i - *first)].count += b.count;
  }
  return out;
}

}  // namespace rpcrdma::plot
