// A report's plots for a terminal: credits, latency and traffic over time.
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

// Empty when there is nothing to draw.
[[nodiscard]] std::string report_plots(const Report& report, const PlotOptions& options);

}  // namespace rpcrdma::report
