// An end of a connection in lines of text: "192.0.2.1.17", address and QPN.
#pragma once

#include <string>

#include <rpcrdma/roce/connection.h>

namespace rpcrdma::report {

[[nodiscard]] std::string end_text(const roce::Side& side);

}  // namespace rpcrdma::report
