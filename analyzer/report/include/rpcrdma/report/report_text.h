// Writes a report as text for people, the most important facts first.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

struct TextOptions {
  bool colour = false;
  bool all = false;       // lists every connection and finding
  std::size_t width = 0;  // columns at which sentences are folded; 0: does not fold
};

// Passes the text to `write` in pieces, because a capture can have very many connections.
void write_text(const Report& report, const TextOptions& options,
                const std::function<void(std::string_view)>& write);

}  // namespace rpcrdma::report
