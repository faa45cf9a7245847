// Draws the steps of several items as SVG: a row for each item, with a narrow lane for each group
// of steps. Time that no step covers is hatched over all lanes.
#include "svg_frame.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include <rpcrdma/plot/escape.h>

namespace rpcrdma::plot {

namespace {

// In a narrow picture, labels and notes stand above the bars.
constexpr int kNarrowBelow = 700;
constexpr std::size_t kLabelColumns = 40;
constexpr std::size_t kNoteColumns = 56;
constexpr std::size_t kMostLanes = 6;
constexpr double kLane = 7;
constexpr double kTextLine = 18;
constexpr double kTop = 52;  // below title and legend
// A step is visible however short it is.
constexpr double kLeastWidth = 1.5;

bool is_span(double begin, double end) {
  return std::isfinite(begin) && std::isfinite(end) && begin >= 0 && end > begin;
}

// Lines at an angle of 45 degrees, 6 pixels apart, that fill a rectangle. They are at the same
// places whatever the rectangle is, so that neighbours fit together. A pattern would need a URL,
// which a page that loads nothing does not have.
std::string hatch(double left, double top, double right, double bottom) {
  constexpr double kApart = 6;
  std::string path;
  const double height = bottom - top;
  for (double x = std::ceil(left / kApart) * kApart; x - height < right; x += kApart) {
    // From (x, top) down to (x - height, bottom).
    const double from = std::min(x, right);
    const double to = std::max(x - height, left);
    if (from <= to) continue;
    path += fmt::format("M{} {}L{} {}", px(from), px(top + (x - from)), px(to), px(top + (x - to)));
  }
  return path;
}

// The spans of [0, end) that no step covers. The steps are in order of begin.
std::vector<std::pair<double, double>> uncovered(const WaterfallRow& row) {
  std::vector<std::pair<double, double>> spans;
  double at = 0;
  for (const Step& s : row.steps) {
    if (!is_span(s.begin, s.end)) continue;
    if (s.begin > at) spans.emplace_back(at, std::min(s.begin, row.end));
    at = std::max(at, s.end);
    if (at >= row.end) return spans;
  }
  spans.emplace_back(at, row.end);
  return spans;
}

std::string legend(const Waterfall& w, std::size_t lanes) {
  std::string out;
  double x = 4;
  for (std::size_t i = 0; i < lanes; ++i) {
    const std::string name = fit_terminal(w.lanes[i], kLabelColumns, true);
    out += fmt::format(
        "<g class=\"s{}\"><rect class=\"st\" x=\"{}\" y=\"29\" width=\"14\" height=\"8\"/></g>"
        "<text x=\"{}\" y=\"37\">{}</text>",
        i, px(x), px(x + 20), escape_xml(name));
    x += 20 + text_width(name) + 16;
  }
  if (!w.unknown.empty()) {
    out += fmt::format("<path class=\"un\" d=\"{}\"/><text x=\"{}\" y=\"37\">{}</text>",
                       hatch(x, 28, x + 14, 38), px(x + 20),
                       escape_xml(fit_terminal(w.unknown, kLabelColumns, true)));
  }
  return out + "\n";
}

std::string lanes_of(const WaterfallRow& row, const Box& box, const Scale& scale, double top,
                     std::size_t lanes) {
  const double bottom = top + kLane * static_cast<double>(lanes);
  const double end = box.x(scale, row.end);
  std::string out =
      fmt::format("<rect class=\"ln\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>", px(box.left),
                  px(top), px(std::max(end - box.left, kLeastWidth)), px(bottom - top));
  std::string path;
  for (const auto& [from, to] : uncovered(row)) {
    path += hatch(box.x(scale, from), top, box.x(scale, to), bottom);
  }
  if (!path.empty()) out += fmt::format("<path class=\"un\" d=\"{}\"/>", path);
  for (const Step& s : row.steps) {
    if (!is_span(s.begin, s.end) || s.lane >= lanes) continue;
    const double left = box.x(scale, s.begin);
    const double width = std::max(box.x(scale, s.end) - left, kLeastWidth);
    out += fmt::format(
        "<g class=\"s{}\"><rect class=\"st\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\">"
        "<title>{}</title></rect></g>",
        s.lane, px(left), px(top + kLane * static_cast<double>(s.lane)), px(width), px(kLane),
        escape_xml(s.note));
  }
  return out + "\n";
}

}  // namespace

std::string to_svg(const Waterfall& waterfall, const Svg& svg) {
  const std::size_t lanes = std::min(waterfall.lanes.size(), kMostLanes);
  double most = 0;
  double label_width = 0;
  double note_width = 0;
  int rows = 0;
  for (const WaterfallRow& r : waterfall.rows) {
    if (!is_span(0, r.end)) continue;
    ++rows;
    most = std::max(most, std::min(r.end, kLargest));
    label_width = std::max(label_width, text_width(fit_terminal(r.label, kLabelColumns, true)));
    note_width = std::max(note_width, text_width(fit_terminal(r.note, kNoteColumns, true)));
  }
  if (rows == 0 || lanes == 0) return {};
  const bool narrow = svg.width < kNarrowBelow;
  const double lane_height = kLane * static_cast<double>(lanes);
  const double row_height = lane_height + 12 + (narrow ? kTextLine : 0);
  const double bottom = kTop + row_height * rows;
  const Box box = narrow ? Box{8, kTop, svg.width - 14.0, bottom}
                         : Box{label_width + 14, kTop, svg.width - note_width - 20.0, bottom};
  const Axis x = time_axis(waterfall.unit, 0, most, narrow ? 6 : 10);
  std::string out =
      svg_begin(svg, static_cast<int>(bottom) + 26, waterfall.title, waterfall.description);
  out += legend(waterfall, lanes);
  std::string grid;
  for (const double tick : x.ticks) {
    grid += fmt::format("M{} {}V{}", px(box.x(x.scale, tick)), px(box.top), px(box.bottom));
  }
  out += fmt::format("<path class=\"gr\" d=\"{}\"/>\n", grid);
  double y = kTop;
  for (const WaterfallRow& r : waterfall.rows) {
    if (!is_span(0, r.end)) continue;
    const std::string label = escape_xml(fit_terminal(r.label, kLabelColumns, true));
    const std::string note = escape_xml(fit_terminal(r.note, kNoteColumns, true));
    const double top = y + (narrow ? kTextLine + 2 : 6);
    if (narrow) {
      out += fmt::format(
          "<text x=\"8\" y=\"{}\">{}</text><text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
          px(y + 14), label, svg.width - 8, px(y + 14), note);
    } else {
      const double middle = top + lane_height / 2 + 4;
      out += fmt::format(
          "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text><text x=\"{}\" y=\"{}\">{}</text>",
          px(box.left - 10), px(middle), label, px(box.right + 12), px(middle), note);
    }
    out += lanes_of(r, box, x.scale, top, lanes);
    y += row_height;
  }
  return out + svg_x_axis(box, x, waterfall.unit) + "</svg>\n";
}

}  // namespace rpcrdma::plot
