// Differences of cumulative histograms, and their form on the bus.
#include "latency.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include <rpcrdma/fleet/summary.h>

namespace rpcrdma::fleet {

namespace {

// More buckets than a histogram has are refused before they are read.
constexpr std::size_t kMostBuckets = 1408;

std::vector<base::Histogram::Bucket> buckets_of(const base::Histogram& h) {
  std::vector<base::Histogram::Bucket> buckets;
  h.for_each_bucket([&](base::Histogram::Bucket b) { buckets.push_back(b); });
  return buckets;
}

}  // namespace

nlohmann::json latency_json(const base::CompactHistogram& latency) {
  const base::Histogram h = latency.expanded();
  nlohmann::json buckets = nlohmann::json::array();
  h.for_each_bucket([&](base::Histogram::Bucket b) {
    buckets.push_back(b.index);
    buckets.push_back(b.count);
  });
  return {{"min_ns", h.min()}, {"max_ns", h.max()}, {"sum_ns", h.sum()}, {"buckets", buckets}};
}

base::CompactHistogram latency_from_json(Fields& fields) {
  const std::int64_t min = fields.time("min_ns");
  const std::int64_t max = fields.time("max_ns");
  const std::uint64_t sum = fields.number("sum_ns");
  const nlohmann::json* const list = fields.list("buckets", 2 * kMostBuckets);
  if (list == nullptr) return {};
  std::vector<base::Histogram::Bucket> buckets;
  buckets.reserve(list->size() / 2);
  const auto number = [&](std::size_t at) -> std::uint32_t {
    const nlohmann::json& value = (*list)[at];
    if (!value.is_number_unsigned() ||
        value.get<std::uint64_t>() > std::numeric_limits<std::uint32_t>::max()) {
      fields.fail("buckets", "not a list of small numbers");
      return 0;
    }
    return value.get<std::uint32_t>();
  };
  for (std::size_t i = 0; i + 1 < list->size() && !fields.failed(); i += 2) {
    const std::uint32_t index = number(i);
    buckets.push_back({index, number(i + 1)});
  }
  if (list->size() % 2 != 0) fields.fail("buckets", "not in pairs");
  const auto h = base::Histogram::restore(min, max, sum, buckets);
  if (!h) fields.fail("buckets", "no histogram has these");
  if (fields.failed()) return {};
  return base::CompactHistogram(*h);
}

base::Histogram latency_since(const EndpointSummary& now, const EndpointSummary* before) {
  const base::Histogram latest = now.latency.expanded();
  if (before == nullptr || before->generation != now.generation ||
      before->latency_epoch != now.latency_epoch || before->latency.count() == 0) {
    return latest;
  }
  const base::Histogram old = before->latency.expanded();
  std::vector<base::Histogram::Bucket> buckets = buckets_of(latest);
  const std::vector<base::Histogram::Bucket> subtracted = buckets_of(old);
  auto at = subtracted.begin();
  for (base::Histogram::Bucket& b : buckets) {
    while (at != subtracted.end() && at->index < b.index) ++at;
    if (at != subtracted.end() && at->index == b.index) b.count -= std::min(b.count, at->count);
  }
  std::erase_if(buckets, [](const auto& b) { return b.count == 0; });
  if (buckets.empty()) return {};
  const auto lowest = [](std::size_t bucket) {
    return static_cast<std::int64_t>(base::Histogram::lowest_of(bucket));
  };
  const std::int64_t min = std::max(lowest(buckets.front().index), latest.min());
  const std::int64_t max =
      std::min(lowest(std::size_t{buckets.back().index} + 1) - 1, latest.max());
  const std::uint64_t sum = latest.sum() - std::min(latest.sum(), old.sum());
  return base::Histogram::restore(min, max, sum, buckets).value_or(base::Histogram{});
}

}  // namespace rpcrdma::fleet
