// Where a display filter is typed: completes the names of fields, and says what is wrong as it is
// typed.
#pragma once

#include <QAbstractItemView>
#include <QCompleter>
#include <QLineEdit>

#include <rpcrdma/filter/error.h>

namespace rpcrdma::gui {

class FilterEdit : public QLineEdit {
  Q_OBJECT

 public:
  explicit FilterEdit(QWidget* parent = nullptr);

  // What is wrong with what is typed; empty: nothing, or nothing is typed.
  [[nodiscard]] QString error() const { return error_; }
  // Filters that were used, the latest first.
  [[nodiscard]] const QStringList& history() const { return history_; }
  void set_history(const QStringList& history);
  [[nodiscard]] QAbstractItemView* popup() const { return completer_->popup(); }

 Q_SIGNALS:
  // Enter was pressed on a filter that is right, or on nothing.
  void applied(const QString& text);
  void checked(const QString& error);

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void check();
  void apply();
  void complete();
  void insert(const QString& completion);
  // The name of a field, or its beginning, that ends at the cursor.
  [[nodiscard]] std::pair<int, int> word() const;

  QCompleter* completer_;
  QString error_;
  QStringList history_;
  int in_history_ = -1;
  bool colouring_ = false;
};

}  // namespace rpcrdma::gui
