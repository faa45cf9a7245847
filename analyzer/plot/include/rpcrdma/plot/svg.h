// Plots as SVG elements, to stand in a page or in a file of their own.
//
// Light or dark by what the reader prefers; no script; readable without colour. Every picture has a
// title and a description for those who do not see it. Its size in bytes is bounded by its size in
// pixels and by what it has of labels and notes, not by the points.
#pragma once

#include <string>

#include <rpcrdma/plot/chart.h>

namespace rpcrdma::plot {

struct Svg {
  int width = 640;          // of the view box; the picture takes the width that it is given
  int height = 240;         // of bars: not used, they take what they need
  std::string id = "plot";  // unique in its page: letters and digits
  bool styles = true;       // the style sheet within; without it the page has svg_styles()
};

// The style sheet that pictures need. Once in a page is enough.
[[nodiscard]] std::string svg_styles();

// Empty when there is nothing to draw.
[[nodiscard]] std::string to_svg(const Chart& chart, const Svg& svg);
[[nodiscard]] std::string to_svg(const Bars& bars, const Svg& svg);
[[nodiscard]] std::string to_svg(const Histogram& histogram, const Svg& svg);
[[nodiscard]] std::string to_svg(const HeatMap& map, const Svg& svg);

}  // namespace rpcrdma::plot
