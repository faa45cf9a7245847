// The list of network interfaces: a thread lists them, since libpcap may take long.
#include "note.h"

#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTreeWidget>
#include <QVBoxLayout>
#include <QtConcurrentRun>
#include <utility>

#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/sources/interface_list.h>

namespace rpcrdma::gui {

namespace {

using Interfaces = capture::Expected<std::vector<capture::ListedInterface>>;

// Returns advice for a user without the permission to capture.
QString rights_hint() {
  return InterfaceList::tr(
      "Capturing requires the capability cap_net_raw. Without it, run `sudo rpcrdma capture` to "
      "write a file and open that, or attach to live endpoints, which requires no privileges.");
}

}  // namespace

struct InterfaceList::Impl {
  Lister lister;
  QTreeWidget* tree = nullptr;
  QLineEdit* filter = nullptr;
  QPushButton* button = nullptr;
  QPushButton* again = nullptr;
  Note* note = nullptr;
  bool asked = false;
  bool asking = false;

  void show(const Interfaces& interfaces) const;
};

void InterfaceList::Impl::show(const Interfaces& interfaces) const {
  tree->clear();
  if (!interfaces) {
    note->say(QString::fromStdString(interfaces.error().message) + ".\n" + rights_hint());
  } else if (interfaces->empty()) {
    note->say(InterfaceList::tr("No interface is available for capture. ") + rights_hint());
  } else {
    note->say({});
    for (const capture::ListedInterface& i : *interfaces) {
      const QString name = QString::fromStdString(i.name);
      const QString description = QString::fromStdString(i.description);
      auto* item = new QTreeWidgetItem(tree, {name, description});
      item->setToolTip(0, tool_tip(description.isEmpty() ? name : description));
      item->setToolTip(1, tool_tip(description));
    }
    tree->resizeColumnToContents(0);
    tree->setCurrentItem(tree->topLevelItem(0));
  }
  tree->setEnabled(tree->topLevelItemCount() != 0);
}

InterfaceList::InterfaceList(QWidget* parent, Lister lister)
    : QWidget(parent), impl_(std::make_unique<Impl>()) {
  Impl& m = *impl_;
  m.lister = std::move(lister);
  m.tree = new QTreeWidget(this);
  m.tree->setObjectName("interfaces");
  m.tree->setHeaderLabels({tr("Interface"), tr("Description")});
  m.tree->setRootIsDecorated(false);
  m.tree->setAllColumnsShowFocus(true);
  m.tree->setUniformRowHeights(true);
  m.tree->setAccessibleName(tr("Interfaces"));
  m.tree->setToolTip(tr("Network interfaces of this machine"));
  m.filter = new QLineEdit(this);
  m.filter->setObjectName("filter");
  m.filter->setPlaceholderText(tr("RoCE packets"));
  m.filter->setClearButtonEnabled(true);
  m.filter->setAccessibleName(tr("Capture filter"));
  m.filter->setToolTip(
      tr("Packets to capture, in tcpdump's syntax (pcap-filter(7)); empty: RoCE packets"));
  auto* label = new QLabel(tr("Capture &filter:"), this);
  label->setBuddy(m.filter);
  m.note = new Note(this);
  m.note->setObjectName("note");
  m.again = new QPushButton(tr("&Refresh"), this);
  m.again->setToolTip(tr("List the interfaces again"));
  m.button = new QPushButton(tr("&Capture"), this);
  m.button->setObjectName("capture");
  m.button->setToolTip(tr("Capture from the selected interface"));
  m.button->setEnabled(false);
  auto* row = new QHBoxLayout;
  row->addWidget(label);
  row->addWidget(m.filter, 1);
  auto* buttons = new QHBoxLayout;
  buttons->addWidget(m.again);
  buttons->addStretch();
  buttons->addWidget(m.button);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(m.tree, 1);
  layout->addWidget(m.note);
  layout->addLayout(row);
  layout->addLayout(buttons);
  setFocusProxy(m.tree);

  const auto emit_capture = [this] {
    if (selected().isEmpty()) return;
    show_problem({});
    Q_EMIT capture(selected(), filter());
  };
  connect(m.button, &QPushButton::clicked, this, emit_capture);
  connect(m.tree, &QTreeWidget::itemActivated, this, emit_capture);
  connect(m.filter, &QLineEdit::returnPressed, this, emit_capture);
  connect(m.again, &QPushButton::clicked, this, &InterfaceList::refresh);
  connect(m.tree, &QTreeWidget::itemSelectionChanged, this,
          [this] { impl_->button->setEnabled(!selected().isEmpty()); });
}

InterfaceList::~InterfaceList() = default;

QString InterfaceList::selected() const {
  const auto items = impl_->tree->selectedItems();
  return items.isEmpty() ? QString() : items.front()->text(0);
}

QString InterfaceList::filter() const {
  return impl_->filter->text().trimmed();
}

void InterfaceList::refresh() {
  if (std::exchange(impl_->asking, true)) return;
  impl_->asked = true;
  QtConcurrent::run([lister = impl_->lister] {
    return std::make_shared<Interfaces>(lister());
  }).then(this, [this](const std::shared_ptr<Interfaces>& interfaces) {
    impl_->asking = false;
    impl_->show(*interfaces);
  });
}

void InterfaceList::show_problem(const QString& problem) {
  impl_->note->say(problem.isEmpty() ? QString() : problem + ".\n" + rights_hint());
}

void InterfaceList::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  if (!impl_->asked) refresh();
}

}  // namespace rpcrdma::gui
