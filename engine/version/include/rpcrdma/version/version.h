// Which version of rpcrdma-scope a program was built from.
#pragma once

#include <string_view>

namespace rpcrdma::version {

// Version and commit, as --version prints them: "0.2.0 (a1b2c3d)"; "0.2.0" where the commit is not
// known.
[[nodiscard]] std::string_view text();

}  // namespace rpcrdma::version
