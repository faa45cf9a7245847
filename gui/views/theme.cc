#include <QCoreApplication>
#include <array>
#include <cmath>

#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

namespace {

// Of one hue: for marks and for words, in a light and in a dark window.
struct Hue {
  QRgb light, light_text, dark, dark_text;
};
constexpr Hue kBlue{0x006ba8, 0x0068a3, 0x2f9deb, 0x45aaf2};
constexpr Hue kSky{0x1c92d4, 0x156d9e, 0x8fd3f7, 0x8fd3f7};
constexpr Hue kGreen{0x009e73, 0x007555, 0x00b386, 0x1fc79a};
constexpr Hue kVermilion{0xd55e00, 0xa74a00, 0xf5741a, 0xff8a3d};
constexpr Hue kOrange{0xb87f00, 0x855b00, 0xe69f00, 0xf0b429};
constexpr Hue kPurple{0xc76c9f, 0xa9407a, 0xcc79a7, 0xdb9abf};
constexpr Hue kPlum{0x8f3f78, 0x8f3f78, 0xe6b3d0, 0xe6b3d0};
constexpr Hue kYellow{0x8c820b, 0x6f6809, 0xe0d64a, 0xe0d64a};
constexpr Hue kGrey{0x767676, 0x626262, 0x979ca3, 0xa6abb2};

struct Look {
  Hue hue;
  Qt::PenStyle dash;
};

Look look_of(Ink what) {
  switch (what) {
    case Ink::kCall:
    case Ink::kInUse:
      return {kBlue, Qt::SolidLine};
    case Ink::kReply:
    case Ink::kGranted:
      return {kGreen, Qt::SolidLine};
    case Ink::kReverseCall:
      return {kPurple, Qt::DashLine};
    case Ink::kReverseReply:
      return {kPlum, Qt::DashDotLine};
    case Ink::kError:
      return {kVermilion, Qt::DashLine};
    case Ink::kStall:
      return {kVermilion, Qt::SolidLine};
    case Ink::kControl:
      return {kYellow, Qt::DashDotDotLine};
    case Ink::kRead:
      return {kSky, Qt::SolidLine};
    case Ink::kWrite:
      return {kOrange, Qt::SolidLine};
    case Ink::kReplyChunk:
      return {kPlum, Qt::DashLine};
    case Ink::kRequested:
      return {kGrey, Qt::DotLine};
    case Ink::kWaiting:
      return {kOrange, Qt::DashDotLine};
    case Ink::kLimit:
      return {kPlum, Qt::DashLine};
    case Ink::kEvent:
      return {kGrey, Qt::DotLine};
  }
  return {kGrey, Qt::SolidLine};
}

Hue hue_of(int severity) {
  return severity == 0 ? kVermilion : severity == 1 ? kOrange : kBlue;
}

// Tints of rows: strong enough to be seen, weak enough for text.
double part_of(const QPalette& palette) {
  return is_dark(palette) ? 0.16 : 0.12;
}

QPolygonF octagon(const QRectF& box) {
  QPolygonF points;
  constexpr double kEighth = 3.14159265358979 / 4;
  for (int i = 0; i < 8; ++i) {
    const double angle = (i + 0.5) * kEighth;
    points << box.center() + QPointF(std::cos(angle), std::sin(angle)) * box.width() / 2;
  }
  return points;
}

}  // namespace

QColor ink(const QPalette& palette, Ink what) {
  const Hue hue = look_of(what).hue;
  return is_dark(palette) ? hue.dark : hue.light;
}

QColor text_ink(const QPalette& palette, Ink what) {
  const Hue hue = look_of(what).hue;
  return is_dark(palette) ? hue.dark_text : hue.light_text;
}

Qt::PenStyle dash_of(Ink what) {
  return look_of(what).dash;
}

QPen pen_of(const QPalette& palette, Ink what, double width) {
  return {ink(palette, what), width, dash_of(what)};
}

QColor severity_colour(const QPalette& palette, int severity) {
  const Hue hue = hue_of(severity);
  return is_dark(palette) ? hue.dark_text : hue.light_text;
}

QString severity_name(int severity) {
  const char* const name = severity == 0   ? QT_TRANSLATE_NOOP("rpcrdma::gui::Severity", "error")
                           : severity == 1 ? QT_TRANSLATE_NOOP("rpcrdma::gui::Severity", "warning")
                                           : QT_TRANSLATE_NOOP("rpcrdma::gui::Severity", "note");
  return QCoreApplication::translate("rpcrdma::gui::Severity", name);
}

void paint_severity(QPainter& painter, const QRectF& box, const QPalette& palette, int severity) {
  if (severity < 0) return;
  const double side = std::min(box.width(), box.height());
  QRectF square(0, 0, side, side);
  square.moveCenter(box.center());
  const QColor sign = is_dark(palette) ? QColor(20, 22, 26) : QColor(Qt::white);
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(severity_colour(palette, severity));
  const auto at = [&](double x, double y) {
    return QPointF(square.left() + x * side, square.top() + y * side);
  };
  if (severity == 0) {
    painter.drawPolygon(octagon(square));
  } else if (severity == 1) {
    const std::array<QPointF, 3> points{at(0.5, 0.04), at(1, 0.96), at(0, 0.96)};
    painter.drawPolygon(points.data(), 3);
  } else {
    painter.drawEllipse(square);
  }
  const double thick = std::max(1.2, side * 0.13);
  painter.setPen(QPen(sign, thick, Qt::SolidLine, Qt::RoundCap));
  if (severity == 0) {
    painter.drawLine(at(0.33, 0.33), at(0.67, 0.67));
    painter.drawLine(at(0.67, 0.33), at(0.33, 0.67));
  } else if (severity == 1) {
    painter.drawLine(at(0.5, 0.40), at(0.5, 0.62));
    painter.drawPoint(at(0.5, 0.82));
  } else {
    painter.drawPoint(at(0.5, 0.26));
    painter.drawLine(at(0.5, 0.48), at(0.5, 0.76));
  }
  painter.restore();
}

QIcon severity_icon(const QPalette& palette, int severity) {
  QIcon icon;
  for (const int side : {16, 24, 32, 64}) {
    QPixmap picture(side, side);
    picture.fill(Qt::transparent);
    QPainter painter(&picture);
    paint_severity(painter, QRectF(0, 0, side, side).adjusted(0.5, 0.5, -0.5, -0.5), palette,
                   severity);
    icon.addPixmap(picture);
  }
  return icon;
}

QColor tint(const QPalette& palette, const QColor& colour, double part) {
  const QColor base = palette.color(QPalette::Base);
  const auto mix = [part](int a, int b) { return static_cast<int>(a + (b - a) * part); };
  return {mix(base.red(), colour.red()), mix(base.green(), colour.green()),
          mix(base.blue(), colour.blue())};
}

QColor row_tint(const QPalette& palette, Ink what) {
  return tint(palette, ink(palette, what), part_of(palette));
}

QColor severity_tint(const QPalette& palette, int severity) {
  const Hue hue = hue_of(severity);
  return tint(palette, is_dark(palette) ? hue.dark : hue.light, part_of(palette) + 0.06);
}

QColor line_colour(const QPalette& palette) {
  return tint(palette, palette.color(QPalette::Text), 0.3);
}

QColor secondary_text(const QPalette& palette) {
  return tint(palette, palette.color(QPalette::Text), 0.66);
}

}  // namespace rpcrdma::gui
