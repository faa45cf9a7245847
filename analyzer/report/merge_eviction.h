// Bounds the connections of a merged report, as an analysis bounds those that it follows.
#pragma once

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

// Keeps at most roce::kMaxConnections of each kind (RoCE packets, iWARP, recordings): evicts those
// that are over, then those that were idle longest. The sums of NotListed include the evicted ones,
// their latencies count by addresses, and Calls and findings keep their IDs.
void evict_connections(Report& report);

}  // namespace rpcrdma::report
