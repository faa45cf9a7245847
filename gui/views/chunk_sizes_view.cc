#include "charts.h"

#include <QBarCategoryAxis>
#include <QBarSet>
#include <QHBoxLayout>
#include <QLineSeries>
#include <QStackedBarSeries>
#include <QValueAxis>
#include <algorithm>

#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/views/chunk_sizes_view.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

namespace {

constexpr std::array<Ink, 3> kListInks{Ink::kRead, Ink::kWrite, Ink::kReplyChunk};

std::array<QString, 3> list_names() {
  return {ChunkSizesView::tr("Read"), ChunkSizesView::tr("Write"), ChunkSizesView::tr("Reply")};
}

// Returns 2^power in short form: Qt Charts omits labels that are wider than their bar.
QString short_size(std::size_t power) {
  const char* const units[] = {"", "K", "M", "G"};
  return QString("%1%2").arg(1 << power % 10).arg(units[std::min<std::size_t>(power / 10, 3)]);
}

}  // namespace

ChunkSizesView::ChunkSizesView(QWidget* parent)
    : QWidget(parent),
      sizes_(make_chart(tr("Chunks by size"), tr("Chunks by size"), this)),
      rates_(make_chart(tr("MiB/s through chunks"), tr("Bytes through chunks over time"), this)) {
  setAccessibleName(tr("Sizes and rates of chunks"));
  auto* const all = new QHBoxLayout(this);
  all->setContentsMargins(0, 0, 0, 0);
  all->addWidget(sizes_);
  all->addWidget(rates_);
}

void ChunkSizesView::set_sizes(const ChunkSizes& sizes) {
  shown_ = sizes;
  draw();
}

void ChunkSizesView::set_notation(TimeNotation notation) {
  notation_ = std::move(notation);
  draw();
}

// Labels of time depend on the width.
void ChunkSizesView::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  draw_rates();
}

void ChunkSizesView::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) draw();
}

void ChunkSizesView::draw() {
  const std::array<QString, 3> names = list_names();
  QChart& chart = *sizes_->chart();
  clear_chart(chart);
  chart.setTitle(chart_text(shown_.part ? tr("Chunks by size, whole time") : tr("Chunks by size")));
  std::size_t first = 33;
  std::size_t last = 0;
  for (const auto& list : shown_.sizes) {
    for (std::size_t power = 0; power < list.size(); ++power) {
      if (list[power] == 0) continue;
      first = std::min(first, power);
      last = std::max(last, power);
    }
  }
  if (first <= last) {
    auto* const bars = new QStackedBarSeries;
    QStringList labels;
    double most = 1;
    for (std::size_t power = first; power <= last; ++power) {
      labels << short_size(power);
      quint64 sum = 0;
      for (const auto& list : shown_.sizes) sum += list[power];
      most = std::max(most, static_cast<double>(sum));
    }
    for (std::size_t l = 0; l < 3; ++l) {
      auto* const set = new QBarSet(names[l]);
      for (std::size_t power = first; power <= last; ++power) {
        set->append(static_cast<double>(shown_.sizes[l][power]));
      }
      set->setColor(ink(palette(), kListInks[l]));
      bars->append(set);
    }
    chart.addSeries(bars);
    auto* const size = new QBarCategoryAxis;
    size->append(labels);
    if (labels.size() > 8) {
      QFont small = font();
      small.setPointSizeF(small.pointSizeF() * (labels.size() > 14 ? 0.6 : 0.75));
      size->setLabelsFont(small);
    }
    size->setTitleText(tr("less than, bytes"));
    auto* const count = new QValueAxis;
    count->setRange(0, most * 1.05);
    set_ticks(*count, 5);
    chart.addAxis(size, Qt::AlignBottom);
    chart.addAxis(count, Qt::AlignLeft);
    bars->attachAxis(size);
    bars->attachAxis(count);
  }
  dress(chart, palette());
  draw_rates();
}

void ChunkSizesView::draw_rates() {
  const std::array<QString, 3> names = list_names();
  QChart& rates = *rates_->chart();
  clear_chart(rates);
  if (!shown_.rates.empty()) {
    std::int64_t from = shown_.from_ns;
    std::int64_t to = shown_.to_ns;
    if (from == to) {
      from = shown_.rates.front().from_ns;
      to = shown_.rates.back().to_ns;
    }
    QCategoryAxis* const time = make_time_axis(from, to, notation_, rates_->width(), fontMetrics());
    auto* const rate = new QValueAxis;
    double most = 0.001;
    for (const auto& bin : shown_.rates) {
      for (const double r : bin.bytes_per_second) most = std::max(most, r / 1048576.0);
    }
    rate->setRange(0, most * 1.05);
    set_ticks(*rate, 5);
    rates.addAxis(time, Qt::AlignBottom);
    rates.addAxis(rate, Qt::AlignLeft);
    const auto seconds = [from](std::int64_t ns) { return static_cast<double>(ns - from) / 1e9; };
    for (std::size_t l = 0; l < 3; ++l) {
      auto* const line = new QLineSeries;
      line->setName(names[l]);
      line->setPen(QPen(ink(palette(), kListInks[l]), 2));
      QList<QPointF> points;
      for (const auto& bin : shown_.rates) {
        const double mib = bin.bytes_per_second[l] / 1048576.0;
        points << QPointF(seconds(bin.from_ns), mib) << QPointF(seconds(bin.to_ns), mib);
      }
      line->replace(points);
      rates.addSeries(line);
      line->attachAxis(time);
      line->attachAxis(rate);
    }
  }
  dress(rates, palette());
}

}  // namespace rpcrdma::gui
