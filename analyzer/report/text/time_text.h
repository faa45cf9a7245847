// The verdict's sentence on time: procedures, silences, outages, retransmissions.
#pragma once

#include <string>

#include <rpcrdma/report/verdict.h>

namespace rpcrdma::report {

[[nodiscard]] VerdictNumbers verdict_numbers(const Report& report);

// "NFS v4 READ p50 33 ms (82 % in the server), p99 80 ms, at most 137 ms; longest silence of the
// server 6.06 s on connection 1 (from 22:41:03.2, 4 Calls in flight)."; empty without answered
// Calls.
[[nodiscard]] std::string time_text(const Report& report, const VerdictNumbers& numbers);

}  // namespace rpcrdma::report
