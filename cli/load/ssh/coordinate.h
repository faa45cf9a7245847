// `rpcrdma load --agents`: the coordinator of a load that agents at other hosts make together.
#pragma once

#include "load/options.h"
#include "load/ssh/agents_option.h"

#include <rpcrdma/command_line/command.h>

namespace rpcrdma::cli {

// Runs the load and prints its report. `command`: that of the options, after parsing. Returns the
// exit status.
[[nodiscard]] int coordinate_load(const command_line::Command& command, const LoadOptions& load,
                                  const AgentsOptions& options);

}  // namespace rpcrdma::cli
