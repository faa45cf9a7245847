// What opens first: the verdict, findings as cards, rates, connections by trouble, slow Calls,
// files.
#pragma once

#include "document.h"
#include "overview_model.h"

#include <QElapsedTimer>
#include <QScrollArea>
#include <QTimer>
#include <memory>
#include <set>

class QBoxLayout;
class QGridLayout;
class QLabel;
class QPushButton;

namespace rpcrdma::gui {

class BarTable;
class Card;
class FindingWidget;
class SignLabel;
class TileWidget;
class Worker;

class OverviewPage : public QWidget {
  Q_OBJECT

 public:
  explicit OverviewPage(Document& document, QWidget* parent = nullptr);
  ~OverviewPage() override;

  // What is shown, as plain values.
  [[nodiscard]] const OverviewModel& model() const { return model_; }
  [[nodiscard]] const std::vector<FindingWidget*>& cards() const { return cards_; }
  [[nodiscard]] BarTable& connections() { return *connections_.table; }
  [[nodiscard]] BarTable& slowest() { return *slowest_.table; }
  [[nodiscard]] QScrollArea& scroll() { return *scroll_; }

 Q_SIGNALS:
  void view_wanted(const QString& view);    // as for MainWindow::show_view()
  void filter_wanted(const QString& text);  // a display filter to apply
  void updated();                           // model() is another one

 protected:
  void showEvent(QShowEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  // A title with a table below it; hidden without rows.
  struct Section {
    QWidget* box = nullptr;
    QLabel* title = nullptr;
    BarTable* table = nullptr;
    QLabel* more = nullptr;
  };

  void make_head();
  void make_tables();
  Section section(const QString& title, const QStringList& titles, int stretched);
  void note_change();  // at most twice a second, and only if visible
  void compute();
  void took(OverviewModel model, std::shared_ptr<const report::Report> of);
  void show_model();
  void show_head();
  void show_cards();
  void show_tables();
  void show_range();
  void arrange();
  void dress();
  [[nodiscard]] FindingWidget* make_card();
  void fill_cards(std::vector<FindingWidget*>& widgets, const std::vector<FindingCard>& cards);
  [[nodiscard]] QString when_of(const FindingCard& card) const;
  [[nodiscard]] QString filter_of(const FindingCard& card) const;
  [[nodiscard]] QString time(std::int64_t ns) const;
  void show_evidence(const FindingCard& card);
  void choose_connection(int row);

  Document& document_;
  std::unique_ptr<Worker> worker_;
  OverviewModel model_;
  std::shared_ptr<const report::Report> shown_;  // the report of model_
  bool shown_growing_ = false;
  bool computing_ = false;
  std::uint64_t generation_ = 0;  // of the document
  bool dirty_ = true;
  QTimer timer_;
  QElapsedTimer since_update_;

  QScrollArea* scroll_;
  QWidget* page_;
  Card* head_ = nullptr;
  SignLabel* sign_ = nullptr;
  QLabel *sentence_ = nullptr, *scope_ = nullptr, *nothing_ = nullptr, *reasons_ = nullptr;
  QPushButton* why_ = nullptr;
  QGridLayout* card_grid_ = nullptr;
  std::vector<FindingWidget*> cards_, notes_;
  QLabel* notes_title_ = nullptr;
  QGridLayout* note_grid_ = nullptr;
  std::set<QString> expanded_;
  QPushButton* more_findings_ = nullptr;
  QGridLayout* tile_grid_ = nullptr;
  std::vector<TileWidget*> tiles_;
  QBoxLayout* columns_ = nullptr;
  Section connections_, slowest_, files_, mounts_;
  QLabel* congestion_ = nullptr;
};

}  // namespace rpcrdma::gui
