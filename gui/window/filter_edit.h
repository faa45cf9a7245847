// The input field for a display filter. It completes fields, operators and the values of the
// capture, keeps a history, and shows an error below itself once the user stops typing.
#pragma once

#include "filter_text.h"

#include <QCompleter>
#include <QLabel>
#include <QLineEdit>
#include <QPointer>
#include <QTimer>
#include <QTreeView>

#include <rpcrdma/filter/error.h>

namespace rpcrdma::gui {

class FilterValues;
class FilterWords;

class FilterEdit : public QLineEdit {
  Q_OBJECT

 public:
  explicit FilterEdit(QWidget* parent = nullptr);

  // Returns the error in the current text; empty: none, or the text is empty.
  [[nodiscard]] QString error() const { return error_; }
  // Returns the error that is shown: not while the user types.
  [[nodiscard]] QString shown_error() const { return shown_ ? error_ : QString(); }
  [[nodiscard]] const QLabel& error_label() const { return *note_; }
  // Filters used before, the latest first.
  [[nodiscard]] const QStringList& history() const { return history_; }
  void set_history(const QStringList& history);
  [[nodiscard]] QTreeView* popup() const { return popup_; }
  // Without, only fields and operators are completed. `values` outlives this.
  void set_values(FilterValues* values);
  // Whether the text is a saved filter: the star is then full.
  void set_saved(bool saved);

 Q_SIGNALS:
  // Emitted when Enter is pressed on a valid filter, or on an empty one.
  void applied(const QString& text);
  void save_wanted();

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void moveEvent(QMoveEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void check();
  void show_error();
  void colour();
  void place_note();
  void apply();
  // `asked`: the user asks for words, however short the beginning is.
  void complete(bool asked);
  void insert(const QString& completion);
  void show_history();
  void draw_icons();
  [[nodiscard]] int x_of(int character) const;

  QCompleter* completer_;
  FilterWords* words_;
  QTreeView* popup_;
  FilterValues* values_ = nullptr;
  QPointer<QLabel> note_;  // a child of the window, which may delete it first
  QTimer pause_;
  QAction* used_before_;
  QAction* star_;
  bool saved_ = false;
  QString error_;
  int error_begin_ = 0, error_end_ = 0;  // characters of the text
  bool shown_ = false;
  FilterPlace place_;
  QStringList history_;
  int in_history_ = -1;
  bool colouring_ = false;
};

}  // namespace rpcrdma::gui
