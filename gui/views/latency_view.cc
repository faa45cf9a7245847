// The table of percentiles by procedure, the histogram, the parts of the latency and the slowest
// Calls.
#include "charts.h"

#include <QAreaSeries>
#include <QBarCategoryAxis>
#include <QBarSet>
#include <QHeaderView>
#include <QHorizontalBarSeries>
#include <QLegend>
#include <QLegendMarker>
#include <QLineSeries>
#include <QLogValueAxis>
#include <QSplitter>
#include <QVBoxLayout>
#include <QValueAxis>
#include <algorithm>
#include <cmath>

#include <rpcrdma/base/quantity.h>
#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/views/latency_view.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

namespace {

QString duration(std::int64_t ns) {
  return QString::fromStdString(base::format_duration(ns));
}

QTableWidget* make_table(const QStringList& titles, const QString& name, QWidget* parent) {
  auto* const table = new QTableWidget(parent);
  table->setColumnCount(static_cast<int>(titles.size()));
  table->setHorizontalHeaderLabels(titles);
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->setSelectionMode(QAbstractItemView::SingleSelection);
  table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table->verticalHeader()->setVisible(false);
  table->verticalHeader()->setDefaultSectionSize(table->fontMetrics().height() + 4);
  table->setAccessibleName(name);
  table->setTabKeyNavigation(false);
  return table;
}

void put(QTableWidget& table, int row, int column, const QString& text, bool right) {
  QTableWidgetItem* item = table.item(row, column);
  if (item == nullptr) {
    item = new QTableWidgetItem;
    table.setItem(row, column, item);
  }
  item->setText(text);
  item->setTextAlignment(Qt::AlignVCenter | (right ? Qt::AlignRight : Qt::AlignLeft));
}

}  // namespace

LatencyView::LatencyView(QWidget* parent)
    : QWidget(parent),
      table_(make_table({tr("Procedure"), tr("Calls"), tr("Errors"), tr("p50"), tr("p90"),
                         tr("p99"), tr("p99.9"), tr("Max")},
                        tr("Latency by procedure"), this)),
      outliers_(make_table({tr("Slowest"), tr("Frame")}, tr("The slowest Calls"), this)),
      histogram_(make_chart({}, tr("Histogram of latency"), this)),
      parts_(make_chart({}, tr("Parts of latency"), this)) {
  setAccessibleName(tr("Latency of Calls"));
  const int wide = fontMetrics().averageCharWidth();
  table_->setColumnWidth(0, wide * 24);
  for (int column = 1; column < table_->columnCount(); ++column) {
    table_->setColumnWidth(column, wide * (column < 3 ? 8 : 11));
  }
  outliers_->setColumnWidth(0, wide * 11);
  outliers_->horizontalHeader()->setStretchLastSection(true);
  // Side by side: docks at the bottom are wide and low.
  auto* const split = new QSplitter(Qt::Horizontal, this);
  for (QWidget* const part :
       std::initializer_list<QWidget*>{table_, histogram_, parts_, outliers_}) {
    split->addWidget(part);
  }
  split->setSizes({520, 360, 320, 170});
  auto* const all = new QVBoxLayout(this);
  all->setContentsMargins(0, 0, 0, 0);
  all->addWidget(split);
  connect(table_, &QTableWidget::currentCellChanged, this, [this](int row, int, int before, int) {
    if (row != before) show_current();
  });
  const auto choose = [this](int row) {
    const int procedure = table_->currentRow();
    if (procedure < 0 || procedure >= std::ssize(procedures_)) return;
    const auto& list = procedures_[static_cast<std::size_t>(procedure)].outliers;
    if (row >= 0 && row < std::ssize(list)) {
      Q_EMIT message_selected(list[static_cast<std::size_t>(row)].message);
    }
  };
  connect(outliers_, &QTableWidget::cellClicked, this, choose);
  connect(outliers_, &QTableWidget::cellActivated, this, choose);
}

void LatencyView::set_procedures(std::vector<LatencyProcedure> procedures) {
  const int current = table_->currentRow();
  const QString chosen = current >= 0 && current < std::ssize(procedures_)
                             ? procedures_[static_cast<std::size_t>(current)].label
                             : QString();
  procedures_ = std::move(procedures);
  table_->setRowCount(static_cast<int>(procedures_.size()));
  int again = procedures_.empty() ? -1 : 0;
  for (int row = 0; row < std::ssize(procedures_); ++row) {
    const LatencyProcedure& p = procedures_[static_cast<std::size_t>(row)];
    put(*table_, row, 0, p.label, false);
    put(*table_, row, 1, QString::number(p.calls), true);
    put(*table_, row, 2, QString::number(p.errors), true);
    int column = 3;
    for (const std::int64_t ns : {p.p50, p.p90, p.p99, p.p999, p.max}) {
      put(*table_, row, column++, p.buckets.empty() ? "-" : duration(ns), true);
    }
    if (p.label == chosen) again = row;
  }
  if (again >= 0 && again != table_->currentRow()) table_->setCurrentCell(again, 0);
  show_current();
}

void LatencyView::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) show_current();
}

void LatencyView::show_current() {
  clear_chart(*histogram_->chart());
  clear_chart(*parts_->chart());
  const int row = table_->currentRow();
  if (row < 0 || row >= std::ssize(procedures_)) {
    outliers_->setRowCount(0);
    dress(*histogram_->chart(), palette());
    dress(*parts_->chart(), palette());
    return;
  }
  const LatencyProcedure& p = procedures_[static_cast<std::size_t>(row)];
  outliers_->setRowCount(static_cast<int>(p.outliers.size()));
  for (int i = 0; i < std::ssize(p.outliers); ++i) {
    const auto& o = p.outliers[static_cast<std::size_t>(i)];
    put(*outliers_, i, 0, duration(o.latency_ns), true);
    put(*outliers_, i, 1, QString::number(o.frame), true);
  }
  // Number of Calls per bucket, over a logarithmic time axis.
  QChart& chart = *histogram_->chart();
  QList<QPointF> outline;
  double most = 1;
  double least_us = 1e18;
  double most_us = 0;
  for (const auto& b : p.buckets) {
    const double from = std::max(0.001, static_cast<double>(b.from_ns) / 1e3);
    const double to = std::max(from * 1.001, static_cast<double>(b.to_ns) / 1e3);
    const auto count = static_cast<double>(b.count);
    outline << QPointF(from, 0);
    outline << QPointF(from, count);
    outline << QPointF(to, count);
    outline << QPointF(to, 0);
    most = std::max(most, count);
    least_us = std::min(least_us, from);
    most_us = std::max(most_us, to);
  }
  if (!p.buckets.empty()) {
    const QColor colour = ink(palette(), Ink::kCall);
    auto* const upper = new QLineSeries;
    upper->replace(outline);
    auto* const area = new QAreaSeries(upper);
    upper->setParent(area);
    area->setColor(tint(palette(), colour, 0.45));
    area->setBorderColor(colour);
    chart.addSeries(area);
    const std::pair<const char*, std::int64_t> lines[] = {
        {"p50", p.p50}, {"p99", p.p99}, {"p99.9", p.p999}};
    const Ink inks[] = {Ink::kGranted, Ink::kWaiting, Ink::kError};
    auto* const time = new QLogValueAxis;
    time->setBase(10);
    time->setRange(least_us * 0.8, most_us * 1.25);
    time->setLabelFormat("%g");
    time->setTitleText(tr("us"));
    auto* const count = new QValueAxis;
    count->setRange(0, most * 1.05);
    set_ticks(*count, 5);
    chart.addAxis(time, Qt::AlignBottom);
    chart.addAxis(count, Qt::AlignLeft);
    area->attachAxis(time);
    area->attachAxis(count);
    // The axes explain the series; the legend would take space.
    for (QLegendMarker* const marker : chart.legend()->markers(area)) marker->setVisible(false);
    for (std::size_t i = 0; i < 3; ++i) {
      auto* const line = new QLineSeries;
      line->setName(chart_text(QString("%1 %2").arg(lines[i].first, duration(lines[i].second))));
      const double x = std::max(0.001, static_cast<double>(lines[i].second) / 1e3);
      line->append(x, 0);
      line->append(x, most * 1.05);
      line->setPen(QPen(ink(palette(), inks[i]), 2));
      chart.addSeries(line);
      line->attachAxis(time);
      line->attachAxis(count);
    }
  }
  dress(chart, palette());
  // Parts of the latency.
  QChart& parts = *parts_->chart();
  if (!p.parts.empty()) {
    auto* const mean = new QBarSet(tr("mean, us"));
    auto* const p99 = new QBarSet(tr("p99, us"));
    QStringList names;
    double longest = 1;
    for (auto it = p.parts.rbegin(); it != p.parts.rend(); ++it) {
      mean->append(static_cast<double>(it->mean_ns) / 1e3);
      p99->append(static_cast<double>(it->p99_ns) / 1e3);
      longest = std::max(longest, static_cast<double>(std::max(it->mean_ns, it->p99_ns)) / 1e3);
      names << chart_text(it->name);
    }
    mean->setColor(ink(palette(), Ink::kGranted));
    p99->setColor(ink(palette(), Ink::kWaiting));
    auto* const bars = new QHorizontalBarSeries;
    bars->append(p99);
    bars->append(mean);
    parts.addSeries(bars);
    auto* const name = new QBarCategoryAxis;
    name->append(names);
    auto* const us = new QValueAxis;
    us->setRange(0, longest * 1.05);
    set_ticks(*us, 4);
    parts.addAxis(name, Qt::AlignLeft);
    parts.addAxis(us, Qt::AlignBottom);
    bars->attachAxis(name);
    bars->attachAxis(us);
  }
  dress(parts, palette());
}

}  // namespace rpcrdma::gui
