// Writes figures as OpenMetrics 1.0 text, which prometheus-cpp does not support.
#pragma once

#include <span>
#include <string>

#include <prometheus/metric_family.h>

namespace rpcrdma::metrics {

inline constexpr const char* kOpenMetricsType =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

// The whole exposition, down to its EOF. The family of a counter `x_total` is named `x`, since in
// OpenMetrics that ending belongs to the sample; a family whose name ends in _seconds or _bytes has
// that unit. Supports counters, gauges and histograms, the types that Families creates; families of
// other types are skipped. Names must be valid, and texts UTF-8.
[[nodiscard]] std::string openmetrics(std::span<const prometheus::MetricFamily> families);

}  // namespace rpcrdma::metrics
