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
// there is none (RFC 9110 section 12.5.1). Returns OpenMetrics for clients that name it, and for
// those that name nothing: `*/*` is what curl sends. Returns the Prometheus text format for clients
// that name plain text or HTML without OpenMetrics, as browsers and old scrapers do, or that refuse
// OpenMetrics by q=0. Other weights are ignored: every client that names OpenMetrics can read it.
[[nodiscard]] Format wanted_format(std::string_view accept);

// Returns the whole answer, from its status line on. GET and HEAD of /metrics collect the metrics;
// other methods get 405, and other paths 404 (RFC 9110 section 15.5).
[[nodiscard]] std::string answer(const HttpRequest& request,
                                 const prometheus::Collectable& figures);

}  // namespace rpcrdma::metrics
