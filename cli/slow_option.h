// The option --slow: limits for the latency of Calls.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/command_line/command.h>
#include <rpcrdma/report/timing.h>

namespace rpcrdma::cli {

void add_slow(command_line::Command& command, std::vector<std::string>& limits);

// Parses "READ=20ms" and "20ms". Returns nothing after an error, which is reported on stderr.
[[nodiscard]] std::optional<std::vector<report::SlowLimit>> parse_slow(
    const std::vector<std::string>& limits, const char* command);

}  // namespace rpcrdma::cli
