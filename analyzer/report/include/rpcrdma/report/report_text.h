// A report for a person: what matters first.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

struct TextOptions {
  bool colour = false;
  bool all = false;       // every connection and finding, however many
  std::size_t width = 0;  // columns that sentences are folded to; 0: lines as long as they are
};

// `write` is given pieces, since a capture may have very many connections.
void write_text(const Report& report, const TextOptions& options,
                const std::function<void(std::string_view)>& write);

}  // namespace rpcrdma::report
