// Reads both sides in a worker, compares them, and shows the result.
#include "compare_page.h"

#include "cards.h"
#include "compare_rows.h"
#include "two_histograms.h"
#include "words.h"
#include "worker.h"

#include <QEvent>
#include <QFileDialog>
#include <QScrollArea>
#include <QVBoxLayout>
#include <algorithm>

namespace rpcrdma::gui {

namespace {

constexpr int kCompareMargin = 12;
constexpr int kCompareGap = 8;

}  // namespace

ComparePage::ComparePage(Document& document, QWidget* parent)
    : QWidget(parent),
      document_(document),
      scroll_(new QScrollArea(this)),
      page_(new QWidget),
      worker_(std::make_unique<Worker>()) {
  setAccessibleName(tr("Compare"));
  auto* const around = new QVBoxLayout(this);
  around->setContentsMargins(0, 0, 0, 0);
  around->addWidget(scroll_);
  scroll_->setAccessibleName(tr("Compare"));
  scroll_->setWidgetResizable(true);
  scroll_->setFrameShape(QFrame::NoFrame);
  scroll_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll_->setWidget(page_);
  auto* const all = new QVBoxLayout(page_);
  all->setContentsMargins(kCompareMargin, kCompareMargin, kCompareMargin, kCompareMargin);
  all->setSpacing(kCompareGap);
  make_sides();
  make_result();
  all->addStretch();
  connect(&document_, &Document::reset, this, &ComparePage::document_reset);
  connect(&document_.time_range(), &TimeRange::changed, this, &ComparePage::update_choices);
  dress();
  update_choices();
  show_result();
}

ComparePage::~ComparePage() {
  for (const Side& side : sides_) {
    if (side.cancelled) *side.cancelled = true;
  }
  worker_.reset();
}

void ComparePage::make_sides() {
  auto* const row = new QHBoxLayout;
  row->setSpacing(kCompareGap);
  const std::array<QString, 2> titles{tr("A, before"), tr("B, after")};
  for (std::size_t i = 0; i < 2; ++i) {
    auto* const widget = sides_[i].widget = new CompareSide(titles[i], page_);
    row->addWidget(widget, 1);
    connect(widget, &CompareSide::document_wanted, this,
            [this, i] { set_input(i, document_input()); });
    connect(widget, &CompareSide::range_wanted, this, [this, i] { set_input(i, range_input()); });
    connect(widget, &CompareSide::file_wanted, this, [this, i] { choose_file(i); });
    connect(widget, &CompareSide::dropped, this, [this, i](const QStringList& paths) {
      CompareInput input{.name = paths.join(", "), .check_icrc = document_.check_icrc()};
      for (const QString& path : paths) input.paths.push_back(path.toStdString());
      set_input(i, std::move(input));
    });
    if (i != 0) continue;
    swap_ = new QPushButton(tr("Swap"), page_);
    swap_->setToolTip(tr("Exchanges A and B"));
    row->addWidget(swap_, 0, Qt::AlignVCenter);
    connect(swap_, &QPushButton::clicked, this, &ComparePage::swap_sides);
  }
  static_cast<QVBoxLayout*>(page_->layout())->addLayout(row);
}

ComparePage::Section ComparePage::add_section(const QString& title, QWidget* content) {
  Section made;
  made.box = new Card(page_);
  made.title = plain_label(made.box);
  made.title->setText(title);
  made.more = plain_label(made.box);
  made.more->hide();
  auto* const column = new QVBoxLayout(made.box);
  column->setContentsMargins(kCompareMargin, kCompareGap, kCompareMargin, kCompareGap);
  column->setSpacing(4);
  column->addWidget(made.title);
  column->addWidget(content);
  column->addWidget(made.more);
  static_cast<QVBoxLayout*>(page_->layout())->addWidget(made.box);
  return made;
}

void ComparePage::make_result() {
  auto* const all = static_cast<QVBoxLayout*>(page_->layout());
  status_ = plain_label(page_, true);
  all->addWidget(status_);
  head_ = new Card(page_);
  sign_ = new SignLabel(28, head_);
  verdict_ = plain_label(head_, true);
  verdict_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  verdict_->setAccessibleName(tr("Result of the comparison"));
  notes_ = plain_label(head_, true);
  notes_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  auto* const words = new QVBoxLayout;
  words->setSpacing(4);
  words->addWidget(verdict_);
  words->addWidget(notes_);
  auto* const row = new QHBoxLayout(head_);
  row->setContentsMargins(kCompareMargin, kCompareMargin, kCompareMargin, kCompareGap);
  row->setSpacing(kCompareMargin);
  row->addWidget(sign_, 0, Qt::AlignTop);
  row->addLayout(words, 1);
  all->addWidget(head_);
  latencies_ = new BarTable({tr("Procedure"), tr("Calls A"), tr("Calls B"), QString(), tr("A"),
                             tr("B"), tr("Change"), tr("Range of change"), tr("Result")},
                            8, tr("Latency by procedure"), page_);
  latency_box_ = add_section(tr("Latency by procedure"), latencies_);
  histograms_ = new TwoHistograms(page_);
  histogram_box_ = add_section(tr("Latency of the selected procedure"), histograms_);
  findings_ =
      new BarTable({tr("Change"), tr("Rule"), tr("At fault"), tr("A"), tr("B"), tr("Description")},
                   5, tr("Findings, new and gone"), page_);
  finding_box_ = add_section(tr("Findings, new and gone"), findings_);
  sums_ =
      new BarTable({tr("Number"), tr("A"), tr("B"), tr("Change")}, 3, tr("Whole captures"), page_);
  sum_box_ = add_section(tr("Whole captures"), sums_);
  connect(latencies_, &BarTable::row_chosen, this, &ComparePage::show_histograms);
}

CompareInput ComparePage::document_input() const {
  CompareInput input{.check_icrc = document_.check_icrc()};
  if (document_.is_empty()) return input;
  input.name = document_.title();
  // A live source, and a pipe, can be read again only from the copy that the window keeps.
  const QStringList files = document_.files();
  if (!document_.is_live() && !files.isEmpty()) {
    for (const QString& file : files) input.paths.push_back(file.toStdString());
  } else if (!document_.frames().empty()) {
    input.paths = {document_.frames()};
  }
  return input;
}

CompareInput ComparePage::range_input() const {
  CompareInput input = document_input();
  const auto range = document_.time_range().range();
  if (!range || input.empty()) return {};
  input.range = CompareInput::Range{range->from_ns, range->to_ns};
  input.name = tr("%1 to %2 of %3")
                   .arg(document_.time_text(range->from_ns), document_.time_text(range->to_ns),
                        document_.title());
  return input;
}

void ComparePage::choose_file(std::size_t side) {
  auto* const dialog = new QFileDialog(
      this, side == report::kBefore ? tr("The capture before") : tr("The capture after"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setFileMode(QFileDialog::ExistingFile);
  dialog->setNameFilters({tr("Captures and reports (*.pcap *.pcapng *.cap *.erf *.snoop *.dat *.gz "
                             "*.zst *.xz *.bz2 *.lz4 *.json)"),
                          tr("All files (*)")});
  connect(dialog, &QFileDialog::fileSelected, this, [this, side](const QString& path) {
    set_input(side, {.name = path,
                     .paths = {path.toStdString()},
                     .range = std::nullopt,
                     .check_icrc = document_.check_icrc()});
  });
  dialog->open();
}

void ComparePage::set_input(std::size_t side, CompareInput input) {
  Side& s = sides_[side];
  if (s.cancelled) *s.cancelled = true;
  s.input = std::move(input);
  s.report.reset();
  s.problem.clear();
  comparison_.reset();
  if (!s.input.empty()) read(side);
  show_result();
}

void ComparePage::swap_sides() {
  // What is being read belongs to its side: it is read again.
  for (Side& side : sides_) {
    if (side.cancelled) *side.cancelled = true;
  }
  std::swap(sides_[0].input, sides_[1].input);
  std::swap(sides_[0].report, sides_[1].report);
  std::swap(sides_[0].problem, sides_[1].problem);
  comparison_.reset();
  for (const std::size_t i : {report::kBefore, report::kAfter}) {
    const Side& side = sides_[i];
    if (!side.input.empty() && side.report == nullptr && side.problem.isEmpty()) read(i);
  }
  compare();
  show_result();
}

void ComparePage::read(std::size_t side) {
  const auto cancelled = sides_[side].cancelled = std::make_shared<std::atomic<bool>>(false);
  using Result = tl::expected<report::Report, std::string>;
  worker_->post(
      this,
      [input = sides_[side].input, cancelled]() -> Result {
        if (*cancelled) return tl::unexpected<std::string>("cancelled");
        return analyze(input, *cancelled);
      },
      [this, side, cancelled](Result result) {
        if (*cancelled) return;
        sides_[side].cancelled.reset();
        if (result) {
          sides_[side].report = std::make_shared<const report::Report>(std::move(*result));
        } else {
          sides_[side].problem = QString::fromStdString(result.error());
        }
        compare();
        show_result();
      });
}

void ComparePage::compare() {
  const auto before = sides_[report::kBefore].report;
  const auto after = sides_[report::kAfter].report;
  if (before == nullptr || after == nullptr) return;
  worker_->post(
      this,
      [before, after] {
        return std::make_shared<const report::Comparison>(report::compare(*before, *after, {}));
      },
      [this, before, after](std::shared_ptr<const report::Comparison> made) {
        if (sides_[report::kBefore].report != before || sides_[report::kAfter].report != after) {
          return;
        }
        comparison_ = std::move(made);
        show_result();
        Q_EMIT compared();
      });
}

QString ComparePage::status() const {
  return status_->text();
}

void ComparePage::show_result() {
  QStringList missing;
  bool reading = false;
  bool failed = false;
  for (const std::size_t i : {report::kBefore, report::kAfter}) {
    const Side& side = sides_[i];
    side.widget->show_input(side.input, side.problem);
    if (side.input.empty()) missing << (i == report::kBefore ? "A" : "B");
    reading |= side.cancelled != nullptr && !side.input.empty() && side.report == nullptr;
    failed |= !side.problem.isEmpty();
  }
  const bool any = comparison_ != nullptr;
  QString status;
  if (!any) {
    if (failed) {
      status = tr("Not compared.");
    } else if (!missing.isEmpty()) {
      status = tr("Choose %1: a capture, a report, or a range of time of the open document. A and "
                  "B are compared as rpcrdma compare compares them.")
                   .arg(missing.join(tr(" and ")));
    } else {
      status = tr("Reading ...");
    }
    if (reading && !missing.isEmpty()) status += " " + tr("Reading ...");
  }
  status_->setText(status);
  status_->setVisible(!status.isEmpty());
  if (failed) Q_EMIT compared();
  for (QWidget* const box : std::initializer_list<QWidget*>{
           head_, latency_box_.box, histogram_box_.box, finding_box_.box, sum_box_.box}) {
    box->setVisible(any);
  }
  if (!any) return;
  const report::Comparison& c = *comparison_;
  sign_->set_sign(sign_of(c.outcome));
  head_->set_sign(sign_of(c.outcome));
  verdict_->setText(Words::plain(c.verdict));
  QStringList notes;
  for (const std::string& note : c.notes) notes << Words::plain(note);
  if (sides_[0].input.range || sides_[1].input.range) {
    notes << tr(
        "A range of time limits Calls, Replies and findings on them. Packets, connections "
        "and credits are those of the whole capture.");
  }
  notes << tr("Two captures do not show how much equal runs differ from each other.");
  notes_->setText(notes.join('\n'));
  LatencyRows latencies = latency_rows(c);
  latencies_->set_rows(latencies.rows);
  procedure_of_ = std::move(latencies.of);
  latency_box_.more->setText(tr("and %L1 more procedures").arg(latencies.more));
  latency_box_.more->setVisible(latencies.more != 0);
  latency_box_.box->setVisible(!procedure_of_.empty());
  FindingRows findings = finding_rows(c);
  const bool none = findings.rows.empty();
  findings_->set_rows(findings.rows);
  findings_->setVisible(!none);
  finding_box_.more->setText(none ? tr("Neither has findings.")
                                  : tr("and %L1 more").arg(findings.more));
  finding_box_.more->setVisible(none || findings.more != 0);
  sums_->set_rows(sum_rows(c));
  if (!procedure_of_.empty()) latencies_->selectRow(0);
  show_histograms(0);
}

void ComparePage::show_histograms(int row) {
  if (comparison_ == nullptr || row < 0 || row >= std::ssize(procedure_of_)) {
    histogram_box_.box->hide();
    return;
  }
  const report::ProcedureChange& p =
      comparison_->procedures[procedure_of_[static_cast<std::size_t>(row)]];
  std::array<const base::Histogram*, 2> sides{};
  for (std::size_t i = 0; i < 2; ++i) {
    const auto& all = sides_[i].report->procedures;
    const auto it = all.find(p.key);
    if (it != all.end()) sides[i] = &it->second.total;
  }
  histogram_box_.box->show();
  histograms_->set(Words::plain(p.label), sides[0], sides[1]);
}

void ComparePage::update_choices() {
  const bool document = !document_input().empty();
  const bool range = document_.time_range().range().has_value();
  for (const Side& side : sides_) side.widget->set_can(document, document && range);
}

// The copy of a live source is gone with its document; files stay.
void ComparePage::document_reset() {
  for (const std::size_t i : {report::kBefore, report::kAfter}) {
    const Side& side = sides_[i];
    const bool copied =
        std::any_of(side.input.paths.begin(), side.input.paths.end(),
                    [](const std::string& path) { return path.starts_with("/proc/"); });
    if (copied && side.report == nullptr) set_input(i, {});
  }
  update_choices();
}

void ComparePage::dress() {
  QFont large = font();
  large.setPointSizeF(font().pointSizeF() * 1.4);
  verdict_->setFont(large);
  QFont title = font();
  title.setPointSizeF(font().pointSizeF() * 1.1);
  title.setWeight(QFont::DemiBold);
  QPalette colours = palette();
  colours.setColor(QPalette::WindowText, secondary_text(colours));
  for (const Section& section : {latency_box_, histogram_box_, finding_box_, sum_box_}) {
    section.title->setFont(title);
    section.more->setPalette(colours);
  }
  notes_->setPalette(colours);
}

// The open document is the usual first choice.
void ComparePage::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  update_choices();
  if (sides_[0].input.empty() && sides_[1].input.empty() && !document_.is_live()) {
    if (CompareInput input = document_input(); !input.empty()) set_input(0, std::move(input));
  }
}

void ComparePage::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) {
    if (verdict_ == nullptr) return;
    dress();
    show_result();
  }
}

}  // namespace rpcrdma::gui
