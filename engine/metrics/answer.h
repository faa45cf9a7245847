// Answers HTTP requests: with metrics, or with an error that says where they are.
#pragma once

#include "http_server.h"

#include <cstdint>
#include <string>
#include <string_view>

#include <prometheus/collectable.h>

namespace rpcrdma::metrics {

enum class Format : std::uint8_t {
  kOpenMetrics,
  kText,  // Prometheus text format 0.0.4
};

// Chooses the text format that a scrape requests. `accept`: the value of HTTP's Accept, empty if
// there is none (RFC 9110 section 12.5.1). Returns OpenMetrics for clients that name it with a
// weight other than q=0, and the Prometheus text format for all others, as Prometheus's own
// exporters do: curl sends `*/*`, and promtool reads only the latter. Other weights are ignored:
// every client that names OpenMetrics can read it.
[[nodiscard]] Format wanted_format(std::string_view accept);

// Returns the answer. GET and HEAD of /metrics collect the metrics;
// other methods get 405, and other paths 404 (RFC 9110 section 15.5).
[[nodiscard]] HttpResponse answer(const HttpRequest& request,
                                  const prometheus::Collectable& figures);

}  // namespace rpcrdma::metrics
