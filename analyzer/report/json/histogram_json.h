// Histograms of durations in a report's JSON: in microseconds for whoever reads them, and exact for
// whoever joins them.
#pragma once

#include "json_node.h"

#include <rpcrdma/report/json_writer.h>
#include <rpcrdma/stats/histogram.h>

namespace rpcrdma::report {

void write_histogram(JsonWriter& json, const char* key, const stats::Histogram& h);
[[nodiscard]] stats::Histogram read_histogram(const JsonNode& n);

}  // namespace rpcrdma::report
