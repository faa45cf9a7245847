// One row a Call: its outcome, sizes, latency and parts as bars.
#pragma once

#include "call_list.h"
#include "calls_model.h"
#include "document.h"

#include <QTimer>
#include <QWidget>

QT_BEGIN_NAMESPACE
class QLabel;
class QPushButton;
class QTableView;
QT_END_NAMESPACE

namespace rpcrdma::gui {

class CallsView : public QWidget {
  Q_OBJECT

 public:
  explicit CallsView(Document& document, QWidget* parent = nullptr);

  [[nodiscard]] QTableView& table() { return *table_; }
  [[nodiscard]] const CallsModel& model() const { return *model_; }
  [[nodiscard]] const CallList& list() const { return *list_; }

 Q_SIGNALS:
  void filter_wanted(const QString& text);
  void messages_wanted();  // the table of messages, with the selected Call

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void show_totals();
  void show_menu(const QPoint& at);
  void select_current(const QModelIndex& now);
  // Selects the row of the document's message.
  void follow_selection();
  void open_current();

  Document& document_;
  CallList* list_;
  CallsModel* model_;
  QTableView* table_;
  QLabel* totals_;
  QLabel* empty_;
  QPushButton* slowest_;
  QTimer latencies_timer_;
  bool following_ = false;     // the selection follows the document's
  std::uint64_t current_ = 0;  // the selected Call
  int scrolled_ = 0;           // while the list is replaced
};

}  // namespace rpcrdma::gui
