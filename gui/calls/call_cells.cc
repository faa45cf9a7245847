#include "call_cells.h"

#include <QApplication>
#include <QPainter>
#include <QPainterPath>

#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

namespace {

constexpr int kCellPadding = 4;

// A check mark, an octagon with a cross, a ring that is open, and three dots: each differs in shape
// as well as in colour.
void draw_sign(QPainter& painter, const QRectF& box, CallFate fate, const QPalette& palette,
               bool selected) {
  const QColor text = palette.color(QPalette::HighlightedText);
  const auto colour = [&](const QColor& own) { return selected ? text : own; };
  painter.setBrush(Qt::NoBrush);
  const QPointF c = box.center();
  const double r = box.width() / 2 - 1;
  switch (fate) {
    case CallFate::kOk: {
      painter.setPen(QPen(colour(ink(palette, Ink::kReply)), 2, Qt::SolidLine, Qt::RoundCap));
      painter.drawPolyline(
          QPolygonF{c + QPointF(-r * 0.8, 0), c + QPointF(-r * 0.2, r * 0.6), c + QPointF(r * 0.8, -r * 0.6)});
      return;
    }
    case CallFate::kError: {
      const double k = r * 0.42;
      const QPolygonF octagon{c + QPointF(-k, -r), c + QPointF(k, -r), c + QPointF(r, -k),
                              c + QPointF(r, k),   c + QPointF(k, r),  c + QPointF(-k, r),
                              c + QPointF(-r, k),  c + QPointF(-r, -k)};
      painter.setPen(QPen(colour(severity_colour(palette, 0)), 1.5));
      painter.drawPolygon(octagon);
      painter.drawLine(c - QPointF(k, k), c + QPointF(k, k));
      painter.drawLine(c + QPointF(-k, k), c + QPointF(k, -k));
      return;
    }
    case CallFate::kUnanswered:
      painter.setPen(QPen(colour(severity_colour(palette, 1)), 2, Qt::SolidLine, Qt::FlatCap));
      painter.drawArc(box.adjusted(2, 2, -2, -2), 60 * 16, 240 * 16);
      return;
    case CallFate::kInFlight:
      painter.setPen(Qt::NoPen);
      painter.setBrush(colour(ink(palette, Ink::kInUse)));
      for (const double x : {-r * 0.75, 0.0, r * 0.75}) painter.drawEllipse(c + QPointF(x, 0), 1.6, 1.6);
      return;
  }
}

QColor latency_colour(const QPalette& palette, int slowness) {
  if (slowness == 2) return severity_colour(palette, 0);
  return slowness == 1 ? severity_colour(palette, 1) : ink(palette, Ink::kInUse);
}

QColor part_colour(const QPalette& palette, index::CallDetail::Parts parts, std::size_t part) {
  using Parts = index::CallDetail::Parts;
  constexpr Ink kPackets[] = {Ink::kEvent, Ink::kWrite, Ink::kReply};
  constexpr Ink kRequester[] = {Ink::kWaiting, Ink::kCall, Ink::kReply};
  constexpr Ink kResponder[] = {Ink::kRead, Ink::kReply, Ink::kEvent};
  return ink(palette, parts == Parts::kPackets     ? kPackets[part]
                      : parts == Parts::kRequester ? kRequester[part]
                                                   : kResponder[part]);
}

void draw_parts(QPainter& painter, const QRect& box, const CallRow& call, const QPalette& palette) {
  double all = 0;
  for (const std::int64_t ns : call.part) all += static_cast<double>(std::max<std::int64_t>(0, ns));
  if (all <= 0) return;
  double x = box.left();
  for (std::size_t i = 0; i < call.part.size(); ++i) {
    if (call.part[i] <= 0) continue;
    const double wide = static_cast<double>(call.part[i]) / all * box.width();
    const QRectF bar(x, box.top(), std::max(1.0, wide), box.height());
    painter.fillRect(bar, part_colour(palette, call.parts, i));
    // A thin gap, so that parts differ without their colours.
    if (i != 0) painter.fillRect(QRectF(x, box.top(), 1, box.height()), palette.base());
    x += wide;
  }
}

}  // namespace

void CallCells::paint(QPainter* painter, const QStyleOptionViewItem& option,
                      const QModelIndex& at) const {
  const auto column = static_cast<CallColumn>(at.column());
  if (column != CallColumn::kStatus && column != CallColumn::kLatency &&
      column != CallColumn::kParts) {
    return QStyledItemDelegate::paint(painter, option, at);
  }
  const CallRow call = model_.call(at.row());
  QStyleOptionViewItem cell = option;
  initStyleOption(&cell, at);
  const QString text = std::exchange(cell.text, {});
  const QStyle* const style = cell.widget != nullptr ? cell.widget->style() : QApplication::style();
  style->drawControl(QStyle::CE_ItemViewItem, &cell, painter, cell.widget);
  const bool selected = (option.state & QStyle::State_Selected) != 0;
  const QPalette& palette = option.palette;
  painter->save();
  painter->setClipRect(option.rect);
  painter->setRenderHint(QPainter::Antialiasing);
  const QRect box = option.rect.adjusted(kCellPadding, 0, -kCellPadding, 0);
  const QColor plain = palette.color(selected ? QPalette::HighlightedText : QPalette::Text);
  const int high = option.fontMetrics.height();
  if (column == CallColumn::kStatus) {
    const int side = std::min(high, 14);
    const QRectF sign(box.left(), box.center().y() - side / 2.0 + 0.5, side, side);
    draw_sign(*painter, sign, call.fate, palette, selected);
    const QRect words = box.adjusted(side + 6, 0, 0, 0);
    painter->setPen(plain);
    painter->drawText(words, Qt::AlignVCenter | Qt::AlignLeft,
                      option.fontMetrics.elidedText(text, Qt::ElideRight, words.width()));
  } else if (column == CallColumn::kLatency) {
    const int number = option.fontMetrics.horizontalAdvance("0000.00 ms");
    painter->setPen(plain);
    painter->drawText(QRect(box.left(), box.top(), number, box.height()),
                      Qt::AlignVCenter | Qt::AlignRight, text);
    const QRect room(box.left() + number + 8, box.center().y() - high / 3,
                     box.width() - number - 8, high * 2 / 3);
    if (call.latency_ns >= 0 && room.width() > 4) {
      painter->setRenderHint(QPainter::Antialiasing, false);
      painter->fillRect(room, tint(palette, palette.color(QPalette::Text), 0.07));
      const QRect bar(room.left(), room.top(),
                      std::max(2, static_cast<int>(call.length * room.width())), room.height());
      painter->fillRect(bar, latency_colour(palette, call.slowness));
      // Above p99 the bar has a notch as well, for those who do not see the colour.
      if (call.slowness == 2 && bar.width() > 8) {
        painter->fillRect(QRect(bar.right() - 4, bar.top(), 2, bar.height()), palette.base());
      }
    }
  } else if (call.parts != index::CallDetail::Parts::kNone) {
    draw_parts(*painter, QRect(box.left(), box.center().y() - high / 3, box.width(), high * 2 / 3),
               call, palette);
  }
  painter->restore();
}

}  // namespace rpcrdma::gui
