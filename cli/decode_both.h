// rpcrdma decode --both: the messages of several sources in one listing.
#pragma once

#include "message_printer.h"

#include <string>
#include <vector>

namespace rpcrdma::cli {

// Returns the exit status. Errors, and what the listing leaves out, are reported on stderr.
[[nodiscard]] int decode_both(const std::vector<std::string>& paths, const PrintOptions& options,
                              unsigned jobs);

}  // namespace rpcrdma::cli
