// The part of a verdict about Calls that were refused, or executed without an effect.
#pragma once

#include <string>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

// Returns "100 of 100 NFS v3 READDIRPLUS Calls refused with ERR_CHUNK: ...": the most frequent
// kinds on all connections together, without the final full stop. Empty if no Call was refused.
[[nodiscard]] std::string refused_text(const Report& report);

}  // namespace rpcrdma::report
