// The parts that all SVG pictures share: the element itself, the title, axes.
#pragma once

#include "scale.h"

#include <string>
#include <string_view>

#include <rpcrdma/plot/svg.h>

namespace rpcrdma::plot {

// The part of the picture that shows values, in pixels.
struct Box {
  double left, top, right, bottom;
  [[nodiscard]] double x(const Scale& scale, double value) const {
    return left + scale.at(value) * (right - left);
  }
  [[nodiscard]] double y(const Scale& scale, double value) const {
    return bottom - scale.at(value) * (bottom - top);
  }
};

// A coordinate, rounded to a tenth of a pixel.
[[nodiscard]] std::string px(double value);

// The approximate width of `text`.
[[nodiscard]] double text_width(std::string_view text);

// Opens the element and writes everything through the visible title.
[[nodiscard]] std::string svg_begin(const Svg& svg, int height, const std::string& title,
                                    const std::string& description);

// The area for values, below the title and `lines` lines of legend.
[[nodiscard]] Box plot_box(const Svg& svg, int lines);

// Grid lines and labels at the ticks.
[[nodiscard]] std::string svg_y_axis(const Box& box, const Axis& axis, Unit unit);
// Bands where the time axis is cut.
[[nodiscard]] std::string svg_cuts(const Box& box, const Scale& scale, Unit unit);
[[nodiscard]] std::string svg_x_axis(const Box& box, const Axis& axis, Unit unit);
// The axis of a window: from a minute on, its labels are those of a clock.
[[nodiscard]] std::string svg_clock_axis(const Box& box, const Axis& axis, Unit unit);
// "59.5 s", "1:05", "1:05.25", "2:03:00"
[[nodiscard]] std::string clock_text(double seconds);

}  // namespace rpcrdma::plot
