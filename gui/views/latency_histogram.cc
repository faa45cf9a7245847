#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <array>
#include <cmath>

#include <rpcrdma/base/quantity.h>
#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/views/latency_histogram.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

namespace {

constexpr int kBarWidth = 7;        // pixels, with the gap
constexpr quint64 kShared = 10;     // Calls in a bucket from which on bars share them out
constexpr double kFinest = 1.04;    // a bar is at least as wide as a bucket of base::Histogram
constexpr int kLeastBarHeight = 3;  // pixels: one slow Call among a million is seen

QString short_duration(double ns) {
  return QString::fromStdString(base::format_duration(std::llround(ns)));
}

// "1 s" where format_duration() writes "1.000 s".
QString round_duration(double ns) {
  return ns < 1e9 ? short_duration(ns) : QString("%1 s").arg(ns / 1e9);
}

}  // namespace

LatencyHistogram::LatencyHistogram(QWidget* parent) : QWidget(parent) {
  setAccessibleName(tr("Histogram of latency"));
  setMinimumSize(220, 120);
}

void LatencyHistogram::set_procedure(const LatencyProcedure& procedure) {
  shown_ = procedure;
  rebin();
  setAccessibleDescription(shown_.buckets.empty()
                               ? tr("No answered Call")
                               : tr("%1: p50 %2, max %3")
                                     .arg(shown_.label,
                                          short_duration(static_cast<double>(shown_.p50)),
                                          short_duration(static_cast<double>(shown_.max))));
  update();
}

void LatencyHistogram::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  rebin();
}

QRect LatencyHistogram::plot() const {
  const int high = fontMetrics().height();
  const int left = high + fontMetrics().horizontalAdvance("0,000,000") + 10;
  return rect().adjusted(left, 3 * high + 10, -14, -2 * high - 10);
}

double LatencyHistogram::x_of(double ns) const {
  const QRect area = plot();
  const double part = std::log(std::max(ns, 1e-3) / least_ns_) / std::log(most_ns_ / least_ns_);
  return area.left() + std::clamp(part, 0.0, 1.0) * area.width();
}

void LatencyHistogram::rebin() {
  bars_.clear();
  highest_ = 1;
  if (shown_.buckets.empty()) return;
  const auto from_of = [](const auto& b) { return std::max(1.0, static_cast<double>(b.from_ns)); };
  const auto to_of = [&](const auto& b) {
    return std::max(from_of(b) * kFinest, static_cast<double>(b.to_ns));
  };
  double least = from_of(shown_.buckets.front());
  double most = to_of(shown_.buckets.front());
  for (const auto& b : shown_.buckets) {
    least = std::min(least, from_of(b));
    most = std::max(most, to_of(b));
  }
  // At least a factor of four, so that the axis has labels.
  const double middle = std::sqrt(least * most);
  least_ns_ = std::max(0.5, std::min(least / 1.15, middle / 2));
  most_ns_ = std::max(most * 1.15, middle * 2);
  const double wide = std::log(most_ns_ / least_ns_);
  const auto count = static_cast<std::size_t>(std::max(
      1.0, std::min(plot().width() / double{kBarWidth}, std::floor(wide / std::log(kFinest)))));
  bars_.resize(count);
  const double step = wide / static_cast<double>(count);
  for (std::size_t i = 0; i < count; ++i) {
    bars_[i].from_ns = least_ns_ * std::exp(step * static_cast<double>(i));
    bars_[i].to_ns = bars_[i].from_ns * std::exp(step);
  }
  for (const auto& b : shown_.buckets) {
    const double from = std::log(from_of(b) / least_ns_) / step;
    const double to = std::log(to_of(b) / least_ns_) / step;
    // A few Calls are not cut in pieces.
    if (b.count < kShared) {
      const double at = std::clamp((from + to) / 2, 0.0, static_cast<double>(count - 1));
      bars_[static_cast<std::size_t>(at)].count += static_cast<double>(b.count);
      continue;
    }
    const auto last = std::min(count - 1, static_cast<std::size_t>(std::max(0.0, to)));
    for (auto i = static_cast<std::size_t>(std::max(0.0, from)); i <= last; ++i) {
      const auto at = static_cast<double>(i);
      const double shared = std::min(to, at + 1) - std::max(from, at);
      if (shared > 0) bars_[i].count += static_cast<double>(b.count) * shared / (to - from);
    }
  }
  for (const Bar& bar : bars_) highest_ = std::max(highest_, bar.count);
}

std::vector<LatencyHistogram::Tick> LatencyHistogram::ticks() const {
  std::vector<Tick> all;
  const double decades = std::log10(most_ns_ / least_ns_);
  const std::array<double, 3> steps{1, 2, 5};
  const std::size_t used = decades > 2.5 ? 1 : 3;
  double right = -1e9;
  for (double power = std::pow(10, std::floor(std::log10(least_ns_))); power <= most_ns_;
       power *= 10) {
    for (std::size_t i = 0; i < used; ++i) {
      const double ns = power * steps[i];
      if (ns < least_ns_ || ns > most_ns_) continue;
      const QString text = round_duration(ns);
      const double half = fontMetrics().horizontalAdvance(text) / 2.0;
      if (x_of(ns) - half < right) continue;
      right = x_of(ns) + half + 8;
      all.push_back({ns, text});
    }
  }
  return all;
}

QStringList LatencyHistogram::axis_labels() const {
  QStringList texts;
  if (bars_.empty()) return texts;
  for (const Tick& tick : ticks()) texts << tick.text;
  return texts;
}

std::vector<quint64> LatencyHistogram::count_labels() const {
  const double rows = plot().height() / (1.8 * fontMetrics().height());
  const auto step = static_cast<quint64>(std::max(1.0, step_of(highest_, rows)));
  std::vector<quint64> counts;
  for (quint64 n = 0; static_cast<double>(n) <= highest_ * 1.02; n += step) counts.push_back(n);
  return counts;
}

// The percentiles, with their names above the bars, in as many lines as they need.
void LatencyHistogram::draw_lines(QPainter& painter) const {
  const QRect area = plot();
  const std::array<std::tuple<QString, std::int64_t, Ink, Qt::PenStyle>, 4> lines{
      {{"p50", shown_.p50, Ink::kGranted, Qt::SolidLine},
       {"p99", shown_.p99, Ink::kWaiting, Qt::DashLine},
       {"p99.9", shown_.p999, Ink::kReverseCall, Qt::DotLine},
       {tr("max"), shown_.max, Ink::kError, Qt::DashDotLine}}};
  const int high = fontMetrics().height();
  std::array<int, 3> free{-1, -1, -1};
  for (const auto& [name, ns, which, style] : lines) {
    if (ns < 0) continue;
    const int x = static_cast<int>(x_of(static_cast<double>(ns)));
    const QString text = QString("%1 %2").arg(name, short_duration(static_cast<double>(ns)));
    const int wide = fontMetrics().horizontalAdvance(text);
    const int left =
        std::clamp(x - wide / 2, area.left(), std::max(area.left(), width() - wide - 4));
    std::size_t row = 0;
    while (row + 1 < free.size() && free[row] > left) ++row;
    free[row] = left + wide + 10;
    const int y = area.top() - high * (static_cast<int>(row) + 1) - 4;
    painter.setPen(QPen(ink(palette(), which), 2, style));
    painter.drawLine(x, y + high, x, area.bottom());
    painter.setPen(palette().color(QPalette::Text));
    painter.drawText(left, y + fontMetrics().ascent(), text);
  }
}

void LatencyHistogram::paintEvent(QPaintEvent* event) {
  Q_UNUSED(event);
  QPainter painter(this);
  painter.fillRect(rect(), palette().base());
  if (bars_.empty()) {
    painter.setPen(tint(palette(), palette().color(QPalette::Text), 0.65));
    painter.drawText(rect().adjusted(12, 12, -12, -12),
                     Qt::AlignHCenter | Qt::AlignTop | Qt::TextWordWrap,
                     shown_.label.isEmpty() ? tr("Select a procedure")
                                            : tr("None of these Calls has a Reply here"));
    return;
  }
  const QRect area = plot();
  const int high = fontMetrics().height();
  const auto y_of = [&](double count) {
    return area.bottom() - static_cast<int>(count / (highest_ * 1.02) * area.height());
  };
  for (const quint64 n : count_labels()) {
    const int y = y_of(static_cast<double>(n));
    painter.setPen(QPen(line_colour(palette()), 0, Qt::DotLine));
    painter.drawLine(area.left(), y, area.right(), y);
    painter.setPen(palette().color(QPalette::Text));
    painter.drawText(QRect(high + 2, y - high / 2, area.left() - high - 8, high),
                     Qt::AlignRight | Qt::AlignVCenter, locale().toString(n));
  }
  const QColor colour = ink(palette(), Ink::kCall);
  QList<QRect> bodies;
  for (const Bar& bar : bars_) {
    if (bar.count <= 0) continue;
    const int from = static_cast<int>(std::lround(x_of(bar.from_ns)));
    const int to = static_cast<int>(std::lround(x_of(bar.to_ns)));
    const int tall = std::max(kLeastBarHeight, area.bottom() - y_of(bar.count));
    bodies << QRect(from, area.bottom() - tall, std::max(1, to - from - 1), tall);
  }
  painter.setPen(Qt::NoPen);
  painter.setBrush(tint(palette(), colour, 0.6));
  painter.drawRects(bodies);
  painter.setBrush(Qt::NoBrush);
  draw_lines(painter);
  painter.setPen(line_colour(palette()));
  painter.drawLine(area.bottomLeft(), area.bottomRight());
  painter.setPen(palette().color(QPalette::Text));
  for (const Tick& tick : ticks()) {
    const int x = static_cast<int>(x_of(tick.ns));
    painter.drawLine(x, area.bottom(), x, area.bottom() + 4);
    const int wide = fontMetrics().horizontalAdvance(tick.text);
    painter.drawText(x - wide / 2, area.bottom() + 5 + fontMetrics().ascent(), tick.text);
  }
  painter.drawText(QRect(area.left(), height() - high - 3, area.width(), high), Qt::AlignCenter,
                   tr("Latency"));
  painter.rotate(-90);
  painter.drawText(QRect(-area.bottom(), 2, area.height(), high), Qt::AlignCenter, tr("Calls"));
}

bool LatencyHistogram::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* const help = static_cast<QHelpEvent*>(event);
  for (const Bar& bar : bars_) {
    const double x = help->pos().x();
    if (bar.count <= 0 || x < x_of(bar.from_ns) || x >= x_of(bar.to_ns)) continue;
    QToolTip::showText(help->globalPos(),
                       tool_tip(tr("%1 to %2: about %L3 Calls")
                                    .arg(short_duration(bar.from_ns), short_duration(bar.to_ns))
                                    .arg(std::max(1LL, std::llround(bar.count)))),
                       this);
    return true;
  }
  QToolTip::hideText();
  return true;
}

}  // namespace rpcrdma::gui
