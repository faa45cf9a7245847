// Keys, filter reference, rules, and about: in tabs, each with a search.
#pragma once

#include "help_topics.h"

#include <QDialog>

class QLineEdit;
class QPlainTextEdit;
class QSortFilterProxyModel;
class QTabWidget;
class QTableView;

namespace rpcrdma::gui {

// A table that a search reduces, and the whole text of its current row.
class HelpTopic : public QWidget {
  Q_OBJECT
 public:
  HelpTopic(const QString& name, const QStringList& columns, QWidget* parent = nullptr);

  void set(const std::vector<HelpRow>& rows);
  [[nodiscard]] QTableView& table() { return *table_; }
  [[nodiscard]] QLineEdit& search() { return *search_; }
  [[nodiscard]] QString detail() const;
  [[nodiscard]] QString current_filter() const;  // of the current row

 Q_SIGNALS:
  void filter_chosen(const QString& filter);

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void show_detail();

  QStringList columns_;
  QLineEdit* search_;
  QTableView* table_;
  QSortFilterProxyModel* shown_;
  QPlainTextEdit* detail_;
};

class HelpWindow : public QDialog {
  Q_OBJECT
 public:
  // The keys are those of `window`, which outlives the help.
  explicit HelpWindow(const QMainWindow& window, QWidget* parent = nullptr);

  // "keys", "filter", "rules", "about"
  void open_topic(const QString& name);
  [[nodiscard]] HelpTopic& topic(const QString& name) { return *findChild<HelpTopic*>(name); }

 Q_SIGNALS:
  void filter_wanted(const QString& filter);

 private:
  const QMainWindow& window_;
  QTabWidget* tabs_;
};

}  // namespace rpcrdma::gui
