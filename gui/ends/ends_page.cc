// The page's course: read, sort, link, select. ends_page_layout.cc builds it.
#include "ends_page.h"

#include "ends_words.h"
#include "time_notation.h"

#include <QComboBox>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollArea>
#include <QSplitter>
#include <QTableView>
#include <algorithm>
#include <set>
#include <utility>

#include <rpcrdma/gui_text/plain_text.h>

namespace rpcrdma::gui {

EndsPage::~EndsPage() {
  if (link_cancelled_) *link_cancelled_ = true;
}

bool EndsPage::is_offered() const {
  const QStringList files = document_.files();
  return files.size() >= 2 && !files.contains("-");
}

QString EndsPage::verdict() const {
  return verdict_->isVisibleTo(this) ? verdict_->text() : QString();
}
QString EndsPage::facts() const {
  return facts_->text();
}
QString EndsPage::problem() const {
  return problem_->isVisibleTo(this) ? problem_->text() : QString();
}

void EndsPage::reset() {
  reading_->cancel();
  wanted_ = false;
  took(nullptr);
  show_problem(is_offered()
                   ? QString()
                   : tr("Open the files of both ends at once, for example the client's and "
                        "the server's trace and a capture of the packets between them."));
  Q_EMIT offered(is_offered());
  if (isVisible()) start();
}

void EndsPage::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  start();
}

void EndsPage::start() {
  if (wanted_ || !is_offered()) return;
  wanted_ = true;
  show_problem({});
  reading_->start(document_.files(), document_.check_icrc());
  show_progress();
}

void EndsPage::show_progress() {
  const bool on = reading_->is_reading();
  progress_->setVisible(on);
  cancel_->setVisible(on);
  if (!on) return;
  const int percent = reading_->percent();
  progress_->setRange(0, percent < 0 ? 0 : 100);
  if (percent >= 0) progress_->setValue(percent);
}

void EndsPage::show_problem(const QString& text) {
  problem_->setText(text);
  problem_->setVisible(!text.isEmpty());
  again_->setVisible(!text.isEmpty() && is_offered() && all_ == nullptr);
  show_progress();
}

void EndsPage::took(SharedEnds all) {
  SharedEnds before = std::exchange(all_, std::move(all));
  if (link_cancelled_) *link_cancelled_ = true;
  links_.reset();
  ++link_run_;
  const bool some = all_ != nullptr && ends::any(*all_);
  model_->set_ends(some ? all_ : nullptr);
  waterfall_->set_rows(nullptr, {});
  // To free a million Calls takes a while.
  if (before != nullptr) {
    linker_->post(
        this, [old = std::move(before)]() mutable { return old.reset(), 0; }, [](int) {});
  }
  head_->setVisible(all_ != nullptr);
  body_->setVisible(some);
  show_facts();
  show_detail();
  QString problem;
  if (all_ != nullptr && !some) problem = tr("No two of these files show the same connection.");
  show_problem(problem);
  if (!some) {
    ++sort_run_;
    sorting_ = false;
    return;
  }
  table_->setColumnHidden(EndsTable::kConnection, all_->connections.size() < 2);
  table_->resizeColumnsToContents();
  fill_choices();
  sort_rows();
  link();
}

void EndsPage::show_facts() {
  verdict_->clear();
  facts_->clear();
  if (all_ == nullptr) return;
  verdict_->setText(one_line(QString::fromStdString(all_->verdict)));
  verdict_->setVisible(!verdict_->text().isEmpty());
  QStringList lines;
  for (const ends::Source& source : all_->sources) lines << source_text(source);
  if (all_->withheld != 0) lines << tr("%1 Calls are not judged.").arg(all_->withheld);
  if (all_->seen_once != 0) {
    lines
        << tr("%1 Calls of shared connections were seen by one source only.").arg(all_->seen_once);
  }
  if (all_->not_kept != 0) {
    lines << tr("%1 Calls beyond the limit were not joined.").arg(all_->not_kept);
  }
  for (const ends::Contradiction& c : all_->contradictions) {
    lines << tr("Contradiction, %1 Calls: %2")
                 .arg(c.calls)
                 .arg(one_line(QString::fromStdString(c.what)));
  }
  for (const std::string& note : all_->notes) lines << one_line(QString::fromStdString(note));
  facts_->setText(lines.join('\n'));
  dress();
}

// The sides and procedures that occur.
void EndsPage::fill_choices() {
  std::set<std::string> names;
  for (const ends::ProcedureEnds& p : all_->procedures) names.insert(p.name);
  const QSignalBlocker quiet_side(side_), quiet_procedure(procedure_);
  side_->clear();
  side_->addItem(tr("All sides"));
  for (std::size_t i = all_->sides.size(); i-- > 0;) {
    if (all_->sides[i] == 0) continue;
    const auto side = static_cast<ends::Side>(i);
    const QString name = side == ends::Side::kNone ? tr("no side") : side_name(side);
    side_->addItem(QString("%1 (%2)").arg(name).arg(all_->sides[i]), static_cast<int>(i));
  }
  procedure_->clear();
  procedure_->addItem(tr("All procedures"));
  for (const std::string& name : names) {
    procedure_->addItem(one_line(QString::fromStdString(name)), QByteArray::fromStdString(name));
  }
}

void EndsPage::sort_rows() {
  if (all_ == nullptr || !ends::any(*all_)) return;
  EndsFilter filter;
  if (const QVariant side = side_->currentData(); side.isValid()) {
    filter.side = static_cast<ends::Side>(side.toInt());
  }
  if (const QVariant name = procedure_->currentData(); name.isValid()) {
    filter.procedure = name.toByteArray().toStdString();
  }
  const auto order = static_cast<EndsOrder>(order_->currentData().toInt());
  sorting_ = true;
  const std::uint64_t run = ++sort_run_;
  sorter_->drop_waiting();
  sorter_->post(
      this, [all = all_, order, filter] { return rows_of(*all, order, filter); },
      [this, run](EndsRows rows) {
        if (run != sort_run_) return;
        sorting_ = false;
        const auto count = static_cast<qulonglong>(rows.calls.size());
        const auto all = static_cast<qulonglong>(calls_of(*all_).size());
        waterfall_->set_rows(all_, std::move(rows));
        count_->setText(count == all ? tr("%1 Calls").arg(all)
                                     : tr("%1 of %2 Calls").arg(count).arg(all));
        follow_document();
        show_detail();
      });
}

// Needs the whole document.
void EndsPage::link() {
  const bool over =
      document_.store().read([](const index::Content& c) { return c.progress.finished; });
  if (all_ == nullptr || !ends::any(*all_) || !over) return;
  link_cancelled_ = std::make_shared<std::atomic<bool>>(false);
  linker_->post(
      this,
      [all = all_, store = document_.shared_store(), cancelled = link_cancelled_] {
        return std::make_shared<const EndsLinks>(all, *store, *cancelled);
      },
      [this, run = ++link_run_](const std::shared_ptr<const EndsLinks>& links) {
        if (run != link_run_) return;
        links_ = links;
        follow_document();
      });
}

void EndsPage::show_detail() {
  QString text;
  if (const auto call = waterfall_->current()) {
    const ends::EndsCall& c = calls_of(*all_)[*call];
    const auto stage = waterfall_->current_stage();
    text = stage ? call_name(c) + ": " + stage_line(c, *stage) : call_sentence(c);
    detail_->setToolTip(tool_tip(call_text(c)));
  } else {
    detail_->setToolTip({});
    text = tr("Up and Down select a Call, Left and Right its stages; + and - zoom.");
  }
  detail_->setText(text);
}

void EndsPage::select_in_document(std::uint32_t call) {
  show_detail();
  if (links_ == nullptr || following_) return;
  const std::uint64_t message = links_->message_of(call, document_.store());
  if (message == 0) return;
  following_ = true;
  document_.select_message(message);
  following_ = false;
}

void EndsPage::follow_document() {
  if (links_ == nullptr || following_ || sorting_) return;
  const auto call = links_->call_of(document_.selected(), document_.store());
  if (!call) return;
  following_ = true;
  waterfall_->go_to(*call);
  following_ = false;
  show_detail();
}

void EndsPage::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange || event->type() == QEvent::PaletteChange) dress();
}

}  // namespace rpcrdma::gui
