// Input of the credit chart and its data; credit_chart_paint.cc draws it.
#include <QKeyEvent>
#include <algorithm>
#include <cmath>

#include <rpcrdma/views/credit_chart.h>

namespace rpcrdma::gui {

namespace {

constexpr int kColumn = 2;                  // pixels
constexpr std::int64_t kLeastWindow = 100;  // ns, the shortest window

}  // namespace

CreditChart::CreditChart(QWidget* parent) : QWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setMinimumSize(240, 120);
  setAccessibleName(tr("Credits over time"));
  notation_.write = [](std::int64_t ns) { return QString::number(ns); };
}

CreditChart::~CreditChart() = default;

void CreditChart::set_notation(TimeNotation notation) {
  notation_ = std::move(notation);
  update();
}

void CreditChart::set_source(const CreditSource* source) {
  source_ = source;
  first_ = last_ = from_ = to_ = 0;
  columns_ = {};
  selected_.reset();
  refresh();
}

void CreditChart::set_window(std::optional<Window> window) {
  window_ = window;
  refresh();
}

void CreditChart::refresh() {
  const auto range = source_ != nullptr ? source_->range() : std::nullopt;
  if (!range) {
    columns_ = {};
    update();
    return;
  }
  first_ = range->first;
  last_ = std::max(range->second, range->first + kLeastWindow);
  if (panning_) return ask();
  const Window all{first_, last_};
  const auto [from, to] = window_.value_or(all);
  go(from, to);
}

QRect CreditChart::plot() const {
  const int left = fontMetrics().horizontalAdvance("00000 ") + 8;
  return rect().adjusted(left, fontMetrics().height() + 8, -10, -fontMetrics().height() - 10);
}

void CreditChart::ask() {
  const int count = std::max(1, plot().width() / kColumn);
  for (int direction = 0; direction < 2; ++direction) {
    columns_[static_cast<std::size_t>(direction)] =
        source_ != nullptr && to_ > from_ ? source_->columns(direction, from_, to_, count)
                                          : std::vector<CreditColumn>{};
  }
  update();
}

void CreditChart::go(std::int64_t from, std::int64_t to) {
  const std::int64_t wide = std::clamp<std::int64_t>(to - from, kLeastWindow, last_ - first_);
  from = std::clamp(from, first_, last_ - wide);
  from_ = from;
  to_ = from + wide;
  ask();
}

void CreditChart::want(std::int64_t from, std::int64_t to) {
  if (source_ == nullptr || last_ <= first_) return;
  const std::int64_t wide = std::clamp<std::int64_t>(to - from, kLeastWindow, last_ - first_);
  from = std::clamp(from, first_, last_ - wide);
  if (wide == last_ - first_) {
    Q_EMIT all_wanted();
  } else {
    Q_EMIT window_wanted(from, from + wide);
  }
}

void CreditChart::set_selected(std::optional<std::int64_t> ns) {
  selected_ = ns;
  setAccessibleDescription(ns ? values_at(*ns) : QString());
  update();
}

TimeScale CreditChart::scale() const {
  const QRect area = plot();
  return {from_, to_, area.left(), area.width()};
}

QString CreditChart::values_at(std::int64_t ns) const {
  QString text;
  for (std::size_t d = 0; d < 2; ++d) {
    for (const CreditColumn& c : columns_[d]) {
      if (!c.any || ns < c.from_ns || ns >= c.to_ns) continue;
      const auto range = [](std::uint32_t low, std::uint32_t high) {
        return low == high ? QString::number(low) : QString("%1 to %2").arg(low).arg(high);
      };
      if (!text.isEmpty()) text += '\n';
      const QString limit =
          c.limit_max != 0 ? tr(", limit %1").arg(range(c.limit_min, c.limit_max)) : QString();
      text += tr("%1: granted %2%3, requested %4, in use %5, waiting %6")
                  .arg(d == 0 ? tr("forward") : tr("reverse"), range(c.granted_min, c.granted_max),
                       limit)
                  .arg(c.requested_max)
                  .arg(range(c.in_use_min, c.in_use_max))
                  .arg(c.waiting_max);
    }
  }
  return text;
}

void CreditChart::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  ask();
}

void CreditChart::zoom(double factor, double around) {
  // Times may count from 1970: only differences fit a double exactly.
  const auto before = static_cast<double>(to_ - from_);
  const double now = std::min(before * factor, static_cast<double>(last_ - first_));
  const std::int64_t from = from_ + std::llround((before - now) * around);
  want(from, from + std::llround(now));
}

void CreditChart::pan(double part) {
  const auto by = static_cast<std::int64_t>(static_cast<double>(to_ - from_) * part);
  want(from_ + by, to_ + by);
}

void CreditChart::wheelEvent(QWheelEvent* event) {
  const QRect area = plot();
  const double around =
      std::clamp((event->position().x() - area.left()) / std::max(1, area.width()), 0.0, 1.0);
  zoom(std::pow(0.8, event->angleDelta().y() / 120.0), around);
  event->accept();
}

void CreditChart::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton && event->button() != Qt::MiddleButton) return;
  pressed_ = event->position().toPoint().x();
  panning_ = event->button() == Qt::MiddleButton || (event->modifiers() & Qt::ShiftModifier) != 0;
  pan_from_ = from_;
  pan_to_ = to_;
}

void CreditChart::mouseMoveEvent(QMouseEvent* event) {
  cursor_ = event->position().toPoint().x();
  if (pressed_ && panning_) {
    const double part = static_cast<double>(*pressed_ - *cursor_) / std::max(1, plot().width());
    const auto by = static_cast<std::int64_t>(part * static_cast<double>(pan_to_ - pan_from_));
    go(pan_from_ + by, pan_to_ + by);
  }
  update();
}

void CreditChart::mouseReleaseEvent(QMouseEvent* event) {
  if (!pressed_) return;
  const int from = *pressed_;
  const int to = event->position().toPoint().x();
  pressed_.reset();
  if (panning_) {
    panning_ = false;
    want(from_, to_);
    return;
  }
  constexpr int kClick = 4;
  if (std::abs(to - from) >= kClick) {
    want(scale().time_at(std::min(from, to)), scale().time_at(std::max(from, to)));
    return;
  }
  if (source_ == nullptr) return;
  const auto all = panes();
  const int y = event->position().toPoint().y();
  const int direction = !columns_[1].empty() && y >= all[1].area.top() ? 1 : 0;
  if (const quint64 id = source_->message_at(direction, scale().time_at(to)); id != 0) {
    Q_EMIT message_selected(id);
  }
}

void CreditChart::mouseDoubleClickEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) Q_EMIT all_wanted();
}

void CreditChart::leaveEvent(QEvent* event) {
  QWidget::leaveEvent(event);
  cursor_.reset();
  update();
}

void CreditChart::keyPressEvent(QKeyEvent* event) {
  const bool alt = (event->modifiers() & Qt::AltModifier) != 0;
  switch (event->key()) {
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      return zoom(0.5, 0.5);
    case Qt::Key_Minus:
      return zoom(2, 0.5);
    case Qt::Key_Left:
      return alt ? undo_wanted() : pan(-0.2);
    case Qt::Key_Right:
      return alt ? redo_wanted() : pan(0.2);
    case Qt::Key_Home:
    case Qt::Key_Escape:
      return all_wanted();
    case Qt::Key_End:
      return want(last_ - (to_ - from_), last_);
    case Qt::Key_Backspace:
      return undo_wanted();
    default:
      return QWidget::keyPressEvent(event);
  }
}

}  // namespace rpcrdma::gui
