// What a verdict says of Calls that were refused, or executed in vain.
#pragma once

#include <string>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

// "100 of 100 NFS v3 READDIRPLUS Calls refused with ERR_CHUNK: ...", of all connections together,
// the most frequent ones; empty where there are none. A sentence without its full stop.
[[nodiscard]] std::string refused_text(const Report& report);

}  // namespace rpcrdma::report
