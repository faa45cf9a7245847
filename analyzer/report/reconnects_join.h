// Finds Calls of an earlier report's connection that a connection of a later report resends.
#pragma once

#include "connection_join.h"

#include <vector>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

// Connections that started, as many as a sum of consecutive reports lists until it is added to
// earlier ones. A report lists rules::kBegun.
inline constexpr std::size_t kBegunWhileMerging = 4096;

// Drops those beyond `most`, and notes that the list is incomplete.
void bound_begun(Reconnects& reconnects, std::size_t most);

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
