// The toolbar: sources, the live state, the filter and help.
#include "filter_edit.h"
#include "live_state.h"
#include "main_window.h"

#include <QMenu>
#include <QToolBar>
#include <QToolButton>

namespace rpcrdma::gui {

void MainWindow::make_toolbar() {
  auto* const bar = addToolBar(tr("Toolbar"));
  bar->setObjectName("toolbar");
  bar->setMovable(false);
  auto* const open = new QToolButton(bar);
  open->setText(tr("Open"));
  open->setPopupMode(QToolButton::MenuButtonPopup);
  open->setMenu(recent_);
  connect(open, &QToolButton::clicked, this, &MainWindow::open_dialog);
  bar->addWidget(open);
  bar->addAction(tr("Attach"), this, [this] { show_view("endpoints"); });
  bar->addAction(tr("Try it"), this, [this] { show_view("trial"); });
  bar->addSeparator();
  bar->addWidget(live_);
  pause_ = bar->addAction(tr("Pause"));
  pause_->setCheckable(true);
  pause_->setToolTip(tr("Holds the views; the source is still read"));
  connect(pause_, &QAction::toggled, &document_, &Document::set_paused);
  connect(&document_, &Document::paused_changed, pause_, &QAction::setChecked);
  bar->addAction(stop_);
  bar->addAction(save_);
  bar->addSeparator();
  bar->addWidget(filter_);
}

}  // namespace rpcrdma::gui
