// Input of the strip and its data; strip_paint.cc draws it.
#include "time_strip.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QLabel>
#include <QToolButton>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include <rpcrdma/base/quantity.h>
#include <rpcrdma/gui_text/plain_text.h>

namespace rpcrdma::gui {

namespace {

constexpr int kRefreshEachMs = 100;
constexpr int kColumn = 2;                   // pixels
constexpr int kGrip = 5;                     // pixels around an edge of the range
constexpr int kClick = 4;                    // a shorter drag is a click
constexpr int kMarks = 10;                   // height of the marks of findings
constexpr int kLegend = 216;                 // width
constexpr std::int64_t kLeastRange = 1'000;  // ns

QString duration(std::int64_t ns) {
  return QString::fromStdString(base::format_duration(std::max<std::int64_t>(0, ns)));
}

}  // namespace

TimeStrip::TimeStrip(Document& document, QWidget* parent)
    : QWidget(parent),
      document_(document),
      range_label_(new QLabel(this)),
      all_button_(new QToolButton(this)) {
  setObjectName("strip");
  setAccessibleName(tr("Time"));
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  QFont small = font();
  small.setPointSizeF(std::max(7.0, small.pointSizeF() * 0.85));
  setFont(small);
  range_label_->setTextFormat(Qt::PlainText);
  range_label_->setAccessibleName(tr("Length of the range"));
  all_button_->setText("\u00d7");
  all_button_->setAutoRaise(true);
  all_button_->setToolTip(tr("Show the whole time (Esc)"));
  all_button_->setAccessibleName(tr("Show the whole time"));
  TimeRange& range = document_.time_range();
  connect(all_button_, &QToolButton::clicked, &range, &TimeRange::show_all);
  timer_.setSingleShot(true);
  timer_.setInterval(kRefreshEachMs);
  connect(&timer_, &QTimer::timeout, this, &TimeStrip::refresh);
  const auto later = [this] {
    if (isVisible() && !timer_.isActive()) timer_.start();
  };
  connect(&document_, &Document::changed, this, later);
  connect(&document_, &Document::connection_selected, this, later);
  connect(&document_, &Document::reset, this, [this] {
    dragged_.reset();
    grip_ = Grip::kNone;
    refresh();
  });
  const auto repaint = [this] { update(); };
  connect(&document_, &Document::message_selected, this, repaint);
  connect(&document_, &Document::time_format_changed, this, [this] {
    show_range();
    update();
  });
  connect(&range, &TimeRange::changed, this, &TimeStrip::show_range);
  connect(&range, &TimeRange::bounds_changed, this, &TimeStrip::show_range);
  show_range();
}

QSize TimeStrip::sizeHint() const {
  return {600, std::max(62, 4 * fontMetrics().height() + 8)};
}

QSize TimeStrip::minimumSizeHint() const {
  return {200, sizeHint().height()};
}

QRect TimeStrip::legend() const {
  // A narrow strip needs its width for the curves.
  const int wide = width() > 3 * kLegend ? kLegend : 0;
  return {width() - wide, 2, wide, height() - 4};
}

QRect TimeStrip::area() const {
  const int right = legend().left() - 8;
  return {8, kMarks + 2, std::max(1, right - 8),
          height() - kMarks - 2 - fontMetrics().height() - 4};
}

TimeScale TimeStrip::scale() const {
  const Span bounds = document_.time_range().bounds();
  const QRect plot = area();
  return {bounds.from_ns, bounds.to_ns, plot.left(), plot.width()};
}

void TimeStrip::refresh() {
  const Span bounds = document_.time_range().bounds();
  data_ = document_.store().read([&](const index::Content& c) {
    return strip_data(c, document_.connection(), bounds.from_ns, bounds.to_ns,
                      area().width() / kColumn);
  });
  update();
}

void TimeStrip::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  refresh();
}

void TimeStrip::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  show_range();
  refresh();
}

QString TimeStrip::range_text() const {
  const Span bounds = document_.time_range().bounds();
  const auto range = shown_range();
  if (!range) return duration(bounds.length_ns());
  return tr("%1 of %2").arg(duration(range->length_ns()), duration(bounds.length_ns()));
}

// Places and fills the line with the length of the range.
void TimeStrip::show_range() {
  const auto range = shown_range();
  const QRect place = legend();
  const int line = fontMetrics().height() + 1;
  const bool room = place.width() > 0;
  range_label_->setVisible(room);
  all_button_->setVisible(room && range.has_value());
  range_label_->setText(range_text());
  QFont bold = font();
  bold.setBold(range.has_value());
  range_label_->setFont(bold);
  const int wide = QFontMetrics(bold).horizontalAdvance(range_label_->text()) + 4;
  range_label_->setGeometry(place.left(), place.top(), wide, line);
  all_button_->setGeometry(place.left() + wide + 2, place.top() - 1, line + 4, line + 2);
  const Span shown = document_.time_range().shown();
  setAccessibleDescription(
      tr("%1, from %2 to %3. Arrow keys move the range, Shift and Control with "
         "them move its end and its beginning, + and - zoom, Escape shows all.")
          .arg(range_text(), document_.time_text(shown.from_ns), document_.time_text(shown.to_ns)));
  update();
}

std::optional<TimeRange::Span> TimeStrip::shown_range() const {
  return dragged_ ? dragged_ : document_.time_range().range();
}

TimeStrip::Grip TimeStrip::grip_at(int x) const {
  const auto range = document_.time_range().range();
  if (!range) return Grip::kNew;
  const TimeScale s = scale();
  const int from = s.x_of(range->from_ns);
  const int to = s.x_of(range->to_ns);
  // The nearer edge; both can be closer than the grip is wide.
  if (std::abs(x - from) <= kGrip && std::abs(x - from) <= std::abs(x - to)) return Grip::kFrom;
  if (std::abs(x - to) <= kGrip) return Grip::kTo;
  return x > from && x < to ? Grip::kMiddle : Grip::kNew;
}

void TimeStrip::drag_to(int x) {
  const TimeScale s = scale();
  const Span bounds = document_.time_range().bounds();
  const std::int64_t by = s.time_at(x) - s.time_at(pressed_);
  Span now = before_;
  switch (grip_) {
    case Grip::kNone:
      return;
    case Grip::kNew:
      now = {s.time_at(pressed_), s.time_at(x)};
      break;
    case Grip::kFrom:
      now.from_ns += by;
      break;
    case Grip::kTo:
      now.to_ns += by;
      break;
    case Grip::kMiddle: {
      const std::int64_t limited =
          std::clamp(by, bounds.from_ns - before_.from_ns, bounds.to_ns - before_.to_ns);
      now = {before_.from_ns + limited, before_.to_ns + limited};
      break;
    }
  }
  if (now.to_ns < now.from_ns) std::swap(now.from_ns, now.to_ns);
  now.from_ns = std::clamp(now.from_ns, bounds.from_ns, bounds.to_ns);
  now.to_ns = std::clamp(now.to_ns, bounds.from_ns, bounds.to_ns);
  dragged_ = now;
  show_range();
}

void TimeStrip::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || document_.is_empty()) return;
  pressed_ = event->position().toPoint().x();
  // Shift: a new range inside the chosen one.
  grip_ = (event->modifiers() & Qt::ShiftModifier) != 0 ? Grip::kNew : grip_at(pressed_);
  before_ = document_.time_range().shown();
}

void TimeStrip::mouseMoveEvent(QMouseEvent* event) {
  const int x = event->position().toPoint().x();
  cursor_ = x;
  if (grip_ != Grip::kNone) {
    if (dragged_ || std::abs(x - pressed_) >= kClick) drag_to(x);
  } else {
    const Grip at = grip_at(x);
    setCursor(at == Grip::kFrom || at == Grip::kTo ? Qt::SizeHorCursor
              : at == Grip::kMiddle                ? Qt::OpenHandCursor
                                                   : Qt::CrossCursor);
  }
  update();
}

void TimeStrip::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || grip_ == Grip::kNone) return;
  grip_ = Grip::kNone;
  if (const auto chosen = std::exchange(dragged_, std::nullopt)) {
    document_.time_range().set(*chosen);
    show_range();
    return;
  }
  const StripData::Mark* const mark = mark_at(event->position().toPoint());
  if (mark != nullptr && mark->message != 0) document_.select_message(mark->message);
}

void TimeStrip::mouseDoubleClickEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) document_.time_range().show_all();
}

void TimeStrip::leaveEvent(QEvent* event) {
  QWidget::leaveEvent(event);
  cursor_.reset();
  update();
}

void TimeStrip::zoom(double factor, double around) {
  const Span shown = document_.time_range().shown();
  const Span bounds = document_.time_range().bounds();
  if (bounds.length_ns() <= kLeastRange) return;
  const auto before = static_cast<double>(shown.length_ns());
  const double now = std::clamp(before * factor, static_cast<double>(kLeastRange),
                                static_cast<double>(bounds.length_ns()));
  const std::int64_t wide = std::llround(now);
  const std::int64_t from =
      std::clamp(shown.from_ns + static_cast<std::int64_t>((before - now) * around), bounds.from_ns,
                 bounds.to_ns - wide);
  document_.time_range().set({from, from + wide});
}

void TimeStrip::move(double part) {
  if (!document_.time_range().range()) return;
  const Span shown = document_.time_range().shown();
  const Span bounds = document_.time_range().bounds();
  const std::int64_t by =
      std::clamp(static_cast<std::int64_t>(static_cast<double>(shown.length_ns()) * part),
                 bounds.from_ns - shown.from_ns, bounds.to_ns - shown.to_ns);
  document_.time_range().set({shown.from_ns + by, shown.to_ns + by});
}

void TimeStrip::resize_by(double from_part, double to_part) {
  Span now = document_.time_range().shown();
  const auto wide = static_cast<double>(now.length_ns());
  now.from_ns += std::llround(wide * from_part);
  now.to_ns += std::llround(wide * to_part);
  if (now.length_ns() >= kLeastRange) document_.time_range().set(now);
}

void TimeStrip::wheelEvent(QWheelEvent* event) {
  const TimeScale s = scale();
  const Span shown = document_.time_range().shown();
  const std::int64_t at = s.time_at(static_cast<int>(event->position().x()));
  const double around =
      std::clamp(static_cast<double>(at - shown.from_ns) /
                     static_cast<double>(std::max<std::int64_t>(1, shown.length_ns())),
                 0.0, 1.0);
  zoom(std::pow(0.8, event->angleDelta().y() / 120.0), around);
  event->accept();
}

void TimeStrip::keyPressEvent(QKeyEvent* event) {
  const bool shift = (event->modifiers() & Qt::ShiftModifier) != 0;
  const bool control = (event->modifiers() & Qt::ControlModifier) != 0;
  const auto arrow = [&](double by) {
    if (shift) return resize_by(0, by);
    if (control) return resize_by(by, 0);
    return move(by);
  };
  switch (event->key()) {
    case Qt::Key_Left:
      return arrow(-0.1);
    case Qt::Key_Right:
      return arrow(0.1);
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      return zoom(0.5, 0.5);
    case Qt::Key_Minus:
      return zoom(2, 0.5);
    case Qt::Key_Escape:
      dragged_.reset();
      grip_ = Grip::kNone;
      document_.time_range().show_all();
      return show_range();
    default:
      return QWidget::keyPressEvent(event);
  }
}

const StripData::Mark* TimeStrip::mark_at(QPoint at) const {
  if (at.y() > kMarks + 4) return nullptr;
  const TimeScale s = scale();
  const StripData::Mark* found = nullptr;
  // The one that is drawn on top comes last.
  for (const StripData::Mark& mark : data_.marks) {
    if (std::abs(s.x_of(mark.ns) - at.x()) <= kGrip) found = &mark;
  }
  return found;
}

QString TimeStrip::values_at(std::int64_t ns) const {
  QStringList lines{tr("at %1").arg(document_.time_text(ns))};
  for (const StripData::Bin& bin : data_.bins) {
    if (ns < bin.from_ns || ns >= bin.to_ns) continue;
    lines << tr("%L1 Calls/s (%L2 in %3)")
                 .arg(std::llround(bin.per_second))
                 .arg(bin.calls)
                 .arg(duration(bin.to_ns - bin.from_ns));
    if (bin.no_credit) lines << tr("a connection had no free credit");
  }
  for (const index::CreditSpan& s : data_.credits) {
    if (!s.any || ns < s.from_ns || ns >= s.to_ns) continue;
    const QString of =
        s.limit_max != 0 ? tr("limit %1").arg(s.limit_max) : tr("granted %1").arg(s.granted_max);
    lines << tr("connection %1: %2 in flight, %3")
                 .arg(document_.connection().value_or(0) + 1)
                 .arg(s.in_use_min == s.in_use_max
                          ? QString::number(s.in_use_max)
                          : tr("%1 to %2").arg(s.in_use_min).arg(s.in_use_max))
                 .arg(of);
    if (s.waiting_max != 0) lines << tr("%1 wait for a credit").arg(s.waiting_max);
  }
  for (const StripData::Stall& stall : data_.stalls) {
    if (stall.from_ns <= ns && ns <= stall.to_ns) {
      lines << tr("stalled for %1").arg(duration(stall.to_ns - stall.from_ns));
      break;
    }
  }
  const TimeScale s = scale();
  QStringList rules;
  for (auto it = data_.marks.rbegin(); it != data_.marks.rend() && rules.size() < 5; ++it) {
    if (std::abs(s.x_of(it->ns) - s.x_of(ns)) > 3) continue;
    if (const QString name = it->rule; !rules.contains(name)) rules << name;
  }
  if (!rules.isEmpty()) lines << tr("findings: %1").arg(rules.join(", "));
  return lines.join('\n');
}

bool TimeStrip::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* const help = static_cast<QHelpEvent*>(event);
    if (document_.is_empty() || help->pos().x() > area().right()) {
      QToolTip::hideText();
    } else {
      QToolTip::showText(help->globalPos(), tool_tip(values_at(scale().time_at(help->pos().x()))),
                         this);
    }
    return true;
  }
  return QWidget::event(event);
}

}  // namespace rpcrdma::gui
