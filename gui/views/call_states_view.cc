#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/views/call_states_view.h>
#include <rpcrdma/views/style.h>

namespace rpcrdma::gui {

namespace {

std::uint64_t sum_of(const CallStatesPicture::Bin& bin) {
  std::uint64_t all = 0;
  for (const std::uint32_t calls : bin.calls) all += calls;
  return all;
}

}  // namespace

CallStatesView::CallStatesView(QWidget* parent) : QWidget(parent) {
  setAccessibleName(tr("Outstanding Calls by state"));
  setMouseTracking(true);
  setMinimumSize(320, 120);
}

QString CallStatesView::count_text(const CallStatesPicture::State& state) {
  if (!state.now) return tr("not seen from here");
  return state.at_least ? tr("at least %1").arg(*state.now) : QString::number(*state.now);
}

QString CallStatesView::note() const {
  QStringList notes;
  if (picture_.earlier != 0) {
    notes << tr("%1 more since before the view began").arg(picture_.earlier);
  }
  if (picture_.uncertain) notes << tr("events were lost: estimates");
  return notes.join("; ");
}

void CallStatesView::set_picture(CallStatesPicture picture) {
  picture_ = std::move(picture);
  QStringList said;
  for (const CallStatesPicture::State& s : picture_.states) {
    said << s.name + ": " + count_text(s);
  }
  setAccessibleDescription(said.join(", "));
  update();
}

void CallStatesView::set_notation(TimeNotation notation) {
  notation_ = std::move(notation);
  update();
}

QColor CallStatesView::colour_of(std::size_t state) const {
  const CallStatesPicture::State& s = picture_.states[state];
  return tint(palette(), ink(palette(), s.ink), s.strength);
}

QRect CallStatesView::counts_area() const {
  int wide = 0;
  for (const CallStatesPicture::State& s : picture_.states) {
    wide = std::max(wide, fontMetrics().horizontalAdvance(s.name));
  }
  wide +=
      fontMetrics().height() + fontMetrics().horizontalAdvance(tr("not seen from here")) + 5 * kGap;
  return {kGap, kGap / 2, std::min(wide, width() / 2), height() - kGap};
}

QRect CallStatesView::plot() const {
  const int left = counts_area().right() + kGap + fontMetrics().horizontalAdvance("00000");
  const int below = fontMetrics().height() + 8;
  return {left, kGap + fontMetrics().height(), std::max(10, width() - left - kMargin),
          std::max(10, height() - 2 * kGap - fontMetrics().height() - below)};
}

TimeScale CallStatesView::scale() const {
  const QRect room = plot();
  std::int64_t from = picture_.from_ns;
  std::int64_t to = picture_.to_ns;
  if (from == to && !picture_.bins.empty()) {
    from = picture_.bins.front().from_ns;
    to = picture_.bins.back().to_ns;
  }
  return {from, to, room.left(), room.width()};
}

std::uint64_t CallStatesView::most() const {
  std::uint64_t most = 1;
  for (const CallStatesPicture::Bin& bin : picture_.bins) most = std::max(most, sum_of(bin));
  return most;
}

void CallStatesView::paintEvent(QPaintEvent* event) {
  Q_UNUSED(event);
  QPainter painter(this);
  painter.fillRect(rect(), palette().base());
  if (picture_.states.empty()) {
    painter.setPen(secondary_text(palette()));
    painter.drawText(
        rect().adjusted(kMargin, kMargin, -kMargin, -kMargin),
        Qt::AlignHCenter | Qt::AlignTop | Qt::TextWordWrap,
        tr("Only endpoints and the kernel show where Calls are: attach to one, or open "
           "a recording."));
    return;
  }
  paint_counts(painter);
  paint_course(painter);
}

// In a low window, rows get closer; the colours are those of the stack.
void CallStatesView::paint_counts(QPainter& painter) const {
  const QRect area = counts_area();
  const QFontMetrics metrics = fontMetrics();
  const QColor text = palette().color(QPalette::Text);
  const int title = metrics.height() + 4;
  painter.setPen(secondary_text(palette()));
  painter.drawText(QRect(area.left(), area.top(), area.width(), title), Qt::AlignVCenter,
                   picture_.over ? tr("Calls at the end") : tr("Calls now"));
  const QString why = note();
  const int foot = why.isEmpty() ? 0 : metrics.height();
  const int count = static_cast<int>(picture_.states.size());
  const int row = std::clamp((area.height() - title - foot) / std::max(1, count),
                             metrics.height() - 1, metrics.height() + 8);
  std::uint32_t most = 1;
  int wide = 0;
  for (const CallStatesPicture::State& s : picture_.states) {
    most = std::max(most, s.now.value_or(0));
    wide = std::max(wide, metrics.horizontalAdvance(s.name));
  }
  const int square = metrics.height() - 5;
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const CallStatesPicture::State& s = picture_.states[at];
    const QRect line(area.left(), area.top() + title + i * row, area.width(), row);
    const int middle = line.center().y();
    const QRect sign(line.left(), middle - square / 2, square, square);
    painter.fillRect(sign, colour_of(at));
    painter.setPen(ink(palette(), s.ink));
    painter.drawRect(sign.adjusted(0, 0, -1, -1));
    const int name = sign.right() + kGap;
    painter.setPen(s.now ? text : secondary_text(palette()));
    painter.drawText(QRect(name, line.top(), wide, row), Qt::AlignVCenter, s.name);
    const int values = name + wide + kGap;
    const QString value = count_text(s);
    const int room = area.right() - values;
    if (s.now && *s.now != 0) {
      const int number = metrics.horizontalAdvance(value) + kGap;
      const int bar = std::max(2, static_cast<int>(double(room - number) * *s.now / most));
      const QRect box(values + number, middle - square / 2, bar, square);
      painter.fillRect(box, colour_of(at));
      painter.setPen(ink(palette(), s.ink));
      painter.drawRect(box.adjusted(0, 0, -1, -1));
    }
    painter.setPen(s.now ? text : secondary_text(palette()));
    painter.drawText(QRect(values, line.top(), room, row), Qt::AlignVCenter,
                     metrics.elidedText(value, Qt::ElideRight, room));
  }
  if (foot == 0) return;
  painter.setPen(secondary_text(palette()));
  painter.drawText(QRect(area.left(), area.top() + title + count * row, area.width(), foot),
                   Qt::AlignVCenter, metrics.elidedText(why, Qt::ElideRight, area.width()));
}

void CallStatesView::paint_course(QPainter& painter) const {
  const QRect room = plot();
  const QFontMetrics metrics = fontMetrics();
  painter.setPen(secondary_text(palette()));
  painter.drawText(QRect(room.left(), 0, room.width(), room.top()), Qt::AlignVCenter,
                   tr("Outstanding Calls over time"));
  const TimeScale time = scale();
  const auto top = static_cast<double>(most());
  const auto y_of = [&](double calls) {
    return room.bottom() - static_cast<int>(calls / top * (room.height() - 1));
  };
  // The axis counts Calls: whole numbers.
  const double step = std::max(1.0, step_of(top, room.height() / (2.0 * metrics.height())));
  for (double calls = 0; calls <= top; calls += step) {
    const int y = y_of(calls);
    painter.setPen(tint(palette(), palette().color(QPalette::Text), 0.12));
    painter.drawLine(room.left(), y, room.right(), y);
    painter.setPen(secondary_text(palette()));
    painter.drawText(QRect(room.left() - 60, y - metrics.height(), 54, 2 * metrics.height()),
                     Qt::AlignVCenter | Qt::AlignRight, QString::number(calls, 'f', 0));
  }
  painter.save();
  painter.setClipRect(room);
  for (const CallStatesPicture::Bin& bin : picture_.bins) {
    const int from = time.x_of(bin.from_ns);
    const int wide = std::max(1, time.x_of(bin.to_ns) - from);
    double below = 0;
    for (std::size_t i = 0; i < bin.calls.size() && i < picture_.states.size(); ++i) {
      if (bin.calls[i] == 0) continue;
      const double above = below + bin.calls[i];
      painter.fillRect(QRect(QPoint(from, y_of(above)), QPoint(from + wide - 1, y_of(below))),
                       colour_of(i));
      below = above;
    }
  }
  painter.restore();
  painter.setPen(line_colour(palette()));
  painter.drawLine(room.left(), room.bottom() + 1, room.right(), room.bottom() + 1);
  const int labels = room.bottom() + metrics.height() + 6;
  for (const TimeTick& tick : time_ticks(time, notation_, width() - 2, metrics)) {
    painter.setPen(line_colour(palette()));
    painter.drawLine(tick.x, room.bottom() + 1, tick.x, room.bottom() + 5);
    painter.setPen(secondary_text(palette()));
    painter.drawText(tick.left, labels, tick.text);
  }
}

QString CallStatesView::text_at(const QPoint& at) const {
  if (!plot().contains(at)) return {};
  const std::int64_t ns = scale().time_at(at.x());
  const auto after = std::upper_bound(
      picture_.bins.begin(), picture_.bins.end(), ns,
      [](std::int64_t t, const CallStatesPicture::Bin& b) { return t < b.from_ns; });
  if (after == picture_.bins.begin()) return {};
  const CallStatesPicture::Bin& bin = *std::prev(after);
  if (ns >= bin.to_ns) return {};
  QStringList lines;
  if (notation_.write) lines << notation_.write(bin.from_ns) + notation_.unit;
  for (std::size_t i = bin.calls.size(); i-- > 0;) {
    if (i < picture_.states.size() && bin.calls[i] != 0) {
      lines << tr("%1: up to %2").arg(picture_.states[i].name).arg(bin.calls[i]);
    }
  }
  return lines.join('\n');
}

bool CallStatesView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
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
