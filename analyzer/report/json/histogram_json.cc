#include "histogram_json.h"

#include "text/plain_values.h"

#include <vector>

namespace rpcrdma::report {

void write_histogram(JsonWriter& json, const char* key, const base::Histogram& h) {
  json.object(key);
  json.field("count", h.count());
  json.field("min", microseconds(h.min()));
  json.field("mean", h.mean() / 1e3);
  json.field("p50", microseconds(h.quantile(0.5)));
  json.field("p90", microseconds(h.quantile(0.9)));
  json.field("p99", microseconds(h.quantile(0.99)));
  json.field("p999", microseconds(h.quantile(0.999)));
  json.field("max", microseconds(h.max()));
  json.field("min_ns", h.min());
  json.field("max_ns", h.max());
  json.field("sum_ns", h.sum());
  json.array("buckets");
  h.for_each_bucket([&](base::Histogram::Bucket b) {
    json.array();
    json.value(b.index);
    json.value(b.count);
    json.end();
  });
  json.end();
  json.end();
}

base::Histogram read_histogram(const JsonNode& n) {
  std::vector<base::Histogram::Bucket> buckets;
  n.get("buckets").for_each([&](const JsonNode& pair) {
    if (pair.size() != 2) return pair.fail("expected two integers");
    buckets.push_back({pair.at(0).u32(), pair.at(1).u32()});
  });
  const std::int64_t min = n.get("min_ns").duration_ns();
  const std::int64_t max = n.get("max_ns").duration_ns();
  const auto h = base::Histogram::restore(min, max, n.get("sum_ns").u64(), buckets);
  if (!h) n.fail("these buckets do not fit min_ns and max_ns");
  return h.value_or(base::Histogram());
}

}  // namespace rpcrdma::report
