// The connections of a document as a table.
#pragma once

#include "document.h"

#include <QAbstractTableModel>

namespace rpcrdma::gui {

class ConnectionsModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  explicit ConnectionsModel(Document& document, QObject* parent = nullptr);

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;

  [[nodiscard]] std::uint32_t index_of(int row) const {
    return rows_[static_cast<std::size_t>(row)].index;
  }
  [[nodiscard]] int row_of(std::uint32_t index) const;  // -1: not found

 private:
  struct Row {
    std::uint32_t index = 0;
    index::ConnectionInfo info;
    double calls_per_second = 0;
    double bytes_per_second = 0;  // moved through chunks
    bool peer_gone = false;       // the live endpoint at its other end ended without closing it
  };
  void update();
  [[nodiscard]] static QString text(const Row& row, int column);

  Document& document_;
  std::vector<Row> rows_;
};

}  // namespace rpcrdma::gui
