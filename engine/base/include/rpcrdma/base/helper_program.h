// Finds the helper programs that the project installs beside its main programs: each uses
// libraries, or needs privileges, that the main programs should not have.
#pragma once

#include <string>
#include <string_view>

#include <rpcrdma/base/error.h>

namespace rpcrdma::base {

// Returns the path of an executable helper. It is searched in the directory of the running program,
// in ../bin and ../libexec/rpcrdma of it, and in the directory of the installation; never in the
// PATH. Error: it is not there, with the reason why a build may not have it.
[[nodiscard]] Expected<std::string> find_helper_program(std::string_view name);

}  // namespace rpcrdma::base
