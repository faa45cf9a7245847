// The section "Both ends" of a report as text.
#pragma once

#include <string>

#include <rpcrdma/ends/ends.h>

namespace rpcrdma::report {

// Empty if nothing was joined and there is nothing to say about it.
[[nodiscard]] std::string ends_text(const ends::Ends& ends, bool all, bool colour);

}  // namespace rpcrdma::report
