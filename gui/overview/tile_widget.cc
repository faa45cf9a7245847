// A number, large, with its course over time below.
#include "cards.h"

#include <QPainterPath>
#include <algorithm>
#include <cmath>

#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

namespace {

using Course = OverviewTile::Line::Kind;

constexpr int kTileMargin = 10;
constexpr int kCourse = 34;  // height of the course

QColor colour_of(const QPalette& palette, Course kind) {
  switch (kind) {
    case Course::kMain:
      return ink(palette, Ink::kCall);
    case Course::kSecond:
      return ink(palette, Ink::kWrite);
    case Course::kLimit:
      return ink(palette, Ink::kGranted);
    case Course::kBad:
      return ink(palette, Ink::kStall);
  }
  return {};
}

QFont value_font(const QFont& font) {
  QFont large = font;
  large.setPointSizeF(font.pointSizeF() * 1.35);
  large.setWeight(QFont::DemiBold);
  return large;
}

}  // namespace

TileWidget::TileWidget(QWidget* parent) : Card(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

QSize TileWidget::minimumSizeHint() const {
  const QFontMetrics small(font());
  return {150, 2 * kTileMargin + 3 * small.height() + QFontMetrics(value_font(font())).height() +
                   6 + kCourse};
}

QSize TileWidget::sizeHint() const {
  return minimumSizeHint().expandedTo({180, 0});
}

void TileWidget::set(const OverviewTile& tile) {
  tile_ = tile;
  QStringList lines;
  for (const OverviewTile::Line& line : tile.lines) lines << line.name;
  setAccessibleName(QString("%1: %2, %3").arg(tile.title, tile.value, tile.note));
  QString tip = QString("%1: %2\n%3").arg(tile.title, tile.value, tile.note);
  if (lines.size() > 1) tip += '\n' + tr("Lines: %1").arg(lines.join(", "));
  setToolTip(tool_tip(tip));
  update();
}

void TileWidget::set_range(std::optional<std::pair<std::int64_t, std::int64_t>> range) {
  if (range == range_) return;
  range_ = range;
  update();
}

void TileWidget::draw_course(QPainter& painter, const QRectF& area) const {
  painter.setPen(line_colour(palette()));
  painter.drawLine(area.bottomLeft(), area.bottomRight());
  double most = 0;
  double least = 1e300;
  const auto scaled = [this](double v) { return tile_.log ? std::log10(std::max(v, 1.0)) : v; };
  for (const OverviewTile::Line& line : tile_.lines) {
    for (const double v : line.values) {
      most = std::max(most, scaled(v));
      if (v > 0) least = std::min(least, scaled(v));
    }
  }
  if (most <= 0) return;
  // A logarithmic course begins a little below its smallest value.
  const double base = tile_.log ? std::min(least - 0.3, most - 1) : 0;
  for (const OverviewTile::Line& line : tile_.lines) {
    const auto n = static_cast<double>(line.values.size());
    if (line.values.empty()) continue;
    const QColor colour = colour_of(palette(), line.kind);
    const auto x_of = [&](std::size_t i) {
      return area.left() + area.width() * static_cast<double>(i) / n;
    };
    const auto y_of = [&](double v) {
      return area.bottom() - area.height() * std::max(0.0, scaled(v) - base) / (most - base);
    };
    QPainterPath path(QPointF(area.left(), area.bottom()));
    for (std::size_t i = 0; i < line.values.size(); ++i) {
      path.lineTo(x_of(i), y_of(line.values[i]));
      path.lineTo(x_of(i + 1), y_of(line.values[i]));
    }
    path.lineTo(area.right(), area.bottom());
    QColor fill = colour;
    fill.setAlphaF(0.18F);
    if (line.kind != Course::kLimit) painter.fillPath(path, fill);
    painter.setPen(QPen(colour, 1.3, line.kind == Course::kLimit ? Qt::DashLine : Qt::SolidLine));
    painter.drawPath(path);
  }
  if (!range_ || tile_.to_ns <= tile_.from_ns) return;
  const auto x_at = [&](std::int64_t ns) {
    const double part = (static_cast<double>(ns) - static_cast<double>(tile_.from_ns)) /
                        static_cast<double>(tile_.to_ns - tile_.from_ns);
    return area.left() + area.width() * std::clamp(part, 0.0, 1.0);
  };
  QColor veil = palette().color(QPalette::Base);
  veil.setAlphaF(0.75F);
  painter.fillRect(QRectF(area.topLeft(), QPointF(x_at(range_->first), area.bottom())), veil);
  painter.fillRect(QRectF(QPointF(x_at(range_->second), area.top()), area.bottomRight()), veil);
}

void TileWidget::paintEvent(QPaintEvent* event) {
  Card::paintEvent(event);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const QFontMetrics small(font());
  const int width = this->width() - 2 * kTileMargin;
  int y = kTileMargin - 2;
  const auto write = [&](const QFont& with, const QColor& colour, const QString& text) {
    const QFontMetrics metrics(with);
    painter.setFont(with);
    painter.setPen(colour);
    painter.drawText(QRect(kTileMargin, y, width, metrics.height()),
                     Qt::AlignLeft | Qt::AlignVCenter,
                     metrics.elidedText(text, Qt::ElideRight, width));
    y += metrics.height();
  };
  const QColor text = palette().color(QPalette::Text);
  write(font(), secondary_text(palette()), tile_.title);
  write(value_font(font()), text, tile_.value);
  // A note may take two lines.
  painter.setFont(font());
  painter.setPen(secondary_text(palette()));
  painter.drawText(QRect(kTileMargin, y, width, 2 * small.height()),
                   Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap, tile_.note);
  y += 2 * small.height();
  if (!tile_.lines.empty()) {
    draw_course(painter, QRectF(kTileMargin, y + 6, width, height() - y - 6 - kTileMargin));
  }
}

}  // namespace rpcrdma::gui
