// A latency distribution as it stands in JSON reports of loads.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <rpcrdma/base/histogram.h>

namespace rpcrdma::load {

// p50, p90, p95, p99, p999, p9999, max, min and mean in microseconds; null without values.
[[nodiscard]] nlohmann::ordered_json latency_json(const base::Histogram& h);

}  // namespace rpcrdma::load
