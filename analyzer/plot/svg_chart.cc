// Draws charts of one or more series as SVG.
#include "series.h"
#include "svg_frame.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include <rpcrdma/plot/escape.h>

namespace rpcrdma::plot {

namespace {

constexpr std::size_t kSvgColours = 6;
// Longer series are reduced to the extent of each pixel column.
constexpr std::size_t kMostPoints = 1500;

struct Drawing {
  Box box;
  Scale x, y;
};

bool usable(const Point& p) {
  return std::isfinite(p.x) && !std::isnan(p.y);
}

// Returns at most two points per pixel column.
Series thinned(const Series& series, const Drawing& d) {
  Series out{series.name, series.style, {}};
  const auto count = static_cast<std::size_t>(d.box.right - d.box.left);
  const std::vector<Extent> extents = columns(series, d.x, count);
  for (std::size_t c = 0; c < count; ++c) {
    const double x = d.x.value((static_cast<double>(c) + 0.5) / static_cast<double>(count));
    const Extent& e = extents[c];
    out.points.push_back({x, e.high, ""});
    if (e.any() && e.low != e.high) out.points.push_back({x, e.low, ""});
  }
  return out;
}

// Returns one subpath for each run without a gap.
std::string path(const Series& series, const Drawing& d) {
  const bool steps = series.style != Style::kLine;
  const bool area = series.style == Style::kArea;
  std::string out;
  bool open = false;
  const auto close = [&](double x) {
    if (!open) return;
    if (steps) out += fmt::format("H{}", px(x));
    if (area) out += fmt::format("V{}Z", px(d.box.bottom));
    open = false;
  };
  for (const Point& p : series.points) {
    if (!std::isfinite(p.x)) continue;
    const double x = d.box.x(d.x, p.x);
    if (std::isnan(p.y)) {
      close(x);
      continue;
    }
    const double y = d.box.y(d.y, std::clamp(p.y, 0.0, kLargest));
    if (!open) {
      out += area ? fmt::format("M{} {}V{}", px(x), px(d.box.bottom), px(y))
                  : fmt::format("M{} {}", px(x), px(y));
    } else if (steps) {
      out += fmt::format("H{}V{}", px(x), px(y));
    } else {
      out += fmt::format("L{} {}", px(x), px(y));
    }
    open = true;
  }
  close(d.box.right);
  return out;
}

std::string dots(const Series& series, const Drawing& d, std::size_t colour) {
  std::string out = fmt::format("<g class=\"{} s{}\">", series.hollow ? "ri" : "do", colour);
  for (const Point& p : series.points) {
    if (!usable(p)) continue;
    const std::string at =
        fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\"", px(d.box.x(d.x, p.x)),
                    px(d.box.y(d.y, std::clamp(p.y, 0.0, kLargest))), series.hollow ? "5.5" : "3");
    out += p.note.empty() ? at + "/>"
                          : fmt::format("{}><title>{}</title></circle>", at, escape_xml(p.note));
  }
  return out + "</g>\n";
}

struct Legend {
  std::string text;
  int lines = 0;
};

Legend legend(const Chart& chart, const Svg& svg) {
  Legend out;
  if (chart.series.size() == 1) return out;  // the title names it
  double x = 4;
  out.lines = 1;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const Series& s = chart.series[i];
    const std::string name = fit_terminal(s.name, 60, true);
    const double width = 30 + text_width(name) + 12;
    if (x > 4 && x + width > svg.width) {
      x = 4;
      ++out.lines;
    }
    const double y = 18.0 * out.lines + 16;
    const std::size_t colour = i % kSvgColours;
    if (s.style == Style::kArea) {
      out.text +=
          fmt::format("<path class=\"ar s{}\" d=\"M{} {}h22v9h-22Z\"/>", colour, px(x), px(y - 9));
    } else if (s.style == Style::kDots) {
      out.text += fmt::format("<circle class=\"{} s{}\" cx=\"{}\" cy=\"{}\" r=\"{}\"/>",
                              s.hollow ? "ri" : "do", colour, px(x + 11), px(y - 4),
                              s.hollow ? "5.5" : "3");
    } else {
      out.text += fmt::format("<path class=\"li s{}\" d=\"M{} {}h22\"/>", colour, px(x), px(y - 4));
    }
    out.text +=
        fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", px(x + 28), px(y), escape_xml(name));
    x += width;
  }
  return out;
}

}  // namespace

std::string to_svg(const Chart& chart, const Svg& svg) {
  const Range range = range_of(chart);
  if (!range.x.any() || !range.y.any()) return {};
  const Legend names = legend(chart, svg);
  Drawing d{plot_box(svg, names.lines), {}, {}};
  const int ticks = std::max(2, static_cast<int>((d.box.right - d.box.left) / 56));
  const Axis x = chart.window  ? window_axis(chart.x_unit, *chart.window, ticks)
                 : chart.x_log ? value_axis(chart.x_unit, range.x.low, range.x.high, true, ticks)
                               : time_axis(chart.x_unit, range.x.low, range.x.high, ticks);
  const Axis y = value_axis(chart.y_unit, range.y_positive, range.y.high, chart.y_log,
                            std::max(2, static_cast<int>((d.box.bottom - d.box.top) / 30)));
  d.x = x.scale;
  d.y = y.scale;
  std::string out = svg_begin(svg, svg.height, chart.title, chart.description) + names.text;
  out += svg_y_axis(d.box, y, chart.y_unit) + svg_cuts(d.box, x.scale, chart.x_unit);
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const Series& whole = chart.series[i];
    const bool many = whole.points.size() > kMostPoints;
    const Series thin = many ? thinned(whole, d) : Series{};
    const Series& s = many ? thin : whole;
    if (s.style == Style::kDots) {
      out += dots(s, d, i % kSvgColours);
    } else {
      out += fmt::format("<path class=\"{} s{}\" d=\"{}\"/>\n",
                         s.style == Style::kArea ? "ar" : "li", i % kSvgColours, path(s, d));
    }
  }
  out += chart.window ? svg_clock_axis(d.box, x, chart.x_unit) : svg_x_axis(d.box, x, chart.x_unit);
  return out + "</svg>\n";
}

}  // namespace rpcrdma::plot
