// What happens to the document as a whole: its name, closing, reading again, saving, the memory of
// recent files; and which actions make sense.
#include "export.h"
#include "fleet_page.h"
#include "help_window.h"
#include "main_window.h"
#include "recent_files.h"
#include "worker.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QMenuBar>

#include <rpcrdma/icons/icons.h>
#include <rpcrdma/report/verdict.h>
#include <rpcrdma/sources/playground_panel.h>
#include <rpcrdma/sources/presets.h>

namespace rpcrdma::gui {

void MainWindow::session_actions(QMenu& file) {
  save_all_ = file.addAction(tr("Save the &whole session as pcapng..."),
                             QKeySequence(tr("Ctrl+Shift+A")), this, &MainWindow::save_session);
  save_all_->setToolTip(tr("Saves every frame read so far, also those that the filter hides"));
  reload_ = new QAction(icon("reload"), tr("Re&load"), this);
  reload_->setShortcut(QKeySequence(tr("Ctrl+R")));
  reload_->setToolTip(tr("Reads the files again"));
  connect(reload_, &QAction::triggered, this, &MainWindow::reload);
  close_ = new QAction(tr("&Close"), this);
  close_->setShortcut(QKeySequence(tr("Ctrl+W")));
  close_->setToolTip(tr("Back to the fleet, or to the start page"));
  connect(close_, &QAction::triggered, this, &MainWindow::close_document);
  file.insertActions(stop_, {reload_, close_});
}

void MainWindow::update_actions() {
  const bool any = !document_.is_empty();
  const bool over =
      document_.store().read([](const index::Content& c) { return c.progress.finished; });
  stop_->setEnabled(any && !over);
  pause_->setEnabled(any && document_.is_live() && (!over || document_.is_paused()));
  save_->setEnabled(any && document_.row_count() != 0);
  save_all_->setEnabled(any);
  close_->setEnabled(any || fleet_->is_open());
  reload_->setEnabled(any && !document_.is_live() && !document_.files().isEmpty());
}

void MainWindow::close_document() {
  if (leave_fleet()) return;
  document_.close();
  if (playground_->running()) playground_->stop();
}

void MainWindow::reload() {
  if (!document_.files().isEmpty() && !document_.is_live()) document_.open(document_.files());
}

void MainWindow::begin_trial(const QString& preset) {
  if (preset.isEmpty()) return show_view("trial");
  const bool ran = playground_->running();
  playground_->use(preset);
  if (!ran) return;
  attach(playground_->endpoints());
  show_view("trial");
}

// Without folders and sockets; the endpoints' own names, once they have reported them.
QString MainWindow::what_is_shown() const {
  constexpr qsizetype kNamed = 3;
  if (of_trial_) return playground_->title();
  QStringList names;
  if (document_.is_live() && document_.files().isEmpty()) {
    document_.store().read([&](const index::Content& c) {
      for (const index::LiveEndpoint& e : c.endpoints) {
        const QString name = QString::fromStdString(e.name);
        names << QFileInfo(name).fileName();
      }
    });
  } else if (!document_.files().isEmpty() && document_.files().front() != "-") {
    for (const QString& path : document_.files()) names << QFileInfo(path).fileName();
  }
  if (names.isEmpty()) return document_.title();
  const qsizetype more = names.size() - kNamed;
  return more <= 0 ? names.join(", ")
                   : tr("%1 and %2 more").arg(names.mid(0, kNamed).join(", ")).arg(more);
}

void MainWindow::note_recent(const QStringList& names) {
  RecentFiles(settings_).add(names);
}

// What was found in a file that was read to its end.
void MainWindow::note_facts() {
  if (document_.is_live() || document_.files().size() != 1) return;
  FileFacts facts;
  const bool whole = document_.store().read([&](const index::Content& c) {
    facts.size = c.progress.bytes_total;
    facts.messages = c.rows.size();
    for (const index::FoundKind& kind : c.kinds) {
      facts.worst = std::min(facts.worst, static_cast<int>(kind.severity));
    }
    return c.progress.finished && !c.progress.cancelled && c.progress.error.empty();
  });
  if (!whole) return;
  if (const auto report = document_.report()) {
    facts.verdict = QString::fromUtf8(report::verdict_kind(report::verdict(*report)));
  }
  RecentFiles(settings_).note(document_.files().front(), facts);
}

void MainWindow::save_session() {
  if (document_.is_empty()) return show_trouble(tr("There is nothing to save"));
  auto* const dialog = new QFileDialog(this, tr("Save the whole session"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setAcceptMode(QFileDialog::AcceptSave);
  dialog->setDefaultSuffix("pcapng");
  connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
    auto opened = open_session(document_);
    if (!opened) return show_trouble(QString::fromStdString(opened.error().message));
    if (!save_worker_) save_worker_ = std::make_unique<Worker>();
    show_trouble(tr("Saving in %1").arg(path));
    const index::BufferGap gap =
        document_.store().read([](const index::Content& c) { return c.progress.gap; });
    const QString missing = gap.first_frame == 0
                                ? QString()
                                : tr("; frames %L1 to %L2 were no longer in the buffer")
                                      .arg(gap.first_frame)
                                      .arg(gap.last_frame);
    save_worker_->post(
        this,
        [path, from = std::shared_ptr<capture::Source>(std::move(*opened))] {
          return save_frames(*from, path);
        },
        [this, path, missing](const capture::Expected<std::uint64_t>& saved) {
          show_trouble(saved ? tr("%L1 frames saved in %2").arg(*saved).arg(path) + missing
                             : QString::fromStdString(saved.error().message));
        });
  });
  dialog->open();
}

void MainWindow::help_menu() {
  QMenu* const help = menuBar()->addMenu(tr("&Help"));
  const std::tuple<const char*, QString, QKeySequence> topics[] = {
      {"keys", tr("&Keys"), QKeySequence(Qt::Key_F1)},
      {"filter", tr("&Filter reference"), QKeySequence(tr("Ctrl+F1"))},
      {"rules", tr("&Rules"), QKeySequence(tr("Shift+F1"))},
      {"about", tr("&About rpcrdma-gui"), {}},
  };
  for (const auto& [topic, title, keys] : topics) {
    help->addAction(icon(topic), title, keys, this, [this, t = QString(topic)] { show_help(t); });
  }
}

void MainWindow::show_help(const QString& topic) {
  if (help_ == nullptr) {
    help_ = new HelpWindow(*this, this);
    connect(help_, &HelpWindow::filter_wanted, this, &MainWindow::use_filter);
  }
  help_->open_topic(topic);
}

}  // namespace rpcrdma::gui
