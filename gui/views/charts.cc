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

QCategoryAxis* make_time_axis(std::int64_t from_ns, std::int64_t to_ns,
                              const TimeNotation& notation, int width,
                              const QFontMetrics& metrics) {
  auto* const axis = new QCategoryAxis;
  const auto seconds = [from_ns](std::int64_t ns) {
    return static_cast<double>(ns - from_ns) / 1e9;
  };
  axis->setRange(0, std::max(1e-6, seconds(to_ns)));
  axis->setLabelsPosition(QCategoryAxis::AxisLabelsPositionOnValue);
  const TimeScale scale{from_ns, to_ns, 0, std::max(1, width - 60)};
  for (const TimeTick& tick : time_ticks(scale, notation, width, metrics)) {
    axis->append(chart_text(tick.text), seconds(tick.ns));
  }
  return axis;
}

void clear_chart(QChart& chart) {
  chart.removeAllSeries();
  for (QAbstractAxis* const axis : chart.axes()) {
    chart.removeAxis(axis);
    delete axis;
  }
}

}  // namespace rpcrdma::gui
