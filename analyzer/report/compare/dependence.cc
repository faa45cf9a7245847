#include "dependence.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rpcrdma::report {

namespace {

using BatchCounts = Dependence::Counts;

double calls_in(const BatchCounts& counts) {
  return std::accumulate(counts.begin(), counts.end(), 0.0);
}

// Joins each `width` elements and drops empty results.
std::vector<BatchCounts> joined_bins(const std::vector<BatchCounts>& bins, std::size_t width) {
  std::vector<BatchCounts> batches;
  for (std::size_t at = 0; at < bins.size(); at += width) {
    BatchCounts batch{};
    for (std::size_t i = at; i < std::min(at + width, bins.size()); ++i) {
      for (std::size_t b = 0; b < batch.size(); ++b) batch[b] += bins[i][b];
    }
    if (calls_in(batch) > 0) batches.push_back(batch);
  }
  return batches;
}

}  // namespace

Dependence::Dependence(const std::vector<Counts>& bins) {
  const std::size_t width = (bins.size() + kBatches - 1) / kBatches;
  if (width == 0) return;
  batches_ = joined_bins(bins, width);
  long_ = joined_bins(bins, 2 * width);
  for (const Counts& batch : batches_) {
    for (std::size_t b = 0; b < batch.size(); ++b) all_[b] += batch[b];
  }
  count_ = calls_in(all_);
}

double Dependence::effect(const Counts& score) const {
  return std::max(effect(batches_, score), effect(long_, score));
}

// One-way analysis of variance: the intraclass correlation of the scores within a batch.
double Dependence::effect(const std::vector<Counts>& batches, const Counts& score) const {
  const auto number = static_cast<double>(batches.size());
  if (batches.size() < kLeastBatches || count_ <= number) return 1;
  double sum = 0;
  double squares = 0;
  for (std::size_t b = 0; b < all_.size(); ++b) {
    sum += all_[b] * score[b];
    squares += all_[b] * score[b] * score[b];
  }
  double between = 0;  // the sum of squares
  double sizes = 0;    // of the batches, squared
  for (const Counts& batch : batches) {
    const double n = calls_in(batch);
    double of_batch = 0;
    for (std::size_t b = 0; b < batch.size(); ++b) {
      of_batch += batch[b] * score[b];
    }
    between += of_batch * of_batch / n;
    sizes += n * n;
  }
  const double total = squares - sum * sum / count_;
  between = std::max(0.0, between - sum * sum / count_);
  if (total <= 1e-9 * std::max(1.0, squares)) return 1;  // all scores are equal
  const double mean_between = between / (number - 1);
  const double mean_within = std::max(0.0, total - between) / (count_ - number);
  const double size = (count_ - sizes / count_) / (number - 1);
  const double correlation =
      (mean_between - mean_within) / (mean_between + (size - 1) * mean_within);
  return 1 + std::max(0.0, sizes / count_ - 1) * std::clamp(correlation, 0.0, 1.0);
}

double Dependence::of_ranks() const {
  Counts score{};
  double lower = 0;
  for (std::size_t b = 0; b < all_.size(); ++b) {
    score[b] = (lower + all_[b] / 2) / std::max(1.0, count_);
    lower += all_[b];
  }
  return effect(score);
}

double Dependence::of_quantile(double q, std::int64_t ns) const {
  // The buckets are coarse: of the two limits next to the quantile, the one that divides the Calls
  // more like it, and divides them at all.
  const std::size_t at = latency_bucket(ns);
  const double below =
      std::accumulate(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(at), 0.0);
  const double wanted = q * count_;
  const double up_to = below + all_[at];
  const bool include =
      up_to >= count_ || (below > 0 && std::abs(below - wanted) <= std::abs(up_to - wanted));
  Counts score{};
  for (std::size_t b = include ? at : at + 1; b < score.size(); ++b) score[b] = 1;
  return std::max(of_ranks(), effect(score));
}

}  // namespace rpcrdma::report
