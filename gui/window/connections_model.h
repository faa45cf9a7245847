// The connections of a document as a table, sorted by trouble at first. Rates of live documents are
// those of the last seconds.
#pragma once

#include "document.h"

#include <QAbstractTableModel>
#include <QElapsedTimer>
#include <QTimer>
#include <array>
#include <unordered_map>

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

  // Column -1: by trouble, which is errors, warnings, unanswered Calls, retransmissions.
  void sort(int column, Qt::SortOrder order = Qt::AscendingOrder) override;

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
  // What a live connection had counted at some time.
  struct Sample {
    qint64 at_ms = 0;
    std::uint64_t calls = 0, bytes = 0;
  };
  struct Samples {
    static constexpr std::size_t kMost = 6;
    std::array<Sample, kMost> ring{};
    std::size_t count = 0;
  };
  void update();
  void rate(Row& row, qint64 now_ms);
  void take(std::vector<Row> now);
  void order(std::vector<Row>& rows) const;
  [[nodiscard]] static QString text(const Row& row, int column);
  // What the column sorts by, if it is a number.
  [[nodiscard]] static double number(const Row& row, int column);
  [[nodiscard]] static bool is_number(int column);

  Document& document_;
  std::vector<Row> rows_;
  int sort_column_ = -1;
  Qt::SortOrder sort_order_ = Qt::AscendingOrder;
  bool lately_ = false;  // rates are of the last seconds
  std::unordered_map<std::uint32_t, Samples> samples_;
  QElapsedTimer clock_;
  QTimer timer_;  // a source that is silent announces no change
};

}  // namespace rpcrdma::gui
