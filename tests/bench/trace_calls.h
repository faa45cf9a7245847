// The cost of tracing for Calls from end to end, compared with endpoints of the same program
// without a tracer.
#pragma once

#include "echo_calls.h"

namespace rpcrdma::bench {

struct TracedLoad {
  const char* name;
  service::echo::Request request;
  fabric::Time spin;
  std::uint32_t depth;  // of each connection
  unsigned server;      // its processor; the client has 0, and readers 1
  std::uint64_t slice;  // consecutive Calls of one kind of endpoint: some tens of milliseconds
  std::uint32_t connections = 1;
  std::uint32_t one_in = 1;  // of which one is traced for a reader and a recording
};

// `readers`: also with a reader and a recording; otherwise without readers. Prints the results.
void compare_tracing(const TracedLoad& load, bool readers);

}  // namespace rpcrdma::bench
