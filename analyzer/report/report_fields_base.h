// Shared code of the headers that list a report's fields.
//
// fields(archive, struct) names each field of a struct once. FieldWriter and FieldReader are the
// archives. A field that follows from others is `derived`: it is written and not read.
#pragma once

#include "text/plain_values.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <rpcrdma/base/histogram.h>

namespace rpcrdma::report {

// A count that is there only if it is not zero.
template <typename Archive, typename T>
void unless_zero(Archive& a, const char* key, T& count) {
  if (a.present(key, count != 0)) a(key, count);
}

// T for an archive that reads, const T for one that writes.
template <typename Archive, typename T>
using Of = std::conditional_t<Archive::kReads, T, const T>;

// The shape of a list of lists of integers.
struct RowShape {
  std::size_t columns = 0;
  const char* otherwise = "";  // the error for a row of another length
  std::size_t most = SIZE_MAX;
};

// Subtracts integers, because a double cannot hold nanoseconds since 1970. A file can contain any
// times.
[[nodiscard]] inline double seconds_between(std::int64_t from, std::int64_t to) {
  const auto ns = static_cast<std::uint64_t>(std::max(from, to)) -
                  static_cast<std::uint64_t>(std::min(from, to));
  return (to < from ? -1 : 1) * static_cast<double>(ns) / 1e9;
}

template <typename Archive>
void fields(Archive& a, Of<Archive, base::Histogram>& h) {
  std::int64_t min = h.min();
  std::int64_t max = h.max();
  std::uint64_t sum = h.sum();
  std::vector<base::Histogram::Bucket> buckets;
  if constexpr (!Archive::kReads) {
    h.for_each_bucket([&](base::Histogram::Bucket b) { buckets.push_back(b); });
    a("count", h.count());
    a("min", microseconds(min));
    a("mean", h.mean() / 1e3);
    a("p50", microseconds(h.quantile(0.5)));
    a("p90", microseconds(h.quantile(0.9)));
    a("p95", microseconds(h.quantile(0.95)));
    a("p99", microseconds(h.quantile(0.99)));
    a("p999", microseconds(h.quantile(0.999)));
    a("max", microseconds(max));
  }
  a.duration("min_ns", min);
  a.duration("max_ns", max);
  a("sum_ns", sum);
  a.rows("buckets", buckets, {.columns = 2, .otherwise = "expected two integers"},
         [](auto& row, auto& b) {
           row(b.index);
           row(b.count);
         });
  if constexpr (Archive::kReads) {
    const auto restored = base::Histogram::restore(min, max, sum, buckets);
    if (!restored) a.node().fail("the buckets contradict min_ns and max_ns");
    h = restored.value_or(base::Histogram());
  }
}

template <typename Archive>
void fields(Archive& a, Of<Archive, base::CompactHistogram>& h) {
  base::Histogram whole;
  if constexpr (!Archive::kReads) whole = h.expanded();
  fields(a, whole);
  if constexpr (Archive::kReads) h = base::CompactHistogram(whole);
}

}  // namespace rpcrdma::report
