#include "charts.h"

#include <QAbstractAxis>
#include <QGraphicsLayout>
#include <QLegend>
#include <algorithm>
#include <cmath>

#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

void dress(QChart& chart, const QPalette& palette) {
  chart.setBackgroundBrush(palette.base());
  chart.setBackgroundRoundness(0);
  chart.setMargins({4, 4, 4, 4});
  if (chart.layout() != nullptr) chart.layout()->setContentsMargins(0, 0, 0, 0);
  chart.setTitleBrush(palette.text());
  chart.legend()->setLabelColor(palette.color(QPalette::Text));
  for (QAbstractAxis* const axis : chart.axes()) {
    axis->setLabelsColor(palette.color(QPalette::Text));
    axis->setTitleBrush(palette.text());
    axis->setLinePenColor(line_colour(palette));
    axis->setGridLineColor(tint(palette, palette.color(QPalette::Text), 0.15));
  }
}

QChartView* make_chart(const QString& title, const QString& name, QWidget* parent) {
  auto* const chart = new QChart;
  chart->setTitle(chart_text(title));
  chart->legend()->setAlignment(Qt::AlignTop);
  auto* const view = new QChartView(chart, parent);
  view->setRenderHint(QPainter::Antialiasing);
  view->setAccessibleName(name);
  view->setMinimumSize(200, 120);
  dress(*chart, view->palette());
  return view;
}

void set_ticks(QValueAxis& axis, int most) {
  const double rough = std::max(1e-9, (axis.max() - axis.min()) / most);
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double times = rough <= power ? 1 : rough <= 2 * power ? 2 : rough <= 5 * power ? 5 : 10;
  axis.setTickType(QValueAxis::TicksDynamic);
  axis.setTickAnchor(0);
  axis.setTickInterval(times * power);
  axis.setLabelFormat("%g");
}

void clear_chart(QChart& chart) {
  chart.removeAllSeries();
  for (QAbstractAxis* const axis : chart.axes()) {
    chart.removeAxis(axis);
    delete axis;
  }
}

}  // namespace rpcrdma::gui
