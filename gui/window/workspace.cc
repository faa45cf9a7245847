// The places of the views: the strip of time on top, workspaces in the middle, docks around them.
#include "calls_view.h"
#include "compare_page.h"
#include "connections_model.h"
#include "detail_view.h"
#include "ends_page.h"
#include "events_view.h"
#include "filter_bar.h"
#include "filter_edit.h"
#include "find_bar.h"
#include "findings_view.h"
#include "main_window.h"
#include "message_table.h"
#include "overview_page.h"
#include "panels.h"
#include "start_page.h"
#include "time_strip.h"
#include "waterfall.h"

#include <QDockWidget>
#include <QHeaderView>
#include <QSplitter>
#include <QStackedWidget>
#include <QTableView>
#include <QVBoxLayout>
#include <array>

#include <rpcrdma/sources/endpoint_list.h>
#include <rpcrdma/sources/interface_list.h>
#include <rpcrdma/sources/playground_panel.h>

namespace rpcrdma::gui {

namespace {

constexpr std::array<ViewName, 18> kViews{{
    {"messages", QT_TRANSLATE_NOOP("rpcrdma::gui::MainWindow", "&Messages"), "Alt+0"},
    {"overview", QT_TRANSLATE_NOOP("rpcrdma::gui::MainWindow", "&Overview"), "Alt+O"},
    {"calls", QT_TRANSLATE_NOOP("rpcrdma::gui::MainWindow", "C&alls"), "Alt+C"},
    {"both-ends", QT_TRANSLATE_NOOP("rpcrdma::gui::MainWindow", "Bot&h ends"), "Alt+B"},
    {"compare", QT_TRANSLATE_NOOP("rpcrdma::gui::MainWindow", "Com&pare"), "Alt+Shift+C"},
    {"connections", QT_TRANSLATE_NOOP("rpcrdma::gui::MainWindow", "&Connections"), "Alt+1"},
    {"detail", QT_TRANSLATE_NOOP("rpcrdma::gui::MainWindow", "The &message's fields"), "Alt+2"},
    {"credits", QT_TRANSLATE_NOOP("rpcrdma::gui::MainWindow", "C&redits"), "Alt+3"},
    {"states", QT_TRANSLATE_NOOP("rpcrdma::gui::MainWindow", "O&utstanding Calls"), "Alt+Shift+3"},
    {"devices", QT_TRANSLATE_NOOP("rpcrdma::gui::MainWindow", "&Device counters"), "Alt+Shift+9"},
    {"chunks", QT_TRANSLATE_NOOP("rpcrdma::gui::MainWindow", "C&hunks"), "Alt+4"},
    {"ladder", QT_TRANSLATE_NOOP("rpcrdma::gui::MainWindow", "&Ladder"), "Alt+5"},
    {"latency", QT_TRANSLATE_NOOP("rpcrdma::gui::MainWindow", "La&tency"), "Alt+6"},
    {"findings", QT_TRANSLATE_NOOP("rpcrdma::gui::MainWindow", "F&indings"), "Alt+7"},
    {"chunk-sizes", QT_TRANSLATE_NOOP("rpcrdma::gui::MainWindow", "Chunk &sizes"), "Alt+8"},
    {"congestion", QT_TRANSLATE_NOOP("rpcrdma::gui::MainWindow", "Con&gestion"), "Alt+Shift+8"},
    {"events", QT_TRANSLATE_NOOP("rpcrdma::gui::MainWindow", "&Events"), "Alt+9"},
    {"waterfall", QT_TRANSLATE_NOOP("rpcrdma::gui::MainWindow", "The Call as a &waterfall"),
     "Alt+W"},
}};

}  // namespace

std::span<const ViewName> MainWindow::view_names() {
  return kViews;
}

void MainWindow::make_center() {
  start_ = new StartPage(settings_, this);
  start_->setObjectName("start");
  strip_ = new TimeStrip(document_, this);
  workspaces_ = new QTabWidget(this);
  workspaces_->setObjectName("workspaces");
  workspaces_->setDocumentMode(true);
  overview_ = new OverviewPage(document_, this);
  calls_ = new CallsView(document_, this);
  ends_ = new EndsPage(document_, this);
  compare_ = new ComparePage(document_, this);
  messages_and_ladder_ = new QSplitter(Qt::Horizontal, this);
  messages_and_ladder_->addWidget(messages_);
  messages_and_ladder_->addWidget(panels_->ladder);
  messages_and_ladder_->setStretchFactor(0, 1);
  panels_->ladder->hide();
  const std::tuple<const char*, QString, QWidget*> pages[] = {
      {"overview", tr("Overview"), overview_}, {"messages", tr("Messages"), messages_and_ladder_},
      {"calls", tr("Calls"), calls_},          {"latency", tr("Latency"), panels_->latency},
      {"both-ends", tr("Both ends"), ends_},   {"compare", tr("Compare"), compare_},
  };
  for (const auto& [name, title, widget] : pages) {
    widget->setObjectName(name);
    workspaces_->addTab(widget, title);
  }
  auto* const work = new QWidget(this);
  auto* const column = new QVBoxLayout(work);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(filter_bar_);
  column->addWidget(strip_);
  column->addWidget(workspaces_, 1);
  column->addWidget(find_bar_);
  pages_ = new QStackedWidget(this);
  pages_->addWidget(start_);
  pages_->addWidget(work);
  setCentralWidget(pages_);
  make_fleet();
  const auto offer_ends = [this](bool on) {
    workspaces_->setTabVisible(workspaces_->indexOf(ends_), on);
  };
  offer_ends(false);
  connect(ends_, &EndsPage::offered, this, offer_ends);
  connect(ends_, &EndsPage::messages_wanted, this, [this] { show_view("messages"); });
  connect(workspaces_, &QTabWidget::currentChanged, this, &MainWindow::note_sight);
  connect(overview_, &OverviewPage::view_wanted, this, &MainWindow::show_view);
  connect(overview_, &OverviewPage::filter_wanted, this, &MainWindow::use_filter);
  connect(calls_, &CallsView::filter_wanted, this, &MainWindow::use_filter);
  connect(calls_, &CallsView::messages_wanted, this, [this] { show_view("messages"); });
  connect(start_, &StartPage::open_wanted, this, [this](const QStringList& names) {
    if (names.isEmpty()) {
      open_dialog();
    } else {
      open(names);
    }
  });
  connect(start_, &StartPage::attach_wanted, this, [this](const QStringList& endpoints) {
    if (endpoints.isEmpty()) {
      show_view("endpoints");
    } else {
      attach(endpoints);
    }
  });
  connect(start_, &StartPage::trial_wanted, this, &MainWindow::begin_trial);
  connect(start_, &StartPage::capture_wanted, this, [this](const QString& interface) {
    if (interface.isEmpty()) {
      show_view("interfaces");
    } else {
      interfaces_->start(interface);
    }
  });
  connect(start_, &StartPage::help_wanted, this, &MainWindow::show_help);
}

// Hidden views are not drawn.
void MainWindow::note_sight() {
  const bool work = pages_->currentIndex() == 1;
  const auto on = [&](QWidget* page) { return work && workspaces_->currentWidget() == page; };
  panels_->set_in_sight(panels_->latency, on(panels_->latency));
  panels_->set_in_sight(panels_->ladder, on(messages_and_ladder_) && !panels_->ladder->isHidden());
}

QDockWidget* MainWindow::dock(const QString& name) const {
  return findChild<QDockWidget*>(name);
}

void MainWindow::show_view(const QString& name) {
  show_document();
  if (QDockWidget* const d = dock(name)) {
    d->show();
    d->raise();
    focus_in(d->widget());
    return;
  }
  if (name == "ladder") {
    workspaces_->setCurrentWidget(messages_and_ladder_);
    panels_->ladder->show();
    note_sight();
    panels_->ladder->setFocus();
    return;
  }
  for (int i = 0; i < workspaces_->count(); ++i) {
    if (workspaces_->widget(i)->objectName() != name) continue;
    if (!workspaces_->isTabVisible(i)) {
      return show_trouble(tr("Open the files of both ends at once to join them"));
    }
    workspaces_->setCurrentIndex(i);
    focus_in(name == "messages" ? messages_ : workspaces_->widget(i));
  }
}

// Focuses the first child that accepts the keyboard.
void MainWindow::focus_in(QWidget* inside) {
  QWidget* to = inside;
  while (to != nullptr && (to->focusPolicy() & Qt::TabFocus) == 0) {
    to = to->nextInFocusChain();
    if (to == inside) break;
  }
  if (to != nullptr) to->setFocus();
}

QDockWidget* MainWindow::add_dock(const QString& name, const QString& title, QWidget* widget,
                                  Qt::DockWidgetArea area) {
  auto* const made = new QDockWidget(title, this);
  made->setObjectName(name);
  made->setWidget(widget);
  addDockWidget(area, made);
  connect(made, &QDockWidget::visibilityChanged, panels_,
          [panels = panels_, widget](bool seen) { panels->set_in_sight(widget, seen); });
  return made;
}

void MainWindow::make_docks() {
  connections_model_ = new ConnectionsModel(document_, this);
  connections_ = new QTableView(this);
  connections_->setModel(connections_model_);
  connections_->setSelectionBehavior(QAbstractItemView::SelectRows);
  connections_->setSelectionMode(QAbstractItemView::SingleSelection);
  connections_->verticalHeader()->setVisible(false);
  connections_->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 6);
  connections_->setAccessibleName(tr("Connections"));
  connections_->setTabKeyNavigation(false);
  connections_->setWordWrap(false);
  connections_->horizontalHeader()->setHighlightSections(false);
  const int wide = fontMetrics().averageCharWidth();
  const int widths[] = {6, 24, 24, 17, 34, 8, 10, 9, 16, 11, 14, 7, 9, 8, 12, 20};
  for (int i = 0; i < static_cast<int>(std::size(widths)); ++i) {
    connections_->setColumnWidth(i, wide * (widths[i] + 1));
  }
  // A third click on a title sorts by trouble again.
  connections_->horizontalHeader()->setSortIndicatorClearable(true);
  connections_->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
  connections_->setSortingEnabled(true);
  connect(connections_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& now) {
            if (now.isValid()) document_.select_connection(connections_model_->index_of(now.row()));
          });
  connect(connections_, &QTableView::activated, this, [this](const QModelIndex& at) {
    const QString text =
        QString("rpcrdma.connection == %1").arg(connections_model_->index_of(at.row()) + 1);
    filter_->setText(text);
    apply_filter(text);
  });
  connect(&document_, &Document::connection_selected, this, [this](quint32 index) {
    const int row = connections_model_->row_of(index);
    if (row >= 0) connections_->selectRow(row);
  });
  add_dock("detail", tr("Message"), detail_, Qt::RightDockWidgetArea);
  QDockWidget* const waterfall =
      add_dock("waterfall", tr("Call"), waterfall_, Qt::RightDockWidgetArea);
  splitDockWidget(waterfall, dock("detail"), Qt::Vertical);
  tabifyDockWidget(waterfall,
                   add_dock("chunks", tr("Chunks"), panels_->chunks, Qt::RightDockWidgetArea));
  waterfall->raise();
  resizeDocks({waterfall, dock("detail")}, {260, 440}, Qt::Vertical);
  QDockWidget* before = nullptr;
  const std::tuple<const char*, QString, QWidget*> bottom[] = {
      {"connections", tr("Connections"), connections_},
      {"findings", tr("Findings"), findings_},
      {"credits", tr("Credits"), panels_->credits},
      {"states", tr("Outstanding Calls"), panels_->states},
      {"chunk-sizes", tr("Chunk sizes"), panels_->chunk_sizes},
      {"congestion", tr("Congestion"), panels_->congestion},
      {"devices", tr("Device"), panels_->devices},
      {"events", tr("Events"), new EventsView(document_, this)},
  };
  for (const auto& [name, title, widget] : bottom) {
    QDockWidget* const made = add_dock(name, title, widget, Qt::BottomDockWidgetArea);
    if (before != nullptr) tabifyDockWidget(before, made);
    before = made;
  }
  setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
  connect(panels_->chunks, &ChunkView::frame_selected, &document_, &Document::select_frame);
  make_sources();
}

// Sources of data, in tabs next to the message, hidden until the user opens one.
void MainWindow::make_sources() {
  endpoints_ = new EndpointList(this);
  playground_ = new PlaygroundPanel(this);
  interfaces_ = new InterfaceList(this);
  QDockWidget* before = dock("detail");
  const std::tuple<const char*, QString, QWidget*> all[] = {
      {"endpoints", tr("Live endpoints"), endpoints_},
      {"trial", tr("Try it"), playground_},
      {"interfaces", tr("Capture"), interfaces_},
  };
  for (const auto& [name, title, widget] : all) {
    QDockWidget* const made = add_dock(name, title, widget, Qt::RightDockWidgetArea);
    tabifyDockWidget(before, made);
    made->hide();
    before = made;
  }
  connect(endpoints_, &EndpointList::attach, this, &MainWindow::attach_now);
  connect(endpoints_, &EndpointList::trouble, this, &MainWindow::show_trouble);
  connect(playground_, &PlaygroundPanel::started, this, [this](const QStringList& endpoints) {
    attach(endpoints);
    show_view("trial");  // its settings beside what they do
  });
  connect(playground_, &PlaygroundPanel::title_changed, this, &MainWindow::show_title);
  connect(interfaces_, &InterfaceList::capture, this,
          [this](const QString& interface, const QString& filter) {
            const QMetaObject::Connection why =
                connect(&document_, &Document::trouble, interfaces_, &InterfaceList::show_problem);
            if (document_.capture(interface, filter)) messages_->set_following(true);
            disconnect(why);
          });
}

}  // namespace rpcrdma::gui
