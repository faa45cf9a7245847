// Joins the latencies of consecutive reports.
#pragma once

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

// Adds the latencies of a later report. `from` has the IDs and directions of `to`, whose
// connections are already joined.
void join_latencies(Report& to, const Latencies& from);

// Adds a Call of an earlier report that a Reply of a later one answers. How much data it carried is
// unknown, because neither report shows both.
void answer_latency(Report& to, const OpenCall& call, const ProcedureKey& counted_under,
                    std::int64_t answered_ns);

}  // namespace rpcrdma::report
