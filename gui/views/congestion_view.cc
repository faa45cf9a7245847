#include "charts.h"

#include <QLabel>
#include <QLineSeries>
#include <QVBoxLayout>
#include <QValueAxis>
#include <algorithm>
#include <functional>

#include <rpcrdma/base/quantity.h>
#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/views/congestion_view.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

namespace {

struct Line {
  QString name;
  Ink ink;
  Qt::PenStyle style;
  std::function<quint64(const Congestion::Bin&)> value;
};

std::vector<Line> all_lines() {
  using Bin = Congestion::Bin;
  std::vector<Line> lines{
      {CongestionView::tr("CE from the client"), Ink::kCall, Qt::SolidLine,
       [](const Bin& b) { return b.marked[0]; }},
      {CongestionView::tr("CE from the server"), Ink::kReply, Qt::SolidLine,
       [](const Bin& b) { return b.marked[1]; }},
      {CongestionView::tr("CNPs of the client"), Ink::kReverseCall, Qt::DashLine,
       [](const Bin& b) { return b.cnps[0]; }},
      {CongestionView::tr("CNPs of the server"), Ink::kWaiting, Qt::DashLine,
       [](const Bin& b) { return b.cnps[1]; }},
      {CongestionView::tr("Pause frames"), Ink::kError, Qt::DotLine,
       [](const Bin& b) { return b.paused[8]; }},
  };
  for (std::size_t n = 0; n < 8; ++n) {
    lines.push_back({CongestionView::tr("Pause, class %1").arg(n), Ink::kError, Qt::DotLine,
                     [n](const Bin& b) { return b.paused[n]; }});
  }
  return lines;
}

bool any(const Congestion& all, const Line& line) {
  return std::any_of(all.bins.begin(), all.bins.end(),
                     [&](const Congestion::Bin& b) { return line.value(b) != 0; });
}

}  // namespace

CongestionView::CongestionView(QWidget* parent)
    : QWidget(parent),
      totals_(new QLabel(this)),
      chart_(make_chart({}, tr("Signals of congestion over time"), this)) {
  setAccessibleName(tr("Congestion"));
  // The view is drawn on the charts' background, in pictures of it too.
  setAutoFillBackground(true);
  setBackgroundRole(QPalette::Base);
  totals_->setTextFormat(Qt::PlainText);
  totals_->setWordWrap(true);
  totals_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  totals_->setAccessibleName(tr("Signals of congestion of the connection"));
  totals_->setContentsMargins(6, 2, 6, 0);
  auto* const all = new QVBoxLayout(this);
  all->setContentsMargins(0, 0, 0, 0);
  all->setSpacing(0);
  all->addWidget(totals_);
  all->addWidget(chart_, 1);
  draw();
}

void CongestionView::set_congestion(const Congestion& congestion) {
  shown_ = congestion;
  draw();
}

QStringList CongestionView::lines() const {
  QStringList names;
  for (const Line& line : all_lines()) {
    if (any(shown_, line)) names << line.name;
  }
  return names;
}

void CongestionView::set_notation(TimeNotation notation) {
  notation_ = std::move(notation);
  draw();
}

// Labels of time depend on the width.
void CongestionView::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  draw();
}

void CongestionView::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) draw();
}

// Draws counts per interval as steps: a burst is as wide as its interval.
void CongestionView::draw() {
  QChart& chart = *chart_->chart();
  clear_chart(chart);
  totals_->setText(shown_.part ? tr("Whole time:\n%1").arg(shown_.totals) : shown_.totals);
  totals_->setVisible(!shown_.totals.isEmpty());
  if (shown_.bins.empty()) {
    chart.setTitle(chart_text(
        shown_.part
            ? tr("No signal of congestion in this range: no CE mark, no CNP, no pause frame")
            : tr("No signal of congestion: no CE mark, no CNP, no pause frame")));
    dress(chart, palette());
    return;
  }
  const std::int64_t wide = shown_.bins.front().to_ns - shown_.bins.front().from_ns;
  chart.setTitle(chart_text(
      tr("Packets per interval of %1").arg(QString::fromStdString(base::format_duration(wide)))));
  std::int64_t from = shown_.from_ns;
  std::int64_t to = shown_.to_ns;
  if (from == to) {
    from = shown_.bins.front().from_ns;
    to = shown_.bins.back().to_ns;
  }
  QCategoryAxis* const time = make_time_axis(from, to, notation_, chart_->width(), fontMetrics());
  auto* const count = new QValueAxis;
  const auto seconds = [from](std::int64_t ns) { return static_cast<double>(ns - from) / 1e9; };
  quint64 most = 1;
  const std::vector<Line> lines = all_lines();
  for (const Line& line : lines) {
    for (const Congestion::Bin& bin : shown_.bins) most = std::max(most, line.value(bin));
  }
  count->setRange(0, static_cast<double>(most) * 1.05);
  set_ticks(*count, 5);
  // No tick between whole numbers.
  count->setTickInterval(std::max(1.0, count->tickInterval()));
  chart.addAxis(time, Qt::AlignBottom);
  chart.addAxis(count, Qt::AlignLeft);
  for (const Line& line : lines) {
    if (!any(shown_, line)) continue;
    auto* const series = new QLineSeries;
    series->setName(line.name);
    series->setPen(QPen(ink(palette(), line.ink), 2, line.style));
    QList<QPointF> points;
    for (const Congestion::Bin& bin : shown_.bins) {
      const auto value = static_cast<double>(line.value(bin));
      points << QPointF(seconds(bin.from_ns), value) << QPointF(seconds(bin.to_ns), value);
    }
    series->replace(points);
    chart.addSeries(series);
    series->attachAxis(time);
    series->attachAxis(count);
  }
  dress(chart, palette());
}

}  // namespace rpcrdma::gui
