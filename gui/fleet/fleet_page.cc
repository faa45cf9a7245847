// What the fleet's page shows and does.
#include "fleet_page.h"

#include "fleet_badge.h"
#include "fleet_lists.h"
#include "fleet_model.h"
#include "fleet_totals.h"

#include <QDateTime>
#include <QDir>
#include <QEvent>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QStandardPaths>
#include <QSysInfo>
#include <QTabWidget>
#include <QTableView>
#include <QTreeView>
#include <algorithm>

#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/live/endpoints.h>
#include <rpcrdma/views/style.h>

namespace rpcrdma::gui {

namespace {

// A part of a file name, whatever the host calls itself.
QString file_part(const QString& name) {
  QString part;
  for (const QChar c : name.left(64)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c.isDigit() || c == '-';
    part += plain && c.unicode() < 128 ? c : QChar('_');
  }
  return part;
}

QString from_bus(const std::string& text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

}  // namespace

FleetPage::~FleetPage() = default;

void FleetPage::follow(std::unique_ptr<FleetSource> source, const QString& title) {
  close_source();
  source_ = std::move(source);
  title_ = title;
  title_label_->setText(tr("Fleet %1").arg(one_line(title)));
  title_label_->setToolTip(tool_tip(title));
  connect(source_.get(), &FleetSource::shown, this,
          [this](const std::shared_ptr<const FleetShown>& now) { show_state(*now); });
  connect(source_.get(), &FleetSource::recorded, this,
          [this](const QString& host, const QString& path) {
            --recording_;
            update_actions();
            say(tr("Recording of %1 saved in %2").arg(host, path));
            Q_EMIT open_wanted({path});
          });
  connect(source_.get(), &FleetSource::record_failed, this,
          [this](const QString& host, const QString& why) {
            --recording_;
            update_actions();
            say(tr("%1 was not recorded: %2").arg(host, why));
          });
  update_actions();
}

void FleetPage::close_source() {
  source_.reset();
  title_.clear();
  expanded_ = false;
  recording_ = 0;
  filter_->clear();
  say({});
  FleetShown nothing;
  nothing.connecting = true;
  show_state(nothing);
  update_actions();
}

void FleetPage::show_state(const FleetShown& now) {
  badge_->set(now);
  totals_->set(now);
  model_->set(now);
  findings_model_->set(now.findings);
  events_model_->set(now.state.events);
  const auto titled = [](const QString& name, std::size_t n) {
    return n == 0 ? name : QString("%1 (%2)").arg(name).arg(n);
  };
  lists_->setTabText(0, titled(tr("Findings"), now.findings.size()));
  lists_->setTabText(1, titled(tr("Events"), now.state.events.size()));
  lists_->setTabToolTip(0, now.findings_dropped == 0
                               ? QString()
                               : tr("%L1 older findings are not listed").arg(now.findings_dropped));
  // A fleet of few hosts shows all endpoints at once.
  if (!expanded_ && model_->rowCount() != 0) {
    expanded_ = true;
    if (model_->rowCount() <= 8) tree_->expandAll();
  }
  if (!tree_->currentIndex().isValid() && sorted_->rowCount() != 0) {
    tree_->setCurrentIndex(sorted_->index(0, 0));
  }
  update_actions();
}

QString FleetPage::note() const {
  return note_->isHidden() ? QString() : note_->text();
}

void FleetPage::say(const QString& text) {
  note_->setText(one_line(text));
  note_->setToolTip(tool_tip(text));
  note_->setVisible(!text.isEmpty());
}

void FleetPage::update_actions() {
  const bool any = model_->at(sorted_->mapToSource(tree_->currentIndex())).host != nullptr;
  record_->setEnabled(source_ != nullptr && any && recording_ == 0);
}

// An agent records one endpoint: of a host, the busiest that runs.
QString FleetPage::endpoint_to_record(const fleet::HostState& host,
                                      const fleet::EndpointState* chosen) const {
  if (chosen == nullptr) {
    for (const fleet::EndpointState& e : host.endpoints) {
      if (e.end != fleet::EndpointEnd::kNone) continue;
      const auto calls = [](const fleet::EndpointState& of) {
        return of.rates ? of.rates->calls : 0;
      };
      if (chosen == nullptr || calls(e) > calls(*chosen)) chosen = &e;
    }
  }
  if (chosen == nullptr) return {};
  const auto same_name = std::ranges::count_if(
      host.endpoints, [&](const fleet::EndpointState& e) { return e.name == chosen->name; });
  return same_name > 1 ? QString::number(chosen->process) : from_bus(chosen->name);
}

// Beside the user's other downloads, since it came from elsewhere and is to be kept.
void FleetPage::record() {
  const FleetModel::At row = model_->at(sorted_->mapToSource(tree_->currentIndex()));
  if (row.host == nullptr || source_ == nullptr || recording_ != 0) return;
  const QString host = from_bus(row.host->name);
  const QString endpoint = endpoint_to_record(*row.host, row.endpoint);
  if (endpoint.isEmpty()) return say(tr("%1 has no endpoint that runs").arg(host));
  QString folder = folder_;
  if (folder.isEmpty()) {
    folder = QStandardPaths::writableLocation(QStandardPaths::DownloadLocation);
  }
  if (folder.isEmpty() || !QDir().mkpath(folder)) {
    return say(tr("There is no folder for recordings"));
  }
  const QStringList parts{file_part(host), file_part(endpoint),
                          QDateTime::currentDateTimeUtc().toString("yyyyMMdd-HHmmss")};
  ++recording_;
  update_actions();
  say(tr("Recording %1 of %2 for %3 s ...").arg(endpoint, host).arg(kFleetRecordSeconds));
  source_->record(host, endpoint, kFleetRecordSeconds,
                  QString("%1/%2.pcapng").arg(folder, parts.join('-')));
}

// The host's name is not enough: the endpoint must be found here, under the same process.
void FleetPage::open_selected() {
  const FleetModel::At row = model_->at(sorted_->mapToSource(tree_->currentIndex()));
  if (row.endpoint == nullptr) return;
  const QString host = from_bus(row.host->name);
  const QString name = from_bus(row.endpoint->name);
  const QString own = own_host_.isEmpty() ? QSysInfo::machineHostName() : own_host_;
  if (host != own) {
    return say(tr("%1 is another machine: record its endpoint instead").arg(host));
  }
  if (row.endpoint->end != fleet::EndpointEnd::kNone) return say(tr("%1 has ended").arg(name));
  if (const auto here = trace::find_endpoints()) {
    for (const trace::RunningEndpoint& e : *here) {
      if (e.name != row.endpoint->name || e.process != row.endpoint->process) continue;
      return Q_EMIT attach_wanted({QString::fromStdString(e.path)});
    }
  }
  say(tr("%1 is not among the endpoints of this user on this machine").arg(name));
}

void FleetPage::context_menu(const QPoint& at) {
  const QModelIndex under = tree_->indexAt(at);
  if (!under.isValid()) return;
  tree_->setCurrentIndex(under);
  auto* const menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  QAction* const record =
      menu->addAction(tr("&Record %1 s").arg(kFleetRecordSeconds), this, &FleetPage::record);
  record->setEnabled(record_->isEnabled());
  if (under.parent().isValid()) {
    menu->addAction(tr("&Open live"), this, &FleetPage::open_selected);
  }
  menu->popup(tree_->viewport()->mapToGlobal(at));
}

bool FleetPage::eventFilter(QObject* object, QEvent* event) {
  if (event->type() == QEvent::KeyPress) {
    const auto& key = static_cast<const QKeyEvent&>(*event);
    if (object == tree_ && key.key() == Qt::Key_R && key.modifiers() == Qt::NoModifier) {
      record();
      return true;
    }
    if (object == filter_ && key.key() == Qt::Key_Escape && !filter_->text().isEmpty()) {
      filter_->clear();
      return true;
    }
    if (object == filter_ && (key.key() == Qt::Key_Down || key.key() == Qt::Key_Return)) {
      tree_->setFocus();
      return true;
    }
  }
  return QWidget::eventFilter(object, event);
}

void FleetPage::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange && tree_ != nullptr) {
    title_label_->setFont(title_font(font()));
    size_columns();
  }
}

}  // namespace rpcrdma::gui
