// A table whose rows have keys: when another list replaces them, the selection stays with its rows.
#pragma once

#include <QAbstractTableModel>
#include <string>
#include <unordered_map>
#include <vector>

namespace rpcrdma::gui {

template <typename Row>
class KeyedRows : public QAbstractTableModel {
 public:
  using QAbstractTableModel::QAbstractTableModel;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override {
    return parent.isValid() ? 0 : static_cast<int>(rows_.size());
  }

 protected:
  [[nodiscard]] const Row& row_at(const QModelIndex& index) const {
    return rows_[static_cast<std::size_t>(index.row())];
  }

  // `key(row)`: a std::string, unique in each list.
  template <typename Key>
  void replace(const std::vector<Row>& now, Key key) {
    const auto as_row = [](std::size_t n) { return static_cast<int>(n); };
    std::unordered_map<std::string, int> place;
    for (std::size_t i = 0; i < now.size(); ++i) place.emplace(key(now[i]), as_row(i));
    const QModelIndexList before = persistentIndexList();
    QModelIndexList after;
    for (const QModelIndex& i : before) {
      const auto found = place.find(key(row_at(i)));
      after << (found == place.end() ? QModelIndex()
                                     : this->createIndex(found->second, i.column()));
    }
    // Only the number of rows changes here; which row is where, below.
    const std::size_t had = rows_.size();
    if (now.size() > had) {
      beginInsertRows({}, as_row(had), as_row(now.size()) - 1);
      rows_ = now;
      endInsertRows();
    }
    Q_EMIT layoutAboutToBeChanged();
    rows_ = now;
    rows_.resize(std::max(had, now.size()));
    changePersistentIndexList(before, after);
    Q_EMIT layoutChanged();
    if (now.size() < had) {
      beginRemoveRows({}, as_row(now.size()), as_row(had) - 1);
      rows_.resize(now.size());
      endRemoveRows();
    }
  }

 private:
  std::vector<Row> rows_;
};

}  // namespace rpcrdma::gui
