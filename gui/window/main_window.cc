// Arranges the parts of the window and the status bar, and connects them to the document.
#include "main_window.h"

#include "detail_view.h"
#include "filter_bar.h"
#include "filter_edit.h"
#include "filter_values.h"
#include "find_bar.h"
#include "findings_view.h"
#include "fleet_page.h"
#include "integrity_bar.h"
#include "live_state.h"
#include "message_table.h"
#include "panels.h"
#include "problem_line.h"
#include "start_page.h"
#include "tab_order.h"
#include "waterfall.h"
#include "worker.h"

#include <QApplication>
#include <QCloseEvent>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QInputDialog>
#include <QMessageBox>
#include <QMimeData>
#include <QScreen>
#include <QStackedWidget>
#include <QStatusBar>
#include <algorithm>

#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/sources/endpoint_list.h>
#include <rpcrdma/sources/playground_panel.h>

namespace rpcrdma::gui {

MainWindow::MainWindow(QSettings& settings, QWidget* parent)
    : QMainWindow(parent), settings_(settings) {
  qApp->installEventFilter(this);
  setAcceptDrops(true);
  setDockNestingEnabled(true);
  filter_ = new FilterEdit(this);
  filter_->set_history(settings_.value("filters").toStringList());
  filter_->set_values(new FilterValues(document_, this));
  saved_filters_ = new SavedFilters(settings_, this);
  filter_bar_ = new FilterBar(document_, *saved_filters_, this);
  find_bar_ = new FindBar(document_, this);
  marks_ = new Marks(document_, this);
  verbs_ = new Verbs(document_, *marks_, this);
  messages_ = new MessageTable(document_, this);
  messages_->set_marks(*marks_);
  detail_ = new DetailView(document_, this);
  waterfall_ = new Waterfall(document_, this);
  findings_ = new FindingsView(document_, this);
  panels_ = new Panels(document_, *messages_, this);
  make_center();
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
  auto* const problem = new ProblemLine(document_, *dock("findings"), *workspaces_, this);
  connect(problem, &QToolButton::clicked, this, [this] {
    show_view("findings");
    findings_->select_worst();
  });
  statusBar()->addWidget(problem);
  statusBar()->addWidget(trouble_, 1);
  live_ = new LiveState(document_, this);
  statusBar()->addPermanentWidget(live_);
  statusBar()->addPermanentWidget(counts_);
  statusBar()->addPermanentWidget(progress_);
  statusBar()->addPermanentWidget(integrity_);
  connect(integrity_, &QToolButton::clicked, this,
          [this] { show_trouble(QString(integrity_->full()).replace('\n', ' ')); });

  make_menus();
  make_toolbar();
  connect(filter_, &FilterEdit::applied, this, &MainWindow::apply_filter);
  const auto note_saved = [this] { filter_->set_saved(saved_filters_->has(filter_->text())); };
  connect(filter_, &FilterEdit::textChanged, this, note_saved);
  connect(saved_filters_, &SavedFilters::changed, this, note_saved);
  connect(filter_, &FilterEdit::save_wanted, this, &MainWindow::save_filter);
  connect(filter_bar_, &FilterBar::filter_wanted, this, &MainWindow::use_filter);
  connect(verbs_, &Verbs::filter_wanted, this, &MainWindow::use_filter);
  connect(verbs_, &Verbs::filter_prepared, this, &MainWindow::prepare_filter);
  connect(verbs_, &Verbs::view_wanted, this, &MainWindow::show_view);
  connect(verbs_, &Verbs::trouble, this, &MainWindow::show_trouble);
  make_context_menus();
  connect(&document_, &Document::reset, this, &MainWindow::document_reset);
  connect(live_, &LiveState::changed, this, &MainWindow::show_title);
  // Its clock can see the end of a source before the document announces it.
  connect(live_, &LiveState::changed, this, &MainWindow::update_actions);
  connect(&document_, &Document::changed, this, &MainWindow::show_progress);
  connect(&document_, &Document::rows_changed, this, &MainWindow::show_progress);
  connect(&document_, &Document::finished, this, &MainWindow::show_progress);
  connect(&document_, &Document::finished, this, &MainWindow::note_facts);
  connect(&document_, &Document::report_changed, this, &MainWindow::note_facts);
  connect(&document_, &Document::trouble, this, &MainWindow::show_trouble);
  connect(messages_, &MessageTable::opened, this, [this] { detail_->tree().setFocus(); });
  connect(messages_, &MessageTable::following_changed, follow_, &QAction::setChecked);

  fit_screen();
  dock("connections")->raise();
  first_layout_ = saveState();
  if (settings_.contains("geometry")) restoreGeometry(settings_.value("geometry").toByteArray());
  layout_ = settings_.value("layout", first_layout_).toByteArray();
  for (QDockWidget* const d : findChildren<QDockWidget*>()) d->hide();
  if (settings_.contains("columns")) {
    messages_->header().restoreState(settings_.value("columns").toByteArray());
  }
  document_reset();
}

// The window takes four fifths of a large screen, and all of a small one.
void MainWindow::fit_screen() {
  const QSize room = screen()->availableGeometry().size();
  const bool small = room.width() < 1700;
  resize(small ? room : room * 4 / 5);
  resizeDocks({dock("detail")}, {std::clamp(width() * 3 / 10, 300, 480)}, Qt::Horizontal);
  resizeDocks({dock("waterfall"), dock("detail")}, {height() / 4, height() * 3 / 4}, Qt::Vertical);
  resizeDocks({dock("connections")}, {height() / 4}, Qt::Vertical);
}

// Closing docks would bring others into view: stop drawing first.
MainWindow::~MainWindow() {
  // Hiding lays out lists, which ask the document: it must still exist.
  hide();
  delete panels_;
}

QString MainWindow::message() const {
  return trouble_->text();
}

void MainWindow::open(const QStringList& names) {
  if (!document_.open(names)) return;
  note_recent(names);
  note_facts();  // a small file may have been read by now
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
  if (!document_.attach(endpoints)) return;
  messages_->set_following(true);
  of_trial_ = !endpoints.isEmpty() && endpoints == playground_->endpoints();
  show_title();
}

void MainWindow::use_filter(const QString& text) {
  filter_->setText(text);
  apply_filter(text);
}

void MainWindow::prepare_filter(const QString& text) {
  filter_->setText(text);
  filter_->setFocus();
}

void MainWindow::save_filter() {
  const QString text = filter_->text().trimmed();
  if (text.isEmpty()) return show_trouble(tr("There is no filter to save"));
  if (!filter_->error().isEmpty()) return show_trouble(tr("The filter has an error"));
  auto* const dialog = new QInputDialog(this);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(tr("Save the filter"));
  dialog->setLabelText(tr("Name of the button:"));
  connect(dialog, &QInputDialog::textValueSelected, this, [this, text](const QString& name) {
    if (!name.trimmed().isEmpty() && !saved_filters_->save(name, text)) {
      show_trouble(tr("There are %1 saved filters: remove one first").arg(SavedFilters::kMost));
    }
  });
  dialog->open();
}

void MainWindow::apply_filter(const QString& text) {
  filter::FilterError error;
  if (!document_.set_filter(text, &error)) {
    show_trouble(QString::fromStdString(error.message));
    return;
  }
  settings_.setValue("filters", filter_->history());
  if (filter_->hasFocus()) messages_->setFocus();
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
  update_actions();
  progress_->setVisible(reading && progress.bytes_total != 0);
  if (progress.bytes_total != 0) {
    progress_->setRange(0, 1000);
    progress_->setValue(static_cast<int>(1000.0 * static_cast<double>(progress.bytes_read) /
                                         static_cast<double>(progress.bytes_total)));
  }
}

void MainWindow::show_title() {
  QStringList parts;
  if (pages_->currentWidget() == fleet_) {
    parts << tr("Fleet %1").arg(one_line(fleet_->title()));
  } else {
    if (!document_.is_empty()) parts << one_line(what_is_shown());
    if (!live_->shown().title.isEmpty()) parts << live_->shown().title;
  }
  parts << tr("rpcrdma-gui");
  setWindowTitle(parts.join(" - "));
}

// The start page and the fleet have no views around them, except sources that the user opens.
void MainWindow::show_page() {
  const bool fleet = fleet_->is_open() && (fleet_in_front_ || document_.is_empty());
  const int page = fleet ? 2 : document_.is_empty() ? 0 : 1;
  const int before = pages_->currentIndex();
  if (page == before) return;
  pages_->setCurrentIndex(page);
  if (page == 1) {
    // What the user opened beside the start page stays.
    QList<QDockWidget*> opened;
    for (QDockWidget* const d : findChildren<QDockWidget*>()) {
      if (!d->isHidden()) opened << d;
    }
    restoreState(layout_);
    for (QDockWidget* const d : opened) {
      d->show();
      d->raise();
    }
    return;
  }
  if (before == 1) layout_ = saveState();
  for (QDockWidget* const d : findChildren<QDockWidget*>()) d->hide();
  pages_->currentWidget()->setFocus();
}

void MainWindow::document_reset() {
  of_trial_ = false;
  fleet_in_front_ = fleet_in_front_ && document_.is_empty();
  show_trouble({});
  start_->show_problem({});
  show_page();
  note_sight();
  show_title();
  show_progress();
}

// Shows a problem in one line of the status bar, without a dialog.
void MainWindow::show_trouble(const QString& text) {
  if (pages_->currentIndex() == 0 && !text.isEmpty()) start_->show_problem(text);
  trouble_->setText(one_line(text));
  trouble_->setToolTip(tool_tip(text));
}

void MainWindow::closeEvent(QCloseEvent* event) {
  settings_.setValue("geometry", saveGeometry());
  settings_.setValue("layout", pages_->currentIndex() == 1 ? saveState() : layout_);
  settings_.setValue("columns", messages_->header().saveState());
  document_.stop();
  QMainWindow::closeEvent(event);
}

// No label of this program guesses whether its text is HTML, nor those of Qt's dialogs, which quote
// names of files.
bool MainWindow::eventFilter(QObject* object, QEvent* event) {
  if (event->type() == QEvent::Polish) {
    if (auto* const box = qobject_cast<QMessageBox*>(object)) box->setTextFormat(Qt::PlainText);
    auto* const label = qobject_cast<QLabel*>(object);
    if (label != nullptr && label->textFormat() == Qt::AutoText) {
      label->setTextFormat(Qt::PlainText);
    }
  }
  return QMainWindow::eventFilter(object, event);
}

bool MainWindow::focusNextPrevChild(bool next) {
  return focus_next(*this, next);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (!event->mimeData()->hasUrls()) return;
  event->acceptProposedAction();
  start_->set_dragging(true);
}

void MainWindow::dragLeaveEvent(QDragLeaveEvent* event) {
  start_->set_dragging(false);
  QMainWindow::dragLeaveEvent(event);
}

void MainWindow::dropEvent(QDropEvent* event) {
  start_->set_dragging(false);
  QStringList names;
  for (const QUrl& url : event->mimeData()->urls()) {
    if (url.isLocalFile()) names << url.toLocalFile();
  }
  if (!names.isEmpty()) open(names);
  event->acceptProposedAction();
}

}  // namespace rpcrdma::gui
