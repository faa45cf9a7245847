#include "state_badge.h"

#include "colours.h"

#include <QPainter>

#include <rpcrdma/gui_text/plain_text.h>

namespace rpcrdma::gui {

namespace {

constexpr int kDot = 10;

QString duration_text(std::int64_t ns) {
  const std::int64_t seconds = ns / 1'000'000'000;
  const auto two = [](std::int64_t n) { return QString("%1").arg(n, 2, 10, QChar('0')); };
  const QString tail = two(seconds / 60 % 60) + ':' + two(seconds % 60);
  return seconds < 3600 ? tail : QString::number(seconds / 3600) + ':' + tail;
}

}  // namespace

StateBadge::StateBadge(Document& document, const LiveState& live, QWidget* parent)
    : QWidget(parent), document_(document), live_(live) {
  setObjectName("state");
  connect(&live_, &LiveState::changed, this, &StateBadge::update_state);
  connect(&document_, &Document::finished, this, &StateBadge::update_state);
  connect(&document_, &Document::paused_changed, this, &StateBadge::update_state);
  update_state();
}

StateBadge::State StateBadge::state_now() const {
  if (document_.is_empty()) return State::kNothing;
  const LiveState::Words& words = live_.shown();
  if (!document_.is_live()) {
    const bool over =
        document_.store().read([](const index::Content& c) { return c.progress.finished; });
    return over ? State::kFile : State::kReading;
  }
  if (words.live) return document_.is_paused() ? State::kPaused : State::kLive;
  return words.whole ? State::kOver : State::kBroken;
}

void StateBadge::update_state() {
  state_ = state_now();
  const QString length = duration_text(document_.time_range().bounds().length_ns());
  switch (state_) {
    case State::kNothing:
      text_.clear();
      break;
    case State::kReading:
      text_ = tr("Reading");
      break;
    case State::kFile:
      text_ = tr("File");
      break;
    case State::kLive:
      text_ = tr("LIVE %1").arg(length);
      break;
    case State::kPaused:
      text_ = tr("Paused");
      break;
    case State::kOver:
    case State::kBroken:
      text_ = live_.shown().title;
      break;
  }
  setAccessibleName(text_.isEmpty() ? tr("Nothing is open") : text_);
  setToolTip(tool_tip(live_.shown().line.isEmpty() ? text_ : live_.shown().line));
  update();
}

QSize StateBadge::sizeHint() const {
  QFont font = this->font();
  font.setWeight(QFont::DemiBold);
  return {QFontMetrics(font).horizontalAdvance(tr("LIVE %1").arg("0:00:00")) + kDot + 20,
          fontMetrics().height() + 8};
}

void StateBadge::paintEvent(QPaintEvent* /*event*/) {
  if (state_ == State::kNothing) return;
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const QRectF dot(6, (height() - kDot) / 2.0, kDot, kDot);
  QColor colour = palette().color(QPalette::WindowText);
  if (state_ == State::kLive) colour = ink(palette(), Ink::kGranted);
  if (state_ == State::kPaused) colour = severity_colour(palette(), 1);
  if (state_ == State::kBroken) colour = severity_colour(palette(), 0);
  painter.setPen(Qt::NoPen);
  painter.setBrush(colour);
  switch (state_) {
    case State::kLive:
    case State::kReading:
      painter.drawEllipse(dot);
      break;
    case State::kPaused:
      painter.drawRect(dot.adjusted(0, 0, -6.5, 0));
      painter.drawRect(dot.adjusted(6.5, 0, 0, 0));
      break;
    default:
      painter.drawRect(dot.adjusted(1, 1, -1, -1));
      break;
  }
  QFont font = this->font();
  if (document_.is_live()) font.setWeight(QFont::DemiBold);
  painter.setFont(font);
  painter.setPen(state_ == State::kLive ? palette().color(QPalette::WindowText) : colour);
  const QRect room = rect().adjusted(kDot + 12, 0, -2, 0);
  painter.drawText(room, Qt::AlignVCenter,
                   QFontMetrics(font).elidedText(text_, Qt::ElideRight, room.width()));
}

}  // namespace rpcrdma::gui
