#include "charts.h"

#include <QAbstractAxis>
#include <QGraphicsLayout>
#include <QLegend>

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
    axis->setLinePenColor(palette.color(QPalette::Mid));
    axis->setGridLineColor(palette.color(QPalette::Midlight));
  }
}

QChartView* make_chart(const QString& title, const QString& name, QWidget* parent) {
  auto* const chart = new QChart;
  chart->setTitle(title);
  chart->legend()->setAlignment(Qt::AlignBottom);
  auto* const view = new QChartView(chart, parent);
  view->setRenderHint(QPainter::Antialiasing);
  view->setAccessibleName(name);
  view->setMinimumSize(200, 120);
  dress(*chart, view->palette());
  return view;
}

void clear_chart(QChart& chart) {
  chart.removeAllSeries();
  for (QAbstractAxis* const axis : chart.axes()) {
    chart.removeAxis(axis);
    delete axis;
  }
}

}  // namespace rpcrdma::gui
