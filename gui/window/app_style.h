// How standard widgets look in the window: flat tabs, headers and dock titles above the style of
// the desktop, rows of one height, and margins in steps of four pixels.
#pragma once

#include <QProxyStyle>

class QTableView;

namespace rpcrdma::gui {

class AppStyle : public QProxyStyle {
  Q_OBJECT

 public:
  using QProxyStyle::polish;
  using QProxyStyle::QProxyStyle;

  void drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
                   const QWidget* widget) const override;
  void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                     const QWidget* widget) const override;
  [[nodiscard]] int pixelMetric(PixelMetric metric, const QStyleOption* option,
                                const QWidget* widget) const override;
  [[nodiscard]] QSize sizeFromContents(ContentsType type, const QStyleOption* option,
                                       const QSize& size, const QWidget* widget) const override;
  [[nodiscard]] int styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                              QStyleHintReturn* data) const override;
  void polish(QWidget* widget) override;
};

// Gives the rows of a table the height that suits a font.
void fit_rows(QTableView& table, const QFontMetrics& metrics);

}  // namespace rpcrdma::gui
