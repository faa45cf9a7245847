// Answers HTTP requests: with metrics, or with an error that says where they are.
#pragma once

#include "http_server.h"

#include <string>

#include <prometheus/collectable.h>

namespace rpcrdma::metrics {

// Returns the whole answer, from its status line on. GET and HEAD of /metrics collect the metrics;
// other methods get 405, and other paths 404 (RFC 9110 section 15.5).
[[nodiscard]] std::string answer(const HttpRequest& request,
                                 const prometheus::Collectable& figures);

}  // namespace rpcrdma::metrics
