#include "calls_view.h"

#include "call_cells.h"

#include <QContextMenuEvent>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QScrollBar>
#include <QTableView>
#include <QVBoxLayout>

#include <rpcrdma/gui_text/plain_text.h>

namespace rpcrdma::gui {

namespace {

constexpr int kLatenciesEachMs = 500;  // percentiles need every bucket
constexpr int kGap = 8;

}  // namespace

CallsView::CallsView(Document& document, QWidget* parent)
    : QWidget(parent),
      document_(document),
      list_(new CallList(document, this)),
      model_(new CallsModel(document, *list_, this)),
      table_(new QTableView(this)),
      totals_(new QLabel(this)),
      empty_(new QLabel(this)),
      slowest_(new QPushButton(tr("Slo&west first"), this)) {
  setAccessibleName(tr("Calls"));
  totals_->setTextFormat(Qt::PlainText);
  empty_->setTextFormat(Qt::PlainText);
  empty_->setWordWrap(true);
  empty_->setAlignment(Qt::AlignHCenter | Qt::AlignTop);
  slowest_->setCheckable(true);
  table_->setModel(model_);
  table_->setItemDelegate(new CallCells(*model_, table_));
  table_->setAccessibleName(tr("Calls"));
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  table_->setSelectionMode(QAbstractItemView::SingleSelection);
  table_->setTabKeyNavigation(false);
  table_->setWordWrap(false);
  table_->setShowGrid(false);
  table_->setContextMenuPolicy(Qt::CustomContextMenu);
  table_->setVerticalScrollMode(QAbstractItemView::ScrollPerItem);
  table_->verticalHeader()->setVisible(false);
  table_->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  table_->verticalHeader()->setMinimumSectionSize(1);
  table_->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 8);
  QHeaderView& header = *table_->horizontalHeader();
  header.setHighlightSections(false);
  header.setSectionResizeMode(QHeaderView::Interactive);
  header.setSortIndicator(static_cast<int>(CallColumn::kTime), Qt::AscendingOrder);
  table_->setSortingEnabled(true);
  const int wide = fontMetrics().averageCharWidth();
  const int characters[kCallColumns] = {14, 11, 5, 36, 9, 9, 24, 12, 5, 13};
  for (int i = 0; i < kCallColumns; ++i) table_->setColumnWidth(i, wide * characters[i] + kGap);
  header.setSectionResizeMode(static_cast<int>(CallColumn::kCall), QHeaderView::Stretch);
  header.setMinimumSectionSize(wide * 5);
  table_->installEventFilter(this);

  auto* const bar = new QHBoxLayout;
  bar->setContentsMargins(kGap, kGap / 2, kGap, kGap / 2);
  bar->addWidget(totals_, 1);
  bar->addWidget(slowest_);
  auto* const column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addLayout(bar);
  column->addWidget(empty_);
  column->addWidget(table_, 1);
  empty_->setMargin(2 * kGap);

  latencies_timer_.setSingleShot(true);
  latencies_timer_.setInterval(kLatenciesEachMs);
  const auto reread = [this] {
    model_->note_latencies();
    show_totals();
    table_->viewport()->update();
  };
  connect(&latencies_timer_, &QTimer::timeout, this, reread);
  connect(&document_, &Document::changed, this, [this] {
    if (isVisible() && !latencies_timer_.isActive()) latencies_timer_.start();
    table_->viewport()->update();
  });
  connect(&document_, &Document::reset, this, [this] {
    current_ = 0;
    scrolled_ = 0;
    model_->note_latencies();
    show_totals();
  });
  connect(&document_, &Document::time_format_changed, table_->viewport(),
          qOverload<>(&QWidget::update));
  connect(&document_, &Document::message_selected, this, &CallsView::follow_selection);
  // The model was connected to the list before, and is up to date.
  connect(list_, &CallList::replacing, this,
          [this] { scrolled_ = table_->verticalScrollBar()->value(); });
  connect(list_, &CallList::replaced, this, [this] {
    show_totals();
    following_ = true;
    if (const auto place = list_->place_of(current_)) {
      table_->setCurrentIndex(model_->index(static_cast<int>(*place), 0));
    }
    following_ = false;
    table_->verticalScrollBar()->setValue(scrolled_);
  });
  connect(list_, &CallList::grown, this, &CallsView::show_totals);
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          &CallsView::select_current);
  connect(table_, &QTableView::doubleClicked, this, &CallsView::open_current);
  connect(table_, &QWidget::customContextMenuRequested, this, &CallsView::show_menu);
  connect(slowest_, &QPushButton::toggled, this, [this](bool on) {
    const auto by = on ? CallColumn::kLatency : CallColumn::kTime;
    table_->sortByColumn(static_cast<int>(by), on ? Qt::DescendingOrder : Qt::AscendingOrder);
    table_->scrollToTop();
  });
  connect(&header, &QHeaderView::sortIndicatorChanged, this, [this](int by, Qt::SortOrder order) {
    if (by != static_cast<int>(CallColumn::kTime) && by != static_cast<int>(CallColumn::kLatency)) {
      show_order();
      return;
    }
    const bool slowest =
        by == static_cast<int>(CallColumn::kLatency) && order == Qt::DescendingOrder;
    const QSignalBlocker quiet(slowest_);
    slowest_->setChecked(slowest);
  });
  show_totals();
}

void CallsView::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  model_->note_latencies();
  list_->set_active(true);
  follow_selection();
  show_totals();
}

void CallsView::hideEvent(QHideEvent* event) {
  QWidget::hideEvent(event);
  list_->set_active(false);
}

// The sign in the header is that of the list's order, since other columns cannot be sorted.
void CallsView::show_order() {
  const CallList::Order order = list_->order();
  const bool latency =
      order == CallList::Order::kSlowestFirst || order == CallList::Order::kFastestFirst;
  const bool descending =
      order == CallList::Order::kSlowestFirst || order == CallList::Order::kNewestFirst;
  table_->horizontalHeader()->setSortIndicator(
      static_cast<int>(latency ? CallColumn::kLatency : CallColumn::kTime),
      descending ? Qt::DescendingOrder : Qt::AscendingOrder);
}

void CallsView::show_totals() {
  totals_->setText(document_.is_empty() ? QString() : model_->totals());
  const bool none = list_->size() == 0;
  empty_->setVisible(none);
  table_->setVisible(!none);
  slowest_->setEnabled(!none);
  if (!none) return;
  const bool narrowed = !document_.filter().isEmpty() || document_.time_range().range().has_value();
  empty_->setText(document_.is_empty()
                      ? tr("Open a capture or attach to an endpoint to see its Calls.")
                  : !list_->is_complete() ? tr("Reading the Calls...")
                  : narrowed              ? tr("No Call matches the filter and the range of time.")
                                          : tr("No Call was seen."));
}

void CallsView::select_current(const QModelIndex& now) {
  if (!now.isValid() || following_) return;
  current_ = list_->at(static_cast<std::size_t>(now.row()));
  following_ = true;
  document_.select_message(current_);
  following_ = false;
}

void CallsView::follow_selection() {
  if (following_ || !isVisible()) return;
  const std::uint64_t selected = document_.selected();
  current_ = document_.store().read([selected](const index::Content& c) -> std::uint64_t {
    if (selected == 0 || selected > c.rows.size()) return 0;
    const index::MessageRow& row = c.rows[selected - 1];
    return row.kind == model::Kind::kCall ? selected : row.match;
  });
  const auto place = list_->place_of(current_);
  if (!place) return;
  following_ = true;
  table_->setCurrentIndex(model_->index(static_cast<int>(*place), 0));
  following_ = false;
}

void CallsView::open_current() {
  if (current_ != 0) Q_EMIT messages_wanted();
}

bool CallsView::eventFilter(QObject* object, QEvent* event) {
  if (object == table_ && event->type() == QEvent::KeyPress) {
    const auto* const key = static_cast<QKeyEvent*>(event);
    if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) {
      open_current();
      return true;
    }
  }
  return QWidget::eventFilter(object, event);
}

void CallsView::show_menu(const QPoint& at) {
  const QModelIndex under = table_->currentIndex();
  if (!under.isValid()) return;
  const CallRow call = model_->call(under.row());
  QMenu menu;
  const auto offer = [&](const QString& title, const QString& filter) {
    menu.addAction(title, this, [this, filter] { Q_EMIT filter_wanted(filter); });
  };
  menu.addAction(tr("Show its &messages"), this, &CallsView::open_current);
  menu.addSeparator();
  offer(tr("Only this &Call"), QString("rpcrdma.connection == %1 && rpcrdma.xid == 0x%2")
                                   .arg(call.connection)
                                   .arg(call.xid, 8, 16, QChar('0')));
  offer(tr("Only this co&nnection"), QString("rpcrdma.connection == %1").arg(call.connection));
  if (call.latency_ns >= 0) {
    offer(tr("Only Calls that took as &long, or longer"),
          QString("rpcrdma.latency >= %1")
              .arg(static_cast<double>(call.latency_ns) / 1e9, 0, 'f', 9));
  }
  menu.exec(table_->viewport()->mapToGlobal(at));
}

}  // namespace rpcrdma::gui
