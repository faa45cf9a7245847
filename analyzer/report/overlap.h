// Finds reports whose captures show the same traffic, which a merge would count twice.
#pragma once

#include <string>
#include <vector>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

// Returns one sentence that names two reports, or an empty text if no two overlap: both are equal,
// or a connection has packets at the same time in both. A connection that continues from one
// capture to the next may overlap by a millisecond, since the processors of a host do not stamp
// packets in one order. `names` of the reports; "report 1" for those without.
[[nodiscard]] std::string overlap_text(const std::vector<Report>& reports,
                                       const std::vector<std::string>& names);

}  // namespace rpcrdma::report
