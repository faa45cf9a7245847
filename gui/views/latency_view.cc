// Arranges the table of procedures, the slowest Calls, the histogram and the parts.
#include <QHeaderView>
#include <QLabel>
#include <QScrollArea>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>

#include <rpcrdma/base/quantity.h>
#include <rpcrdma/views/latency_histogram.h>
#include <rpcrdma/views/latency_parts.h>
#include <rpcrdma/views/latency_view.h>

namespace rpcrdma::gui {

namespace {

constexpr int kNumber = Qt::UserRole;     // what a cell sorts by
constexpr int kIndex = Qt::UserRole + 1;  // of the procedure, in the first column
constexpr int kLost = 8;                  // column
constexpr quint64 kOwnMedian = 10;        // Calls from which on a procedure has a typical latency

QString duration(std::int64_t ns) {
  return QString::fromStdString(base::format_duration(ns));
}

// Numbers sort by value.
class Cell final : public QTableWidgetItem {
 public:
  bool operator<(const QTableWidgetItem& other) const override {
    const QVariant mine = data(kNumber);
    const QVariant its = other.data(kNumber);
    if (mine.isValid() && its.isValid()) return mine.toLongLong() < its.toLongLong();
    return text() < other.text();
  }
};

QTableWidget* make_table(const QStringList& titles, const QString& name, QWidget* parent) {
  auto* const table = new QTableWidget(parent);
  table->setColumnCount(static_cast<int>(titles.size()));
  table->setHorizontalHeaderLabels(titles);
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->setSelectionMode(QAbstractItemView::SingleSelection);
  table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table->setWordWrap(false);
  table->verticalHeader()->setVisible(false);
  table->verticalHeader()->setDefaultSectionSize(table->fontMetrics().height() + 6);
  table->horizontalHeader()->setHighlightSections(false);
  table->setAccessibleName(name);
  table->setTabKeyNavigation(false);
  return table;
}

QTableWidgetItem& cell(QTableWidget& table, int row, int column) {
  QTableWidgetItem* item = table.item(row, column);
  if (item == nullptr) {
    item = new Cell;
    table.setItem(row, column, item);
  }
  return *item;
}

void put(QTableWidget& table, int row, int column, const QString& text) {
  QTableWidgetItem& item = cell(table, row, column);
  item.setText(text);
  item.setTextAlignment(Qt::AlignVCenter | Qt::AlignLeft);
}

void put(QTableWidget& table, int row, int column, const QString& text, qint64 number) {
  QTableWidgetItem& item = cell(table, row, column);
  item.setText(text);
  item.setData(kNumber, number);
  item.setTextAlignment(Qt::AlignVCenter | Qt::AlignRight);
}

}  // namespace

std::int64_t LatencyProcedure::lost_ns(std::int64_t typical_ns) const {
  double sum = 0;
  for (const Bucket& b : buckets) {
    const double middle = (static_cast<double>(b.from_ns) + static_cast<double>(b.to_ns)) / 2;
    // The last bucket is wider than the slowest Call.
    const double above =
        std::min(middle, static_cast<double>(max)) - static_cast<double>(typical_ns);
    if (above > 0) sum += above * static_cast<double>(b.count);
  }
  return static_cast<std::int64_t>(sum);
}

LatencyView::LatencyView(QWidget* parent)
    : QWidget(parent),
      caption_(new QLabel(this)),
      table_(make_table({tr("Procedure"), tr("Calls"), tr("Errors"), tr("p50"), tr("p90"),
                         tr("p99"), tr("p99.9"), tr("Max"), tr("Time lost")},
                        tr("Latency by procedure"), this)),
      outliers_(
          make_table({tr("Slowest"), tr("Time"), tr("Frame")}, tr("The slowest Calls"), this)),
      histogram_(new LatencyHistogram(this)),
      parts_(new LatencyParts(this)) {
  setAccessibleName(tr("Latency of Calls"));
  notation_.write = [](std::int64_t ns) { return QString::number(ns); };
  caption_->setTextFormat(Qt::PlainText);
  caption_->setWordWrap(true);
  caption_->setContentsMargins(12, 6, 12, 6);
  caption_->setAccessibleName(tr("What the latency is"));
  table_->horizontalHeaderItem(kLost)->setToolTip(tr(
      "What Calls took longer than the median of their procedure, together. Procedures with fewer "
      "than ten Calls are compared with the median of all Calls."));
  const int wide = fontMetrics().averageCharWidth();
  table_->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
  table_->horizontalHeader()->setMinimumSectionSize(wide * 6);
  for (int column = 1; column < table_->columnCount(); ++column) {
    table_->setColumnWidth(column, wide * (column < 3 ? 7 : column == kLost ? 13 : 9));
  }
  table_->horizontalHeader()->setSortIndicator(kLost, Qt::DescendingOrder);
  table_->setSortingEnabled(true);
  outliers_->setColumnWidth(0, wide * 10);
  outliers_->setColumnWidth(1, wide * 15);
  outliers_->horizontalHeader()->setStretchLastSection(true);
  auto* const scroll = new QScrollArea(this);
  scroll->setWidget(parts_);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setAccessibleName(tr("Parts of latency"));
  auto* const upper = new QSplitter(Qt::Horizontal, this);
  upper->addWidget(table_);
  upper->addWidget(outliers_);
  upper->setSizes({700, 270});
  upper->setStretchFactor(0, 1);
  auto* const lower = new QSplitter(Qt::Horizontal, this);
  lower->addWidget(histogram_);
  lower->addWidget(scroll);
  lower->setSizes({580, 390});
  lower->setStretchFactor(0, 1);
  auto* const split = new QSplitter(Qt::Vertical, this);
  split->addWidget(upper);
  split->addWidget(lower);
  split->setSizes({220, 280});
  split->setStretchFactor(1, 1);
  auto* const all = new QVBoxLayout(this);
  all->setContentsMargins(0, 0, 0, 0);
  all->setSpacing(0);
  all->addWidget(caption_);
  all->addWidget(split, 1);
  connect(table_, &QTableWidget::currentCellChanged, this, [this](int row, int, int before, int) {
    if (row == before || filling_) return;
    if (const LatencyProcedure* const p = at(row)) chosen_ = p->label;
    show_current();
  });
  const auto choose = [this](int row) {
    const LatencyProcedure* const p = current();
    if (p == nullptr || row < 0 || row >= std::ssize(p->outliers)) return;
    Q_EMIT message_selected(p->outliers[static_cast<std::size_t>(row)].message);
  };
  connect(outliers_, &QTableWidget::cellClicked, this, choose);
  connect(outliers_, &QTableWidget::cellActivated, this, choose);
  caption_->hide();
}

void LatencyView::set_caption(const QString& text) {
  caption_->setText(text);
  caption_->setVisible(!text.isEmpty());
}

QString LatencyView::caption() const {
  return caption_->text();
}

void LatencyView::set_parts_note(const QString& text) {
  parts_->set_note(text);
}

void LatencyView::set_notation(TimeNotation notation) {
  notation_ = std::move(notation);
  show_current();
}

const LatencyProcedure* LatencyView::at(int row) const {
  const QTableWidgetItem* const item = row >= 0 ? table_->item(row, 0) : nullptr;
  if (item == nullptr) return nullptr;
  const auto index = item->data(kIndex).toULongLong();
  return index < procedures_.size() ? &procedures_[index] : nullptr;
}

const LatencyProcedure* LatencyView::current() const {
  return at(table_->currentRow());
}

std::int64_t LatencyView::median_of_all() const {
  std::vector<std::pair<std::int64_t, quint64>> all;
  quint64 calls = 0;
  for (const LatencyProcedure& p : procedures_) {
    for (const auto& b : p.buckets) {
      all.emplace_back((b.from_ns + b.to_ns) / 2, b.count);
      calls += b.count;
    }
  }
  std::sort(all.begin(), all.end());
  quint64 below = 0;
  for (const auto& [ns, count] : all) {
    below += count;
    if (2 * below >= calls) return ns;
  }
  return 0;
}

void LatencyView::set_procedures(std::vector<LatencyProcedure> procedures) {
  filling_ = true;
  procedures_ = std::move(procedures);
  // While rows are filled, they must not move.
  table_->setSortingEnabled(false);
  const std::int64_t typical = median_of_all();
  table_->setRowCount(static_cast<int>(procedures_.size()));
  for (int row = 0; row < std::ssize(procedures_); ++row) {
    const LatencyProcedure& p = procedures_[static_cast<std::size_t>(row)];
    put(*table_, row, 0, p.label);
    cell(*table_, row, 0).setData(kIndex, row);
    put(*table_, row, 1, QString::number(p.calls), static_cast<qint64>(p.calls));
    put(*table_, row, 2, QString::number(p.errors), static_cast<qint64>(p.errors));
    int column = 3;
    const bool answered = !p.buckets.empty();
    const bool own = p.calls >= kOwnMedian && p.p50 >= 0;
    const std::int64_t lost = answered ? p.lost_ns(own ? p.p50 : typical) : -1;
    for (const std::int64_t ns : {p.p50, p.p90, p.p99, p.p999, p.max, lost}) {
      put(*table_, row, column++, answered ? duration(ns) : QString("-"), answered ? ns : -1);
    }
  }
  table_->setSortingEnabled(true);
  int again = procedures_.empty() ? -1 : 0;
  for (int row = 0; row < table_->rowCount(); ++row) {
    if (const LatencyProcedure* const p = at(row); p != nullptr && p->label == chosen_) again = row;
  }
  if (again >= 0) table_->setCurrentCell(again, 0);
  if (procedures_.empty()) chosen_.clear();
  filling_ = false;
  show_current();
}

void LatencyView::show_current() {
  const LatencyProcedure* const p = current();
  if (p == nullptr) {
    outliers_->setRowCount(0);
    histogram_->set_procedure({});
    parts_->set_parts({});
    return;
  }
  outliers_->setRowCount(static_cast<int>(p->outliers.size()));
  for (int i = 0; i < std::ssize(p->outliers); ++i) {
    const auto& o = p->outliers[static_cast<std::size_t>(i)];
    put(*outliers_, i, 0, duration(o.latency_ns), o.latency_ns);
    put(*outliers_, i, 1, notation_.write(o.at_ns), o.at_ns);
    put(*outliers_, i, 2, QString::number(o.frame), static_cast<qint64>(o.frame));
  }
  histogram_->set_procedure(*p);
  parts_->set_parts(p->parts);
}

}  // namespace rpcrdma::gui
