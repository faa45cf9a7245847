// Errors of the analyzer's libraries.
#pragma once

#include <rpcrdma/base/error.h>

namespace rpcrdma::capture {

using base::Error;
using base::Expected;
using base::fail;

}  // namespace rpcrdma::capture
