// The page of a fleet: the bus, the sums of what is live, the table of hosts with their endpoints,
// findings and events. It shows what its source says, and knows no bus.
#pragma once

#include "fleet_source.h"

#include <QSortFilterProxyModel>
#include <QWidget>
#include <memory>

class QLabel;
class QLineEdit;
class QPushButton;
class QTabWidget;
class QTableView;
class QTreeView;

namespace rpcrdma::gui {

class FleetBadge;
class FleetEventsModel;
class FleetFindingsModel;
class FleetModel;
class FleetTotalsRow;

// Seconds that "Record" asks for.
inline constexpr int kFleetRecordSeconds = 10;

class FleetPage : public QWidget {
  Q_OBJECT

 public:
  explicit FleetPage(QWidget* parent = nullptr);
  ~FleetPage() override;

  // Follows another source until close_source(). `title`: what is followed, such as its URL.
  void follow(std::unique_ptr<FleetSource> source, const QString& title);
  void close_source();
  [[nodiscard]] bool is_open() const { return source_ != nullptr; }
  [[nodiscard]] const QString& title() const { return title_; }
  // Where recordings are saved.
  void set_folder(const QString& folder) { folder_ = folder; }
  // The name under which this machine's own endpoints appear; theirs can be attached to.
  void set_own_host(const QString& host) { own_host_ = host; }

  [[nodiscard]] QTreeView& tree() { return *tree_; }
  [[nodiscard]] FleetModel& model() { return *model_; }
  [[nodiscard]] FleetBadge& badge() { return *badge_; }
  [[nodiscard]] FleetTotalsRow& totals() { return *totals_; }
  [[nodiscard]] QLineEdit& filter() { return *filter_; }
  [[nodiscard]] QPushButton& record_button() { return *record_; }
  [[nodiscard]] QTableView& findings() { return *findings_; }
  [[nodiscard]] QTableView& events() { return *events_; }
  [[nodiscard]] QString note() const;  // the line about recordings and problems

  // Records the selected endpoint, or the busiest of the selected host, and opens the recording.
  void record();
  // Attaches to the selected endpoint, if it runs on this machine.
  void open_selected();

 Q_SIGNALS:
  void open_wanted(const QStringList& files);
  void attach_wanted(const QStringList& endpoints);
  void close_wanted();

 protected:
  void changeEvent(QEvent* event) override;
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void make_tree();
  [[nodiscard]] QWidget* make_head();
  [[nodiscard]] QWidget* make_lists();
  void show_state(const FleetShown& now);
  void size_columns();
  void say(const QString& text);
  [[nodiscard]] QString endpoint_to_record(const fleet::HostState& host,
                                           const fleet::EndpointState* chosen) const;
  void update_actions();
  void context_menu(const QPoint& at);

  std::unique_ptr<FleetSource> source_;
  QString title_, folder_, own_host_;
  bool expanded_ = false;  // the first hosts were
  int recording_ = 0;      // requests without an answer

  FleetModel* model_ = nullptr;
  QSortFilterProxyModel* sorted_ = nullptr;
  FleetFindingsModel* findings_model_ = nullptr;
  FleetEventsModel* events_model_ = nullptr;
  QLabel* title_label_ = nullptr;
  FleetBadge* badge_ = nullptr;
  FleetTotalsRow* totals_ = nullptr;
  QLineEdit* filter_ = nullptr;
  QPushButton* record_ = nullptr;
  QPushButton* leave_ = nullptr;
  QTreeView* tree_ = nullptr;
  QTabWidget* lists_ = nullptr;
  QTableView* findings_ = nullptr;
  QTableView* events_ = nullptr;
  QLabel* note_ = nullptr;
};

}  // namespace rpcrdma::gui
