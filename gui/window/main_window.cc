// Arranges table, docks, menus, key bindings and the status bar, and connects them to the document.
#include "main_window.h"

#include "connections_model.h"
#include "detail_view.h"
#include "events_view.h"
#include "export.h"
#include "filter_edit.h"
#include "findings_view.h"
#include "integrity_bar.h"
#include "live_state.h"
#include "message_table.h"
#include "panels.h"

#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QCloseEvent>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QHeaderView>
#include <QInputDialog>
#include <QMenuBar>
#include <QMessageBox>
#include <QMimeData>
#include <QPushButton>
#include <QStatusBar>
#include <QStyleFactory>
#include <QTableView>
#include <QToolBar>
#include <QVBoxLayout>

#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/sources/endpoint_list.h>
#include <rpcrdma/sources/interface_list.h>
#include <rpcrdma/sources/playground_panel.h>
#include <rpcrdma/views/byte_view.h>
#include <rpcrdma/views/picture.h>

namespace rpcrdma::gui {

namespace {

constexpr int kRecent = 12;

}  // namespace

MainWindow::MainWindow(QSettings& settings, QWidget* parent)
    : QMainWindow(parent), settings_(settings) {
  qApp->installEventFilter(this);
  setAcceptDrops(true);
  setDockNestingEnabled(true);
  auto* const middle = new QWidget(this);
  filter_ = new FilterEdit(middle);
  filter_->set_history(settings_.value("filters").toStringList());
  messages_ = new MessageTable(document_, middle);
  auto* const bar = new QHBoxLayout;
  auto* const apply = new QPushButton(tr("&Apply"), middle);
  apply->setToolTip(tr("Shows only the messages that match (Enter)"));
  bar->addWidget(filter_);
  bar->addWidget(apply);
  auto* const all = new QVBoxLayout(middle);
  all->setContentsMargins(4, 4, 4, 0);
  all->addLayout(bar);
  all->addWidget(messages_);
  setCentralWidget(middle);
  make_docks();

  counts_ = new QLabel(this);
  trouble_ = new QLabel(this);
  for (QLabel* const label : {counts_, trouble_}) label->setTextFormat(Qt::PlainText);
  trouble_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  trouble_->setAccessibleName(tr("Last problem"));
  trouble_->setMinimumWidth(1);
  progress_ = new QProgressBar(this);
  progress_->setMaximumWidth(160);
  progress_->setVisible(false);
  progress_->setAccessibleName(tr("Reading progress"));
  integrity_ = new IntegrityBar(document_, this);
  statusBar()->addWidget(trouble_, 1);
  live_ = new LiveState(document_, this);
  statusBar()->addPermanentWidget(live_);
  statusBar()->addPermanentWidget(counts_);
  statusBar()->addPermanentWidget(progress_);
  statusBar()->addPermanentWidget(integrity_);
  connect(integrity_, &QToolButton::clicked, this,
          [this] { show_trouble(QString(integrity_->full()).replace('\n', ' ')); });

  make_menus();
  connect(apply, &QPushButton::clicked, this, [this] { apply_filter(filter_->text()); });
  connect(filter_, &FilterEdit::applied, this, &MainWindow::apply_filter);
  connect(filter_, &FilterEdit::checked, this, &MainWindow::show_trouble);
  connect(detail_, &DetailView::filter_wanted, this, [this](const QString& text) {
    filter_->setText(text);
    apply_filter(text);
  });
  connect(&document_, &Document::reset, this, &MainWindow::document_reset);
  connect(live_, &LiveState::changed, this, &MainWindow::show_title);
  connect(&document_, &Document::changed, this, &MainWindow::show_progress);
  connect(&document_, &Document::rows_changed, this, &MainWindow::show_progress);
  connect(&document_, &Document::finished, this, &MainWindow::show_progress);
  connect(&document_, &Document::trouble, this, &MainWindow::show_trouble);
  connect(messages_, &MessageTable::opened, this, [this] { detail_->tree().setFocus(); });
  connect(messages_, &MessageTable::following_changed, follow_, &QAction::setChecked);

  resize(1360, 860);
  resizeDocks({dock("detail"), dock("credits")}, {430, 300}, Qt::Horizontal);
  resizeDocks({dock("credits"), dock("connections")}, {280, 120}, Qt::Vertical);
  dock("credits")->raise();
  first_layout_ = saveState();
  if (settings_.contains("geometry")) restoreGeometry(settings_.value("geometry").toByteArray());
  if (settings_.contains("layout")) restoreState(settings_.value("layout").toByteArray());
  if (settings_.contains("columns")) {
    messages_->header().restoreState(settings_.value("columns").toByteArray());
  }
  document_reset();
  messages_->setFocus();
}

// Closing docks would bring others into view: stop drawing first.
MainWindow::~MainWindow() {
  delete panels_;
}

QDockWidget* MainWindow::dock(const QString& name) const {
  return findChild<QDockWidget*>(name);
}

QString MainWindow::message() const {
  return trouble_->text();
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
  const int widths[] = {6, 22, 22, 11, 20, 9, 13, 13, 20, 9, 9, 13, 9, 18, 11, 12, 11, 12};
  for (int i = 0; i < 18; ++i) connections_->setColumnWidth(i, wide * (widths[i] + 1));
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
  detail_ = new DetailView(document_, this);
  findings_ = new FindingsView(document_, this);
  panels_ = new Panels(document_, *messages_, this);
  add_dock("connections", tr("Connections"), connections_, Qt::TopDockWidgetArea);
  add_dock("detail", tr("Message"), detail_, Qt::RightDockWidgetArea);
  QDockWidget* const credits =
      add_dock("credits", tr("Credits"), panels_->credits, Qt::BottomDockWidgetArea);
  QDockWidget* before = credits;
  const std::tuple<const char*, QString, QWidget*> others[] = {
      {"chunks", tr("Chunks"), panels_->chunks},
      {"ladder", tr("Ladder"), panels_->ladder},
      {"latency", tr("Latency"), panels_->latency},
      {"findings", tr("Findings"), findings_},
      {"chunk-sizes", tr("Chunk sizes"), panels_->chunk_sizes},
      {"congestion", tr("Congestion"), panels_->congestion},
      {"events", tr("Events"), new EventsView(document_, this)},
  };
  for (const auto& [name, title, widget] : others) {
    QDockWidget* const made = add_dock(name, title, widget, Qt::BottomDockWidgetArea);
    tabifyDockWidget(before, made);
    before = made;
  }
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
      {"trial", tr("Playground"), playground_},
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
  connect(playground_, &PlaygroundPanel::started, this, &MainWindow::attach);
  connect(interfaces_, &InterfaceList::capture, this,
          [this](const QString& interface, const QString& filter) {
            const QMetaObject::Connection why =
                connect(&document_, &Document::trouble, interfaces_, &InterfaceList::show_problem);
            if (document_.capture(interface, filter)) messages_->set_following(true);
            disconnect(why);
          });
}

void MainWindow::show_dock(QDockWidget* dock) {
  dock->show();
  dock->raise();
  QWidget* const inside = dock->widget();
  QWidget* to = inside;
  // Focuses the first child that accepts the keyboard.
  while (to != nullptr && (to->focusPolicy() & Qt::TabFocus) == 0) {
    to = to->nextInFocusChain();
    if (to == inside) break;
  }
  if (to != nullptr) to->setFocus();
}

void MainWindow::make_menus() {
  file_menu();
  edit_menu();
  view_menu();
  go_menu();
}

void MainWindow::file_menu() {
  QMenu* const file = menuBar()->addMenu(tr("&File"));
  file->addAction(tr("&Open..."), QKeySequence::Open, this, [this] {
    auto* const dialog = new QFileDialog(this, tr("Open captures or recordings"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFiles);
    dialog->setNameFilters(
        {tr("Captures (*.pcap *.pcapng *.cap *.erf *.snoop *.dat *.gz *.zst *.xz *.bz2 *.lz4)"),
         tr("All files (*)")});
    connect(dialog, &QFileDialog::filesSelected, this, &MainWindow::open);
    dialog->open();
  });
  ignore_icrc_ = file->addAction(tr("Ignore &ICRCs"));
  ignore_icrc_->setCheckable(true);
  ignore_icrc_->setToolTip(
      tr("Accepts packets whatever their ICRC: for devices with the ICRC off, and for captures "
         "whose addresses a tool rewrote"));
  ignore_icrc_->setChecked(settings_.value("ignore-icrcs").toBool());
  document_.set_check_icrc(!ignore_icrc_->isChecked());
  connect(ignore_icrc_, &QAction::toggled, this, [this](bool ignore) {
    settings_.setValue("ignore-icrcs", ignore);
    read_again(ignore);
  });
  recent_ = file->addMenu(tr("Open &recent"));
  connect(recent_, &QMenu::aboutToShow, this, &MainWindow::show_recent);
  file->addAction(tr("&Attach to a live endpoint"), QKeySequence(tr("Ctrl+E")), this,
                  [this] { show_dock(dock("endpoints")); });
  file->addAction(tr("Play&ground: a server and a load"), QKeySequence(tr("Ctrl+T")), this,
                  [this] { show_dock(dock("trial")); });
  file->addAction(tr("&Capture from an interface"), QKeySequence(tr("Ctrl+I")), this,
                  [this] { show_dock(dock("interfaces")); });
  stop_ =
      file->addAction(tr("&Stop reading"), QKeySequence(tr("Ctrl+.")), &document_, &Document::stop);
  stop_->setEnabled(false);
  file->addSeparator();
  file->addAction(tr("Save &messages as pcapng..."), QKeySequence::Save, this,
                  &MainWindow::export_messages);
  file->addAction(tr("Save &picture of a view..."), QKeySequence(tr("Ctrl+Shift+S")), this,
                  &MainWindow::export_picture);
  file->addSeparator();
  file->addAction(tr("&Quit"), QKeySequence::Quit, this, &QWidget::close);
}

void MainWindow::edit_menu() {
  QMenu* const edit = menuBar()->addMenu(tr("&Edit"));
  const auto copy = [this](MessageTable::CopyAs as) {
    QApplication::clipboard()->setText(messages_->copy(as));
  };
  edit->addAction(tr("Copy messages as &text"), this,
                  [copy] { copy(MessageTable::CopyAs::kText); });
  edit->addAction(tr("Copy messages as C&SV"), this, [copy] { copy(MessageTable::CopyAs::kCsv); });
  edit->addAction(tr("Copy messages as &JSON"), this,
                  [copy] { copy(MessageTable::CopyAs::kJson); });
  edit->addAction(tr("Copy &fields"), this,
                  [this] { QApplication::clipboard()->setText(detail_->tree().copy()); });
  edit->addSeparator();
  edit->addAction(tr("Display &filter"), QKeySequence(tr("Ctrl+/")), this, [this] {
    filter_->setFocus();
    filter_->selectAll();
  });
  edit->addAction(tr("&Clear the filter"), QKeySequence(tr("Ctrl+Shift+X")), this, [this] {
    filter_->clear();
    apply_filter({});
  });
}

void MainWindow::view_menu() {
  view_ = menuBar()->addMenu(tr("&View"));
  for (QDockWidget* const d : findChildren<QDockWidget*>()) {
    view_->addAction(d->toggleViewAction());
  }
  view_->addSeparator();
  auto* const times = new QActionGroup(this);
  const std::tuple<QString, TimeFormat> formats[] = {
      {tr("Time &since the start"), TimeFormat::kRelative},
      {tr("Time of &day (UTC)"), TimeFormat::kAbsolute},
      {tr("Time since the message &above"), TimeFormat::kDelta},
  };
  for (const auto& [title, format] : formats) {
    QAction* const action = view_->addAction(title);
    action->setCheckable(true);
    action->setActionGroup(times);
    action->setChecked(format == messages_->time_format());
    connect(action, &QAction::triggered, this,
            [this, f = format] { messages_->set_time_format(f); });
  }
  view_->addSeparator();
  QAction* const coloured = view_->addAction(tr("&Colour messages"));
  coloured->setCheckable(true);
  coloured->setChecked(true);
  connect(coloured, &QAction::toggled, messages_, &MessageTable::set_coloured);
  follow_ = view_->addAction(tr("&Follow the end"));
  follow_->setCheckable(true);
  follow_->setShortcut(QKeySequence(tr("Ctrl+L")));
  connect(follow_, &QAction::toggled, messages_, &MessageTable::set_following);
  view_->addSeparator();
  layouts_ = view_->addMenu(tr("&Layouts"));
  connect(layouts_, &QMenu::aboutToShow, this, &MainWindow::show_layouts);
}

void MainWindow::go_menu() {
  QMenu* const go = menuBar()->addMenu(tr("&Go"));
  go->addAction(tr("To a &frame..."), QKeySequence(tr("Ctrl+G")), this, &MainWindow::go_to_dialog);
  go->addAction(tr("To the &other half of the Call"), QKeySequence(tr("Ctrl+M")), this, [this] {
    const quint64 id = document_.selected();
    const quint64 other = document_.store().read([id](const index::Content& c) -> quint64 {
      return id != 0 && id <= c.rows.size() ? c.rows[id - 1].match : 0;
    });
    if (other != 0) document_.select_message(other);
  });
  go->addSeparator();
  go->addAction(tr("&Next evidence of the finding"), QKeySequence(tr("Ctrl+Shift+N")), this,
                [this] { findings_->jump(1); });
  const std::pair<QString, QString> views[] = {
      {"connections", tr("Alt+1")},     {"detail", tr("Alt+2")},      {"credits", tr("Alt+3")},
      {"chunks", tr("Alt+4")},          {"ladder", tr("Alt+5")},      {"latency", tr("Alt+6")},
      {"findings", tr("Alt+7")},        {"chunk-sizes", tr("Alt+8")}, {"events", tr("Alt+9")},
      {"congestion", tr("Alt+Shift+8")}};
  go->addAction(tr("&Messages"), QKeySequence(tr("Alt+0")), this,
                [this] { messages_->setFocus(); });
  for (const auto& [name, keys] : views) {
    QDockWidget* const d = dock(name);
    go->addAction(d->windowTitle(), QKeySequence(keys), this, [this, d] { show_dock(d); });
  }
}

void MainWindow::open(const QStringList& names) {
  if (document_.open(names)) note_recent(names);
}

void MainWindow::ignore_icrcs() {
  const QSignalBlocker unsaved(ignore_icrc_);
  ignore_icrc_->setChecked(true);
  document_.set_check_icrc(false);
}

// Files are read again; what cannot be read twice keeps the option that it began with.
void MainWindow::read_again(bool ignore_icrcs) {
  document_.set_check_icrc(!ignore_icrcs);
  if (!document_.files().isEmpty() && !document_.is_live()) document_.open(document_.files());
}

void MainWindow::attach(const QStringList& endpoints) {
  endpoints_->attach_to(endpoints);
}

void MainWindow::attach_now(const QStringList& endpoints) {
  if (document_.attach(endpoints)) messages_->set_following(true);
}

void MainWindow::note_recent(const QStringList& names) {
  QStringList recent = settings_.value("recent").toStringList();
  for (const QString& name : names) {
    if (name == "-") continue;
    const QString path = QFileInfo(name).absoluteFilePath();
    recent.removeAll(path);
    recent.prepend(path);
  }
  settings_.setValue("recent", QStringList(recent.mid(0, kRecent)));
}

void MainWindow::show_recent() {
  recent_->clear();
  for (const QString& path : settings_.value("recent").toStringList()) {
    recent_->addAction(menu_text(path), this, [this, path] { open({path}); });
  }
  if (recent_->isEmpty()) recent_->addAction(tr("(none yet)"))->setEnabled(false);
}

void MainWindow::show_layouts() {
  layouts_->clear();
  layouts_->addAction(tr("&Default"), this, [this] { restoreState(first_layout_); });
  settings_.beginGroup("layouts");
  const QStringList names = settings_.childKeys();
  settings_.endGroup();
  for (const QString& name : names) {
    layouts_->addAction(menu_text(name), this, [this, name] { take_layout(name); });
  }
  layouts_->addSeparator();
  layouts_->addAction(tr("&Save this layout..."), this, [this] {
    auto* const dialog = new QInputDialog(this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(tr("Save this layout"));
    dialog->setLabelText(tr("Name of the layout:"));
    connect(dialog, &QInputDialog::textValueSelected, this, &MainWindow::keep_layout);
    dialog->open();
  });
}

void MainWindow::keep_layout(const QString& name) {
  if (name.trimmed().isEmpty()) return;
  settings_.setValue("layouts/" + QString(name.trimmed()).replace('/', '-'), saveState());
}

void MainWindow::take_layout(const QString& name) {
  restoreState(settings_.value("layouts/" + name).toByteArray());
}

void MainWindow::apply_filter(const QString& text) {
  filter::FilterError error;
  if (!document_.set_filter(text, &error)) {
    show_trouble(QString::fromStdString(error.message));
    return;
  }
  settings_.setValue("filters", filter_->history());
  messages_->setFocus();
}

void MainWindow::show_progress() {
  index::Progress progress;
  std::uint64_t messages = 0;
  document_.store().read([&](const index::Content& c) {
    progress = c.progress;
    messages = c.rows.size();
  });
  QString text = tr("%L1 messages").arg(messages);
  if (!document_.filter().isEmpty()) {
    const Document::Searched searched = document_.searched();
    text = tr("%L1 of %2").arg(document_.row_count()).arg(text);
    if (searched.done < searched.total && searched.total != 0) {
      text += tr(" (searched %1 %)").arg(searched.done * 100 / searched.total);
    }
  }
  counts_->setText(document_.is_empty() ? QString() : text);
  const bool reading = !document_.is_empty() && !progress.finished;
  stop_->setEnabled(reading);
  progress_->setVisible(reading && progress.bytes_total != 0);
  if (progress.bytes_total != 0) {
    progress_->setRange(0, 1000);
    progress_->setValue(static_cast<int>(1000.0 * static_cast<double>(progress.bytes_read) /
                                         static_cast<double>(progress.bytes_total)));
  }
}

void MainWindow::show_title() {
  QStringList parts;
  if (!document_.is_empty()) parts << one_line(document_.title());
  if (!live_->shown().title.isEmpty()) parts << live_->shown().title;
  parts << tr("rpcrdma-gui");
  setWindowTitle(parts.join(" - "));
}

void MainWindow::document_reset() {
  show_trouble({});
  show_title();
  show_progress();
}

// Shows a problem in one line of the status bar, without a dialog.
void MainWindow::show_trouble(const QString& text) {
  trouble_->setText(one_line(text));
  trouble_->setToolTip(tool_tip(text));
}

void MainWindow::go_to_dialog() {
  auto* const dialog = new QInputDialog(this);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(tr("Go to a frame"));
  dialog->setLabelText(tr("Number of the frame:"));
  connect(dialog, &QInputDialog::textValueSelected, this, [this](const QString& text) {
    bool ok = false;
    const quint64 frame = text.toULongLong(&ok);
    if (ok) {
      document_.select_frame(frame);
    } else {
      show_trouble(tr("%1 is not a frame number").arg(text));
    }
  });
  dialog->open();
}

void MainWindow::export_messages() {
  if (document_.is_empty()) return show_trouble(tr("There is nothing to save"));
  auto* const dialog = new QFileDialog(this, tr("Save the messages that are shown"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setAcceptMode(QFileDialog::AcceptSave);
  dialog->setDefaultSuffix("pcapng");
  connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
    const auto saved = save_messages(document_, path);
    show_trouble(saved ? tr("%1 frames of %2 messages saved in %3")
                             .arg(saved->frames)
                             .arg(saved->messages)
                             .arg(path)
                       : QString::fromStdString(saved.error().message));
  });
  dialog->open();
}

void MainWindow::export_picture() {
  QMenu menu;
  QAction* chosen = nullptr;
  std::vector<std::pair<QAction*, QWidget*>> views{{menu.addAction(tr("The window")), this},
                                                   {menu.addAction(tr("Messages")), messages_}};
  for (QDockWidget* const d : findChildren<QDockWidget*>()) {
    if (d->isVisible()) views.emplace_back(menu.addAction(d->windowTitle()), d->widget());
  }
  chosen = menu.exec(mapToGlobal(QPoint(width() / 3, height() / 3)));
  for (const auto& [action, widget] : views) {
    if (chosen == nullptr || action != chosen) continue;
    auto* const dialog = new QFileDialog(this, tr("Save the picture"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setNameFilters({tr("PNG (*.png)"), tr("SVG (*.svg)")});
    dialog->setDefaultSuffix("png");
    connect(dialog, &QFileDialog::fileSelected, this, [this, w = widget](const QString& path) {
      const QString why =
          path.endsWith(".svg", Qt::CaseInsensitive) ? save_svg(*w, path) : save_png(*w, path);
      show_trouble(why.isEmpty() ? tr("saved in %1").arg(path) : why);
    });
    dialog->open();
  }
}

void MainWindow::closeEvent(QCloseEvent* event) {
  settings_.setValue("geometry", saveGeometry());
  settings_.setValue("layout", saveState());
  settings_.setValue("columns", messages_->header().saveState());
  document_.stop();
  QMainWindow::closeEvent(event);
}

// Qt's file dialogs quote file names in message boxes, which would render them as HTML.
bool MainWindow::eventFilter(QObject* object, QEvent* event) {
  if (event->type() == QEvent::Polish) {
    if (auto* const box = qobject_cast<QMessageBox*>(object)) box->setTextFormat(Qt::PlainText);
  }
  return QMainWindow::eventFilter(object, event);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  QStringList names;
  for (const QUrl& url : event->mimeData()->urls()) {
    if (url.isLocalFile()) names << url.toLocalFile();
  }
  if (!names.isEmpty()) open(names);
  event->acceptProposedAction();
}

}  // namespace rpcrdma::gui
