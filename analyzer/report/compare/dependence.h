// How much the Calls of a procedure depend on each other: the variance of a mean over all Calls,
// divided by that over as many independent ones (Kish's design effect), estimated from batches of
// consecutive time. Batches of two lengths: long ones show what wanders slowly.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <rpcrdma/report/series.h>

namespace rpcrdma::report {

class Dependence {
 public:
  // Of Calls in time order, by bin: the number of Calls of each coarse latency bucket.
  using Counts = std::array<double, kLatencyBuckets>;

  Dependence() = default;  // of independent Calls
  // `bins` cover equal times.
  explicit Dependence(const std::vector<Counts>& bins);

  // False if there are too few batches to estimate it; then the effects are 1.
  [[nodiscard]] bool known() const { return batches_.size() >= kLeastBatches; }
  // Of the ranks of all latencies; at least 1.
  [[nodiscard]] double of_ranks() const;
  // Of the share of Calls that are slower than quantile `q`, which is `ns`; at least of_ranks().
  [[nodiscard]] double of_quantile(double q, std::int64_t ns) const;

 private:
  static constexpr std::size_t kBatches = 20;
  static constexpr std::size_t kLeastBatches = 4;

  [[nodiscard]] double effect(const std::vector<Counts>& batches, const Counts& score) const;
  [[nodiscard]] double effect(const Counts& score) const;

  std::vector<Counts> batches_;  // without empty ones
  std::vector<Counts> long_;     // likewise, of twice the time
  Counts all_{};
  double count_ = 0;
};

}  // namespace rpcrdma::report
