// The capture itself: what it lacks, told once for all connections.
#pragma once

#include <rpcrdma/rules/capture_quality.h>
#include <rpcrdma/rules/findings.h>

namespace rpcrdma::rules {

// When a connection that speaks RPC-over-RDMA closes. `cut_short`: its messages of which the
// capture has only the beginning.
void note_closed(Trust& trust, const roce::Connection& connection, std::uint64_t cut_short);
// At the end of the capture.
void report_capture_quality(const Trust& trust, const roce::PacketStats& packets,
                            Findings& findings);

}  // namespace rpcrdma::rules
