// Finds Calls of an earlier report's connection that a connection of a later report resends.
#pragma once

#include "connection_join.h"

#include <vector>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

// The results, with connection and frame numbers of the merged report.
struct SentAgainFindings {
  std::vector<Finding> findings;
  std::vector<Inconclusive> inconclusive;
};

// Merges Report::reconnects of `later` into that of `earlier`. Call it when `join` has merged the
// connections and before anything else is merged. The frame numbers of `later` increase by
// `frames`.
[[nodiscard]] SentAgainFindings join_reconnects(Report& earlier, Report& later,
                                                const ConnectionJoin& join, std::uint64_t frames);

}  // namespace rpcrdma::report
