// Writes a report as text for people, the most important facts first.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>

#include <rpcrdma/report/latency_table.h>
#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

struct TextOptions {
  bool colour = false;
  bool all = false;        // lists every connection and finding
  std::size_t width = 0;   // columns at which sentences are folded; 0: does not fold
  std::size_t files = 10;  // lists the busiest files, so many by time and by bytes
  // Only the verdict and this table.
  std::optional<LatencyBy> by = std::nullopt;
};

// Passes the text to `write` in pieces, because a capture can have very many connections.
void write_text(const Report& report, const TextOptions& options,
                const std::function<void(std::string_view)>& write);

// Writes only the verdict: the first line of write_text(), to repeat it below a long report.
void write_verdict(const Report& report, const TextOptions& options,
                   const std::function<void(std::string_view)>& write);

}  // namespace rpcrdma::report
