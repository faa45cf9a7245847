// Qt orders widgets by their creation; docks and toolbars are created in another order than they
// are placed. Within each part of the window, the order of creation is kept.
#include "tab_order.h"

#include <QApplication>
#include <QDockWidget>
#include <QRadioButton>
#include <QStatusBar>
#include <QTabBar>
#include <QToolBar>
#include <algorithm>
#include <tuple>
#include <vector>

namespace rpcrdma::gui {

namespace {

enum class Zone : std::uint8_t { kToolBar, kLeft, kCenter, kTop, kRight, kBottom, kStatus };

struct Stop {
  Zone zone = Zone::kCenter;
  int y = 0, x = 0;  // of its part of the window
  QWidget* widget = nullptr;
};

Zone zone_of(const QMainWindow& window, QWidget* part) {
  if (qobject_cast<QToolBar*>(part) != nullptr) return Zone::kToolBar;
  if (qobject_cast<QStatusBar*>(part) != nullptr) return Zone::kStatus;
  if (auto* const dock = qobject_cast<QDockWidget*>(part)) {
    switch (window.dockWidgetArea(dock)) {
      case Qt::LeftDockWidgetArea:
        return Zone::kLeft;
      case Qt::TopDockWidgetArea:
        return Zone::kTop;
      case Qt::BottomDockWidgetArea:
        return Zone::kBottom;
      default:
        return Zone::kRight;
    }
  }
  if (part == window.centralWidget()) return Zone::kCenter;
  // A tab bar of docks: it belongs to the area in which it lies.
  const QRect center =
      window.centralWidget() != nullptr ? window.centralWidget()->geometry() : QRect();
  const QPoint at = part->geometry().center();
  if (at.x() > center.right()) return Zone::kRight;
  if (at.x() < center.left()) return Zone::kLeft;
  return at.y() < center.top() ? Zone::kTop : Zone::kBottom;
}

QWidget* part_of(const QMainWindow& window, QWidget* widget) {
  while (widget->parentWidget() != nullptr && widget->parentWidget() != &window) {
    widget = widget->parentWidget();
  }
  return widget;
}

// One of a group of radio buttons is a stop: the checked one.
bool is_stop(const QMainWindow& window, QWidget* widget) {
  if ((widget->focusPolicy() & Qt::TabFocus) != Qt::TabFocus || !widget->isEnabled() ||
      !widget->isVisibleTo(&window) || widget->focusProxy() != nullptr ||
      widget->window() != &window || widget->visibleRegion().isEmpty()) {
    return false;
  }
  auto* const radio = qobject_cast<QRadioButton*>(widget);
  if (radio == nullptr || radio->isChecked() || !radio->autoExclusive()) return true;
  for (QRadioButton* const other : widget->parentWidget()->findChildren<QRadioButton*>()) {
    if (other->isChecked()) return false;
  }
  return true;
}

std::vector<Stop> stops_of(QMainWindow& window) {
  std::vector<Stop> stops;
  for (QWidget* w = window.nextInFocusChain(); w != &window; w = w->nextInFocusChain()) {
    if (!is_stop(window, w)) continue;
    QWidget* const part = part_of(window, w);
    const Zone zone = zone_of(window, part);
    stops.push_back({zone, part->y(), part->x(), w});
  }
  std::stable_sort(stops.begin(), stops.end(), [](const Stop& a, const Stop& b) {
    return std::tuple(a.zone, a.y, a.x) < std::tuple(b.zone, b.y, b.x);
  });
  return stops;
}

}  // namespace

bool focus_next(QMainWindow& window, bool forward) {
  const std::vector<Stop> stops = stops_of(window);
  if (stops.empty()) return false;
  const QWidget* const now = QApplication::focusWidget();
  const auto it =
      std::find_if(stops.begin(), stops.end(), [now](const Stop& s) { return s.widget == now; });
  const auto count = std::ssize(stops);
  const auto at = it - stops.begin();
  const auto next =
      it == stops.end() ? (forward ? 0 : count - 1) : (at + (forward ? 1 : count - 1)) % count;
  stops[static_cast<std::size_t>(next)].widget->setFocus(forward ? Qt::TabFocusReason
                                                                 : Qt::BacktabFocusReason);
  return true;
}

}  // namespace rpcrdma::gui
