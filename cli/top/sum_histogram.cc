#include "sum_histogram.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <rpcrdma/trace/event.h>

namespace rpcrdma::top {

namespace {

// Returns the bucket of a histogram in which a value counts.
std::uint32_t bucket_of(std::uint64_t value) {
  std::uint32_t low = 0, high = std::uint32_t{48} << 5U;
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    (base::Histogram::lowest_of(middle) <= value ? low : high) = middle;
  }
  return low;
}

}  // namespace

base::Histogram to_histogram(const trace_reader::SumLatencies& latencies) {
  std::vector<base::Histogram::Bucket> buckets;
  std::uint64_t sum = 0;
  std::uint64_t min = 0, max = 0;
  for (const auto& [bucket, count] : latencies.buckets()) {
    const std::uint64_t lowest = trace::lowest_of_sum_bucket(bucket);
    const std::uint64_t middle =
        std::min(lowest + (trace::lowest_of_sum_bucket(bucket + 1) - lowest) / 2,
                 (std::uint64_t{1} << 48U) - 1);
    const auto capped = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(count, std::numeric_limits<std::uint32_t>::max()));
    if (buckets.empty()) min = middle;
    max = middle;
    std::uint64_t added = 0;
    if (__builtin_mul_overflow(middle, std::uint64_t{capped}, &added) ||
        __builtin_add_overflow(sum, added, &sum)) {
      sum = std::numeric_limits<std::uint64_t>::max();
    }
    const std::uint32_t index = bucket_of(middle);
    if (!buckets.empty() && buckets.back().index == index) {
      buckets.back().count += capped;
    } else {
      buckets.push_back({index, capped});
    }
  }
  return base::Histogram::restore(static_cast<std::int64_t>(min), static_cast<std::int64_t>(max),
                                  sum, buckets)
      .value_or(base::Histogram{});
}

}  // namespace rpcrdma::top
