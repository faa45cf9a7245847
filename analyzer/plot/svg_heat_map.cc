#include "svg_frame.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/core.h>

namespace rpcrdma::plot {

namespace {

constexpr std::size_t kLevels = 8;
constexpr std::size_t kMostColumns = 128;

// Uses the logarithm, so that one slow Call among thousands of fast ones is visible.
std::size_t level(double count, double most) {
  if (most <= 1) return kLevels - 1;
  const double share = std::log(count) / std::log(most);
  return std::min(kLevels - 1, static_cast<std::size_t>(std::max(0.0, share) * kLevels));
}

bool sound(const HeatMap& map) {
  const auto rising = [](const std::vector<double>& edges) {
    for (std::size_t i = 0; i < edges.size(); ++i) {
      if (!std::isfinite(edges[i]) || (i != 0 && edges[i] <= edges[i - 1])) return false;
    }
    return edges.size() >= 2;
  };
  return rising(map.x) && rising(map.y) &&
         map.cells.size() == (map.x.size() - 1) * (map.y.size() - 1);
}

// Joins neighbouring columns, so that the picture's size stays bounded.
HeatMap joined(const HeatMap& map) {
  const std::size_t columns = map.x.size() - 1;
  const std::size_t rows = map.y.size() - 1;
  const std::size_t by = (columns + kMostColumns - 1) / kMostColumns;
  HeatMap out{map.title, map.description, map.x_unit, map.y_unit, {}, map.y, {}, {}};
  for (std::size_t c = 0; c < columns; c += by) {
    out.x.push_back(map.x[c]);
    for (std::size_t r = 0; r < rows; ++r) {
      double sum = 0;
      for (std::size_t i = c; i < std::min(columns, c + by); ++i) {
        const double cell = map.cells[i * rows + r];
        if (cell > 0) sum += std::min(cell, kLargest);
      }
      out.cells.push_back(sum);
    }
  }
  out.x.push_back(map.x.back());
  return out;
}

}  // namespace

std::string to_svg(const HeatMap& whole, const Svg& svg) {
  if (!sound(whole)) return {};
  const HeatMap map = joined(whole);
  const std::size_t rows = map.y.size() - 1;
  const double most = *std::max_element(map.cells.begin(), map.cells.end());
  if (!(most > 0)) return {};
  const Box box = plot_box(svg, 1);
  const int ticks = std::max(2, static_cast<int>((box.right - box.left) / 56));
  const Axis x = whole.window ? window_axis(map.x_unit, *whole.window, ticks)
                              : time_axis(map.x_unit, map.x.front(), map.x.back(), ticks);
  const double low = std::max(map.y.front(), kSmallestLog);
  Axis y = value_axis(map.y_unit, low, map.y.back(), true, 8);
  y.scale.low = low;
  y.scale.high = std::max(map.y.back(), low * 1.001);
  std::erase_if(y.ticks, [&](double t) { return t < low * 0.999 || t > map.y.back() * 1.001; });

  std::array<std::string, kLevels> paths;
  for (std::size_t i = 0; i < map.cells.size(); ++i) {
    if (!(map.cells[i] > 0)) continue;
    const std::size_t column = i / rows;
    const std::size_t row = i % rows;
    const double left = box.x(x.scale, map.x[column]);
    // A short time on a long axis is visible, too.
    const double right = std::max(box.x(x.scale, map.x[column + 1]), left + 2);
    const double top = box.y(y.scale, map.y[row + 1]);
    const double bottom = box.y(y.scale, map.y[row]);
    paths[level(map.cells[i], most)] +=
        fmt::format("M{} {}H{}V{}H{}Z", px(left), px(top), px(right), px(bottom), px(left));
  }
  std::string out = svg_begin(svg, svg.height, map.title, map.description);
  out += svg_y_axis(box, y, map.y_unit) + svg_cuts(box, x.scale, map.x_unit);
  const auto opacity = [](std::size_t l) {
    return fmt::format("{:.2f}", 0.16 + 0.84 * static_cast<double>(l) / (kLevels - 1));
  };
  // Legend, from low to high.
  out += "<text x=\"4\" y=\"34\">1</text>";
  for (std::size_t l = 0; l < kLevels; ++l) {
    out += fmt::format(
        "<rect class=\"he s0\" x=\"{}\" y=\"25\" width=\"14\" height=\"10\" "
        "fill-opacity=\"{}\"/>",
        16 + 14 * l, opacity(l));
  }
  out += fmt::format("<text x=\"134\" y=\"34\">{}</text>\n", format_value(Unit::kCount, most));
  for (std::size_t l = 0; l < kLevels; ++l) {
    if (paths[l].empty()) continue;
    out +=
        fmt::format("<path class=\"he s0\" fill-opacity=\"{}\" d=\"{}\"/>\n", opacity(l), paths[l]);
  }
  out += whole.window ? svg_clock_axis(box, x, map.x_unit) : svg_x_axis(box, x, map.x_unit);
  return out + "</svg>\n";
}

}  // namespace rpcrdma::plot
