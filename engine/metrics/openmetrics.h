// Figures as OpenMetrics 1.0 text, which prometheus-cpp does not write.
#pragma once

#include <span>
#include <string>

#include <prometheus/metric_family.h>

namespace rpcrdma::metrics {

inline constexpr const char* kOpenMetricsType =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

// The whole exposition, down to its EOF. Of a counter `x_total` the family is named `x`, since
// OpenMetrics counts that ending to the sample; a family whose name ends in _seconds or _bytes has
// that unit. Counters, gauges and histograms, which is what Families makes of figures; a family of
// another type is left out. Names are to be valid ones, and texts UTF-8.
[[nodiscard]] std::string openmetrics(std::span<const prometheus::MetricFamily> families);

}  // namespace rpcrdma::metrics
