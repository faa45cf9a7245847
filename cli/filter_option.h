// The option --filter of every command that looks at messages.
#pragma once

#include <optional>
#include <string>

#include <rpcrdma/command_line/command.h>
#include <rpcrdma/filter/filter.h>

namespace rpcrdma::cli {

// `what`: that are chosen, such as "Only messages".
void add_filter(command_line::Command& command, std::string& text,
                const char* what = "Only messages");

// `out` stays empty when there is no filter. On a wrong one false, and on stderr what is wrong,
// beginning with the name of the command, with a mark under the place.
[[nodiscard]] bool read_filter(const std::string& text, const char* command,
                               std::optional<filter::Filter>& out);

}  // namespace rpcrdma::cli
