// What the window shows while nothing is open: recent files, and the ways to get data.
#pragma once

#include <QSettings>
#include <QWidget>
#include <vector>

class QLabel;
class QVBoxLayout;

namespace rpcrdma::gui {

class SourceCard;
class EndpointWatch;
class InterfaceWatch;
class RecentList;
class RowList;

class StartPage : public QWidget {
  Q_OBJECT

 public:
  // `settings` outlives the page.
  explicit StartPage(QSettings& settings, QWidget* parent = nullptr);

  // Shows why the last attempt failed; empty: nothing.
  void show_problem(const QString& text);
  [[nodiscard]] QString problem() const;
  // While files are dragged over the window.
  void set_dragging(bool dragging);

 Q_SIGNALS:
  void open_wanted(const QStringList& names);  // empty: ask for a file
  void attach_wanted(const QStringList& endpoints);
  void trial_wanted(const QString& preset);       // of the playground; empty: show its settings
  void capture_wanted(const QString& interface);  // empty: show all
  void fleet_wanted();
  void help_wanted(const QString& topic);  // "keys", "filter", "rules", "about"

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  QWidget* make_problem();
  QWidget* make_left();
  QWidget* make_middle();
  QWidget* make_right();
  void order_stops();
  void show_endpoints();
  void show_interfaces();

  QSettings& settings_;
  QWidget* problem_ = nullptr;
  QLabel* problem_text_ = nullptr;
  RecentList* recent_ = nullptr;
  SourceCard* open_ = nullptr;
  QLabel* drop_ = nullptr;
  SourceCard* attach_ = nullptr;
  SourceCard* trial_ = nullptr;
  SourceCard* capture_ = nullptr;
  SourceCard* fleet_ = nullptr;
  std::vector<QWidget*> presets_;
  RowList* samples_ = nullptr;
  RowList* help_ = nullptr;
  RowList* endpoints_ = nullptr;
  RowList* interfaces_ = nullptr;
  QLabel* no_interfaces_ = nullptr;
  EndpointWatch* endpoint_watch_ = nullptr;
  InterfaceWatch* interface_watch_ = nullptr;
  bool dragging_ = false;
};

}  // namespace rpcrdma::gui
