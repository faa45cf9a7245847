// Formats one side of a connection as address and QPN: "192.0.2.1.17".
#pragma once

#include <string>

#include <rpcrdma/roce/connection.h>

namespace rpcrdma::report {

[[nodiscard]] std::string end_text(const roce::Side& side);

}  // namespace rpcrdma::report
