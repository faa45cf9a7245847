// Reports what is missing from the capture itself, once for all connections.
#pragma once

#include <rpcrdma/rules/capture_quality.h>
#include <rpcrdma/rules/findings.h>

namespace rpcrdma::rules {

// Called when a connection that speaks RPC-over-RDMA closes. `cut_short`: the number of its
// messages that are truncated in the capture.
void note_closed(CaptureGaps& capture_gaps, const roce::Connection& connection,
                 std::uint64_t cut_short);
// Called at the end of the capture.
void report_capture_gaps(const CaptureGaps& capture_gaps, const roce::PacketStats& packets,
                         Findings& findings);

}  // namespace rpcrdma::rules
