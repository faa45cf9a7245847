#include "fleet_paint.h"

#include "fleet_model.h"

#include <QPainter>
#include <QPainterPath>
#include <QTreeView>
#include <algorithm>

#include <rpcrdma/views/style.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

namespace {

constexpr int kSign = 12;  // pixels
constexpr int kSignGap = 5;

// A disc, a triangle, an octagon, a ring: readable without colours.
void paint_life(QPainter& painter, const QRectF& box, const QPalette& palette, FleetLife life) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  switch (life) {
    case FleetLife::kLive:
      painter.setPen(Qt::NoPen);
      painter.setBrush(ink(palette, Ink::kGranted));
      painter.drawEllipse(box.adjusted(2, 2, -2, -2));
      break;
    case FleetLife::kStale:
      paint_severity(painter, box, palette, 1);
      break;
    case FleetLife::kVanished:
      paint_severity(painter, box, palette, 0);
      break;
    case FleetLife::kLeft:
      painter.setPen(QPen(secondary_text(palette), 1.5));
      painter.setBrush(Qt::NoBrush);
      painter.drawEllipse(box.adjusted(2, 2, -2, -2));
      break;
  }
  painter.restore();
}

void paint_course(QPainter& painter, const QRectF& area, const QColor& colour,
                  const QVariantList& course) {
  double most = 0;
  for (const QVariant& v : course) most = std::max(most, v.isValid() ? v.toDouble() : 0.0);
  if (course.isEmpty()) return;
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  const double step = area.width() / static_cast<double>(FleetModel::kCourseLength - 1);
  const double first =
      area.right() - step * static_cast<double>(course.size() - 1);  // the newest at the right
  const auto at = [&](qsizetype i) {
    const double part = most > 0 ? course[i].toDouble() / most : 0;
    return QPointF(first + step * static_cast<double>(i), area.bottom() - part * area.height());
  };
  for (qsizetype i = 0; i < course.size();) {
    if (!course[i].isValid()) {
      ++i;
      continue;
    }
    qsizetype end = i;
    QPolygonF line;
    while (end < course.size() && course[end].isValid()) line << at(end++);
    if (line.size() == 1) line << line.front() + QPointF(std::max(1.0, step / 2), 0);
    QPolygonF below = line;
    below << QPointF(line.back().x(), area.bottom()) << QPointF(line.front().x(), area.bottom());
    painter.setPen(Qt::NoPen);
    QColor weak = colour;
    weak.setAlphaF(0.22F);
    painter.setBrush(weak);
    painter.drawPolygon(below);
    painter.setPen(QPen(colour, 1.3));
    painter.setBrush(Qt::NoBrush);
    painter.drawPolyline(line);
    i = end;
  }
  painter.restore();
}

void paint_counts(QPainter& painter, const QStyleOptionViewItem& option,
                  const QVariantList& counts) {
  painter.save();
  QRect room = option.rect.adjusted(4, 0, -2, 0);
  const bool selected = (option.state & QStyle::State_Selected) != 0;
  painter.setFont(option.font);
  painter.setPen(option.palette.color(selected ? QPalette::HighlightedText : QPalette::Text));
  for (int severity = 0; severity < counts.size(); ++severity) {
    const qulonglong count = counts[severity].toULongLong();
    if (count == 0 || room.width() < kSign) continue;
    const QRectF box(room.left(), room.center().y() - kSign / 2 + 1, kSign, kSign);
    paint_severity(painter, box, option.palette, severity);
    room.setLeft(room.left() + kSign + 3);
    const QString text = QString::number(count);
    painter.drawText(room, Qt::AlignVCenter, text);
    room.setLeft(room.left() + option.fontMetrics.horizontalAdvance(text) + 8);
  }
  painter.restore();
}

}  // namespace

void FleetDelegate::initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const {
  QStyledItemDelegate::initStyleOption(option, index);
  if (index.column() > FleetModel::kLife) option->font = number_font(option->font);
  const auto life = static_cast<FleetLife>(index.data(FleetModel::kLifeRole).toInt());
  if (life != FleetLife::kLive) option->font.setItalic(true);
}

void FleetDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                          const QModelIndex& index) const {
  const auto life = static_cast<FleetLife>(index.data(FleetModel::kLifeRole).toInt());
  const bool host = !index.parent().isValid();
  const bool has_sign = index.column() == FleetModel::kLife &&
                        (host || !index.data(Qt::DisplayRole).toString().isEmpty());
  QStyleOptionViewItem all(option);
  if (has_sign) {
    // The cell's background without text, and then the text beside the sign.
    QStyleOptionViewItem empty(option);
    initStyleOption(&empty, index);
    empty.text.clear();
    const QStyle* const style = option.widget != nullptr ? option.widget->style() : nullptr;
    if (style != nullptr) {
      style->drawPrimitive(QStyle::PE_PanelItemViewItem, &empty, painter, option.widget);
    }
    const QRectF box(option.rect.left() + 4, option.rect.center().y() - kSign / 2 + 1, kSign,
                     kSign);
    paint_life(*painter, box, option.palette, life);
    all.rect.setLeft(option.rect.left() + kSign + kSignGap);
  }
  QStyledItemDelegate::paint(painter, all, index);
  if (index.column() == FleetModel::kCourse) {
    const QRectF area = QRectF(option.rect).adjusted(4, 4, -6, -4);
    const bool selected = (option.state & QStyle::State_Selected) != 0;
    const QColor colour = selected ? option.palette.color(QPalette::HighlightedText)
                          : life == FleetLife::kLive ? ink(option.palette, Ink::kCall)
                                                     : secondary_text(option.palette);
    paint_course(*painter, area, colour, index.data(FleetModel::kCourseRole).toList());
  } else if (index.column() == FleetModel::kFindings) {
    QStyleOptionViewItem made(option);
    initStyleOption(&made, index);
    paint_counts(*painter, made, index.data(FleetModel::kCountsRole).toList());
  }
}

}  // namespace rpcrdma::gui
