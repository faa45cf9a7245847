// What a display filter can hold at a place: fields, operators, and the values that the capture
// has.
#pragma once

#include "document.h"

#include <QAbstractTableModel>
#include <QHash>
#include <optional>
#include <vector>

#include <rpcrdma/decode/schema.h>
#include <rpcrdma/index/values.h>

namespace rpcrdma::gui {

struct FilterWord {
  QString text;  // as the filter has it
  QString kind;  // type of a field, count of a value
  QString help;  // in one line
};

// The words as rows, for a completer.
class FilterWords : public QAbstractTableModel {
  Q_OBJECT

 public:
  using QAbstractTableModel::QAbstractTableModel;
  void set(std::vector<FilterWord> words);
  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;

 private:
  std::vector<FilterWord> words_;
};

[[nodiscard]] const std::vector<FilterWord>& field_words();
// Operators for a field of that type, and what can follow a field alone.
[[nodiscard]] std::vector<FilterWord> operator_words(decode::FieldType type);
[[nodiscard]] const std::vector<FilterWord>& join_words();

// Counts values in the document's messages, in a thread. It keeps what it has counted until the
// document has more messages.
class FilterValues : public QObject {
  Q_OBJECT

 public:
  explicit FilterValues(Document& document, QObject* parent = nullptr);

  // Returns the values known now. If the capture has more to count, counted() follows.
  [[nodiscard]] std::vector<FilterWord> values(decode::FieldId field);

 Q_SIGNALS:
  void counted(rpcrdma::decode::FieldId field);

 private:
  struct Known {
    std::uint64_t messages = 0;  // of the document, when it was counted
    index::FieldValues values;
  };
  void count(decode::FieldId field, std::uint64_t messages);
  [[nodiscard]] std::vector<FilterWord> addresses() const;
  [[nodiscard]] std::vector<FilterWord> files() const;

  Document& document_;
  QHash<int, Known> known_;             // by field
  std::optional<decode::FieldId> now_;  // is being counted
};

}  // namespace rpcrdma::gui
