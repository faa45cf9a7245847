// The message table for screen readers: a table of all rows, whose cells are made when asked for.
#pragma once

#include <QAccessible>
#include <QAccessibleWidget>
#include <QHash>
#include <cstdint>
#include <vector>

namespace rpcrdma::gui {

class MessageTable;

// Called once: later calls have no effect.
void install_message_table_access();

// Reports that another row is the current one.
void report_current_row(MessageTable& table);

class MessageTableAccess : public QAccessibleWidget, public QAccessibleTableInterface {
 public:
  explicit MessageTableAccess(MessageTable* table);
  ~MessageTableAccess() override;

  void* interface_cast(QAccessible::InterfaceType type) override;
  [[nodiscard]] int childCount() const override;
  [[nodiscard]] QAccessibleInterface* child(int index) const override;
  [[nodiscard]] int indexOfChild(const QAccessibleInterface* child) const override;
  [[nodiscard]] QAccessibleInterface* childAt(int x, int y) const override;
  [[nodiscard]] QAccessibleInterface* focusChild() const override;

  [[nodiscard]] QAccessibleInterface* caption() const override { return nullptr; }
  [[nodiscard]] QAccessibleInterface* summary() const override { return nullptr; }
  [[nodiscard]] QAccessibleInterface* cellAt(int row, int column) const override;
  [[nodiscard]] int selectedCellCount() const override;
  [[nodiscard]] QList<QAccessibleInterface*> selectedCells() const override;
  [[nodiscard]] QString columnDescription(int column) const override;
  [[nodiscard]] QString rowDescription(int row) const override;
  [[nodiscard]] int selectedColumnCount() const override { return 0; }
  [[nodiscard]] int selectedRowCount() const override;
  [[nodiscard]] int columnCount() const override;
  [[nodiscard]] int rowCount() const override;
  [[nodiscard]] QList<int> selectedColumns() const override { return {}; }
  [[nodiscard]] QList<int> selectedRows() const override;
  [[nodiscard]] bool isColumnSelected(int column) const override;
  [[nodiscard]] bool isRowSelected(int row) const override;
  bool selectRow(int row) override;
  bool selectColumn(int column) override;
  bool unselectRow(int row) override;
  bool unselectColumn(int column) override;
  void modelChange(QAccessibleTableModelChangeEvent* event) override;

 private:
  [[nodiscard]] MessageTable& table() const;

  // Bounded: those of the rows that a reader visits.
  mutable QHash<quint64, QAccessible::Id> cells_;
};

}  // namespace rpcrdma::gui
