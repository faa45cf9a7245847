// The input field for a display filter: it completes names of fields and shows errors while the
// user types.
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

  // Returns the error in the current text; empty: none, or the text is empty.
  [[nodiscard]] QString error() const { return error_; }
  // Filters used before, the latest first.
  [[nodiscard]] const QStringList& history() const { return history_; }
  void set_history(const QStringList& history);
  [[nodiscard]] QAbstractItemView* popup() const { return completer_->popup(); }

 Q_SIGNALS:
  // Emitted when Enter is pressed on a valid filter, or on an empty one.
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
  // Returns the range of the field name, or its beginning, that ends at the cursor.
  [[nodiscard]] std::pair<int, int> word() const;

  QCompleter* completer_;
  QString error_;
  QStringList history_;
  int in_history_ = -1;
  bool colouring_ = false;
};

}  // namespace rpcrdma::gui
