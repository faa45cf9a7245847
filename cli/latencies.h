// Collects latencies of a few Calls, or of very many.
#pragma once

#include <algorithm>
#include <vector>

#include <rpcrdma/base/histogram.h>

namespace rpcrdma::cli {

// A histogram, whose quantiles are off by up to 1.6 %; while there are few values, the median is
// exact.
class Latencies {
 public:
  static constexpr std::size_t kFew = 10'000;

  void add(std::int64_t ns) {
    all_.add(ns);
    if (all_.count() <= kFew) first_.push_back(ns);
  }
  [[nodiscard]] std::uint64_t count() const { return all_.count(); }
  [[nodiscard]] std::int64_t min() const { return all_.min(); }
  [[nodiscard]] std::int64_t max() const { return all_.max(); }
  [[nodiscard]] double mean() const { return all_.mean(); }
  // For an even number, the mean of the two middle values; 0 if there are none.
  [[nodiscard]] std::int64_t median() const {
    if (first_.empty()) return 0;
    if (all_.count() > kFew) return all_.quantile(0.5);
    std::vector<std::int64_t> sorted = first_;
    std::sort(sorted.begin(), sorted.end());
    const std::int64_t low = sorted[(sorted.size() - 1) / 2];
    return low + (sorted[sorted.size() / 2] - low) / 2;
  }

 private:
  base::Histogram all_;
  std::vector<std::int64_t> first_;
};

}  // namespace rpcrdma::cli
