// The list of live endpoints, and the start of the kernel's.
#include "note.h"

#include <QHeaderView>
#include <QPushButton>
#include <QTreeWidget>
#include <QVBoxLayout>
#include <QtConcurrentRun>
#include <algorithm>
#include <utility>

#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/kernel_launch/launch.h>
#include <rpcrdma/live/endpoints.h>
#include <rpcrdma/sources/endpoint_list.h>
#include <rpcrdma/sources/endpoint_watch.h>

namespace rpcrdma::gui {

namespace {

constexpr int kPathRole = Qt::UserRole;
enum Column { kName, kRole, kProcess, kSince, kColumns };

}  // namespace

struct EndpointList::Impl {
  QTreeWidget* tree = nullptr;
  QPushButton* button = nullptr;
  Note* note = nullptr;
  EndpointWatch* watch = nullptr;
  StartKernel start;
  bool starting = false;
  std::shared_ptr<void> kernel;  // the started endpoint

  void add_kernel() const;
  void show(const Endpoints& endpoints);
  void add(const trace::RunningEndpoint& endpoint) const;
};

void EndpointList::Impl::add(const trace::RunningEndpoint& endpoint) const {
  const QString path = QString::fromStdString(endpoint.path);
  const QString role = role_text(endpoint);
  auto* item =
      new QTreeWidgetItem(tree, {one_line(QString::fromStdString(endpoint.name)), one_line(role),
                                 QString::number(endpoint.process), since_text(endpoint.since)});
  item->setData(kName, kPathRole, path);
  item->setTextAlignment(kProcess, Qt::AlignRight | Qt::AlignVCenter);
  const QString tip = tool_tip(role + '\n' + path);
  for (int column = 0; column < kColumns; ++column) item->setToolTip(column, tip);
}

void EndpointList::Impl::add_kernel() const {
  const QString name = QString::fromLatin1(kernel::kEndpointName);
  const QString role = EndpointList::tr("Linux's own NFS/RDMA; starts when you attach");
  auto* item = new QTreeWidgetItem(tree, {name, role});
  item->setData(kName, kPathRole, name);
  const QString tip = tool_tip(
      EndpointList::tr("Traces the NFS/RDMA client and server of this machine's kernel, on any "
                       "RNIC. Needs privileges: docs/kernel.md"));
  for (int column = 0; column < kColumns; ++column) item->setToolTip(column, tip);
}

void EndpointList::Impl::show(const Endpoints& endpoints) {
  QStringList selected;
  for (const QTreeWidgetItem* item : tree->selectedItems()) {
    selected << item->data(kName, kPathRole).toString();
  }
  const QString current =
      tree->currentItem() != nullptr ? tree->currentItem()->data(kName, kPathRole).toString() : "";
  tree->clear();
  if (!endpoints) {
    note->say(QString::fromStdString(endpoints.error().message));
    return;
  }
  for (const trace::RunningEndpoint& e : *endpoints) add(e);
  if (!watch->has_kernel()) add_kernel();
  for (int i = 0; i < tree->topLevelItemCount(); ++i) {
    QTreeWidgetItem* item = tree->topLevelItem(i);
    const QString path = item->data(kName, kPathRole).toString();
    if (path == current) tree->setCurrentItem(item, kName, QItemSelectionModel::NoUpdate);
    if (selected.contains(path)) item->setSelected(true);
  }
  for (int column = 0; column < kColumns; ++column) tree->resizeColumnToContents(column);
  if (starting) return;
  note->say(endpoints->empty()
                ? EndpointList::tr("You have no running endpoint on this machine. Each "
                                   "`rpcrdma serve` and `rpcrdma load` is one, and "
                                   "so are the two ends of the playground.")
                : QString());
}

base::Expected<StartedKernel> EndpointList::start_kernel() {
  auto launched = kernel::Launched::start({});
  if (!launched) return tl::unexpected(launched.error());
  std::string socket = launched->socket();
  return StartedKernel{std::make_shared<kernel::Launched>(std::move(*launched)), std::move(socket)};
}

EndpointList::EndpointList(QWidget* parent, StartKernel start)
    : QWidget(parent), impl_(std::make_unique<Impl>()) {
  Impl& m = *impl_;
  m.start = std::move(start);
  m.tree = new QTreeWidget(this);
  m.tree->setObjectName("endpoints");
  m.tree->setHeaderLabels({tr("Endpoint"), tr("Role"), tr("Process"), tr("Since")});
  m.tree->setRootIsDecorated(false);
  m.tree->setAllColumnsShowFocus(true);
  m.tree->setUniformRowHeights(true);
  m.tree->setSelectionMode(QAbstractItemView::ExtendedSelection);
  m.tree->setAccessibleName(tr("Live endpoints"));
  m.tree->setToolTip(tr("Your running endpoints on this machine; you can select several"));
  m.tree->header()->setStretchLastSection(true);
  m.note = new Note(this);
  m.button = new QPushButton(tr("&Attach"), this);
  m.button->setObjectName("attach");
  m.button->setToolTip(tr("Show the live messages and events of the selected endpoints"));
  m.button->setEnabled(false);
  auto* row = new QHBoxLayout;
  row->addStretch();
  row->addWidget(m.button);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(m.tree, 1);
  layout->addWidget(m.note);
  layout->addLayout(row);
  setFocusProxy(m.tree);

  m.watch = new EndpointWatch(this);
  const auto emit_attach = [this] {
    const QStringList sockets = selected();
    if (!sockets.isEmpty()) attach_to(sockets);
  };
  connect(m.watch, &EndpointWatch::changed, this, [this] { impl_->show(impl_->watch->found()); });
  connect(m.button, &QPushButton::clicked, this, emit_attach);
  connect(m.tree, &QTreeWidget::itemActivated, this, emit_attach);
  connect(m.tree, &QTreeWidget::itemSelectionChanged, this,
          [this] { impl_->button->setEnabled(!impl_->tree->selectedItems().isEmpty()); });
}

EndpointList::~EndpointList() = default;

QStringList EndpointList::selected() const {
  QStringList sockets;
  for (int i = 0; i < impl_->tree->topLevelItemCount(); ++i) {
    const QTreeWidgetItem* item = impl_->tree->topLevelItem(i);
    if (item->isSelected()) sockets << item->data(kName, kPathRole).toString();
  }
  return sockets;
}

bool EndpointList::starts_kernel() const {
  return impl_->starting;
}

void EndpointList::attach_to(const QStringList& endpoints) {
  const QString name = QString::fromLatin1(kernel::kEndpointName);
  const auto runs = [] {
    const auto found = trace::find_endpoints();
    return found && std::ranges::any_of(*found, [](const trace::RunningEndpoint& e) {
             return e.name == kernel::kEndpointName;
           });
  };
  if (!endpoints.contains(name) || runs()) {
    Q_EMIT attach(endpoints);
    return;
  }
  if (std::exchange(impl_->starting, true)) return;
  impl_->note->say(tr("Starting to trace the kernel ..."));
  using Started = base::Expected<StartedKernel>;
  QtConcurrent::run([start = impl_->start] {
    return std::make_shared<Started>(start());
  }).then(this, [this, endpoints, name](const std::shared_ptr<Started>& started) {
    impl_->starting = false;
    if (!*started) {
      const QString why = QString::fromStdString((*started).error().message);
      impl_->note->say(why);
      Q_EMIT trouble(why);
      return;
    }
    impl_->note->say({});
    impl_->kernel = (*started)->process;
    QStringList sockets = endpoints;
    sockets.replace(sockets.indexOf(name), QString::fromStdString((*started)->socket));
    Q_EMIT attach(sockets);
  });
}

void EndpointList::refresh() {
  impl_->watch->look();
}

void EndpointList::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  impl_->watch->start();
}

void EndpointList::hideEvent(QHideEvent* event) {
  QWidget::hideEvent(event);
  impl_->watch->stop();
}

}  // namespace rpcrdma::gui
