// What telling its events costs an endpoint, of Calls from end to end: beside endpoints of the same
// program that cannot tell anything.
#pragma once

#include "echo_calls.h"

namespace rpcrdma::bench {

struct TracedLoad {
  const char* name;
  service::echo::Request request;
  fabric::Time spin;
  std::uint32_t depth;
  unsigned server;      // its processor; the client has 0, and who reads 1
  std::uint64_t slice;  // Calls in a row of one kind of endpoint: some tens of milliseconds
};

// `readers`: with a reader and a recording too; else nobody listens. Prints what it finds.
void compare_tracing(const TracedLoad& load, bool readers);

}  // namespace rpcrdma::bench
