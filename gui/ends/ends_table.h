// The stages of each procedure as a table: how long they take, and which side its Calls wait for.
#pragma once

#include "ends_rows.h"

#include <QAbstractTableModel>

namespace rpcrdma::gui {

class EndsTable : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column : std::uint8_t { kProcedure, kConnection, kCalls, kSide, kWhole, kFirstStage };
  enum class Statistic : std::uint8_t { kMedian, kP99, kLongest, kTotal };

  using QAbstractTableModel::QAbstractTableModel;

  void set_ends(SharedEnds all);  // may be null
  void set_statistic(Statistic statistic);
  // The row; null: there is none.
  [[nodiscard]] const ends::ProcedureEnds* procedure(int row) const;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& at, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;

 private:
  [[nodiscard]] std::int64_t value(const ends::StageSum& sum) const;

  SharedEnds all_;
  std::vector<std::uint32_t> order_;  // those that took most time first
  Statistic statistic_ = Statistic::kMedian;
};

}  // namespace rpcrdma::gui
