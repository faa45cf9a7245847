#include <QFontDatabase>
#include <algorithm>
#include <cmath>

#include <rpcrdma/views/style.h>

namespace rpcrdma::gui {

namespace {

// A font has its size in points or in pixels.
QFont scaled(QFont font, double factor) {
  if (font.pointSizeF() > 0) {
    font.setPointSizeF(font.pointSizeF() * factor);
  } else {
    font.setPixelSize(std::max(1, static_cast<int>(font.pixelSize() * factor)));
  }
  return font;
}

bool has_tabular_digits(const QFont& font) {
  const QFontMetricsF metrics(font);
  const double wide = metrics.horizontalAdvance('0');
  for (const char digit : {'1', '2', '3', '4', '5', '6', '7', '8', '9'}) {
    if (std::abs(metrics.horizontalAdvance(QLatin1Char(digit)) - wide) > 0.01) return false;
  }
  return true;
}

}  // namespace

QFont title_font(const QFont& text) {
  QFont font = scaled(text, 1.1);
  font.setWeight(QFont::DemiBold);
  return font;
}

QFont headline_font(const QFont& text) {
  QFont font = scaled(text, 1.6);
  font.setWeight(QFont::DemiBold);
  return font;
}

QFont number_font(const QFont& text) {
  return has_tabular_digits(text) ? text : fixed_font(text);
}

QFont fixed_font(const QFont& text) {
  QFont font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
  if (text.pointSizeF() > 0) {
    font.setPointSizeF(text.pointSizeF() * 0.95);
  } else {
    font.setPixelSize(text.pixelSize());
  }
  return font;
}

int row_height_of(const QFontMetrics& metrics) {
  return metrics.height() + kGap;
}

}  // namespace rpcrdma::gui
