// The option --filter of every command that reads messages.
#pragma once

#include <optional>
#include <string>

#include <rpcrdma/command_line/command.h>
#include <rpcrdma/filter/filter.h>

namespace rpcrdma::cli {

// `what`: what the filter selects, such as "Print only messages".
void add_filter(command_line::Command& command, std::string& text,
                const char* what = "Print only messages");

// Leaves `out` empty when there is no filter. If the filter is invalid, returns false and prints
// the error on stderr with a mark under its position, in a line that starts with the name of the
// command.
[[nodiscard]] bool read_filter(const std::string& text, const char* command,
                               std::optional<filter::Filter>& out);

}  // namespace rpcrdma::cli
