#include "filter_option.h"

#include "input.h"

#include <fmt/core.h>

namespace rpcrdma::cli {

void add_filter(command_line::Command& command, std::string& text, const char* what) {
  command
      .option("-Y,--filter", text,
              fmt::format("{} that match a filter, such as \"rpcrdma.latency > 5ms && nfs.op == "
                          "READ\" (docs/filter.md; `rpcrdma fields` lists the fields)",
                          what))
      .value("EXPR");
}

bool read_filter(const std::string& text, const char* command, std::optional<filter::Filter>& out) {
  if (text.empty()) return true;
  auto compiled = filter::compile(text);
  if (!compiled) {
    // Prints three lines, with printable characters only.
    fmt::print(stderr, "rpcrdma: {}: --filter: {}\n", command,
               filter::explain(text, compiled.error()));
    return false;
  }
  out = std::move(*compiled);
  return true;
}

}  // namespace rpcrdma::cli
