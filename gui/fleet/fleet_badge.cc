#include "fleet_badge.h"

#include <QPainter>

#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

namespace {

constexpr int kBadgeSign = 16;  // pixels

}  // namespace

FleetBadge::FleetBadge(QWidget* parent) : QWidget(parent) {
  setObjectName("fleet-bus");
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  FleetShown nothing;
  nothing.connecting = true;
  set(nothing);
}

void FleetBadge::set(const FleetShown& now) {
  const QString why = one_line(QString::fromStdString(now.state.bus));
  if (now.state.connected) {
    state_ = State::kConnected;
    text_ = tr("Bus connected");
  } else if (now.connecting) {
    state_ = State::kConnecting;
    text_ = why.isEmpty() ? tr("Connecting to the bus ...")
                          : tr("Not connected yet: %1; trying again").arg(why);
  } else {
    state_ = State::kDisconnected;
    text_ = why.isEmpty() ? tr("BUS DISCONNECTED: no figure is current")
                          : tr("BUS DISCONNECTED: no figure is current (%1)").arg(why);
  }
  setAccessibleName(text_);
  setToolTip(tool_tip(text_));
  update();
}

QSize FleetBadge::sizeHint() const {
  return {300, fontMetrics().height() + 10};
}

void FleetBadge::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const QRectF sign(8, (height() - kBadgeSign) / 2.0, kBadgeSign, kBadgeSign);
  const int severity = state_ == State::kDisconnected ? 0 : 1;
  QFont words = font();
  if (state_ == State::kConnected) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(ink(palette(), Ink::kGranted));
    painter.drawEllipse(sign.adjusted(3, 3, -3, -3));
  } else {
    const QColor colour = severity_colour(palette(), severity);
    painter.setPen(colour);
    painter.setBrush(tint(palette(), colour, 0.14));
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6);
    paint_severity(painter, sign, palette(), severity);
    words.setWeight(QFont::DemiBold);
  }
  painter.setFont(words);
  painter.setPen(palette().color(QPalette::WindowText));
  const QRect room = rect().adjusted(kBadgeSign + 16, 0, -8, 0);
  painter.drawText(room, Qt::AlignVCenter,
                   QFontMetrics(words).elidedText(text_, Qt::ElideRight, room.width()));
}

}  // namespace rpcrdma::gui
