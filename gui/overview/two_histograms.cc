#include "two_histograms.h"

#include "cards.h"
#include "words.h"

#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>

#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

namespace {

constexpr double kPerDecade = 10;

int bin_of(std::uint64_t ns) {
  return static_cast<int>(
      std::floor(std::log10(std::max(1.0, static_cast<double>(ns))) * kPerDecade));
}

// The side before is filled, the side after is a line.
QColor side_colour(const QPalette& palette, std::size_t side) {
  return ink(palette, side == 0 ? Ink::kCall : Ink::kWrite);
}

}  // namespace

TwoHistograms::TwoHistograms(QWidget* parent) : QWidget(parent) {
  setAccessibleName(tr("Histogram of latency before and after"));
}

void TwoHistograms::set(const QString& procedure, const base::Histogram* before,
                        const base::Histogram* after) {
  procedure_ = procedure;
  const std::array<const base::Histogram*, 2> sides{before, after};
  int first = INT32_MAX;
  int last = INT32_MIN;
  for (std::size_t side = 0; side < 2; ++side) {
    bins_[side].clear();
    calls_[side] = sides[side] != nullptr ? sides[side]->count() : 0;
    p50_[side].reset();
    if (calls_[side] == 0) continue;
    p50_[side] = sides[side]->quantile(0.5);
    sides[side]->for_each_bucket([&](const base::Histogram::Bucket& b) {
      const int bin = bin_of(base::Histogram::lowest_of(b.index));
      first = std::min(first, bin);
      last = std::max(last, bin);
    });
  }
  first_ = first > last ? 0 : first;
  const auto bins = first > last ? 0U : static_cast<std::size_t>(last - first + 1);
  for (std::size_t side = 0; side < 2; ++side) {
    bins_[side].assign(bins, 0);
    if (calls_[side] == 0) continue;
    sides[side]->for_each_bucket([&](const base::Histogram::Bucket& b) {
      const int bin = bin_of(base::Histogram::lowest_of(b.index));
      bins_[side][static_cast<std::size_t>(bin - first)] +=
          static_cast<double>(b.count) / static_cast<double>(calls_[side]);
    });
  }
  setAccessibleDescription(
      tr("%1: %L2 Calls before, %L3 after").arg(procedure).arg(calls_[0]).arg(calls_[1]));
  update();
}

void TwoHistograms::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const QFontMetrics metrics(font());
  const QColor quiet = secondary_text(palette());
  const int line = metrics.height();
  painter.setPen(palette().color(QPalette::Text));
  painter.drawText(QRect(0, 0, width(), line), Qt::AlignLeft | Qt::AlignVCenter,
                   metrics.elidedText(procedure_, Qt::ElideRight, width()));
  int x = 0;
  for (std::size_t side = 0; side < 2; ++side) {
    const QRect key(x, line + 6, 14, line - 8);
    const QColor colour = side_colour(palette(), side);
    if (side == 0) painter.fillRect(key, tint(palette(), colour, 0.5));
    painter.setPen(QPen(colour, 2));
    painter.drawRect(key);
    const QString text =
        (side == 0 ? tr("A: %L1 Calls") : tr("B: %L1 Calls")).arg(calls_[side]) +
        (p50_[side] ? tr(", p50 %1").arg(Words::duration(*p50_[side])) : QString());
    painter.setPen(quiet);
    painter.drawText(QRect(x + 20, line + 2, width(), line), Qt::AlignLeft | Qt::AlignVCenter,
                     text);
    x += 20 + metrics.horizontalAdvance(text) + 24;
  }
  const QRectF area(8, 2 * line + 10, width() - 16, height() - 3 * line - 16);
  const std::size_t bins = std::max(bins_[0].size(), bins_[1].size());
  if (bins == 0 || area.height() <= 0) return;
  double most = 0;
  for (const auto& values : bins_) {
    for (const double v : values) most = std::max(most, v);
  }
  const auto x_of = [&](double bin) {
    return area.left() + area.width() * bin / static_cast<double>(bins);
  };
  painter.setPen(line_colour(palette()));
  painter.drawLine(area.bottomLeft(), area.bottomRight());
  // At most one label for each decade, and none over another.
  double free = 0;
  for (int decade = static_cast<int>(std::ceil(first_ / kPerDecade));; ++decade) {
    const double bin = decade * kPerDecade - first_;
    if (bin > static_cast<double>(bins)) break;
    const QString text = Words::duration(static_cast<std::int64_t>(std::pow(10, decade)));
    const double wide = metrics.horizontalAdvance(text);
    painter.setPen(line_colour(palette()));
    painter.drawLine(QPointF(x_of(bin), area.top()), QPointF(x_of(bin), area.bottom() + 4));
    const double left = std::clamp(x_of(bin) - wide / 2, 0.0, std::max(0.0, width() - wide));
    if (left < free) continue;
    painter.setPen(quiet);
    painter.drawText(QPointF(left, area.bottom() + line), text);
    free = left + wide + 8;
  }
  for (std::size_t side = 0; side < 2; ++side) {
    if (calls_[side] == 0) continue;
    QPainterPath path(QPointF(x_of(0), area.bottom()));
    for (std::size_t i = 0; i < bins_[side].size(); ++i) {
      const double y = area.bottom() - area.height() * bins_[side][i] / std::max(most, 1e-9);
      path.lineTo(x_of(static_cast<double>(i)), y);
      path.lineTo(x_of(static_cast<double>(i + 1)), y);
    }
    path.lineTo(x_of(static_cast<double>(bins)), area.bottom());
    const QColor colour = side_colour(palette(), side);
    if (side == 0) painter.fillPath(path, tint(palette(), colour, 0.5));
    painter.setPen(QPen(colour, 2));
    painter.drawPath(path);
  }
}

}  // namespace rpcrdma::gui
