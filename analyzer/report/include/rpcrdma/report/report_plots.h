// Draws a report's credits, latency and traffic over time for a terminal.
#pragma once

#include <cstddef>
#include <string>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

struct PlotOptions {
  std::size_t width = 80;  // columns; no line is wider
  bool utf8 = true;        // else ASCII
  bool colour = false;
};

// Returns an empty text if there is nothing to draw.
[[nodiscard]] std::string report_plots(const Report& report, const PlotOptions& options);

}  // namespace rpcrdma::report
