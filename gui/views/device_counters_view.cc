#include "charts.h"

#include <QLabel>
#include <QLegend>
#include <QLineSeries>
#include <QVBoxLayout>
#include <QValueAxis>
#include <algorithm>
#include <array>

#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/views/device_counters_view.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

namespace {

struct LineLook {
  Ink ink;
  Qt::PenStyle style;
};
constexpr std::array<LineLook, 9> kLooks{{
    {Ink::kError, Qt::SolidLine},
    {Ink::kError, Qt::DashLine},
    {Ink::kWaiting, Qt::SolidLine},
    {Ink::kCall, Qt::SolidLine},
    {Ink::kCall, Qt::DashLine},
    {Ink::kReplyChunk, Qt::SolidLine},
    {Ink::kReply, Qt::DotLine},
    {Ink::kReply, Qt::DashLine},
    {Ink::kReverseCall, Qt::DashLine},
}};

double rate_of(const DeviceCounters::Sample& sample, std::size_t counter) {
  if (counter >= sample.events.size() || !sample.events[counter]) return 0;
  const double seconds = static_cast<double>(sample.to_ns - sample.from_ns) / 1e9;
  return seconds > 0 ? static_cast<double>(*sample.events[counter]) / seconds : 0;
}

std::optional<std::uint64_t> total_of(const DeviceCounters& all, std::size_t counter) {
  std::optional<std::uint64_t> total;
  for (const DeviceCounters::Sample& s : all.samples) {
    if (counter < s.events.size() && s.events[counter]) {
      total = total.value_or(0) + *s.events[counter];
    }
  }
  return total;
}

}  // namespace

DeviceCountersView::DeviceCountersView(QWidget* parent)
    : QWidget(parent),
      totals_(new QLabel(this)),
      chart_(make_chart({}, tr("Counters of RDMA devices over time"), this)) {
  setAccessibleName(tr("Device"));
  setAutoFillBackground(true);
  setBackgroundRole(QPalette::Base);
  totals_->setTextFormat(Qt::PlainText);
  totals_->setWordWrap(true);
  totals_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  totals_->setAccessibleName(tr("Sums of the counters of RDMA devices"));
  totals_->setContentsMargins(6, 2, 6, 0);
  chart_->chart()->legend()->setAlignment(Qt::AlignRight);
  auto* const all = new QVBoxLayout(this);
  all->setContentsMargins(0, 0, 0, 0);
  all->setSpacing(0);
  all->addWidget(totals_);
  all->addWidget(chart_, 1);
  draw();
}

void DeviceCountersView::set_counters(DeviceCounters counters) {
  shown_ = std::move(counters);
  draw();
}

void DeviceCountersView::set_notation(TimeNotation notation) {
  notation_ = std::move(notation);
  draw();
}

QStringList DeviceCountersView::lines() const {
  QStringList names;
  for (std::size_t i = 0; i < shown_.counters.size(); ++i) {
    if (total_of(shown_, i).value_or(0) != 0) names << shown_.counters[i].name;
  }
  return names;
}

QString DeviceCountersView::totals() const {
  if (!shown_.problem.isEmpty()) return shown_.problem;
  if (shown_.devices.isEmpty())
    return tr(
        "The counters of this host's devices are read once a "
        "second while a live source is shown.");
  QStringList counts, absent;
  for (std::size_t i = 0; i < shown_.counters.size(); ++i) {
    const auto total = total_of(shown_, i);
    if (total) {
      counts << QString("%1 %2").arg(*total).arg(shown_.counters[i].name);
    } else if (!shown_.samples.empty()) {
      absent << shown_.counters[i].name;
    }
  }
  QString text = shown_.devices;
  if (!counts.isEmpty()) text += ": " + counts.join(", ");
  if (!absent.isEmpty())
    text += '\n' + tr("Not counted by these devices: %1").arg(absent.join(", "));
  return text;
}

void DeviceCountersView::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  draw();
}

void DeviceCountersView::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) draw();
}

// Draws rates as steps: a sample is as wide as the time between two readings.
void DeviceCountersView::draw() {
  QChart& chart = *chart_->chart();
  clear_chart(chart);
  totals_->setText(totals());
  const QStringList drawn = lines();
  chart_->setVisible(shown_.problem.isEmpty());
  if (drawn.isEmpty()) {
    chart.setTitle(chart_text(shown_.samples.empty() ? QString() : tr("No counter has grown")));
    dress(chart, palette());
    return;
  }
  chart.setTitle(chart_text(tr("Events per second")));
  std::int64_t from = shown_.from_ns;
  std::int64_t to = shown_.to_ns;
  if (from == to) {
    from = shown_.samples.front().from_ns;
    to = shown_.samples.back().to_ns;
  }
  QCategoryAxis* const time = make_time_axis(from, to, notation_, chart_->width(), fontMetrics());
  auto* const rate = new QValueAxis;
  double most = 1;
  for (const DeviceCounters::Sample& s : shown_.samples) {
    for (std::size_t i = 0; i < shown_.counters.size(); ++i) most = std::max(most, rate_of(s, i));
  }
  rate->setRange(0, most * 1.05);
  set_ticks(*rate, 5);
  chart.addAxis(time, Qt::AlignBottom);
  chart.addAxis(rate, Qt::AlignLeft);
  for (std::size_t i = 0; i < shown_.counters.size(); ++i) {
    if (total_of(shown_, i).value_or(0) == 0) continue;
    auto* const series = new QLineSeries;
    series->setName(chart_text(shown_.counters[i].name));
    const LineLook& look = kLooks.at(i % kLooks.size());
    series->setPen(QPen(ink(palette(), look.ink), 2, look.style));
    QList<QPointF> points;
    const auto seconds = [from](std::int64_t ns) { return static_cast<double>(ns - from) / 1e9; };
    for (const DeviceCounters::Sample& s : shown_.samples) {
      if (s.to_ns < from || s.from_ns > to) continue;
      points << QPointF(seconds(s.from_ns), rate_of(s, i))
             << QPointF(seconds(s.to_ns), rate_of(s, i));
    }
    series->replace(points);
    chart.addSeries(series);
    series->attachAxis(time);
    series->attachAxis(rate);
  }
  dress(chart, palette());
}

}  // namespace rpcrdma::gui
