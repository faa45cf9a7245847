// A cumulative latency histogram as JSON: extremes, sum, and the non-empty buckets as a flat list
// of index and count.
#pragma once

#include "json_fields.h"

#include <nlohmann/json.hpp>

#include <rpcrdma/base/histogram.h>

namespace rpcrdma::fleet {

[[nodiscard]] nlohmann::json latency_json(const base::CompactHistogram& latency);
// Fails through `fields` if no histogram has these parts.
[[nodiscard]] base::CompactHistogram latency_from_json(Fields& fields);

}  // namespace rpcrdma::fleet
