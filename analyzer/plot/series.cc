#include "series.h"

#include <algorithm>
#include <cmath>

namespace rpcrdma::plot {

namespace {

void widen(Extent& e, double value) {
  e = e.any() ? Extent{std::min(e.low, value), std::max(e.high, value)} : Extent{value, value};
}

double drawn(double y) {
  return std::clamp(y, 0.0, kLargest);
}

}  // namespace

std::vector<Extent> columns(const Series& series, const Scale& x, std::size_t count) {
  std::vector<Extent> out(count);
  if (count == 0) return out;
  const auto column = [&](double value) {
    return std::min(count - 1, static_cast<std::size_t>(x.at(value) * static_cast<double>(count)));
  };
  const Point* before = nullptr;  // null at a gap
  // Covers the columns after the previous point up to the column of `end`, where the next value
  // begins.
  const auto connect = [&](double end, double end_y) {
    const std::size_t from = column(before->x);
    const std::size_t to = column(end);
    for (std::size_t c = from + 1; c < to; ++c) {
      double y = before->y;
      if (series.style == Style::kLine && end > before->x) {
        const double middle = x.value((static_cast<double>(c) + 0.5) / static_cast<double>(count));
        y += (end_y - before->y) * std::clamp((middle - before->x) / (end - before->x), 0.0, 1.0);
      }
      widen(out[c], drawn(y));
    }
  };
  for (const Point& p : series.points) {
    if (!std::isfinite(p.x) || std::isnan(p.y)) {
      if (before != nullptr && std::isfinite(p.x) && series.style != Style::kDots &&
          series.style != Style::kLine) {
        connect(p.x, p.y);
      }
      before = nullptr;
      continue;
    }
    if (p.x < x.low || p.x > x.high) continue;
    if (before != nullptr && series.style != Style::kDots) connect(p.x, p.y);
    widen(out[column(p.x)], drawn(p.y));
    before = &p;
  }
  const bool holds = series.style == Style::kStep || series.style == Style::kArea;
  if (before != nullptr && holds) {
    connect(x.high, before->y);
    widen(out[count - 1], drawn(before->y));
  }
  return out;
}

Range range_of(const Chart& chart) {
  Range range;
  for (const Series& s : chart.series) {
    for (const Point& p : s.points) {
      if (!std::isfinite(p.x) || std::isnan(p.y)) continue;
      const double y = drawn(p.y);
      widen(range.x, std::clamp(p.x, -kLargest, kLargest));
      widen(range.y, y);
      if (y > 0 && (range.y_positive == 0 || y < range.y_positive)) range.y_positive = y;
    }
  }
  if (chart.x_end && std::isfinite(*chart.x_end)) widen(range.x, *chart.x_end);
  return range;
}

}  // namespace rpcrdma::plot
