// The fleet's page in the window: opening it, leaving it, and what it opens.
#include "bus_source.h"
#include "fleet_dialog.h"
#include "fleet_page.h"
#include "main_window.h"
#include "start_page.h"

#include <QStackedWidget>

namespace rpcrdma::gui {

void MainWindow::make_fleet() {
  fleet_ = new FleetPage(this);
  pages_->addWidget(fleet_);
  connect(fleet_, &FleetPage::open_wanted, this, &MainWindow::open);
  connect(fleet_, &FleetPage::attach_wanted, this, &MainWindow::attach);
  connect(fleet_, &FleetPage::close_wanted, this, &MainWindow::close_document);
  connect(start_, &StartPage::fleet_wanted, this, &MainWindow::fleet_dialog);
}

void MainWindow::fleet_dialog() {
  if (!BusSource::available()) {
    return show_trouble(tr("This build has no bus: it was built without libnats"));
  }
  auto* const dialog = new FleetDialog(saved_fleet_address(settings_), this);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog, &FleetDialog::wanted, this, &MainWindow::open_fleet);
  dialog->open();
}

void MainWindow::open_fleet(const FleetAddress& address) {
  if (!BusSource::available()) {
    return show_trouble(tr("This build has no bus: it was built without libnats"));
  }
  save_fleet_address(settings_, address);
  follow_fleet(std::make_unique<BusSource>(address), address.url_without_secrets());
}

void MainWindow::follow_fleet(std::unique_ptr<FleetSource> source, const QString& title) {
  fleet_->follow(std::move(source), title);
  show_fleet();
}

// A document that is open stays so, and a view of it leads back.
void MainWindow::show_fleet() {
  if (!fleet_->is_open()) return fleet_dialog();
  fleet_in_front_ = true;
  show_trouble({});
  start_->show_problem({});
  show_page();
  show_title();
  update_actions();
}

// Returns false if the fleet is not in front.
bool MainWindow::leave_fleet() {
  if (pages_->currentWidget() != fleet_) return false;
  fleet_in_front_ = false;
  fleet_->close_source();
  show_page();
  show_title();
  update_actions();
  return true;
}

void MainWindow::show_document() {
  if (!fleet_in_front_ || document_.is_empty()) return;
  fleet_in_front_ = false;
  show_page();
  show_title();
  update_actions();
}

}  // namespace rpcrdma::gui
