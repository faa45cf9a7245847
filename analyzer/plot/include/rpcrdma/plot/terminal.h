// Plots made of characters.
#pragma once

#include <string>

#include <rpcrdma/plot/chart.h>

namespace rpcrdma::plot {

struct Terminal {
  std::size_t width = 80;  // no line is wider
  std::size_t height = 8;  // lines of the plot itself, without title, axis and legend
  bool utf8 = true;        // else plain ASCII
  bool colour = false;
};

// Lines, each with a newline behind it; empty when there is nothing to draw, or no room for it.
// Lines of several series are told apart by their dashes (their letters in ASCII), with colour or
// without.
[[nodiscard]] std::string to_terminal(const Chart& chart, const Terminal& terminal);
// A line a bar.
[[nodiscard]] std::string to_terminal(const Bars& bars, const Terminal& terminal);
// A line a bucket.
[[nodiscard]] std::string to_terminal(const Histogram& histogram, const Terminal& terminal);

}  // namespace rpcrdma::plot
