#include "histogram.h"
#include "svg_frame.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include <rpcrdma/plot/escape.h>

namespace rpcrdma::plot {

std::string to_svg(const Bars& bars, const Svg& svg) {
  if (bars.bars.empty()) return {};
  constexpr int kRow = 22;
  constexpr int kTop = 28;
  double most = 0;
  double label_width = 0;
  double value_width = 0;
  const auto drawn = [](double v) { return std::isnan(v) ? 0 : std::clamp(v, 0.0, kLargest); };
  const auto value_text = [&](const Bar& b) {
    return format_value(bars.unit, b.value) + (b.note.empty() ? "" : "  " + b.note);
  };
  for (const Bar& b : bars.bars) {
    most = std::max(most, drawn(b.value));
    label_width = std::max(label_width, text_width(fit_terminal(b.label, 32, true)));
    value_width = std::max(value_width, text_width(fit_terminal(value_text(b), 40, true)));
  }
  const double left = label_width + 12;
  const double room = std::max(20.0, svg.width - left - value_width - 12);
  std::string out = svg_begin(svg, kTop + kRow * static_cast<int>(bars.bars.size()) + 4, bars.title,
                              bars.description);
  double y = kTop;
  for (const Bar& b : bars.bars) {
    const double size = most > 0 ? std::max(drawn(b.value) / most * room, 1.0) : 1.0;
    out += fmt::format(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text><rect class=\"ba s0\" x=\"{}\" "
        "y=\"{}\" "
        "width=\"{}\" height=\"{}\"/><text x=\"{}\" y=\"{}\">{}</text>\n",
        px(left - 6), px(y + 14), escape_xml(fit_terminal(b.label, 32, true)), px(left), px(y + 3),
        px(size), kRow - 6, px(left + size + 6), px(y + 14),
        escape_xml(fit_terminal(value_text(b), 40, true)));
    y += kRow;
  }
  return out + "</svg>\n";
}

std::string to_svg(const Histogram& histogram, const Svg& svg) {
  std::vector<Bucket> buckets = regroup(histogram.buckets, 8);
  if (buckets.empty()) return {};
  if (buckets.size() > 100) buckets = regroup(histogram.buckets, 3);
  double all = 0;
  double most = 0;
  for (const Bucket& b : buckets) {
    all += static_cast<double>(b.count);
    most = std::max(most, static_cast<double>(b.count));
  }
  const Box box = plot_box(svg, 0);
  const double low = buckets.front().low;
  const double high = buckets.back().high;
  Axis x = value_axis(histogram.unit, low, high, true, 10);
  x.scale.low = low;
  x.scale.high = high;
  std::erase_if(x.ticks, [&](double t) { return t < low * 0.999 || t > high * 1.001; });
  const Axis y = value_axis(Unit::kCount, 0, most, false,
                            std::max(2, static_cast<int>((box.bottom - box.top) / 30)));
  std::string out = svg_begin(svg, svg.height, histogram.title, histogram.description) +
                    svg_y_axis(box, y, Unit::kCount);
  for (const Bucket& b : buckets) {
    if (b.count == 0) continue;
    const auto count = static_cast<double>(b.count);
    const double left = box.x(x.scale, b.low);
    const double right = box.x(x.scale, b.high);
    // Even one among very many is visible.
    const double top = std::min(box.y(y.scale, count), box.bottom - 1.5);
    out += fmt::format(
        "<rect class=\"ba s0\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{} to {}: {} "
        "({:.2f}%)</title></rect>\n",
        px(left + 0.5), px(top), px(std::max(1.0, right - left - 1)), px(box.bottom - top),
        format_value(histogram.unit, b.low), format_value(histogram.unit, b.high), b.count,
        100 * count / all);
  }
  return out + svg_x_axis(box, x, histogram.unit) + "</svg>\n";
}

}  // namespace rpcrdma::plot
