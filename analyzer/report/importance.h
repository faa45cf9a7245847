// Which connections to show when there are more than a person reads.
#pragma once

#include <cstddef>
#include <vector>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

// Those with errors come before those with trouble on the wire, and those before the busiest.
[[nodiscard]] bool more_important(const Connection& a, const Connection& b);

// At most `count` of them, the most important first; all of them by ID when they are no more than
// that.
[[nodiscard]] std::vector<const Connection*> important_connections(const Report& report,
                                                                   std::size_t count);

}  // namespace rpcrdma::report
