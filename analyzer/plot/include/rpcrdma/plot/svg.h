// Plots as SVG elements, inside a page or as files of their own.
//
// Light or dark by the reader's preference; no script; readable without colour. Every picture has a
// title and a description for screen readers. Its size in bytes is bounded by its size in pixels
// and its labels and notes, not by the number of points.
#pragma once

#include <string>

#include <rpcrdma/plot/chart.h>

namespace rpcrdma::plot {

struct Svg {
  int width = 640;          // of the view box; the picture fills the width available to it
  int height = 240;         // ignored for bars, spans and waterfalls, whose number determines it
  std::string id = "plot";  // unique in its page: letters and digits
  bool styles = true;       // include the style sheet; otherwise the page has svg_styles()
};

// The style sheet that pictures need; once per page suffices.
[[nodiscard]] std::string svg_styles();

// Empty if there is nothing to draw.
[[nodiscard]] std::string to_svg(const Chart& chart, const Svg& svg);
[[nodiscard]] std::string to_svg(const Bars& bars, const Svg& svg);
[[nodiscard]] std::string to_svg(const Histogram& histogram, const Svg& svg);
[[nodiscard]] std::string to_svg(const HeatMap& map, const Svg& svg);
[[nodiscard]] std::string to_svg(const Spans& spans, const Svg& svg);
[[nodiscard]] std::string to_svg(const Waterfall& waterfall, const Svg& svg);

}  // namespace rpcrdma::plot
