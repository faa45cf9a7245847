// Both ends of the document's Calls: the verdict, the clocks, the stages of each procedure, and the
// Calls as a waterfall. Reads the document's files once it is in sight.
#pragma once

#include "document.h"
#include "ends_links.h"
#include "ends_reading.h"
#include "ends_table.h"
#include "ends_waterfall.h"

#include <QWidget>

QT_BEGIN_NAMESPACE
class QComboBox;
class QLabel;
class QProgressBar;
class QPushButton;
class QScrollArea;
class QSplitter;
class QTableView;
QT_END_NAMESPACE

namespace rpcrdma::gui {

class EndsPage : public QWidget {
  Q_OBJECT

 public:
  explicit EndsPage(Document& document, QWidget* parent = nullptr);
  ~EndsPage() override;

  // The document has several files, so there may be something to show.
  [[nodiscard]] bool is_offered() const;
  [[nodiscard]] const SharedEnds& shown() const { return all_; }  // null: nothing was read
  [[nodiscard]] EndsReading& reading() { return *reading_; }
  [[nodiscard]] EndsWaterfall& waterfall() { return *waterfall_; }
  [[nodiscard]] QTableView& table() { return *table_; }
  [[nodiscard]] QComboBox& order() { return *order_; }
  [[nodiscard]] QComboBox& side() { return *side_; }
  [[nodiscard]] QComboBox& procedure() { return *procedure_; }
  [[nodiscard]] QComboBox& scale() { return *scale_; }
  [[nodiscard]] QPushButton& cancel() { return *cancel_; }
  [[nodiscard]] QPushButton& again() { return *again_; }
  [[nodiscard]] QString verdict() const;
  [[nodiscard]] QString facts() const;    // sources with their clocks, contradictions, notes
  [[nodiscard]] QString problem() const;  // why there is nothing to show; empty: there is
  // The rows are those that were asked for, and selections lead from and to the document.
  [[nodiscard]] bool is_settled() const { return !sorting_ && links_ != nullptr; }

 Q_SIGNALS:
  void offered(bool on);
  void messages_wanted();  // the table of messages, with the selected Call

 protected:
  void showEvent(QShowEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void make_head(QWidget* parent);
  QWidget* make_calls();
  void reset();
  void start();
  void took(SharedEnds all);
  void show_problem(const QString& text);
  void show_progress();
  void show_facts();
  void fill_choices();
  void sort_rows();
  void link();
  void show_detail();
  void select_in_document(std::uint32_t call);
  void follow_document();
  void dress();

  Document& document_;
  EndsReading* reading_;
  SharedEnds all_;
  std::shared_ptr<const EndsLinks> links_;
  bool wanted_ = false;     // it was in sight since the document was opened
  bool following_ = false;  // a selection comes from the document, or goes to it
  bool sorting_ = false;
  std::uint64_t sort_run_ = 0, link_run_ = 0;  // results of earlier runs are dropped
  std::shared_ptr<std::atomic<bool>> link_cancelled_;

  QLabel* verdict_ = nullptr;
  QLabel* facts_ = nullptr;
  QScrollArea* facts_area_ = nullptr;
  QLabel* problem_ = nullptr;
  QProgressBar* progress_ = nullptr;
  QPushButton* cancel_ = nullptr;
  QPushButton* again_ = nullptr;
  QWidget* head_ = nullptr;
  QSplitter* body_ = nullptr;
  QTableView* table_ = nullptr;
  EndsTable* model_ = nullptr;
  EndsWaterfall* waterfall_ = nullptr;
  QComboBox* statistic_ = nullptr;
  QComboBox* order_ = nullptr;
  QComboBox* side_ = nullptr;
  QComboBox* procedure_ = nullptr;
  QComboBox* scale_ = nullptr;
  QLabel* count_ = nullptr;
  QLabel* detail_ = nullptr;
  std::unique_ptr<Worker> sorter_, linker_;
};

}  // namespace rpcrdma::gui
