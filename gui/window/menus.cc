// The menus, with the keys of all actions, and the dialogs that they open.
#include "appearance.h"
#include "cell_tests.h"
#include "detail_view.h"
#include "export.h"
#include "filter_edit.h"
#include "find_bar.h"
#include "findings_view.h"
#include "fleet_page.h"
#include "main_window.h"
#include "message_table.h"
#include "panels.h"
#include "picture_dialog.h"
#include "time_strip.h"

#include <QApplication>
#include <QClipboard>
#include <QDockWidget>
#include <QFileDialog>
#include <QInputDialog>
#include <QLineEdit>
#include <QMenuBar>
#include <QStackedWidget>
#include <string_view>

#include <rpcrdma/gui_text/plain_text.h>

namespace rpcrdma::gui {

void MainWindow::make_menus() {
  file_menu();
  edit_menu();
  view_menu();
  go_menu();
  help_menu();
}

void MainWindow::file_menu() {
  QMenu* const file = menuBar()->addMenu(tr("&File"));
  file->addAction(tr("&Open..."), QKeySequence::Open, this, &MainWindow::open_dialog);
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
  QAction* const each_view = file->addAction(tr("&Each view of a connection by itself"));
  each_view->setCheckable(true);
  each_view->setToolTip(
      tr("Lists a connection once for each source that shows it: its client, its server, packets"));
  connect(each_view, &QAction::toggled, this,
          [this](bool each) { document_.set_join_views(!each); });
  recent_ = file->addMenu(tr("Open &recent"));
  connect(recent_, &QMenu::aboutToShow, this, &MainWindow::show_recent);
  file->addAction(tr("&Attach to a live endpoint"), QKeySequence(tr("Ctrl+E")), this,
                  [this] { show_view("endpoints"); });
  file->addAction(tr("Play&ground: a server and a load"), QKeySequence(tr("Ctrl+T")), this,
                  [this] { show_view("trial"); });
  file->addAction(tr("&Capture from an interface"), QKeySequence(tr("Ctrl+I")), this,
                  [this] { show_view("interfaces"); });
  file->addAction(tr("Open a &fleet..."), QKeySequence(tr("Ctrl+Shift+F")), this,
                  &MainWindow::fleet_dialog);
  stop_ =
      file->addAction(tr("&Stop reading"), QKeySequence(tr("Ctrl+.")), &document_, &Document::stop);
  stop_->setEnabled(false);
  file->addSeparator();
  save_ = file->addAction(tr("Save &messages as pcapng..."), QKeySequence::Save, this,
                          &MainWindow::export_messages);
  session_actions(*file);
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
  edit->addAction(tr("Copy as fi&lter"), QKeySequence(tr("Ctrl+Shift+C")), this, [this] {
    const auto tests = document_.store().read([this](const index::Content& c) {
      return tests_of(c, document_.selected(), messages_->column());
    });
    if (!tests.empty()) QApplication::clipboard()->setText(tests.front().text());
  });
  edit->addSeparator();
  find_actions(*edit);
  edit->addSeparator();
  message_actions(*edit);
  edit->addSeparator();
  edit->addAction(tr("Display &filter"), QKeySequence(tr("Ctrl+/")), this, [this] {
    filter_->setFocus();
    filter_->selectAll();
  });
  edit->addAction(tr("&Save the filter as a button..."), QKeySequence(tr("Ctrl+D")), this,
                  &MainWindow::save_filter);
  edit->addAction(tr("&Clear the filter"), QKeySequence(tr("Ctrl+Shift+X")), this, [this] {
    filter_->clear();
    apply_filter({});
  });
}

void MainWindow::find_actions(QMenu& edit) {
  edit.addAction(tr("Fi&nd a text..."), QKeySequence::Find, this, [this] {
    if (pages_->currentWidget() == fleet_) return fleet_->filter().setFocus();
    if (!document_.is_empty()) find_bar_->begin();
  });
  edit.addAction(tr("Find ne&xt"), QKeySequence(tr("F3")), this, [this] { find_bar_->find(1); });
  edit.addAction(tr("Find pre&vious"), QKeySequence(tr("Shift+F3")), this,
                 [this] { find_bar_->find(-1); });
}

void MainWindow::message_actions(QMenu& edit) {
  const auto add = [&](const QString& title, const char* keys, void (Verbs::*verb)(quint64)) {
    edit.addAction(title, QKeySequence(tr(keys)), this,
                   [this, verb] { (verbs_->*verb)(document_.selected()); });
  };
  add(tr("&Mark or unmark"), "Ctrl+Shift+M", &Verbs::toggle_mark);
  const auto go = [this](int by) {
    const quint64 id = marks_->next(document_.selected(), by);
    if (id != 0) {
      document_.select_message(id);
    } else {
      show_trouble(tr("No message that is shown has a mark"));
    }
  };
  edit.addAction(tr("Next mark"), QKeySequence(tr("F2")), this, [go] { go(1); });
  edit.addAction(tr("Previous mark"), QKeySequence(tr("Shift+F2")), this, [go] { go(-1); });
  add(tr("C&omment..."), "Ctrl+Shift+K", &Verbs::edit_comment);
  edit.addAction(tr("Marks and comments..."), this, [this] { verbs_->list_marks(); });
  add(tr("Time &reference"), "Ctrl+Shift+T", &Verbs::toggle_reference);
  add(tr("Export &payload..."), "Ctrl+Shift+E", &Verbs::export_payload);
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
    action->setChecked(format == document_.time_format());
    connect(action, &QAction::triggered, this,
            [this, f = format] { document_.set_time_format(f); });
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
  add_appearance(*view_, *this, settings_);
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
  QMenu* const range = go;
  range->addSeparator();
  range->addAction(tr("&Back to the range of time before"), QKeySequence(tr("Alt+Left")),
                   &document_.time_range(), &TimeRange::undo);
  range->addAction(tr("F&orward to the next range of time"), QKeySequence(tr("Alt+Right")),
                   &document_.time_range(), &TimeRange::redo);
  range->addAction(tr("The &whole time"), QKeySequence(tr("Alt+Home")), &document_.time_range(),
                   &TimeRange::show_all);
  go->addSeparator();
  for (const ViewName& v : view_names()) {
    go->addAction(tr(v.title), QKeySequence(v.keys), this,
                  [this, name = QString(v.name)] { show_view(name); });
  }
  go->addAction(tr("Fl&eet"), QKeySequence(tr("Alt+Shift+F")), this, &MainWindow::show_fleet);
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
    const auto saved = save_messages(document_, path, *marks_);
    show_trouble(saved ? tr("%1 frames of %2 messages saved in %3")
                             .arg(saved->frames)
                             .arg(saved->messages)
                             .arg(path)
                       : QString::fromStdString(saved.error().message));
  });
  dialog->open();
}

// The views in sight, in the order of the Go menu. Hidden views are not drawn.
void MainWindow::export_picture() {
  std::vector<PictureDialog::View> views{{tr("The whole window"), this}};
  for (const ViewName& v : view_names()) {
    QWidget* widget = findChild<QWidget*>(v.name);
    if (auto* const d = qobject_cast<QDockWidget*>(widget)) widget = d->widget();
    if (v.name == std::string_view("messages")) widget = messages_;
    if (v.name == std::string_view("ladder")) widget = panels_->ladder;
    if (widget == nullptr || !widget->isVisible() || widget->visibleRegion().isEmpty()) continue;
    views.push_back({tr(v.title).remove('&'), widget});
  }
  if (strip_->isVisible()) views.push_back({tr("The strip of time"), strip_});
  auto* const dialog = new PictureDialog(std::move(views), this);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog, &PictureDialog::reported, this, &MainWindow::show_trouble);
  dialog->open();
}

void MainWindow::open_dialog() {
  auto* const dialog = new QFileDialog(this, tr("Open captures or recordings"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setFileMode(QFileDialog::ExistingFiles);
  dialog->setNameFilters(
      {tr("Captures (*.pcap *.pcapng *.cap *.erf *.snoop *.dat *.gz *.zst *.xz *.bz2 *.lz4)"),
       tr("All files (*)")});
  connect(dialog, &QFileDialog::filesSelected, this, &MainWindow::open);
  dialog->open();
}

}  // namespace rpcrdma::gui
