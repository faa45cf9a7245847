// Calls that a connection of an earlier report left, and that came again on one of a later report.
#pragma once

#include "connection_join.h"

#include <vector>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

// What is told of the two together, with the numbers of the whole.
struct SentAgainFindings {
  std::vector<Finding> findings;
  std::vector<Inconclusive> inconclusive;
};

// Adds what `later` has for Calls that are sent again to what `earlier` has. Before anything else
// of the two is added but their connections, by `join`; the frames of `later` move by `frames`.
[[nodiscard]] SentAgainFindings join_reconnects(Report& earlier, Report& later,
                                                const ConnectionJoin& join, std::uint64_t frames);

}  // namespace rpcrdma::report
