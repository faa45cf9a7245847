// Draws ranges of values as SVG: a dot, a bar and a thin line for each row.
#include "svg_frame.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include <rpcrdma/plot/escape.h>

namespace rpcrdma::plot {

namespace {

// In a narrow picture, labels and notes stand above the bars.
constexpr int kNarrow = 700;
constexpr std::size_t kLabel = 48;
constexpr std::size_t kNote = 64;

bool drawable(const SpanRow& r) {
  return r.low > 0 && r.high >= r.low && r.most >= r.high && std::isfinite(r.most);
}

}  // namespace

std::string to_svg(const Spans& spans, const Svg& svg) {
  double low = kLargest;
  double high = 0;
  double label_width = 0;
  double note_width = 0;
  int rows = 0;
  for (const SpanRow& r : spans.rows) {
    if (!drawable(r)) continue;
    ++rows;
    low = std::min(low, r.low);
    high = std::max(high, r.most);
    label_width = std::max(label_width, text_width(fit_terminal(r.label, kLabel, true)));
    note_width = std::max(note_width, text_width(fit_terminal(r.note, kNote, true)));
  }
  if (rows == 0) return {};
  const bool narrow = svg.width < kNarrow;
  const int row_height = narrow ? 44 : 26;
  constexpr int kTop = 28;
  const int height = kTop + row_height * rows + 26;
  const Box box = narrow
                      ? Box{8, kTop, svg.width - 14.0, height - 24.0}
                      : Box{label_width + 14, kTop, svg.width - note_width - 20.0, height - 24.0};
  // The axis ends near the values, not at powers of ten.
  Axis x = value_axis(spans.unit, low, high, true, narrow ? 6 : 12);
  x.scale.low = std::max(low / 1.2, kSmallestLog);
  x.scale.high = std::max(high * 1.2, x.scale.low * 1.44);
  std::erase_if(x.ticks, [&](double t) { return t < x.scale.low || t > x.scale.high; });
  std::string out = svg_begin(svg, height, spans.title, spans.description);
  std::string grid;
  for (const double tick : x.ticks) {
    grid += fmt::format("M{} {}V{}", px(box.x(x.scale, tick)), px(box.top), px(box.bottom));
  }
  out += fmt::format("<path class=\"gr\" d=\"{}\"/>\n", grid);
  double y = kTop;
  for (const SpanRow& r : spans.rows) {
    if (!drawable(r)) continue;
    const std::string label = escape_xml(fit_terminal(r.label, kLabel, true));
    const std::string note = escape_xml(fit_terminal(r.note, kNote, true));
    const double middle = y + (narrow ? 31 : 13);
    if (narrow) {
      out += fmt::format(
          "<text x=\"8\" y=\"{}\">{}</text><text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
          px(y + 16), label, svg.width - 8, px(y + 16), note);
    } else {
      out += fmt::format(
          "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text><text x=\"{}\" y=\"{}\">{}</text>",
          px(box.left - 10), px(middle + 4), label, px(box.right + 12), px(middle + 4), note);
    }
    const double from = box.x(x.scale, r.low);
    const double to = box.x(x.scale, r.high);
    const double end = box.x(x.scale, r.most);
    out += fmt::format(
        "<g class=\"s{}\"><path class=\"wh\" d=\"M{} {}H{}M{} {}v10\"/>"
        "<path class=\"sp\" d=\"M{} {}H{}\"/><circle class=\"do\" cx=\"{}\" cy=\"{}\" r=\"5\"/>"
        "</g>\n",
        r.marked ? 1 : 0, px(to), px(middle), px(end), px(end), px(middle - 5), px(from),
        px(middle), px(std::max(to, from + 0.1)), px(from), px(middle));
    y += row_height;
  }
  return out + svg_x_axis(box, x, spans.unit) + "</svg>\n";
}

}  // namespace rpcrdma::plot
