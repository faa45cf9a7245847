// The version of rpcrdma-scope that a program was built from.
#pragma once

#include <string_view>

namespace rpcrdma::version {

// Version and commit, as --version prints them: "0.2.0 (a1b2c3d)"; "0.2.0" if the commit is
// unknown.
[[nodiscard]] std::string_view text();

}  // namespace rpcrdma::version
