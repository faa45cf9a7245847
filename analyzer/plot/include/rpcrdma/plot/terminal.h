// Plots drawn with characters.
#pragma once

#include <string>

#include <rpcrdma/plot/chart.h>

namespace rpcrdma::plot {

struct Terminal {
  std::size_t width = 80;  // the widest line allowed
  std::size_t height = 8;  // lines of the plot itself, without title, axis and legend
  bool utf8 = true;        // otherwise plain ASCII
  bool colour = false;
};

// Lines, each ending with a newline; empty if there is nothing to draw, or no room for it. The
// lines of several series differ by their dashes (their letters in ASCII), with or without colour.
[[nodiscard]] std::string to_terminal(const Chart& chart, const Terminal& terminal);
// One line per bar.
[[nodiscard]] std::string to_terminal(const Bars& bars, const Terminal& terminal);
// One line per bucket.
[[nodiscard]] std::string to_terminal(const Histogram& histogram, const Terminal& terminal);

}  // namespace rpcrdma::plot
