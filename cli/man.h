// Manual pages in roff (man(7)), from the commands' own definitions.
#pragma once

#include <string>

#include <rpcrdma/command_line/command.h>

namespace rpcrdma::cli {

// Returns the page of the program, rpcrdma(1), if `command` has no parent; else that of a command,
// such as rpcrdma-decode(1).
[[nodiscard]] std::string man_page(const command_line::Command& command);

// Returns "rpcrdma", "rpcrdma-decode": the name of the page, and of its file without ".1".
[[nodiscard]] std::string man_name(const command_line::Command& command);

}  // namespace rpcrdma::cli
