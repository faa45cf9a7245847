// Waits for endpoints that programs of a test start.
#pragma once

#include <string>

#include <poll.h>

#include <rpcrdma/live/endpoints.h>

namespace rpcrdma::e2e {

// Returns once the endpoint accepts readers; false if it does not within 50 s.
inline bool wait_for_endpoint(const std::string& name) {
  for (int tries = 0; tries < 5000; ++tries) {
    if (trace::connect_endpoint(name)) return true;
    ::poll(nullptr, 0, 10);
  }
  return false;
}

}  // namespace rpcrdma::e2e
