// Joins the mounts and sessions of a later report with those of an earlier one.
#pragma once

#include "connection_join.h"

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

// `frames`: as for ConnectionJoin.
void join_sessions(Report& earlier, Report& later, const ConnectionJoin& join,
                   std::uint64_t frames);

}  // namespace rpcrdma::report
