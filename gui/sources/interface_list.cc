// The list of network interfaces.
#include "note.h"

#include <QCheckBox>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTreeWidget>
#include <QVBoxLayout>
#include <utility>

#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/sources/interface_list.h>

namespace rpcrdma::gui {

namespace {

enum InterfaceColumn { kInterface, kDescription, kTraffic };
constexpr int kInterfaceRole = Qt::UserRole;

}  // namespace

struct InterfaceList::Impl {
  InterfaceWatch* watch = nullptr;
  QTreeWidget* tree = nullptr;
  QLineEdit* filter = nullptr;
  QPushButton* button = nullptr;
  QPushButton* again = nullptr;
  QCheckBox* all = nullptr;  // shows those that carry no RDMA, too
  Note* note = nullptr;

  void show() const;
  void show_rates() const;
};

void InterfaceList::Impl::show() const {
  tree->clear();
  if (!watch->problem().isEmpty()) {
    note->say(watch->problem() + ".\n" + capture_rights_hint());
  } else if (watch->seen().empty()) {
    note->say(InterfaceList::tr("No interface is available for capture. ") + capture_rights_hint());
  } else {
    note->say({});
    for (const InterfaceWatch::Seen& s : watch->seen()) {
      const QString description = one_line(describe(s.interface));
      auto* item = new QTreeWidgetItem(tree, {one_line(s.interface.name), description});
      item->setData(kInterface, kInterfaceRole, s.interface.name);
      item->setTextAlignment(kTraffic, Qt::AlignRight | Qt::AlignVCenter);
      item->setToolTip(kInterface,
                       tool_tip(description.isEmpty() ? s.interface.name : description));
      item->setToolTip(kDescription, tool_tip(description));
      item->setHidden(!s.interface.usual && !all->isChecked());
      if (s.interface.device.isEmpty()) continue;
      QFont bold = tree->font();
      bold.setBold(true);
      item->setFont(kInterface, bold);
      item->setFont(kDescription, bold);
    }
    show_rates();
    for (const int column : {kInterface, kDescription}) tree->resizeColumnToContents(column);
    tree->setCurrentItem(tree->topLevelItem(0));
  }
  tree->setEnabled(tree->topLevelItemCount() != 0);
}

void InterfaceList::Impl::show_rates() const {
  const auto count = static_cast<std::size_t>(tree->topLevelItemCount());
  if (count != watch->seen().size()) return;
  for (std::size_t i = 0; i < count; ++i) {
    tree->topLevelItem(static_cast<int>(i))->setText(kTraffic, rate_text(watch->seen()[i]));
  }
}

InterfaceList::InterfaceList(QWidget* parent, InterfaceWatch::Lister lister)
    : QWidget(parent), impl_(std::make_unique<Impl>()) {
  Impl& m = *impl_;
  m.watch = new InterfaceWatch(std::move(lister), this);
  m.tree = new QTreeWidget(this);
  m.tree->setObjectName("interfaces");
  m.tree->setHeaderLabels({tr("Interface"), tr("Description"), tr("Traffic")});
  m.tree->setRootIsDecorated(false);
  m.tree->setAllColumnsShowFocus(true);
  m.tree->setUniformRowHeights(true);
  m.tree->setAccessibleName(tr("Interfaces"));
  m.tree->setToolTip(tr("Network interfaces of this machine, those with RDMA devices first"));
  m.filter = new QLineEdit(this);
  m.filter->setObjectName("filter");
  m.filter->setPlaceholderText(tr("RoCE packets"));
  m.filter->setClearButtonEnabled(true);
  m.filter->setAccessibleName(tr("Capture filter"));
  m.filter->setToolTip(
      tr("Packets to capture, in tcpdump's syntax (pcap-filter(7)); empty: RoCE packets"));
  auto* label = new QLabel(tr("Capture filter:"), this);
  label->setBuddy(m.filter);
  m.note = new Note(this);
  m.note->setObjectName("note");
  m.again = new QPushButton(tr("&Refresh"), this);
  m.again->setToolTip(tr("List the interfaces again"));
  m.all = new QCheckBox(tr("All interfaces"), this);
  m.all->setObjectName("all");
  m.all->setToolTip(tr("Lists bluetooth, nflog, dbus and other sources without RDMA, too"));
  m.button = new QPushButton(tr("Ca&pture"), this);
  m.button->setObjectName("capture");
  m.button->setToolTip(tr("Capture from the selected interface"));
  m.button->setEnabled(false);
  auto* row = new QHBoxLayout;
  row->addWidget(label);
  row->addWidget(m.filter, 1);
  auto* buttons = new QHBoxLayout;
  buttons->addWidget(m.again);
  buttons->addWidget(m.all);
  buttons->addStretch();
  buttons->addWidget(m.button);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(m.tree, 1);
  layout->addWidget(m.note);
  layout->addLayout(row);
  layout->addLayout(buttons);
  setFocusProxy(m.tree);

  const auto emit_capture = [this] {
    if (!selected().isEmpty()) start(selected());
  };
  connect(m.button, &QPushButton::clicked, this, emit_capture);
  connect(m.tree, &QTreeWidget::itemActivated, this, emit_capture);
  connect(m.filter, &QLineEdit::returnPressed, this, emit_capture);
  connect(m.all, &QCheckBox::toggled, this, [this] { impl_->show(); });
  connect(m.watch, &InterfaceWatch::listed, this, [this] { impl_->show(); });
  connect(m.watch, &InterfaceWatch::rates_changed, this, [this] { impl_->show_rates(); });
  connect(m.again, &QPushButton::clicked, this, &InterfaceList::refresh);
  connect(m.tree, &QTreeWidget::itemSelectionChanged, this,
          [this] { impl_->button->setEnabled(!selected().isEmpty()); });
}

InterfaceList::~InterfaceList() = default;

QString InterfaceList::selected() const {
  const auto items = impl_->tree->selectedItems();
  return items.isEmpty() ? QString() : items.front()->data(kInterface, kInterfaceRole).toString();
}

QString InterfaceList::filter() const {
  return impl_->filter->text().trimmed();
}

void InterfaceList::refresh() {
  impl_->watch->list();
}

void InterfaceList::start(const QString& interface) {
  show_problem({});
  Q_EMIT capture(interface, filter());
}

void InterfaceList::show_problem(const QString& problem) {
  impl_->note->say(problem.isEmpty() ? QString() : problem + ".\n" + capture_rights_hint());
}

void InterfaceList::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  impl_->watch->start();
}

void InterfaceList::hideEvent(QHideEvent* event) {
  QWidget::hideEvent(event);
  impl_->watch->stop();
}

}  // namespace rpcrdma::gui
