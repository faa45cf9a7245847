#include "signs.h"

#include <QCoreApplication>
#include <QPainterPath>
#include <cmath>
#include <numbers>

#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

namespace {

QPainterPath shape_of(Sign sign, const QRectF& a) {
  QPainterPath path;
  switch (sign) {
    case Sign::kError: {
      QPolygonF octagon;
      for (int i = 0; i < 8; ++i) {
        const double angle = (i + 0.5) * std::numbers::pi / 4;
        octagon << a.center() + QPointF(std::cos(angle), std::sin(angle)) * a.width() / 2;
      }
      path.addPolygon(octagon);
      path.closeSubpath();
      break;
    }
    case Sign::kWarning:
      path.moveTo(a.center().x(), a.top());
      path.lineTo(a.right(), a.bottom());
      path.lineTo(a.left(), a.bottom());
      path.closeSubpath();
      break;
    case Sign::kNote:
    case Sign::kGood:
    case Sign::kUnknown:
      path.addEllipse(a);
      break;
  }
  return path;
}

}  // namespace

QColor sign_colour(const QPalette& palette, Sign sign) {
  switch (sign) {
    case Sign::kError:
      return severity_colour(palette, 0);
    case Sign::kWarning:
      return severity_colour(palette, 1);
    case Sign::kNote:
      return severity_colour(palette, 2);
    case Sign::kGood:
      return ink(palette, Ink::kReply);
    case Sign::kUnknown:
      break;
  }
  return ink(palette, Ink::kEvent);
}

void paint_sign(QPainter& painter, const QRectF& area, const QPalette& palette, Sign sign) {
  const double side = std::min(area.width(), area.height());
  const QRectF a(area.center() - QPointF(side, side) / 2, QSizeF(side, side));
  const QRectF body = a.adjusted(side * 0.06, side * 0.06, -side * 0.06, -side * 0.06);
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(sign_colour(palette, sign));
  painter.drawPath(shape_of(sign, body));
  const QColor mark = is_dark(palette) ? QColor(20, 20, 20) : QColor(Qt::white);
  QPen pen(mark, side * 0.11, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin);
  painter.setPen(pen);
  const auto at = [&](double x, double y) { return a.topLeft() + QPointF(x, y) * side; };
  switch (sign) {
    case Sign::kError:
      painter.drawLine(at(0.35, 0.35), at(0.65, 0.65));
      painter.drawLine(at(0.65, 0.35), at(0.35, 0.65));
      break;
    case Sign::kWarning:
      painter.drawLine(at(0.5, 0.42), at(0.5, 0.62));
      painter.drawPoint(at(0.5, 0.79));
      break;
    case Sign::kNote:
      painter.drawLine(at(0.5, 0.48), at(0.5, 0.73));
      painter.drawPoint(at(0.5, 0.28));
      break;
    case Sign::kGood:
      painter.drawPolyline(QPolygonF({at(0.3, 0.52), at(0.45, 0.67), at(0.71, 0.36)}));
      break;
    case Sign::kUnknown: {
      QFont font = painter.font();
      font.setBold(true);
      font.setPixelSize(std::max(6, static_cast<int>(side * 0.72)));
      painter.setFont(font);
      painter.drawText(a, Qt::AlignCenter, "?");
      break;
    }
  }
  painter.restore();
}

QIcon sign_icon(const QPalette& palette, Sign sign, int size) {
  QIcon icon;
  for (const int scale : {1, 2}) {
    QPixmap pixmap(size * scale, size * scale);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    paint_sign(painter, QRectF(0, 0, size * scale, size * scale), palette, sign);
    painter.end();
    pixmap.setDevicePixelRatio(scale);
    icon.addPixmap(pixmap);
  }
  return icon;
}

QString sign_name(Sign sign) {
  switch (sign) {
    case Sign::kError:
      return QCoreApplication::translate("rpcrdma::gui::Sign", "error");
    case Sign::kWarning:
      return QCoreApplication::translate("rpcrdma::gui::Sign", "warning");
    case Sign::kNote:
      return QCoreApplication::translate("rpcrdma::gui::Sign", "note");
    case Sign::kGood:
      return QCoreApplication::translate("rpcrdma::gui::Sign", "no problem");
    case Sign::kUnknown:
      break;
  }
  return QCoreApplication::translate("rpcrdma::gui::Sign", "not judged");
}

}  // namespace rpcrdma::gui
