// NULL Calls over TCP with libtirpc: the cost for an ONC RPC client without RDMA.
#pragma once

#include <vector>

namespace rpcrdma::bench {

// Runs a server in a thread on that processor, and a client in the calling one; both sleep while
// they wait. Appends microseconds for each of `rounds`; returns false if libtirpc fails.
bool tirpc_null_calls(int rounds, unsigned server_processor, std::vector<double>& us);

}  // namespace rpcrdma::bench
