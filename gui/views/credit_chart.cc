// Draws one column of data for every two pixels, from its minimum to its maximum: a moment without
// credits stays visible at any zoom.
#include <QKeyEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include <rpcrdma/views/credit_chart.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

namespace {

constexpr int kColumn = 2;                  // pixels
constexpr int kDash = 8, kDashPeriod = 12;  // pixels
constexpr std::int64_t kLeastWindow = 100;  // ns, the shortest window

bool is_drawn(const std::vector<CreditColumn>& columns, std::uint32_t CreditColumn::*what) {
  return std::any_of(columns.begin(), columns.end(),
                     [what](const CreditColumn& c) { return c.*what != 0; });
}

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

int CreditChart::Pane::y_of(double value) const {
  const int bottom = area.bottom();
  const int low = area.height() - band;
  if (band == 0 || value <= low_top) {
    return bottom - static_cast<int>(value / low_top * low);
  }
  return bottom - low - static_cast<int>((value - low_top) / (top - low_top) * band);
}

std::array<CreditChart::Pane, 2> CreditChart::panes() const {
  const QRect area = plot();
  std::array<Pane, 2> all;
  const bool both = !columns_[0].empty() && !columns_[1].empty();
  const int gap = fontMetrics().height() + 4;
  for (std::size_t d = 0; d < 2; ++d) {
    if (columns_[d].empty()) continue;
    Pane& pane = all[d];
    pane.area = area;
    if (both) {
      const int half = (area.height() - gap) / 2;
      pane.area = d == 0 ? QRect(area.left(), area.top(), area.width(), half)
                         : QRect(area.left(), area.bottom() - half, area.width(), half);
    }
    std::uint32_t used = 1;
    std::uint32_t most = 1;
    for (const CreditColumn& c : columns_[d]) {
      if (!c.any) continue;
      used = std::max({used, c.in_use_max, c.waiting_max});
      most = std::max({most, c.requested_max, c.granted_max, c.limit_max});
    }
    most = std::max(most, used);
    pane.low_top = pane.top = most * 1.08;
    constexpr double kFar = 4;
    const int band = 2 * fontMetrics().height() + 6;
    if (most > kFar * used && pane.area.height() > 2 * band) {
      pane.low_top = std::max(2.0, used * 1.25);
      pane.top = most * 1.02;
      pane.band = band;
    }
  }
  return all;
}

// The vertical scale. Labels of a band are those of its values, not round ones.
void CreditChart::draw_scale(QPainter& painter, int direction, const Pane& pane) const {
  const QRect& area = pane.area;
  const int high = fontMetrics().height();
  const QColor text = palette().color(QPalette::Text);
  const auto label = [&](double value, int y) {
    painter.setPen(text);
    painter.drawText(QRect(0, y - high / 2, area.left() - 6, high),
                     Qt::AlignRight | Qt::AlignVCenter, QString::number(value));
  };
  const int low = area.height() - pane.band;
  const double step = std::max(1.0, step_of(pane.low_top, low / (high * 1.8)));
  for (double v = 0; v <= pane.low_top; v += step) {
    const int y = pane.y_of(v);
    painter.setPen(QPen(line_colour(palette()), 0, Qt::DotLine));
    painter.drawLine(area.left(), y, area.right(), y);
    if (pane.band == 0 || y > area.bottom() - low + high / 2) label(v, y);
  }
  if (pane.band == 0) return;
  std::vector<std::uint32_t> values;
  for (const CreditColumn& c : columns_[static_cast<std::size_t>(direction)]) {
    if (c.any) values.insert(values.end(), {c.granted_max, c.limit_max, c.requested_max});
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  // From the largest one down, as far as they have room.
  int above = area.top() - high;
  for (auto it = values.rbegin(); it != values.rend() && *it > pane.low_top; ++it) {
    const int y = pane.y_of(*it);
    if (y - above < high - 2) continue;
    label(*it, y);
    above = y;
  }
  // The break of the axis: two short strokes at its edge.
  const int at = area.bottom() - low;
  painter.fillRect(QRect(area.left(), at - 1, area.width(), 3), palette().base());
  painter.setPen(QPen(line_colour(palette()), 1, Qt::DashLine));
  painter.drawLine(area.left(), at - 2, area.right(), at - 2);
  painter.drawLine(area.left(), at + 2, area.right(), at + 2);
  painter.setPen(QPen(text, 1));
  painter.drawLine(area.left() - 4, at + 1, area.left() + 4, at - 5);
  painter.drawLine(area.left() - 4, at + 5, area.left() + 4, at - 1);
}

void CreditChart::draw_pane(QPainter& painter, int direction, const Pane& pane) const {
  const QRect& area = pane.area;
  const auto& columns = columns_[static_cast<std::size_t>(direction)];
  const auto y_of = [&pane](double value) { return pane.y_of(value); };
  draw_scale(painter, direction, pane);
  const double per = static_cast<double>(area.width()) / static_cast<double>(columns.size());
  const auto x = [&](std::size_t i) {
    return area.left() + static_cast<int>(per * static_cast<double>(i));
  };
  // Moments at which no further Call could be sent.
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!columns[i].any || !columns[i].exhausted) continue;
    painter.fillRect(QRect(x(i), area.top(), std::max(1, x(i + 1) - x(i)), area.height()),
                     tint(palette(), ink(palette(), Ink::kStall), 0.22));
  }
  struct Line {
    Ink ink;
    std::uint32_t CreditColumn::*least;
    std::uint32_t CreditColumn::*most;
    bool filled;
    bool dashed = false;
  };
  const Line lines[] = {
      {Ink::kInUse, &CreditColumn::in_use_min, &CreditColumn::in_use_max, true},
      {Ink::kWaiting, &CreditColumn::waiting_max, &CreditColumn::waiting_max, true},
      {Ink::kRequested, &CreditColumn::requested_max, &CreditColumn::requested_max, false},
      {Ink::kGranted, &CreditColumn::granted_min, &CreditColumn::granted_max, false},
      {Ink::kLimit, &CreditColumn::limit_min, &CreditColumn::limit_max, false, true},
  };
  for (const Line& line : lines) {
    // Only endpoints report these.
    if ((line.ink == Ink::kWaiting || line.ink == Ink::kLimit) && !is_drawn(columns, line.most)) {
      continue;
    }
    const QColor colour = ink(palette(), line.ink);
    // Draws all rectangles of a kind at once, and lines as thin rectangles: strokes of a pen cost
    // many times as much.
    const int thick = line.filled ? 1 : 2;
    QList<QRect> below, body, strokes;
    int before = -1;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const CreditColumn& c = columns[i];
      if (!c.any || (line.dashed && c.*line.most == 0)) {
        before = -1;
        continue;
      }
      const int low = y_of(c.*line.least);
      const int high = y_of(c.*line.most);
      const int left = x(i);
      const int wide = std::max(1, x(i + 1) - left);
      const auto upright = [&](int from, int to) {
        strokes << QRect(left - thick / 2, std::min(from, to), thick, std::abs(to - from) + 1);
      };
      if (line.filled) {
        below << QRect(left, high, wide, area.bottom() - high);
        if (low != high) body << QRect(left, high, wide, low - high);
      } else if (low != high) {
        upright(low, high);
      }
      const bool gap = line.dashed && (left - area.left()) % kDashPeriod >= kDash;
      if (!gap) strokes << QRect(left, high - thick / 2, line.dashed ? wide : wide + 1, thick);
      if (before >= 0 && before != high) upright(before, high);
      before = high;
    }
    painter.setPen(Qt::NoPen);
    // Calls in use stay visible through the area of waiting Calls.
    QColor through = colour;
    through.setAlphaF(0.25F);
    painter.setBrush(through);
    painter.drawRects(below);
    painter.setBrush(tint(palette(), colour, 0.55));
    painter.drawRects(body);
    painter.setBrush(colour);
    painter.drawRects(strokes);
  }
  painter.setBrush(Qt::NoBrush);
  painter.setPen(line_colour(palette()));
  painter.drawRect(area);
  draw_legend(painter, direction, pane);
}

void CreditChart::draw_legend(QPainter& painter, int direction, const Pane& pane) const {
  const QRect& area = pane.area;
  const auto& columns = columns_[static_cast<std::size_t>(direction)];
  // The latest values name the lines.
  const CreditColumn* last = nullptr;
  for (const CreditColumn& c : columns) {
    if (c.any) last = &c;
  }
  const auto named = [last](const QString& name, std::uint32_t CreditColumn::*value) {
    return last != nullptr ? QString("%1 %2").arg(name).arg(last->*value) : name;
  };
  int at = area.left();
  const int y = area.top() - fontMetrics().height() - 3;
  const auto word = [&](const QString& text, const QColor& colour, bool dashed = false) {
    // Entries that do not fit are omitted; the line of values under the cursor names them too.
    if (at + 14 + fontMetrics().horizontalAdvance(text) > width()) return;
    const int middle = y + fontMetrics().height() / 3;
    if (dashed) {
      for (const int dash : {0, 6}) painter.fillRect(QRect(at + dash, middle + 2, 4, 2), colour);
    } else {
      painter.fillRect(QRect(at, middle, 10, 6), colour);
    }
    painter.setPen(palette().color(QPalette::Text));
    const int wide = fontMetrics().horizontalAdvance(text);
    painter.drawText(at + 14, y + fontMetrics().ascent(), text);
    at += wide + 28;
  };
  painter.setPen(palette().color(QPalette::Text));
  const QString name = direction == 0 ? tr("Forward") : tr("Reverse");
  painter.drawText(at, y + fontMetrics().ascent(), name);
  at += fontMetrics().horizontalAdvance(name) + 16;
  word(named(tr("granted"), &CreditColumn::granted_max), ink(palette(), Ink::kGranted));
  if (is_drawn(columns, &CreditColumn::limit_max)) {
    word(named(tr("limit"), &CreditColumn::limit_max), ink(palette(), Ink::kLimit), true);
  }
  word(named(tr("requested"), &CreditColumn::requested_max), ink(palette(), Ink::kRequested));
  if (direction == 1 && !columns_[0].empty()) return;  // the other direction has the rest
  word(tr("in use"), ink(palette(), Ink::kInUse));
  word(tr("waiting"), ink(palette(), Ink::kWaiting));
  word(tr("no credit left"), tint(palette(), ink(palette(), Ink::kStall), 0.4));
  const QString hint = tr("Drag: range   Wheel: zoom   Shift and drag: move   Esc: all");
  const int wide = fontMetrics().horizontalAdvance(hint);
  if (at + wide > area.right()) return;
  painter.setPen(tint(palette(), palette().color(QPalette::Text), 0.65));
  painter.drawText(area.right() - wide, y + fontMetrics().ascent(), hint);
}

std::vector<TimeTick> CreditChart::time_labels() const {
  return time_ticks(scale(), notation_, width(), fontMetrics());
}

void CreditChart::draw_axis(QPainter& painter) const {
  const QRect area = plot();
  painter.setPen(palette().color(QPalette::Text));
  for (const TimeTick& tick : time_labels()) {
    painter.drawLine(tick.x, area.bottom(), tick.x, area.bottom() + 4);
    painter.drawText(tick.left, area.bottom() + 6 + fontMetrics().ascent(), tick.text);
  }
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

void CreditChart::paintEvent(QPaintEvent* event) {
  Q_UNUSED(event);
  QPainter painter(this);
  painter.fillRect(rect(), palette().base());
  if (columns_[0].empty() && columns_[1].empty()) {
    painter.setPen(palette().color(QPalette::PlaceholderText));
    painter.drawText(rect().adjusted(8, 8, -8, -8),
                     Qt::AlignHCenter | Qt::AlignTop | Qt::TextWordWrap,
                     tr("Select a connection to see its credits"));
    return;
  }
  const auto all = panes();
  for (int d = 0; d < 2; ++d) {
    if (!columns_[static_cast<std::size_t>(d)].empty()) {
      draw_pane(painter, d, all[static_cast<std::size_t>(d)]);
    }
  }
  draw_axis(painter);
  const QRect area = plot();
  if (selected_ && *selected_ >= from_ && *selected_ <= to_) {
    painter.setPen(QPen(palette().color(QPalette::Highlight), 2));
    painter.drawLine(scale().x_of(*selected_), area.top(), scale().x_of(*selected_), area.bottom());
  }
  if (!cursor_ || !area.contains(*cursor_, area.center().y())) return;
  if (pressed_ && !panning_) {
    QColor over = palette().color(QPalette::Highlight);
    over.setAlpha(60);
    painter.fillRect(QRect(std::min(*pressed_, *cursor_), area.top(),
                           std::abs(*cursor_ - *pressed_), area.height()),
                     over);
  }
  draw_values(painter);
}

void CreditChart::draw_values(QPainter& painter) const {
  const QRect area = plot();
  painter.setPen(QPen(palette().color(QPalette::Text), 1, Qt::DashLine));
  painter.drawLine(*cursor_, area.top(), *cursor_, area.bottom());
  const std::int64_t ns = scale().time_at(*cursor_);
  const QString text = tr("at %1").arg(notation_.write(ns)) + '\n' + values_at(ns);
  const QRect size = fontMetrics().boundingRect(QRect(0, 0, 2000, 200), Qt::AlignLeft, text);
  QRect box(*cursor_ + 10, area.top() + 6, size.width() + 12, size.height() + 8);
  if (box.right() > width()) box.moveRight(*cursor_ - 10);
  if (box.left() < 0) box.moveLeft(0);
  painter.fillRect(box, palette().color(QPalette::ToolTipBase));
  painter.setPen(palette().color(QPalette::ToolTipText));
  painter.drawRect(box);
  painter.drawText(box.adjusted(6, 4, -6, -4), Qt::AlignLeft, text);
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
