#include "message_table_access.h"

#include "message_table.h"

#include <algorithm>
#include <limits>

namespace rpcrdma::gui {

namespace {

constexpr qsizetype kMostCells = 4096;
constexpr std::uint64_t kMostSelected = 1000;  // rows that are listed

std::vector<Column> shown_columns(MessageTable& table) {
  std::vector<Column> shown;
  const QHeaderView& header = table.header();
  for (int visual = 0; visual < header.count(); ++visual) {
    const int logical = header.logicalIndex(visual);
    if (!header.isSectionHidden(logical)) shown.push_back(static_cast<Column>(logical));
  }
  return shown;
}

QString title_of(Column column) {
  return MessageTable::tr(columns()[static_cast<std::size_t>(column)].title);
}

class Cell : public QAccessibleInterface, public QAccessibleTableCellInterface {
 public:
  Cell(MessageTable& table, int row, int column) : table_(&table), row_(row), column_(column) {}

  [[nodiscard]] bool isValid() const override {
    return table_ != nullptr && static_cast<std::uint64_t>(row_) < table_->row_count() &&
           column_ < std::ssize(shown_columns(*table_));
  }
  [[nodiscard]] QObject* object() const override { return nullptr; }
  [[nodiscard]] QWindow* window() const override {
    return table_ != nullptr ? table_->window()->windowHandle() : nullptr;
  }
  [[nodiscard]] QAccessibleInterface* parent() const override { return table(); }
  [[nodiscard]] QAccessibleInterface* child(int) const override { return nullptr; }
  [[nodiscard]] QAccessibleInterface* childAt(int, int) const override { return nullptr; }
  [[nodiscard]] int childCount() const override { return 0; }
  [[nodiscard]] int indexOfChild(const QAccessibleInterface*) const override { return -1; }
  [[nodiscard]] QAccessible::Role role() const override { return QAccessible::Cell; }
  void* interface_cast(QAccessible::InterfaceType type) override {
    return type == QAccessible::TableCellInterface
               ? static_cast<QAccessibleTableCellInterface*>(this)
               : nullptr;
  }
  [[nodiscard]] QString text(QAccessible::Text what) const override {
    if (!isValid()) return {};
    const auto row = static_cast<std::uint64_t>(row_);
    if (what == QAccessible::Name) {
      return table_->text(row, shown_columns(*table_)[static_cast<std::size_t>(column_)]);
    }
    if (what != QAccessible::Description) return {};
    return row_text(*table_, row);
  }
  void setText(QAccessible::Text, const QString&) override {}
  [[nodiscard]] QRect rect() const override {
    if (!isValid()) return {};
    const QRect inside = table_->rect_of(static_cast<std::uint64_t>(row_));
    const int logical = static_cast<int>(shown_columns(*table_)[static_cast<std::size_t>(column_)]);
    const QHeaderView& header = table_->header();
    const QRect own(header.sectionViewportPosition(logical), inside.top(),
                    header.sectionSize(logical), inside.height());
    return {table_->viewport()->mapToGlobal(own.topLeft()), own.size()};
  }
  [[nodiscard]] QAccessible::State state() const override {
    QAccessible::State state;
    if (!isValid()) {
      state.invalid = 1;
      return state;
    }
    state.selectable = state.focusable = state.readOnly = 1;
    const auto row = static_cast<std::uint64_t>(row_);
    state.selected = isSelected() ? 1 : 0;
    state.active = state.focused = table_->hasFocus() && table_->current() == row ? 1 : 0;
    const auto [first, last] = table_->visible();
    state.offscreen = row < first || row > last ? 1 : 0;
    return state;
  }

  [[nodiscard]] bool isSelected() const override {
    const auto [from, to] = table_->selection();
    const auto row = static_cast<std::uint64_t>(row_);
    return row >= from && row <= to;
  }
  [[nodiscard]] QList<QAccessibleInterface*> columnHeaderCells() const override { return {}; }
  [[nodiscard]] QList<QAccessibleInterface*> rowHeaderCells() const override { return {}; }
  [[nodiscard]] int columnIndex() const override { return column_; }
  [[nodiscard]] int rowIndex() const override { return row_; }
  [[nodiscard]] int columnExtent() const override { return 1; }
  [[nodiscard]] int rowExtent() const override { return 1; }
  [[nodiscard]] QAccessibleInterface* table() const override {
    return QAccessible::queryAccessibleInterface(table_);
  }

  static QString row_text(MessageTable& table, std::uint64_t row) {
    QStringList parts;
    for (const Column column : shown_columns(table)) {
      const QString value = table.text(row, column);
      if (!value.isEmpty()) parts << title_of(column) + " " + value;
    }
    return parts.join(", ");
  }

 private:
  QPointer<MessageTable> table_;
  int row_, column_;
};

QAccessibleInterface* make(const QString& name, QObject* object) {
  auto* const table = qobject_cast<MessageTable*>(object);
  return name == QLatin1String("rpcrdma::gui::MessageTable") && table != nullptr
             ? new MessageTableAccess(table)
             : nullptr;
}

}  // namespace

void install_message_table_access() {
  QAccessible::installFactory(make);
}

void report_current_row(MessageTable& table) {
  if (!QAccessible::isActive() || !table.current()) return;
  auto* const access =
      dynamic_cast<MessageTableAccess*>(QAccessible::queryAccessibleInterface(&table));
  if (access == nullptr) return;
  QAccessibleEvent event(access->focusChild(), QAccessible::Focus);
  QAccessible::updateAccessibility(&event);
}

MessageTableAccess::MessageTableAccess(MessageTable* table)
    : QAccessibleWidget(table, QAccessible::Table) {}

MessageTableAccess::~MessageTableAccess() {
  for (const QAccessible::Id id : std::as_const(cells_)) {
    QAccessible::deleteAccessibleInterface(id);
  }
}

MessageTable& MessageTableAccess::table() const {
  return *static_cast<MessageTable*>(widget());
}

void* MessageTableAccess::interface_cast(QAccessible::InterfaceType type) {
  if (type == QAccessible::TableInterface) return static_cast<QAccessibleTableInterface*>(this);
  return QAccessibleWidget::interface_cast(type);
}

int MessageTableAccess::rowCount() const {
  return static_cast<int>(std::min<std::uint64_t>(table().row_count(), INT_MAX));
}
int MessageTableAccess::columnCount() const {
  return static_cast<int>(shown_columns(table()).size());
}

int MessageTableAccess::childCount() const {
  const auto all = static_cast<std::int64_t>(rowCount()) * columnCount();
  return static_cast<int>(std::min<std::int64_t>(all, INT_MAX));
}

QAccessibleInterface* MessageTableAccess::child(int index) const {
  const int wide = columnCount();
  return index < 0 || wide == 0 ? nullptr : cellAt(index / wide, index % wide);
}

int MessageTableAccess::indexOfChild(const QAccessibleInterface* child) const {
  const auto* const cell = dynamic_cast<const Cell*>(child);
  if (cell == nullptr) return -1;
  const auto index =
      static_cast<std::int64_t>(cell->rowIndex()) * columnCount() + cell->columnIndex();
  return index <= INT_MAX ? static_cast<int>(index) : -1;
}

QAccessibleInterface* MessageTableAccess::childAt(int x, int y) const {
  const QPoint at = table().viewport()->mapFromGlobal(QPoint(x, y));
  if (!table().viewport()->rect().contains(at)) return nullptr;
  const auto row = table().row_at(at.y());
  const int logical = table().header().logicalIndexAt(at.x());
  const std::vector<Column> shown = shown_columns(table());
  const auto found = std::find(shown.begin(), shown.end(), static_cast<Column>(logical));
  if (!row || found == shown.end()) return nullptr;
  return cellAt(static_cast<int>(*row), static_cast<int>(found - shown.begin()));
}

QAccessibleInterface* MessageTableAccess::focusChild() const {
  const auto row = table().current();
  return row ? cellAt(static_cast<int>(*row), 0) : nullptr;
}

QAccessibleInterface* MessageTableAccess::cellAt(int row, int column) const {
  if (row < 0 || column < 0 || row >= rowCount() || column >= columnCount()) return nullptr;
  const quint64 key = static_cast<quint64>(row) << 8 | static_cast<quint64>(column);
  if (const auto it = cells_.constFind(key); it != cells_.constEnd()) {
    return QAccessible::accessibleInterface(*it);
  }
  if (cells_.size() >= kMostCells) {
    for (const QAccessible::Id id : std::as_const(cells_)) {
      QAccessible::deleteAccessibleInterface(id);
    }
    cells_.clear();
  }
  auto* const cell = new Cell(table(), row, column);
  cells_.insert(key, QAccessible::registerAccessibleInterface(cell));
  return cell;
}

int MessageTableAccess::selectedRowCount() const {
  const auto [from, to] = table().selection();
  return from > to ? 0 : static_cast<int>(std::min<std::uint64_t>(to - from + 1, INT_MAX));
}

QList<int> MessageTableAccess::selectedRows() const {
  const auto [from, to] = table().selection();
  QList<int> rows;
  for (std::uint64_t row = from; row <= to && row - from < kMostSelected; ++row) {
    rows << static_cast<int>(row);
  }
  return rows;
}

int MessageTableAccess::selectedCellCount() const {
  const auto all = static_cast<std::int64_t>(selectedRowCount()) * columnCount();
  return static_cast<int>(std::min<std::int64_t>(all, INT_MAX));
}

QList<QAccessibleInterface*> MessageTableAccess::selectedCells() const {
  QList<QAccessibleInterface*> cells;
  const int wide = columnCount();
  for (const int row : selectedRows()) {
    for (int column = 0; column < wide && cells.size() < kMostCells / 2; ++column) {
      cells << cellAt(row, column);
    }
  }
  return cells;
}

QString MessageTableAccess::columnDescription(int column) const {
  const std::vector<Column> shown = shown_columns(table());
  return column >= 0 && column < std::ssize(shown)
             ? title_of(shown[static_cast<std::size_t>(column)])
             : QString();
}

QString MessageTableAccess::rowDescription(int row) const {
  return row >= 0 && row < rowCount() ? Cell::row_text(table(), static_cast<std::uint64_t>(row))
                                      : QString();
}

bool MessageTableAccess::isColumnSelected(int column) const {
  Q_UNUSED(column);
  return false;
}
bool MessageTableAccess::isRowSelected(int row) const {
  const auto [from, to] = table().selection();
  return row >= 0 && static_cast<std::uint64_t>(row) >= from &&
         static_cast<std::uint64_t>(row) <= to;
}
bool MessageTableAccess::selectRow(int row) {
  if (row < 0 || row >= rowCount()) return false;
  table().go_to(static_cast<std::uint64_t>(row));
  return true;
}
bool MessageTableAccess::selectColumn(int column) {
  Q_UNUSED(column);
  return false;
}
bool MessageTableAccess::unselectRow(int row) {
  Q_UNUSED(row);
  return false;
}
bool MessageTableAccess::unselectColumn(int column) {
  Q_UNUSED(column);
  return false;
}
// The table reports no such events: rows only arrive, and a reader asks for their number.
void MessageTableAccess::modelChange(QAccessibleTableModelChangeEvent* event) {
  Q_UNUSED(event);
}

}  // namespace rpcrdma::gui
