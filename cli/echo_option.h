// --procedure, --size and --sleep of the commands that call the program ECHO.
#pragma once

#include <optional>
#include <string>

#include <rpcrdma/load/echo_requests.h>

namespace rpcrdma::cli {

// Returns nothing after an error, which is reported on stderr in a line that starts with the name
// of the command.
[[nodiscard]] std::optional<load::EchoRequests> parse_echo(const std::string& procedures,
                                                           const std::string& sizes,
                                                           const std::string& sleep,
                                                           const char* command);

}  // namespace rpcrdma::cli
