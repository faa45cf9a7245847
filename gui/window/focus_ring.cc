#include "focus_ring.h"

#include <QAbstractButton>
#include <QAbstractSpinBox>
#include <QApplication>
#include <QComboBox>
#include <QEvent>
#include <QLineEdit>
#include <QMenuBar>
#include <QPainter>
#include <QTabBar>

namespace rpcrdma::gui {

namespace {

constexpr int kWide = 2;  // pixels

// Of push buttons and fields: tool buttons show nothing.
bool shows_its_focus(const QWidget& widget) {
  return qobject_cast<const QLineEdit*>(&widget) != nullptr ||
         qobject_cast<const QAbstractSpinBox*>(&widget) != nullptr ||
         qobject_cast<const QTabBar*>(&widget) != nullptr ||
         qobject_cast<const QMenuBar*>(&widget) != nullptr;
}

}  // namespace

FocusRing::FocusRing(QWidget* window) : QWidget(window) {
  setAttribute(Qt::WA_TransparentForMouseEvents);
  setFocusPolicy(Qt::NoFocus);
  setAccessibleName(tr("Focus"));
  hide();
  connect(qApp, &QApplication::focusChanged, this, [this](QWidget*, QWidget* now) { follow(now); });
}

void FocusRing::follow(QWidget* now) {
  if (now != nullptr && now->window() != parentWidget()) return;  // a menu or a dialog
  for (const QPointer<QWidget>& w : watched_) {
    if (w != nullptr) w->removeEventFilter(this);
  }
  watched_.clear();
  target_ = now != nullptr && now != parentWidget() && !shows_its_focus(*now) ? now : nullptr;
  for (QWidget* w = target_; w != nullptr && w != parentWidget(); w = w->parentWidget()) {
    w->installEventFilter(this);
    watched_ << w;
  }
  place();
}

void FocusRing::place() {
  if (target_ == nullptr || !target_->isVisible()) return hide();
  QRect area(target_->mapTo(parentWidget(), QPoint()), target_->size());
  // A target that is scrolled has parts out of sight.
  for (QWidget* w = target_->parentWidget(); w != nullptr && w != parentWidget();
       w = w->parentWidget()) {
    area &= QRect(w->mapTo(parentWidget(), QPoint()), w->size());
  }
  if (area.isEmpty()) return hide();
  setGeometry(area);
  // The mask keeps the target's own drawing as fast as without a widget above it.
  const QRect own = rect();
  setMask(QRegion(own) - QRegion(own.adjusted(kWide, kWide, -kWide, -kWide)));
  show();
  raise();
}

bool FocusRing::eventFilter(QObject* object, QEvent* event) {
  switch (event->type()) {
    case QEvent::Move:
    case QEvent::Resize:
    case QEvent::Show:
    case QEvent::Hide:
    case QEvent::ParentChange:
      place();
      break;
    default:
      break;
  }
  return QWidget::eventFilter(object, event);
}

void FocusRing::paintEvent(QPaintEvent* event) {
  Q_UNUSED(event);
  QPainter painter(this);
  painter.fillRect(rect(), palette().color(QPalette::Highlight));
}

}  // namespace rpcrdma::gui
