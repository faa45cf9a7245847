// Draws the strip: curves, marks of findings, the range and the legend.
#include "time_notation.h"
#include "time_strip.h"

#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <array>
#include <cmath>

#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

namespace {

constexpr int kSeverities = 3;

// Shapes differ, too: an error points down, a warning up, and a note is hollow.
void draw_triangle(QPainter& painter, const QPalette& palette, QPointF middle, double size,
                   int severity) {
  const double half = size / 2;
  const double down = severity == 0 ? 1 : -1;
  QPainterPath path;
  path.moveTo(middle.x() - half, middle.y() - down * half);
  path.lineTo(middle.x() + half, middle.y() - down * half);
  path.lineTo(middle.x(), middle.y() + down * half);
  path.closeSubpath();
  const QColor colour = severity_colour(palette, severity);
  painter.setPen(QPen(colour, 1));
  painter.setBrush(severity == 2 ? palette.brush(QPalette::Base) : QBrush(colour));
  painter.drawPath(path);
}

QColor no_credit_colour(const QPalette& palette) {
  return ink(palette, Ink::kStall);
}

}  // namespace

// A grant far above what is in flight would flatten the curve; it is at the upper edge then.
double TimeStrip::in_flight_top() const {
  const double in_flight = std::max(1U, data_.most_in_flight);
  return data_.most_allowed <= 4 * in_flight ? std::max<double>(data_.most_allowed, in_flight)
                                             : 1.6 * in_flight;
}

void TimeStrip::draw_curves(QPainter& painter) const {
  const QRect plot = area();
  const TimeScale s = scale();
  painter.fillRect(plot, palette().base());
  const QColor red = no_credit_colour(palette());
  // Stalls behind the curves, over the whole height.
  const auto band = [&](std::int64_t from_ns, std::int64_t to_ns) {
    const int from = std::max(plot.left(), s.x_of(from_ns));
    const int to = std::min(plot.right(), s.x_of(to_ns));
    if (to < from) return;
    painter.fillRect(QRect(from, plot.top(), std::max(1, to - from), plot.height()),
                     tint(palette(), red, 0.25));
  };
  for (const StripData::Stall& stall : data_.stalls) band(stall.from_ns, stall.to_ns);
  for (const index::CreditSpan& c : data_.credits) {
    if (c.any && c.exhausted) band(c.from_ns, c.to_ns);
  }
  // Calls/s.
  const QColor calls = ink(palette(), Ink::kCall);
  QList<QRect> bars;
  for (const StripData::Bin& bin : data_.bins) {
    const int from = std::max(plot.left(), s.x_of(bin.from_ns));
    const int to = std::min(plot.right() + 1, s.x_of(bin.to_ns));
    if (to < from || data_.most_per_second <= 0) continue;
    const int high =
        static_cast<int>(std::ceil(bin.per_second / data_.most_per_second * (plot.height() - 3)));
    if (high > 0) bars << QRect(from, plot.bottom() - high + 1, std::max(1, to - from), high);
    if (bin.no_credit) {
      painter.fillRect(QRect(from, plot.bottom() + 1, std::max(2, to - from), 2), red);
    }
  }
  painter.setPen(Qt::NoPen);
  painter.setBrush(tint(palette(), calls, 0.4));
  painter.drawRects(bars);
  // Calls in flight, and how many may be.
  const double top = in_flight_top();
  const auto y_of = [&](double value) {
    return plot.bottom() - static_cast<int>(std::min(1.0, value / top) * (plot.height() - 3));
  };
  const QColor in_flight = palette().color(QPalette::Text);
  const QColor limit = ink(palette(), Ink::kGranted);
  QList<QRect> line, dashes;
  int before = -1;
  for (const index::CreditSpan& c : data_.credits) {
    if (!c.any) {
      before = -1;
      continue;
    }
    const int from = s.x_of(c.from_ns);
    const int wide = std::max(1, s.x_of(c.to_ns) - from);
    const int low = y_of(c.in_use_min);
    const int high = y_of(c.in_use_max);
    line << QRect(from, high, wide, 1);
    const int other = before < 0 ? high : before;
    const int up = std::min({high, low, other});
    line << QRect(from, up, 1, std::max({high, low, other}) - up + 1);
    before = high;
    if (from / 6 % 2 == 0) dashes << QRect(from, y_of(allowed(c)) - 1, wide, 2);
  }
  painter.setBrush(limit);
  painter.drawRects(dashes);
  painter.setBrush(in_flight);
  painter.drawRects(line);
  painter.setBrush(Qt::NoBrush);
}

void TimeStrip::draw_marks(QPainter& painter) const {
  const QRect plot = area();
  const TimeScale s = scale();
  painter.setRenderHint(QPainter::Antialiasing);
  // One of a severity at a pixel is enough.
  std::array<int, kSeverities> last{-100, -100, -100};
  for (const StripData::Mark& mark : data_.marks) {
    const auto severity = static_cast<std::size_t>(mark.severity);
    const int x = s.x_of(mark.ns);
    if (severity >= last.size() || x == last[severity] || x < plot.left() - 1) continue;
    last[severity] = x;
    draw_triangle(painter, palette(), QPointF(x, 6), 8, static_cast<int>(severity));
  }
  painter.setRenderHint(QPainter::Antialiasing, false);
}

void TimeStrip::draw_range(QPainter& painter) const {
  const QRect plot = area();
  const TimeScale s = scale();
  const QColor accent = palette().color(QPalette::Highlight);
  if (const auto range = shown_range()) {
    const int from = s.x_of(range->from_ns);
    const int to = std::max(from + 1, s.x_of(range->to_ns));
    QColor outside = palette().color(QPalette::Window);
    outside.setAlphaF(0.55F);
    painter.fillRect(QRect(plot.left(), plot.top(), from - plot.left(), plot.height()), outside);
    painter.fillRect(QRect(to, plot.top(), plot.right() + 1 - to, plot.height()), outside);
    painter.fillRect(QRect(from, plot.top() - 2, to - from, 2), accent);
    // Edges with handles to drag.
    for (const int x : {from, to}) {
      painter.fillRect(QRect(x - 1, plot.top() - 2, 2, plot.height() + 2), accent);
      painter.fillRect(QRect(x - 3, plot.center().y() - 6, 6, 12), accent);
      painter.fillRect(QRect(x - 1, plot.center().y() - 3, 2, 6),
                       palette().color(QPalette::HighlightedText));
    }
  }
  const std::uint64_t selected = document_.selected();
  if (selected != 0) {
    const std::int64_t ns = document_.store().read([selected](const index::Content& c) {
      return selected <= c.rows.size() ? c.rows[selected - 1].time_ns : std::int64_t{0};
    });
    const int x = s.x_of(ns);
    // A pin that no curve looks like.
    painter.fillRect(QRect(x, plot.top(), 1, plot.height()), accent);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(palette().color(QPalette::Base), 1));
    painter.setBrush(accent);
    painter.drawEllipse(QPointF(x + 0.5, plot.bottom()), 3.5, 3.5);
    painter.setBrush(Qt::NoBrush);
    painter.setRenderHint(QPainter::Antialiasing, false);
  }
  if (cursor_ && *cursor_ >= plot.left() && *cursor_ <= plot.right()) {
    painter.setPen(QPen(palette().color(QPalette::Text), 1, Qt::DotLine));
    painter.drawLine(*cursor_, plot.top(), *cursor_, plot.bottom());
  }
}

void TimeStrip::draw_legend(QPainter& painter) const {
  const QRect place = legend();
  if (place.width() == 0) return;
  const int line = fontMetrics().height() + 1;
  const auto text_at = [&](int row, int x, const QString& text) {
    painter.setPen(palette().color(QPalette::WindowText));
    const int y = place.top() + row * line;
    painter.drawText(QRect(place.left() + x, y, place.width() - x - 2, line),
                     Qt::AlignLeft | Qt::AlignVCenter, text);
    return x + fontMetrics().horizontalAdvance(text) + 8;
  };
  const auto middle = [&](int row) { return place.top() + row * line + line / 2; };
  painter.fillRect(QRect(place.left(), middle(1) - 3, 10, 7),
                   tint(palette(), ink(palette(), Ink::kCall), 0.4));
  text_at(1, 14, tr("Calls/s, at most %L1").arg(std::llround(data_.most_per_second)));
  if (!data_.credits.empty()) {
    painter.fillRect(QRect(place.left(), middle(2), 10, 1), palette().color(QPalette::WindowText));
    bool limited = false;
    for (const index::CreditSpan& s : data_.credits) limited = limited || s.limit_max != 0;
    const int x = text_at(2, 14, tr("in flight, at most %1;").arg(data_.most_in_flight));
    for (const int dash : {0, 6}) {
      painter.fillRect(QRect(place.left() + x + dash, middle(2), 4, 2),
                       ink(palette(), Ink::kGranted));
    }
    text_at(2, x + 14,
            limited ? tr("limit %1").arg(data_.most_allowed)
                    : tr("granted %1").arg(data_.most_allowed));
  }
  // Only what the strip shows.
  int x = 0;
  const bool no_credit =
      !data_.stalls.empty() || std::any_of(data_.bins.begin(), data_.bins.end(),
                                           [](const auto& bin) { return bin.no_credit; });
  if (no_credit) {
    painter.fillRect(QRect(place.left(), middle(3) - 3, 10, 7), no_credit_colour(palette()));
    x = text_at(3, 14, tr("no credit, stall"));
  }
  const std::array<QString, kSeverities> names{tr("error"), tr("warning"), tr("note")};
  for (int severity = 0; severity < kSeverities; ++severity) {
    const bool any = std::any_of(data_.marks.begin(), data_.marks.end(), [&](const auto& mark) {
      return static_cast<int>(mark.severity) == severity;
    });
    const QString& name = names[static_cast<std::size_t>(severity)];
    if (!any || x + 12 + fontMetrics().horizontalAdvance(name) > place.width()) continue;
    painter.setRenderHint(QPainter::Antialiasing);
    draw_triangle(painter, palette(), QPointF(place.left() + x + 4, middle(3)), 7, severity);
    painter.setRenderHint(QPainter::Antialiasing, false);
    x = text_at(3, x + 12, name);
  }
}

void TimeStrip::paintEvent(QPaintEvent* event) {
  Q_UNUSED(event);
  QPainter painter(this);
  const QRect plot = area();
  draw_curves(painter);
  draw_range(painter);
  draw_marks(painter);
  painter.setPen(line_colour(palette()));
  painter.drawLine(plot.left(), plot.bottom() + 1, plot.right(), plot.bottom() + 1);
  for (const TimeTick& tick :
       time_ticks(scale(), notation_of(document_), plot.right() + 8, fontMetrics())) {
    painter.setPen(line_colour(palette()));
    painter.drawLine(tick.x, plot.bottom() + 1, tick.x, plot.bottom() + 4);
    painter.setPen(palette().color(QPalette::WindowText));
    painter.drawText(tick.left, plot.bottom() + 4 + fontMetrics().ascent(), tick.text);
  }
  draw_legend(painter);
}

}  // namespace rpcrdma::gui
