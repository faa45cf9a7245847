#pragma once

#include <cstdio>

namespace rpcrdma::cli {

// Returns whether to colour output on `stream`: it is a terminal other than "dumb", and NO_COLOR is
// not set (no-color.org).
[[nodiscard]] bool colour_wanted(std::FILE* stream);

}  // namespace rpcrdma::cli
