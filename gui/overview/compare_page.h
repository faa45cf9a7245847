// Two captures, or two ranges of time of the open document, side by side, as `rpcrdma compare`
// compares them.
#pragma once

#include "compare_input.h"
#include "document.h"

#include <QWidget>
#include <array>
#include <atomic>
#include <memory>

#include <rpcrdma/report/compare.h>

class QLabel;
class QPushButton;
class QScrollArea;

namespace rpcrdma::gui {

class BarTable;
class Card;
class SignLabel;
class TwoHistograms;
class Worker;

// Where the user chooses one of the two: by buttons, or by dropping a file on it.
class CompareSide : public QWidget {
  Q_OBJECT

 public:
  CompareSide(const QString& title, QWidget* parent);
  void show_input(const CompareInput& input, const QString& problem);
  void set_can(bool document, bool range);

 Q_SIGNALS:
  void document_wanted();
  void range_wanted();
  void file_wanted();
  void dropped(const QStringList& paths);

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dragLeaveEvent(QDragLeaveEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  QString title_;
  QLabel *name_, *problem_;
  QPushButton *document_, *range_, *file_;
  bool dragging_ = false;
};

class ComparePage : public QWidget {
  Q_OBJECT

 public:
  explicit ComparePage(Document& document, QWidget* parent = nullptr);
  ~ComparePage() override;

  // `side`: report::kBefore or report::kAfter. Both are compared as soon as both are there.
  void set_input(std::size_t side, CompareInput input);
  [[nodiscard]] const CompareInput& input(std::size_t side) const { return sides_[side].input; }
  // The whole document, and the range of time that all views show. Empty without a document, and
  // without a range.
  [[nodiscard]] CompareInput document_input() const;
  [[nodiscard]] CompareInput range_input() const;

  // Null while nothing is compared.
  [[nodiscard]] const report::Comparison* comparison() const { return comparison_.get(); }
  [[nodiscard]] QString problem(std::size_t side) const { return sides_[side].problem; }
  [[nodiscard]] QString status() const;
  [[nodiscard]] BarTable& latencies() { return *latencies_; }
  [[nodiscard]] BarTable& sums() { return *sums_; }
  [[nodiscard]] BarTable& findings() { return *findings_; }
  [[nodiscard]] TwoHistograms& histograms() { return *histograms_; }

 Q_SIGNALS:
  void compared();  // comparison() is another one, or problem()

 protected:
  void showEvent(QShowEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  struct Side {
    CompareInput input;
    std::shared_ptr<const report::Report> report;  // null: not read
    std::shared_ptr<std::atomic<bool>> cancelled;  // of the reading that runs
    QString problem;
    CompareSide* widget = nullptr;
  };
  struct Section {
    Card* box = nullptr;
    QLabel* title = nullptr;
    QLabel* more = nullptr;
  };

  void make_sides();
  void make_result();
  Section add_section(const QString& title, QWidget* content);
  void choose_file(std::size_t side);
  void swap_sides();
  void read(std::size_t side);
  void compare();
  void show_result();
  void show_histograms(int row);
  void update_choices();
  void document_reset();
  void dress();

  Document& document_;
  std::array<Side, 2> sides_;
  std::shared_ptr<const report::Comparison> comparison_;
  std::vector<std::size_t> procedure_of_;  // by row of the latencies
  QScrollArea* scroll_ = nullptr;
  QWidget* page_ = nullptr;
  QPushButton* swap_ = nullptr;
  Card* head_ = nullptr;
  SignLabel* sign_ = nullptr;
  QLabel *verdict_ = nullptr, *notes_ = nullptr, *status_ = nullptr;
  BarTable *latencies_ = nullptr, *sums_ = nullptr, *findings_ = nullptr;
  TwoHistograms* histograms_ = nullptr;
  Section latency_box_, histogram_box_, sum_box_, finding_box_;
  std::unique_ptr<Worker> worker_;
};

}  // namespace rpcrdma::gui
