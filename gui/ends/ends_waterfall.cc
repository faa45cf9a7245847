// The scroll bar counts rows, so that its range fits any number of them.
#include "ends_waterfall.h"

#include "ends_words.h"

#include <QAccessible>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <utility>

#include <rpcrdma/gui_text/plain_text.h>

namespace rpcrdma::gui {

namespace {

constexpr int kLeastStage = 2;  // pixels
constexpr double kMostZoom = 1e6;
constexpr int kPanSteps = 10'000;  // of the horizontal scroll bar, for the whole width

}  // namespace

EndsWaterfall::EndsWaterfall(QWidget* parent) : QAbstractScrollArea(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setFrameShape(QFrame::NoFrame);
  setAccessibleName(tr("Calls of both ends as a waterfall"));
  setMinimumHeight(5 * row_height());
  notation_.write = [](std::int64_t ns) { return QString::number(static_cast<double>(ns) / 1e9); };
  layout();
}

const ends::EndsCall& EndsWaterfall::call(std::size_t row) const {
  return calls_of(*all_)[rows_[row]];
}

void EndsWaterfall::set_rows(SharedEnds all, EndsRows rows) {
  const std::optional<std::uint32_t> before = all == all_ ? current() : std::nullopt;
  all_ = std::move(all);
  rows_ = std::move(rows.calls);
  order_ = rows.order;
  longest_ns_ = std::max<std::int64_t>(1, rows.longest_ns);
  current_.reset();
  layout();
  if (!before || !go_to(*before)) {
    stage_.reset();
    verticalScrollBar()->setValue(0);
    say_current();
  }
}

void EndsWaterfall::set_scale(Scale scale) {
  if (scale == scale_) return;
  scale_ = scale;
  zoom_ = 1;
  layout();
  Q_EMIT zoomed();
}

void EndsWaterfall::set_notation(TimeNotation notation) {
  notation_ = std::move(notation);
  viewport()->update();
}

void EndsWaterfall::set_zoom(double zoom) {
  if (scale_ != Scale::kCommon) return;
  zoom_ = std::clamp(zoom, 1.0, kMostZoom);
  layout();
  Q_EMIT zoomed();
}

std::optional<std::uint32_t> EndsWaterfall::current() const {
  if (!current_) return std::nullopt;
  return rows_[*current_];
}

bool EndsWaterfall::go_to(std::uint32_t call) {
  const auto it = std::find(rows_.begin(), rows_.end(), call);
  if (it == rows_.end()) return false;
  const auto row = static_cast<std::size_t>(it - rows_.begin());
  if (current_ != row) stage_.reset();
  choose(row, false);
  return true;
}

int EndsWaterfall::row_height() const {
  return fontMetrics().height() + 8;
}

int EndsWaterfall::rows_in_sight() const {
  return std::max(1, (viewport()->height() - header_height()) / row_height());
}

EndsWaterfall::Columns EndsWaterfall::columns() const {
  const QFontMetrics metrics = fontMetrics();
  const int wide = viewport()->width();
  constexpr int kPadding = 12;
  const int side = row_height() + metrics.horizontalAdvance(tr("not clear")) + kPadding;
  const int begin = metrics.horizontalAdvance("00:00:00.000000") + kPadding;
  const int took = metrics.horizontalAdvance("000.00 ms") + kPadding;
  const int name = metrics.averageCharWidth() * 36;
  Columns at;
  at.right = wide - 8;
  // Bars come first: in a small window, the name gets shorter, and the time goes.
  const int least_bars = wide * 2 / 5;
  const int room = wide - least_bars - side - took;
  at.begin = side;
  const bool with_begin = room > begin + name / 2;
  at.name = at.begin + (with_begin ? begin : 0);
  at.took = at.name + std::clamp(room - (with_begin ? begin : 0), name / 3, name);
  at.bars = at.took + took;
  at.right = std::max(at.right, at.bars + 1);
  return at;
}

EndsWaterfall::Shown EndsWaterfall::shown_of(std::size_t row) const {
  const ends::EndsCall& c = call(row);
  switch (scale_) {
    case Scale::kEach:
      return {c.begin_ns, static_cast<double>(std::max<std::int64_t>(1, c.end_ns - c.begin_ns))};
    case Scale::kClock:
      return sight_;
    case Scale::kCommon:
      break;
  }
  const auto all = static_cast<double>(longest_ns_);
  const double from = all * horizontalScrollBar()->value() / kPanSteps;
  return {c.begin_ns + static_cast<std::int64_t>(from), all / zoom_};
}

// For kClock, the axis spans the Calls in sight.
void EndsWaterfall::measure_sight() {
  sight_ = {};
  if (rows_.empty() || scale_ != Scale::kClock) return;
  const auto first = static_cast<std::size_t>(verticalScrollBar()->value());
  const std::size_t last =
      std::min(rows_.size(), first + static_cast<std::size_t>(rows_in_sight()) + 1);
  std::int64_t from = INT64_MAX;
  std::int64_t to = INT64_MIN;
  for (std::size_t row = first; row < last; ++row) {
    from = std::min(from, call(row).begin_ns);
    to = std::max(to, call(row).end_ns);
  }
  if (from >= to) return;
  sight_ = {from, static_cast<double>(to) - static_cast<double>(from)};
}

void EndsWaterfall::layout() {
  QScrollBar& down = *verticalScrollBar();
  const int sight = rows_in_sight();
  const int count = static_cast<int>(rows_.size());
  down.setPageStep(sight);
  down.setSingleStep(1);
  down.setRange(0, std::max(0, count - sight));
  QScrollBar& across = *horizontalScrollBar();
  const bool zoomed_in = scale_ == Scale::kCommon && zoom_ > 1;
  const int page = zoomed_in ? std::max(1, static_cast<int>(kPanSteps / zoom_)) : kPanSteps;
  across.setPageStep(page);
  across.setSingleStep(std::max(1, page / 10));
  across.setRange(0, kPanSteps - page);
  measure_sight();
  viewport()->update();
}

void EndsWaterfall::scrollContentsBy(int dx, int dy) {
  Q_UNUSED(dx);
  Q_UNUSED(dy);
  measure_sight();
  viewport()->update();
}

void EndsWaterfall::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  layout();
}

void EndsWaterfall::changeEvent(QEvent* event) {
  QAbstractScrollArea::changeEvent(event);
  if (event->type() == QEvent::FontChange) layout();
}

QSize EndsWaterfall::sizeHint() const {
  constexpr int kRows = 14;
  return {fontMetrics().averageCharWidth() * 110, kRows * row_height()};
}

std::optional<std::size_t> EndsWaterfall::row_at(int y) const {
  if (y < header_height()) return std::nullopt;
  const auto row =
      static_cast<std::size_t>(verticalScrollBar()->value() + (y - header_height()) / row_height());
  if (row >= rows_.size()) return std::nullopt;
  return row;
}

QRect EndsWaterfall::rect_of(std::size_t row) const {
  const auto first = static_cast<std::size_t>(verticalScrollBar()->value());
  if (row < first || row >= rows_.size() ||
      row - first > static_cast<std::size_t>(rows_in_sight())) {
    return {};
  }
  const int top = header_height() + static_cast<int>(row - first) * row_height();
  return {0, top, viewport()->width(), row_height()};
}

QRect EndsWaterfall::bar_of(const Columns& at, const Shown& shown, int top, std::int64_t from_ns,
                            std::int64_t took_ns) const {
  const double room = at.right - at.bars;
  const auto x_of = [&](double ns) {
    return at.bars + std::clamp(ns / shown.length_ns * room, -2.0, room + 2);
  };
  const double since = static_cast<double>(from_ns) - static_cast<double>(shown.from_ns);
  const int left = static_cast<int>(std::lround(x_of(since)));
  const int right = static_cast<int>(std::lround(x_of(since + static_cast<double>(took_ns))));
  if (right < at.bars || left > at.right) return {};
  const int from = std::max(left, at.bars);
  return {from, top + 4, std::max(kLeastStage, std::min(right, at.right) - from), row_height() - 8};
}

QRect EndsWaterfall::rect_of(std::size_t row, std::size_t stage) const {
  const QRect all = rect_of(row);
  if (all.isEmpty() || stage >= ends::kStages) return {};
  const ends::EndsCall& c = call(row);
  if (c.took_ns[stage] <= 0 || c.began_ns[stage] == ends::kUnknownNs) return {};
  return bar_of(columns(), shown_of(row), all.top(), c.began_ns[stage], c.took_ns[stage]);
}

QString EndsWaterfall::text_at(const QPoint& at) const {
  const auto row = row_at(at.y());
  if (!row) return {};
  const ends::EndsCall& c = call(*row);
  // The latest in order lies on top of the others.
  for (std::size_t stage = ends::kStages; stage-- > 0;) {
    if (!rect_of(*row, stage).contains(at)) continue;
    return call_name(c) + '\n' + stage_line(c, stage);
  }
  const QRect whole =
      bar_of(columns(), shown_of(*row), rect_of(*row).top(), c.begin_ns, c.end_ns - c.begin_ns);
  if (whole.contains(at)) {
    return call_name(c) + '\n' +
           tr("not known: no source shows this time; %1 of the Call")
               .arg(duration_text(c.unknown_ns));
  }
  return call_text(c);
}

void EndsWaterfall::choose(std::size_t row, bool by_user) {
  if (row >= rows_.size()) return;
  const bool another = current_ != row;
  current_ = row;
  const int first = verticalScrollBar()->value();
  const int at = static_cast<int>(row);
  if (at < first) verticalScrollBar()->setValue(at);
  if (at >= first + rows_in_sight()) verticalScrollBar()->setValue(at - rows_in_sight() + 1);
  viewport()->update();
  if (!another) return;
  if (by_user) stage_.reset();
  say_current();
  if (by_user) Q_EMIT call_selected(rows_[row]);
}

// Goes through the stages that are known, in order, and the whole Call before them.
void EndsWaterfall::choose_stage(int step) {
  if (!current_) return;
  const ends::EndsCall& c = call(*current_);
  int at = stage_ ? static_cast<int>(*stage_) : -1;
  const int before = at;
  do {
    at += step;
  } while (at >= 0 && at < static_cast<int>(ends::kStages) &&
           c.took_ns[static_cast<std::size_t>(at)] <= 0);
  if (at >= static_cast<int>(ends::kStages)) at = before;
  stage_ = at >= 0 ? std::optional(static_cast<std::size_t>(at)) : std::nullopt;
  viewport()->update();
  say_current();
  Q_EMIT stage_selected();
}

void EndsWaterfall::say_current() {
  QString text;
  if (current_) {
    const ends::EndsCall& c = call(*current_);
    text = stage_ ? call_name(c) + ": " + stage_line(c, *stage_) : call_sentence(c);
  }
  setAccessibleDescription(text);
  QAccessibleEvent changed(this, QAccessible::DescriptionChanged);
  QAccessible::updateAccessibility(&changed);
}

void EndsWaterfall::mousePressEvent(QMouseEvent* event) {
  const QPoint place = event->position().toPoint();
  if (event->button() != Qt::LeftButton) return;
  if (place.y() < header_height()) {
    const Columns at = columns();
    const int x = place.x();
    if (x < at.begin) {
      Q_EMIT order_wanted(EndsOrder::kBySide);
    } else if (x < at.name) {
      Q_EMIT order_wanted(order_ == EndsOrder::kOldestFirst ? EndsOrder::kNewestFirst
                                                            : EndsOrder::kOldestFirst);
    } else if (x >= at.took && x < at.bars) {
      Q_EMIT order_wanted(order_ == EndsOrder::kSlowestFirst ? EndsOrder::kFastestFirst
                                                             : EndsOrder::kSlowestFirst);
    }
    return;
  }
  const auto row = row_at(place.y());
  if (!row) return;
  choose(*row, true);
  stage_.reset();
  for (std::size_t stage = ends::kStages; stage-- > 0 && !stage_;) {
    if (rect_of(*row, stage).contains(place)) stage_ = stage;
  }
  say_current();
  Q_EMIT stage_selected();
}

void EndsWaterfall::mouseDoubleClickEvent(QMouseEvent* event) {
  if (const auto row = row_at(event->position().toPoint().y())) {
    choose(*row, true);
    Q_EMIT call_activated(rows_[*row]);
  }
}

void EndsWaterfall::wheelEvent(QWheelEvent* event) {
  if ((event->modifiers() & Qt::ControlModifier) == 0) {
    return QAbstractScrollArea::wheelEvent(event);
  }
  set_zoom(zoom_ * std::pow(2.0, event->angleDelta().y() / 240.0));
  event->accept();
}

void EndsWaterfall::keyPressEvent(QKeyEvent* event) {
  if (rows_.empty()) return QAbstractScrollArea::keyPressEvent(event);
  const std::size_t last = rows_.size() - 1;
  const auto page = static_cast<std::size_t>(std::max(1, rows_in_sight() - 1));
  const std::size_t now = current_.value_or(0);
  switch (event->key()) {
    case Qt::Key_Up:
      return choose(now > 0 ? now - 1 : 0, true);
    case Qt::Key_Down:
      return choose(current_ ? std::min(last, now + 1) : 0, true);
    case Qt::Key_PageUp:
      return choose(now > page ? now - page : 0, true);
    case Qt::Key_PageDown:
      return choose(std::min(last, now + page), true);
    case Qt::Key_Home:
      return choose(0, true);
    case Qt::Key_End:
      return choose(last, true);
    case Qt::Key_Left:
      return choose_stage(-1);
    case Qt::Key_Right:
      return choose_stage(1);
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      return set_zoom(zoom_ * 2);
    case Qt::Key_Minus:
      return set_zoom(zoom_ / 2);
    case Qt::Key_0:
      return set_zoom(1);
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (current_) Q_EMIT call_activated(rows_[*current_]);
      return;
    default:
      return QAbstractScrollArea::keyPressEvent(event);
  }
}

void EndsWaterfall::focusInEvent(QFocusEvent* event) {
  QAbstractScrollArea::focusInEvent(event);
  viewport()->update();
}

bool EndsWaterfall::viewportEvent(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QAbstractScrollArea::viewportEvent(event);
  const auto* const help = static_cast<QHelpEvent*>(event);
  const QString text = text_at(help->pos());
  if (text.isEmpty()) {
    QToolTip::hideText();
  } else {
    QToolTip::showText(help->globalPos(), tool_tip(text), this);
  }
  return true;
}

}  // namespace rpcrdma::gui
