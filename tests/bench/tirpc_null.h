// NULL Calls over TCP by libtirpc, what an ONC RPC client without RDMA pays.
#pragma once

#include <vector>

namespace rpcrdma::bench {

// A server in a thread on that processor, and a client in the calling one, both sleeping while they
// wait. Appends microseconds for each of `rounds`; false: libtirpc could not.
bool tirpc_null_calls(int rounds, unsigned server_processor, std::vector<double>& us);

}  // namespace rpcrdma::bench
