#include "fleet_totals.h"

#include "fleet_cells.h"

#include <QPainter>

#include <rpcrdma/base/quantity.h>
#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/views/style.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

namespace {

QString total_latency(std::int64_t ns) {
  return ns < 0 ? QStringLiteral("-") : QString::fromStdString(base::format_duration(ns));
}

}  // namespace

FleetTotalsRow::FleetTotalsRow(QWidget* parent) : QWidget(parent) {
  setObjectName("fleet-totals");
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  set({});
}

void FleetTotalsRow::set(const FleetShown& now) {
  const fleet::FleetTotals& t = now.state.totals;
  const QString unknown = QStringLiteral("-");
  figures_.clear();
  QStringList others;
  if (t.old_hosts != 0) others << tr("%1 old").arg(t.old_hosts);
  if (t.left_hosts != 0) others << tr("%1 left").arg(t.left_hosts);
  figures_.push_back(
      {tr("Live hosts"), QString::number(t.hosts), others.join(", "), t.old_hosts != 0 ? 1 : -1});
  figures_.push_back(
      {tr("Endpoints"), QString::number(t.endpoints), tr("%1 connections").arg(t.connections)});
  const bool any = t.hosts != 0;
  figures_.push_back({tr("Credits in use"), any ? QString::number(t.credits.in_use) : unknown,
                      tr("of %1 granted").arg(t.credits.granted)});
  figures_.push_back({tr("Calls waiting"), any ? QString::number(t.credits.waiting) : unknown,
                      tr("for a credit"), t.credits.waiting != 0 ? 1 : -1});
  const bool fails = t.rates && t.rates->errors > 0;
  figures_.push_back({tr("Calls/s"), t.rates ? calls_text(t.rates->calls) : unknown,
                      fails ? tr("%1 errors/s").arg(calls_text(t.rates->errors)) : QString(),
                      fails ? 0 : -1});
  figures_.push_back(
      {tr("Chunk bytes/s"), t.rates ? bytes_rate_text(bytes_of(*t.rates)) : unknown, {}});
  figures_.push_back({tr("p50"), total_latency(t.latency.p50_ns), tr("last 10 s")});
  figures_.push_back({tr("p99"), total_latency(t.latency.p99_ns), tr("last 10 s")});
  figures_.push_back(
      {tr("Findings: errors"), QString::number(t.findings.errors),
       t.findings.warnings == 1 ? tr("1 warning") : tr("%1 warnings").arg(t.findings.warnings),
       t.findings.warnings != 0 ? 1 : -1});
  const fleet::ViewRefusals& r = now.state.refused;
  const std::uint64_t refused = r.malformed + r.other_schema + r.wrong_host + r.hosts;
  figures_.push_back({tr("Lost summaries"), QString::number(t.lost + r.undelivered),
                      refused != 0 ? tr("%1 not accepted").arg(refused) : QString(),
                      refused != 0 ? 1 : -1});
  QStringList spoken;
  for (const Figure& f : figures_) {
    spoken << QString("%1: %2%3")
                  .arg(f.title, f.value, f.detail.isEmpty() ? QString() : " (" + f.detail + ')');
  }
  setAccessibleName(tr("Totals of the live hosts"));
  setAccessibleDescription(spoken.join("; "));
  const QString tip = tr("Sums of the live hosts; no other host is in them");
  setToolTip(tool_tip(refused == 0 ? tip : tip + '\n' + QString::fromStdString(r.latest)));
  update();
}

QSize FleetTotalsRow::sizeHint() const {
  const int value = QFontMetrics(title_font(font())).height();
  return {800, value + 2 * fontMetrics().height() + 12};
}

void FleetTotalsRow::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  const double wide = static_cast<double>(width()) / static_cast<double>(figures_.size());
  const QFont value_font = title_font(font());
  const int line = fontMetrics().height();
  const int value_line = QFontMetrics(value_font).height();
  double left = 0;
  for (const Figure& f : figures_) {
    const QRectF cell(left, 0, wide, height());
    if (left > 0) {
      painter.setPen(tint(palette(), palette().color(QPalette::Text), 0.18));
      painter.drawLine(QPointF(left, 8), QPointF(left, height() - 8));
    }
    const QRectF text = cell.adjusted(8, 6, -4, 0);
    const auto draw = [&](double y, int high, const QString& words) {
      painter.drawText(
          QRectF(text.left(), text.top() + y, text.width(), high),
          static_cast<int>(Qt::AlignLeft | Qt::AlignVCenter),
          painter.fontMetrics().elidedText(words, Qt::ElideRight, static_cast<int>(text.width())));
    };
    painter.setFont(font());
    painter.setPen(secondary_text(palette()));
    draw(0, line, f.title);
    painter.setFont(value_font);
    painter.setPen(palette().color(QPalette::WindowText));
    draw(line, value_line, f.value);
    painter.setFont(font());
    painter.setPen(f.severity < 0 ? secondary_text(palette())
                                  : severity_colour(palette(), f.severity));
    draw(line + value_line, line, f.detail);
    left += wide;
  }
}

}  // namespace rpcrdma::gui
