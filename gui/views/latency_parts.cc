#include <QPainter>
#include <QResizeEvent>
#include <algorithm>

#include <rpcrdma/base/quantity.h>
#include <rpcrdma/views/latency_parts.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

namespace {

constexpr int kPartsMargin = 12;

QString part_duration(std::int64_t ns) {
  return QString::fromStdString(base::format_duration(ns));
}

}  // namespace

LatencyParts::LatencyParts(QWidget* parent) : QWidget(parent) {
  setAccessibleName(tr("Parts of latency"));
}

void LatencyParts::set_parts(std::vector<LatencyProcedure::Part> parts) {
  parts_ = std::move(parts);
  fit();
}

void LatencyParts::set_note(const QString& text) {
  note_ = text;
  fit();
}

// The scroll area around it gives it the height that it needs.
void LatencyParts::fit() {
  setAccessibleDescription(lines().join(". "));
  setMinimumHeight(sizeHint().height());
  updateGeometry();
  update();
}

void LatencyParts::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  if (event->size().width() != event->oldSize().width()) setMinimumHeight(sizeHint().height());
}

QString LatencyParts::numbers(const LatencyProcedure::Part& part) {
  QString text = tr("mean %1, p99 %2").arg(part_duration(part.mean_ns), part_duration(part.p99_ns));
  if (part.calls != 0) text += tr(", %L1 Calls").arg(part.calls);
  return text;
}

QStringList LatencyParts::lines() const {
  QStringList all{note_};
  for (const auto& part : parts_) {
    QString line = part.name + ": " + numbers(part);
    if (!part.in_latency) line += tr(" (not in the latency)");
    all << line;
  }
  return all;
}

int LatencyParts::note_height() const {
  return fontMetrics()
      .boundingRect(QRect(0, 0, std::max(100, width() - 2 * kPartsMargin), 10'000),
                    Qt::TextWordWrap, note_)
      .height();
}

// Names and numbers do not fit side by side.
bool LatencyParts::is_narrow() const {
  const int wide = width() - 2 * kPartsMargin;
  return std::any_of(parts_.begin(), parts_.end(), [&](const auto& part) {
    return fontMetrics().horizontalAdvance(part.name + "    " + numbers(part)) > wide;
  });
}

QSize LatencyParts::sizeHint() const {
  const int row = fontMetrics().height() + 8;
  const int legend = parts_.empty() ? 0 : row;
  const int lines_each = is_narrow() ? 3 : 2;
  return {360, 2 * kPartsMargin + note_height() + legend +
                   static_cast<int>(parts_.size()) * (lines_each * fontMetrics().height() + 5)};
}

void LatencyParts::paintEvent(QPaintEvent* event) {
  Q_UNUSED(event);
  QPainter painter(this);
  painter.fillRect(rect(), palette().base());
  const QColor text = palette().color(QPalette::Text);
  const QColor dim = tint(palette(), text, 0.7);
  const int high = fontMetrics().height();
  const int wide = width() - 2 * kPartsMargin;
  int y = kPartsMargin;
  painter.setPen(parts_.empty() ? dim : text);
  painter.drawText(QRect(kPartsMargin, y, wide, note_height()), Qt::TextWordWrap, note_);
  y += note_height() + 6;
  if (parts_.empty()) return;
  std::int64_t longest = 1;
  for (const auto& part : parts_) longest = std::max({longest, part.mean_ns, part.p99_ns});
  // Legend.
  const QColor mean = ink(palette(), Ink::kCall);
  const QColor p99 = ink(palette(), Ink::kWaiting);
  int x = kPartsMargin;
  const auto word = [&](const QBrush& brush, const QString& name) {
    painter.fillRect(QRect(x, y + high / 2 - 4, 12, 8), brush);
    painter.setPen(dim);
    painter.drawText(x + 16, y + fontMetrics().ascent(), name);
    x += 16 + fontMetrics().horizontalAdvance(name) + 16;
  };
  word(mean, tr("mean"));
  word(QBrush(p99), tr("to p99"));
  word(QBrush(dim, Qt::BDiagPattern), tr("not in the latency"));
  y += high + 8;
  const bool narrow = is_narrow();
  for (const auto& part : parts_) {
    painter.setPen(text);
    painter.drawText(QRect(kPartsMargin, y, wide, high), Qt::AlignLeft, part.name);
    painter.setPen(dim);
    if (narrow) y += high;
    painter.drawText(QRect(kPartsMargin, y, wide, high), narrow ? Qt::AlignLeft : Qt::AlignRight,
                     numbers(part));
    y += high + 1;
    const auto length = [&](std::int64_t ns) {
      return static_cast<int>(static_cast<double>(std::max<std::int64_t>(0, ns)) /
                              static_cast<double>(longest) * wide);
    };
    const Qt::BrushStyle style = part.in_latency ? Qt::SolidPattern : Qt::BDiagPattern;
    painter.fillRect(QRect(kPartsMargin, y + 3, length(part.p99_ns), 3), QBrush(p99, style));
    painter.fillRect(QRect(kPartsMargin, y, std::max(2, length(part.mean_ns)), 9),
                     QBrush(mean, style));
    y += high + 4;
  }
}

}  // namespace rpcrdma::gui
