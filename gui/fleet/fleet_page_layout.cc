// The parts of the fleet's page and their places.
#include "fleet_badge.h"
#include "fleet_lists.h"
#include "fleet_model.h"
#include "fleet_page.h"
#include "fleet_paint.h"
#include "fleet_totals.h"

#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QShortcut>
#include <QSplitter>
#include <QTabWidget>
#include <QTableView>
#include <QTreeView>
#include <QVBoxLayout>

#include <rpcrdma/icons/icons.h>
#include <rpcrdma/views/style.h>

namespace rpcrdma::gui {

namespace {

void dress_list(QTableView& list, QAbstractItemModel& model, const QString& name) {
  list.setModel(&model);
  list.setAccessibleName(name);
  list.setSelectionBehavior(QAbstractItemView::SelectRows);
  list.setSelectionMode(QAbstractItemView::SingleSelection);
  list.setTabKeyNavigation(false);
  list.setWordWrap(false);
  list.setShowGrid(false);
  list.verticalHeader()->setVisible(false);
  list.horizontalHeader()->setHighlightSections(false);
  list.horizontalHeader()->setStretchLastSection(true);
}

}  // namespace

FleetPage::FleetPage(QWidget* parent) : QWidget(parent) {
  setObjectName("fleet");
  setAccessibleName(tr("Fleet"));
  model_ = new FleetModel(this);
  sorted_ = new QSortFilterProxyModel(this);
  sorted_->setSourceModel(model_);
  sorted_->setSortRole(FleetModel::kSortRole);
  sorted_->setFilterRole(FleetModel::kFilterRole);
  sorted_->setFilterKeyColumn(FleetModel::kName);
  sorted_->setFilterCaseSensitivity(Qt::CaseInsensitive);
  sorted_->setSortCaseSensitivity(Qt::CaseInsensitive);
  // A host stays if one of its endpoints matches, and keeps all endpoints if it matches itself.
  sorted_->setRecursiveFilteringEnabled(true);
  sorted_->setAutoAcceptChildRows(true);
  auto* const column = new QVBoxLayout(this);
  column->addWidget(make_head());
  badge_ = new FleetBadge(this);
  column->addWidget(badge_);
  totals_ = new FleetTotalsRow(this);
  column->addWidget(totals_);
  auto* const split = new QSplitter(Qt::Vertical, this);
  split->setChildrenCollapsible(false);
  make_tree();
  split->addWidget(tree_);
  split->addWidget(make_lists());
  split->setStretchFactor(0, 3);
  split->setStretchFactor(1, 1);
  column->addWidget(split, 1);
  note_ = new QLabel(this);
  note_->setObjectName("fleet-note");
  note_->setTextFormat(Qt::PlainText);
  note_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  note_->setAccessibleName(tr("Recordings"));
  note_->setMinimumWidth(1);
  note_->hide();
  column->addWidget(note_);
  setFocusProxy(tree_);
  size_columns();
  update_actions();
}

QWidget* FleetPage::make_head() {
  auto* const head = new QWidget(this);
  auto* const row = new QHBoxLayout(head);
  row->setContentsMargins(0, 0, 0, 0);
  title_label_ = new QLabel(head);
  title_label_->setTextFormat(Qt::PlainText);
  title_label_->setFont(title_font(font()));
  title_label_->setMinimumWidth(1);
  filter_ = new QLineEdit(head);
  filter_->setObjectName("fleet-filter");
  filter_->setPlaceholderText(tr("Filter by name (Ctrl+F)"));
  filter_->setAccessibleName(tr("Filter hosts and endpoints by name"));
  filter_->setClearButtonEnabled(true);
  filter_->setMinimumWidth(fontMetrics().averageCharWidth() * 30);
  connect(filter_, &QLineEdit::textChanged, this, [this](const QString& text) {
    sorted_->setFilterFixedString(text);
    if (!text.isEmpty()) tree_->expandAll();
  });
  // The window's Ctrl+F finds messages, and there are none on this page.
  filter_->installEventFilter(this);
  record_ = new QPushButton(tr("&Record %1 s").arg(kFleetRecordSeconds), head);
  record_->setObjectName("fleet-record");
  record_->setIcon(icon("capture"));
  record_->setToolTip(
      tr("Records the selected host or endpoint, and opens the recording (R in the table)"));
  connect(record_, &QPushButton::clicked, this, &FleetPage::record);
  leave_ = new QPushButton(tr("&Leave"), head);
  leave_->setObjectName("fleet-leave");
  leave_->setToolTip(tr("Back to the start page (Ctrl+W)"));
  connect(leave_, &QPushButton::clicked, this, &FleetPage::close_wanted);
  row->addWidget(title_label_, 1);
  for (QWidget* const w : {static_cast<QWidget*>(filter_), static_cast<QWidget*>(record_),
                           static_cast<QWidget*>(leave_)}) {
    row->addWidget(w);
  }
  return head;
}

void FleetPage::make_tree() {
  tree_ = new QTreeView(this);
  tree_->setObjectName("fleet-hosts");
  tree_->setAccessibleName(tr("Hosts and their endpoints"));
  tree_->setModel(sorted_);
  tree_->setItemDelegate(new FleetDelegate(tree_));
  tree_->setUniformRowHeights(true);
  tree_->setAllColumnsShowFocus(true);
  tree_->setSelectionMode(QAbstractItemView::SingleSelection);
  tree_->setExpandsOnDoubleClick(false);  // a double click opens
  tree_->setContextMenuPolicy(Qt::CustomContextMenu);
  tree_->setSortingEnabled(true);
  tree_->sortByColumn(FleetModel::kName, Qt::AscendingOrder);
  tree_->header()->setStretchLastSection(false);
  tree_->header()->setSectionResizeMode(FleetModel::kCourse, QHeaderView::Stretch);
  tree_->header()->setSectionsMovable(true);
  tree_->installEventFilter(this);
  connect(tree_, &QTreeView::activated, this, [this](const QModelIndex& at) {
    if (at.parent().isValid()) return open_selected();
    tree_->setExpanded(at.siblingAtColumn(0), !tree_->isExpanded(at.siblingAtColumn(0)));
  });
  connect(tree_, &QTreeView::customContextMenuRequested, this, &FleetPage::context_menu);
  connect(tree_->selectionModel(), &QItemSelectionModel::selectionChanged, this,
          &FleetPage::update_actions);
}

QWidget* FleetPage::make_lists() {
  lists_ = new QTabWidget(this);
  lists_->setObjectName("fleet-lists");
  lists_->setDocumentMode(true);
  findings_model_ = new FleetFindingsModel(this);
  events_model_ = new FleetEventsModel(this);
  findings_ = new QTableView(lists_);
  events_ = new QTableView(lists_);
  dress_list(*findings_, *findings_model_, tr("Findings of all hosts, the newest first"));
  dress_list(*events_, *events_model_, tr("What happened to hosts, the newest first"));
  lists_->addTab(findings_, tr("Findings"));
  lists_->addTab(events_, tr("Events"));
  return lists_;
}

// In characters, so that columns follow the size of the text.
void FleetPage::size_columns() {
  const int wide = fontMetrics().averageCharWidth();
  const auto set_all = [wide](auto& header, std::initializer_list<int> characters) {
    int column = 0;
    for (const int n : characters) header.resizeSection(column++, wide * n + 2 * kGap);
  };
  set_all(*tree_->header(), {38, 20, 6, 6, 8, 7, 8, 8, 14, 13, 8, 8, 12, 5});
  set_all(*findings_->horizontalHeader(), {10, 11, 16, 18, 18, 7, 40});
  set_all(*events_->horizontalHeader(), {10, 16, 40});
}

}  // namespace rpcrdma::gui
