// Histograms of durations in a report's JSON: in microseconds for whoever reads them, and exact for
// whoever joins them.
#pragma once

#include "json_node.h"

#include <rpcrdma/base/histogram.h>
#include <rpcrdma/report/json_writer.h>

namespace rpcrdma::report {

void write_histogram(JsonWriter& json, const char* key, const base::Histogram& h);
[[nodiscard]] base::Histogram read_histogram(const JsonNode& n);

}  // namespace rpcrdma::report
