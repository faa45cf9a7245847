// The window: workspaces in the middle, views of the same document around them.
#pragma once

#include "context_menu.h"
#include "document.h"

#include <QActionGroup>
#include <QLabel>
#include <QMainWindow>
#include <QProgressBar>
#include <QSettings>
#include <memory>
#include <span>

class QAbstractItemView;
class QDockWidget;
class QModelIndex;
class QSplitter;
class QStackedWidget;
class QTableView;
class QTabWidget;

namespace rpcrdma::gui {

class CallsView;
class ComparePage;
class ConnectionsModel;
class DetailView;
class EndpointList;
class EndsPage;
class FilterBar;
class FilterEdit;
class FindBar;
class FindingsView;
class FleetPage;
class FleetSource;
class HelpWindow;
class IntegrityBar;
class LiveState;
class MessageTable;
class OverviewPage;
class InterfaceList;
class Panels;
class PlaygroundPanel;
class SavedFilters;
class StartPage;
class TimeStrip;
class Waterfall;
class Worker;
struct FleetAddress;

// A view that the user can go to.
struct ViewName {
  const char* name;   // for show_view()
  const char* title;  // with a mnemonic, not translated
  const char* keys;
};

class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  // `settings` keeps layouts and recent files; the caller owns it, and it outlives the window.
  explicit MainWindow(QSettings& settings, QWidget* parent = nullptr);
  ~MainWindow() override;

  [[nodiscard]] Document& document() { return document_; }
  [[nodiscard]] MessageTable& messages() { return *messages_; }
  [[nodiscard]] FilterEdit& filter() { return *filter_; }
  [[nodiscard]] FilterBar& filter_bar() { return *filter_bar_; }
  [[nodiscard]] SavedFilters& saved_filters() { return *saved_filters_; }
  [[nodiscard]] FindBar& find_bar() { return *find_bar_; }
  [[nodiscard]] Marks& marks() { return *marks_; }
  [[nodiscard]] DetailView& detail() { return *detail_; }
  [[nodiscard]] FindingsView& findings() { return *findings_; }
  [[nodiscard]] QTableView& connections() { return *connections_; }
  [[nodiscard]] PlaygroundPanel& playground() { return *playground_; }
  [[nodiscard]] EndpointList& endpoints() { return *endpoints_; }
  [[nodiscard]] StartPage& start() { return *start_; }
  [[nodiscard]] OverviewPage& overview() { return *overview_; }
  [[nodiscard]] FleetPage& fleet() { return *fleet_; }
  [[nodiscard]] CallsView& calls() { return *calls_; }
  [[nodiscard]] ComparePage& compare() { return *compare_; }
  [[nodiscard]] EndsPage& ends() { return *ends_; }
  [[nodiscard]] TimeStrip& strip() { return *strip_; }
  [[nodiscard]] Waterfall& waterfall() { return *waterfall_; }
  [[nodiscard]] QTabWidget& workspaces() { return *workspaces_; }
  // Returns the dock of that name, such as "credits"; null: there is none.
  [[nodiscard]] QDockWidget* dock(const QString& name) const;
  [[nodiscard]] static std::span<const ViewName> view_names();
  // Brings a view into sight, a dock or a workspace, and gives it the keyboard.
  void show_view(const QString& name);
  // Returns the problem shown in the status bar.
  [[nodiscard]] QString message() const;

  void open(const QStringList& names);
  // Checks no ICRCs in this window; does not change the setting.
  void ignore_icrcs();
  // Starts the kernel's endpoint first if it is among them and does not run.
  void attach(const QStringList& endpoints);
  // Follows the bus of a fleet, and keeps its address without secrets for the next start.
  void open_fleet(const FleetAddress& address);
  void follow_fleet(std::unique_ptr<FleetSource> source, const QString& title);
  // Shows the fleet that is open; asks for one if none is.
  void show_fleet();
  // Back to the fleet if it is open and not in front, else to the start page.
  void close_document();
  // Reads the files again.
  void reload();
  // Writes the filter into its box and applies it.
  void use_filter(const QString& text);
  // Writes the filter into its box, for the user to change it.
  void prepare_filter(const QString& text);
  // Asks for a name, and saves the filter in the box as a button.
  void save_filter();

 protected:
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dragLeaveEvent(QDragLeaveEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  bool eventFilter(QObject* object, QEvent* event) override;
  bool focusNextPrevChild(bool next) override;

 private:
  QDockWidget* add_dock(const QString& name, const QString& title, QWidget* widget,
                        Qt::DockWidgetArea area);
  void fit_screen();
  void show_page();
  void make_fleet();
  void fleet_dialog();
  bool leave_fleet();
  void show_document();
  void make_center();
  void make_docks();
  void make_toolbar();
  void make_context_menus();
  void table_menu(const QPoint& global);
  [[nodiscard]] Place place_of_message(quint64 message) const;
  [[nodiscard]] Place place_of_connection(std::uint32_t index) const;
  [[nodiscard]] Place place_of_item(const QModelIndex& at) const;
  [[nodiscard]] QAbstractItemView* list_in(const QString& dock) const;
  void find_actions(QMenu& edit);
  void message_actions(QMenu& edit);
  void note_sight();
  static void focus_in(QWidget* inside);
  void open_dialog();
  void make_menus();
  void file_menu();
  void edit_menu();
  void view_menu();
  void go_menu();
  void make_sources();
  void show_recent();
  void note_recent(const QStringList& names);
  void note_facts();
  void begin_trial(const QString& preset);
  void session_actions(QMenu& file);
  void save_session();
  void help_menu();
  void show_help(const QString& topic);
  [[nodiscard]] QString what_is_shown() const;
  void update_actions();
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
  SavedFilters* saved_filters_ = nullptr;
  FilterBar* filter_bar_ = nullptr;
  FindBar* find_bar_ = nullptr;
  Marks* marks_ = nullptr;
  Verbs* verbs_ = nullptr;
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
  StartPage* start_ = nullptr;
  FleetPage* fleet_ = nullptr;
  bool fleet_in_front_ = false;  // of a document that is open
  OverviewPage* overview_ = nullptr;
  CallsView* calls_ = nullptr;
  ComparePage* compare_ = nullptr;
  EndsPage* ends_ = nullptr;
  TimeStrip* strip_ = nullptr;
  Waterfall* waterfall_ = nullptr;
  QStackedWidget* pages_ = nullptr;  // the start page, the work with a document, the fleet
  QTabWidget* workspaces_ = nullptr;
  QSplitter* messages_and_ladder_ = nullptr;
  QAction* pause_ = nullptr;
  QAction* save_ = nullptr;
  QAction* save_all_ = nullptr;
  QAction* close_ = nullptr;
  QAction* reload_ = nullptr;
  HelpWindow* help_ = nullptr;
  bool of_trial_ = false;  // the document shows the playground of this window
  std::unique_ptr<Worker> save_worker_;
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
  QByteArray layout_;  // of the work, while the start page is shown
};

}  // namespace rpcrdma::gui
