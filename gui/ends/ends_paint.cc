// Paints the rows of the waterfall that are in sight.
#include "ends_waterfall.h"
#include "ends_words.h"

#include <QPainter>
#include <QScrollBar>
#include <algorithm>

#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

namespace {

constexpr int kColumnGap = 8;

// Time in no known stage.
void hatch(QPainter& painter, const QRect& box, const QPalette& palette) {
  const QColor line = secondary_text(palette);
  painter.fillRect(box, tint(palette, line, 0.12));
  painter.fillRect(box, QBrush(tint(palette, line, 0.6), Qt::BDiagPattern));
}

void fill_stage(QPainter& painter, const QRect& box, ends::Stage stage, const QPalette& palette) {
  painter.fillRect(box, stage_colour(palette, stage));
  if (box.width() < 4) return;
  if (is_waiting(stage)) {
    painter.setPen(ink(palette, side_ink(ends::side_of(stage))));
    painter.drawRect(box.adjusted(0, 0, -1, -1));
    return;
  }
  // Neighbours of the same side differ little in colour.
  painter.fillRect(QRect(box.right(), box.top(), 1, box.height()), palette.base());
}

void draw_ticks(QPainter& painter, const std::vector<TimeTick>& ticks, int high,
                const QPalette& palette) {
  for (const TimeTick& tick : ticks) {
    painter.setPen(line_colour(palette));
    painter.drawLine(tick.x, high - 4, tick.x, high);
    painter.setPen(secondary_text(palette));
    painter.drawText(QPoint(tick.left, high - 4 - painter.fontMetrics().descent()), tick.text);
  }
}

}  // namespace

void EndsWaterfall::paintEvent(QPaintEvent* event) {
  Q_UNUSED(event);
  QPainter painter(viewport());
  painter.fillRect(viewport()->rect(), palette().base());
  painted_ = 0;
  if (rows_.empty()) {
    painter.setPen(secondary_text(palette()));
    painter.drawText(viewport()->rect().adjusted(12, 12, -12, -12),
                     Qt::AlignHCenter | Qt::AlignTop | Qt::TextWordWrap,
                     tr("No Call is of this procedure and side."));
    return;
  }
  const Columns at = columns();
  const auto first = static_cast<std::size_t>(verticalScrollBar()->value());
  const std::size_t count =
      std::min(rows_.size() - first, static_cast<std::size_t>(rows_in_sight()) + 1);
  for (std::size_t i = 0; i < count; ++i) paint_row(painter, at, first + i);
  painted_ = static_cast<int>(count);
  paint_header(painter, at);
}

void EndsWaterfall::paint_row(QPainter& painter, const Columns& at, std::size_t row) const {
  const QPalette& colours = palette();
  const ends::EndsCall& c = call(row);
  const QRect line = rect_of(row);
  const bool chosen = current_ == row;
  if (chosen) {
    painter.fillRect(line, tint(colours, colours.color(QPalette::Highlight), 0.25));
  } else if (row % 2 == 1) {
    painter.fillRect(line, tint(colours, colours.color(QPalette::Text), 0.03));
  }
  const int middle = line.center().y();
  const QColor text = colours.color(QPalette::Text);
  const int square = fontMetrics().height() / 2;
  if (c.side != ends::Side::kNone) {
    const QRect sign(kColumnGap, middle - square / 2, square, square);
    if (c.side == ends::Side::kInconclusive) {
      hatch(painter, sign, colours);
    } else {
      painter.fillRect(sign, ink(colours, side_ink(c.side)));
    }
  }
  const auto write = [&](int from, int to, Qt::Alignment align, const QString& words) {
    const QRect room(from, line.top(), to - from - kColumnGap, line.height());
    if (room.width() <= 0) return;
    painter.drawText(room, static_cast<int>(Qt::AlignVCenter | align),
                     fontMetrics().elidedText(words, Qt::ElideRight, room.width()));
  };
  painter.setPen(c.side == ends::Side::kNone ? secondary_text(colours) : text);
  write(kColumnGap + row_height() - 8, at.begin, Qt::AlignLeft, side_name(c.side));
  painter.setPen(secondary_text(colours));
  if (at.name > at.begin) {
    write(at.begin, at.name, Qt::AlignRight, notation_.write(c.begin_ns));
  }
  painter.setPen(text);
  const QString sign = c.contradictory ? QStringLiteral("\u26a0 ") : QString();
  write(at.name, at.took, Qt::AlignLeft, sign + call_name(c));
  write(at.took, at.bars, Qt::AlignRight, duration_text(c.end_ns - c.begin_ns));

  const Shown shown = shown_of(row);
  const QRect whole = bar_of(at, shown, line.top(), c.begin_ns, c.end_ns - c.begin_ns);
  if (!whole.isEmpty()) hatch(painter, whole, colours);
  for (std::size_t i = 0; i < ends::kStages; ++i) {
    if (c.took_ns[i] <= 0 || c.began_ns[i] == ends::kUnknownNs) continue;
    const QRect box = bar_of(at, shown, line.top(), c.began_ns[i], c.took_ns[i]);
    if (!box.isEmpty()) fill_stage(painter, box, static_cast<ends::Stage>(i), colours);
  }
  if (!chosen) return;
  painter.setPen(QPen(text, hasFocus() ? 2 : 1));
  painter.setBrush(Qt::NoBrush);
  const QRect marked = stage_ ? rect_of(row, *stage_) : whole;
  if (!marked.isEmpty()) painter.drawRect(marked.adjusted(-1, -2, 0, 1));
}

// Stays when the rows are scrolled. A click sorts by a column, which an arrow marks.
void EndsWaterfall::paint_header(QPainter& painter, const Columns& at) const {
  const QPalette& colours = palette();
  const int high = header_height();
  painter.fillRect(QRect(0, 0, viewport()->width(), high), colours.color(QPalette::AlternateBase));
  painter.setPen(line_colour(colours));
  painter.drawLine(0, high - 1, viewport()->width(), high - 1);
  painter.setPen(colours.color(QPalette::Text));
  const auto title = [&](int from, int to, Qt::Alignment align, QString words, EndsOrder down,
                         EndsOrder up) {
    if (order_ == down) words += QStringLiteral(" \u25be");
    if (order_ == up && up != down) words += QStringLiteral(" \u25b4");
    painter.drawText(QRect(from, 0, to - from - kColumnGap, high),
                     static_cast<int>(Qt::AlignVCenter | align), words);
  };
  title(kColumnGap, at.begin, Qt::AlignLeft, tr("Side"), EndsOrder::kBySide, EndsOrder::kBySide);
  if (at.name > at.begin) {
    title(at.begin, at.name, Qt::AlignRight, tr("Begin"), EndsOrder::kNewestFirst,
          EndsOrder::kOldestFirst);
  }
  painter.drawText(QRect(at.name, 0, at.took - at.name, high), Qt::AlignVCenter, tr("Call"));
  title(at.took, at.bars, Qt::AlignRight, tr("Took"), EndsOrder::kSlowestFirst,
        EndsOrder::kFastestFirst);
  paint_axis(painter, at);
}

void EndsWaterfall::paint_axis(QPainter& painter, const Columns& at) const {
  const int high = header_height();
  const QRect room(at.bars, 0, at.right - at.bars, high);
  if (scale_ == Scale::kEach) {
    painter.setPen(secondary_text(palette()));
    painter.drawText(room, Qt::AlignVCenter | Qt::AlignLeft,
                     fontMetrics().elidedText(tr("Each Call from its begin to its end"),
                                              Qt::ElideRight, room.width()));
    return;
  }
  TimeScale scale{0, 0, at.bars, room.width()};
  TimeNotation notation = notation_;
  if (scale_ == Scale::kCommon) {
    const auto all = static_cast<double>(longest_ns_);
    scale.from_ns = static_cast<std::int64_t>(
        all * horizontalScrollBar()->value() /
        (horizontalScrollBar()->maximum() + horizontalScrollBar()->pageStep()));
    scale.to_ns = scale.from_ns + std::max<std::int64_t>(1, static_cast<std::int64_t>(all / zoom_));
    notation.origin_ns = 0;
    notation.unit.clear();
    notation.write = duration_text;
  } else {
    scale.from_ns = sight_.from_ns;
    scale.to_ns = sight_.from_ns + static_cast<std::int64_t>(sight_.length_ns);
  }
  draw_ticks(painter, time_ticks(scale, notation, at.right, fontMetrics()), high, palette());
}

}  // namespace rpcrdma::gui
