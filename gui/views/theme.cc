#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

namespace {

struct Pair {
  QColor light, dark;
};

Pair colours(Ink what) {
  switch (what) {
    case Ink::kCall:
      return {{25, 105, 205}, {95, 165, 255}};
    case Ink::kReply:
      return {{25, 135, 70}, {90, 205, 130}};
    case Ink::kReverseCall:
      return {{130, 60, 190}, {190, 140, 255}};
    case Ink::kReverseReply:
      return {{180, 50, 150}, {240, 140, 220}};
    case Ink::kError:
      return {{200, 30, 30}, {255, 110, 100}};
    case Ink::kControl:
      return {{150, 110, 0}, {220, 185, 80}};
    case Ink::kRead:
      return {{60, 130, 180}, {110, 185, 235}};
    case Ink::kWrite:
      return {{205, 120, 20}, {245, 170, 80}};
    case Ink::kReplyChunk:
      return {{125, 100, 170}, {175, 150, 225}};
    case Ink::kRequested:
      return {{120, 120, 120}, {170, 170, 170}};
    case Ink::kGranted:
      return {{25, 135, 70}, {90, 205, 130}};
    case Ink::kInUse:
      return {{25, 105, 205}, {95, 165, 255}};
    case Ink::kWaiting:
      return {{205, 90, 10}, {255, 160, 70}};
    case Ink::kLimit:
      return {{130, 60, 190}, {190, 140, 255}};
    case Ink::kStall:
      return {{220, 60, 40}, {255, 90, 70}};
    case Ink::kEvent:
      return {{110, 110, 110}, {165, 165, 165}};
  }
  return {};
}

}  // namespace

QColor ink(const QPalette& palette, Ink what) {
  const Pair pair = colours(what);
  return is_dark(palette) ? pair.dark : pair.light;
}

QColor severity_colour(const QPalette& palette, int severity) {
  const bool dark = is_dark(palette);
  switch (severity) {
    case 0:
      return dark ? QColor(255, 110, 100) : QColor(200, 30, 30);
    case 1:
      return dark ? QColor(255, 180, 80) : QColor(190, 100, 0);
    default:
      return dark ? QColor(120, 180, 255) : QColor(30, 90, 180);
  }
}

QColor tint(const QPalette& palette, const QColor& colour, double part) {
  const QColor base = palette.color(QPalette::Base);
  const auto mix = [part](int a, int b) { return static_cast<int>(a + (b - a) * part); };
  return {mix(base.red(), colour.red()), mix(base.green(), colour.green()),
          mix(base.blue(), colour.blue())};
}

QColor line_colour(const QPalette& palette) {
  return tint(palette, palette.color(QPalette::Text), 0.3);
}

}  // namespace rpcrdma::gui
