#pragma once

#include <cstdio>

namespace rpcrdma::cli {

// Colours are wanted on `stream`: it is a terminal that is not "dumb", and NO_COLOR is not set
// (no-color.org).
[[nodiscard]] bool colour_wanted(std::FILE* stream);

}  // namespace rpcrdma::cli
