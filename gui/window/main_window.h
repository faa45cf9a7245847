// The window: the message table in the middle, views of the same document around it.
#pragma once

#include "document.h"

#include <QActionGroup>
#include <QLabel>
#include <QMainWindow>
#include <QProgressBar>
#include <QSettings>

class QDockWidget;
class QTableView;

namespace rpcrdma::gui {

class ConnectionsModel;
class DetailView;
class EndpointList;
class FilterEdit;
class FindingsView;
class IntegrityBar;
class LiveState;
class MessageTable;
class InterfaceList;
class Panels;
class PlaygroundPanel;

class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  // `settings` keeps layouts and recent files; the caller owns it, and it outlives the window.
  explicit MainWindow(QSettings& settings, QWidget* parent = nullptr);
  ~MainWindow() override;

  [[nodiscard]] Document& document() { return document_; }
  [[nodiscard]] MessageTable& messages() { return *messages_; }
  [[nodiscard]] FilterEdit& filter() { return *filter_; }
  [[nodiscard]] DetailView& detail() { return *detail_; }
  [[nodiscard]] FindingsView& findings() { return *findings_; }
  [[nodiscard]] QTableView& connections() { return *connections_; }
  [[nodiscard]] PlaygroundPanel& playground() { return *playground_; }
  [[nodiscard]] EndpointList& endpoints() { return *endpoints_; }
  // Returns the dock of that name, such as "credits"; null: there is none.
  [[nodiscard]] QDockWidget* dock(const QString& name) const;
  // Returns the problem shown in the status bar.
  [[nodiscard]] QString message() const;

  void open(const QStringList& names);
  // Checks no ICRCs in this window; does not change the setting.
  void ignore_icrcs();
  // Starts the kernel's endpoint first if it is among them and does not run.
  void attach(const QStringList& endpoints);

 protected:
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  QDockWidget* add_dock(const QString& name, const QString& title, QWidget* widget,
                        Qt::DockWidgetArea area);
  void make_docks();
  void make_menus();
  void file_menu();
  void edit_menu();
  void view_menu();
  void go_menu();
  void make_sources();
  void show_dock(QDockWidget* dock);
  void show_recent();
  void note_recent(const QStringList& names);
  void show_layouts();
  void keep_layout(const QString& name);
  void take_layout(const QString& name);
  void apply_filter(const QString& text);
  void show_progress();
  void document_reset();
  void show_title();
  void read_again(bool ignore_icrcs);
  void attach_now(const QStringList& endpoints);
  void show_trouble(const QString& text);
  void export_messages();
  void export_picture();
  void go_to_dialog();

  QSettings& settings_;
  Document document_;
  FilterEdit* filter_ = nullptr;
  MessageTable* messages_ = nullptr;
  DetailView* detail_ = nullptr;
  FindingsView* findings_ = nullptr;
  ConnectionsModel* connections_model_ = nullptr;
  QTableView* connections_ = nullptr;
  IntegrityBar* integrity_ = nullptr;
  LiveState* live_ = nullptr;
  QLabel* counts_ = nullptr;
  QLabel* trouble_ = nullptr;
  QProgressBar* progress_ = nullptr;
  QMenu* recent_ = nullptr;
  QMenu* layouts_ = nullptr;
  QMenu* view_ = nullptr;
  QAction* stop_ = nullptr;
  QAction* ignore_icrc_ = nullptr;
  QAction* follow_ = nullptr;
  Panels* panels_ = nullptr;
  PlaygroundPanel* playground_ = nullptr;
  EndpointList* endpoints_ = nullptr;
  InterfaceList* interfaces_ = nullptr;
  QByteArray first_layout_;
};

}  // namespace rpcrdma::gui
