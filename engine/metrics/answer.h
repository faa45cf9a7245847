// What is answered to somebody who asks by HTTP: figures, and to anything but them, that they are
// elsewhere.
#pragma once

#include "http_server.h"

#include <string>

#include <prometheus/collectable.h>

namespace rpcrdma::metrics {

// All of it, from its status line on. GET and HEAD of /metrics collect the figures; other methods
// get 405, and other paths 404 (RFC 9110 section 15.5).
[[nodiscard]] std::string answer(const HttpRequest& request,
                                 const prometheus::Collectable& figures);

}  // namespace rpcrdma::metrics
