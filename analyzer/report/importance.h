// Selects the connections to show when there are too many to read.
#pragma once

#include <cstddef>
#include <vector>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

// Orders by errors, then by retransmitted, lost and refused packets, then by traffic.
[[nodiscard]] bool more_important(const Connection& a, const Connection& b);

// Returns at most `count` connections, the most important first; all of them by ID if there are no
// more than `count`.
[[nodiscard]] std::vector<const Connection*> important_connections(const Report& report,
                                                                   std::size_t count);

}  // namespace rpcrdma::report
