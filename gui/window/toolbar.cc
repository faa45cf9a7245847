// The toolbar: sources, the live state, the filter and help.
#include "filter_edit.h"
#include "live_state.h"
#include "main_window.h"
#include "state_badge.h"

#include <QMenu>
#include <QToolBar>
#include <QToolButton>

#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/icons/icons.h>

namespace rpcrdma::gui {

namespace {

constexpr int kIcon = 20;  // pixels

// A button beside the state: its icon says what it does, its tooltip the name and the keys.
void add_small(QToolBar& bar, QAction& action, const QString& picture, const QString& tip) {
  action.setIcon(icon(picture));
  action.setIconVisibleInMenu(false);
  bar.addAction(&action);
  const QString keys = action.shortcut().toString(QKeySequence::NativeText);
  QWidget* const button = bar.widgetForAction(&action);
  button->setToolTip(keys.isEmpty() ? tip : QString("%1 (%2)").arg(tip, keys));
  button->setAccessibleName(tip);
}

QToolButton* labelled(const QString& picture, const QString& text, const QString& tip,
                      QWidget* parent) {
  auto* const button = new QToolButton(parent);
  button->setIcon(icon(picture));
  button->setText(text);
  button->setToolTip(tip);
  button->setAccessibleName(tip);
  button->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  button->setFocusPolicy(Qt::TabFocus);
  return button;
}

}  // namespace

void MainWindow::make_toolbar() {
  auto* const bar = addToolBar(tr("Toolbar"));
  bar->setObjectName("toolbar");
  bar->setMovable(false);
  bar->setIconSize({kIcon, kIcon});
  auto* const open = labelled("open", tr("Open"), tr("Open captures or recordings (Ctrl+O)"), bar);
  open->setObjectName("tool-open");
  open->setPopupMode(QToolButton::MenuButtonPopup);
  open->setMenu(recent_);
  connect(open, &QToolButton::clicked, this, &MainWindow::open_dialog);
  bar->addWidget(open);
  const std::tuple<const char*, const char*, QString, QString> sources[] = {
      {"attach", "endpoints", tr("Attach"), tr("Attach to running endpoints (Ctrl+E)")},
      {"trial", "trial", tr("Try it"), tr("A server and a load in this window (Ctrl+T)")},
      {"capture", "interfaces", tr("Capture"), tr("Capture from an interface (Ctrl+I)")},
  };
  for (const auto& [picture, view, text, tip] : sources) {
    QToolButton* const button = labelled(picture, text, tip, bar);
    button->setObjectName(QString("tool-") + picture);
    connect(button, &QToolButton::clicked, this, [this, v = QString(view)] { show_view(v); });
    bar->addWidget(button);
  }
  bar->addSeparator();
  bar->addWidget(new StateBadge(document_, *live_, bar));
  pause_ = new QAction(tr("Pause"), this);
  pause_->setCheckable(true);
  pause_->setShortcut(QKeySequence(tr("Ctrl+P")));
  connect(pause_, &QAction::toggled, &document_, &Document::set_paused);
  connect(&document_, &Document::paused_changed, pause_, &QAction::setChecked);
  connect(&document_, &Document::reset, pause_, [this] { pause_->setChecked(false); });
  connect(pause_, &QAction::toggled, this, &MainWindow::update_actions);
  add_small(*bar, *pause_, "pause", tr("Hold the views; the source is still read"));
  add_small(*bar, *stop_, "stop", tr("Stop reading; what was read stays"));
  add_small(*bar, *save_, "save", tr("Save the messages that are shown"));
  bar->addSeparator();
  bar->addWidget(filter_);
  QToolButton* const help = labelled("help", {}, tr("Help: keys, filters, rules (F1)"), bar);
  help->setToolButtonStyle(Qt::ToolButtonIconOnly);
  help->setObjectName("tool-help");
  connect(help, &QToolButton::clicked, this, [this] { show_help("keys"); });
  bar->addWidget(help);
}

}  // namespace rpcrdma::gui
