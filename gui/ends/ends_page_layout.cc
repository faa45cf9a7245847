#include "ends_legend.h"
#include "ends_page.h"
#include "ends_words.h"
#include "time_notation.h"

#include <QAbstractItemView>
#include <QBoxLayout>
#include <QComboBox>
#include <QHeaderView>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollArea>
#include <QSplitter>
#include <QTableView>

#include <rpcrdma/views/style.h>

namespace rpcrdma::gui {

namespace {

QLabel* ends_label(QWidget* parent, bool wrap) {
  auto* const label = new QLabel(parent);
  label->setTextFormat(Qt::PlainText);
  label->setWordWrap(wrap);
  return label;
}

QComboBox* ends_choice(QWidget* parent, const QString& name) {
  auto* const choice = new QComboBox(parent);
  choice->view()->setAccessibleName(name);
  choice->setAccessibleName(name);
  choice->setToolTip(name);
  choice->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  choice->setMinimumContentsLength(6);
  choice->setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
  // In a small window they get narrower, and do not widen it.
  choice->setMinimumWidth(parent->fontMetrics().averageCharWidth() * 8);
  return choice;
}

}  // namespace

EndsPage::EndsPage(Document& document, QWidget* parent)
    : QWidget(parent),
      document_(document),
      reading_(new EndsReading(this)),
      sorter_(std::make_unique<Worker>()),
      linker_(std::make_unique<Worker>()) {
  setAccessibleName(tr("Both ends"));
  auto* const column = new QVBoxLayout(this);
  column->setContentsMargins(kGap, kGap, kGap, 0);
  column->setSpacing(kGap / 2);
  problem_ = ends_label(this, true);
  problem_->setMargin(kMargin);
  problem_->setAlignment(Qt::AlignHCenter | Qt::AlignTop);
  progress_ = new QProgressBar(this);
  progress_->setFormat(tr("Joining both ends: %p %"));
  progress_->setAccessibleName(tr("Joining both ends"));
  cancel_ = new QPushButton(tr("&Stop"), this);
  again_ = new QPushButton(tr("&Read again"), this);
  auto* const course = new QHBoxLayout;
  course->addWidget(progress_, 1);
  course->addWidget(cancel_);
  auto* const retry = new QHBoxLayout;
  retry->addStretch(1);
  retry->addWidget(again_);
  retry->addStretch(1);
  head_ = new QWidget(this);
  make_head(head_);
  body_ = new QSplitter(Qt::Vertical, this);
  model_ = new EndsTable(this);
  table_ = new QTableView(this);
  table_->setModel(model_);
  table_->setAccessibleName(tr("Stages of each procedure"));
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  table_->setSelectionMode(QAbstractItemView::SingleSelection);
  table_->setTabKeyNavigation(false);
  table_->setWordWrap(false);
  table_->setFrameShape(QFrame::NoFrame);
  table_->setShowGrid(false);
  table_->verticalHeader()->setVisible(false);
  table_->verticalHeader()->setDefaultSectionSize(row_height_of(fontMetrics()));
  table_->horizontalHeader()->setHighlightSections(false);
  table_->horizontalHeader()->setMinimumSectionSize(fontMetrics().averageCharWidth() * 4);
  body_->addWidget(table_);
  body_->addWidget(make_calls());
  body_->setStretchFactor(0, 1);
  body_->setStretchFactor(1, 3);
  body_->setChildrenCollapsible(true);
  column->addWidget(problem_);
  column->addLayout(retry);
  column->addLayout(course);
  column->addWidget(head_);
  column->addWidget(body_, 1);
  column->addStretch(0);

  connect(cancel_, &QPushButton::clicked, this, [this] {
    reading_->cancel();
    show_problem(tr("Joining both ends was stopped."));
  });
  connect(again_, &QPushButton::clicked, this, [this] {
    wanted_ = false;
    start();
  });
  connect(reading_, &EndsReading::progressed, this, &EndsPage::show_progress);
  connect(reading_, &EndsReading::read, this, &EndsPage::took);
  connect(reading_, &EndsReading::failed, this, &EndsPage::show_problem);
  connect(&document_, &Document::reset, this, &EndsPage::reset);
  connect(&document_, &Document::finished, this, &EndsPage::link);
  connect(&document_, &Document::message_selected, this, &EndsPage::follow_document);
  connect(&document_, &Document::time_format_changed, this,
          [this] { waterfall_->set_notation(notation_of(document_)); });
  connect(table_, &QTableView::clicked, this, [this](const QModelIndex& at) {
    const ends::ProcedureEnds* const p = model_->procedure(at.row());
    if (p == nullptr) return;
    procedure_->setCurrentIndex(
        std::max(0, procedure_->findData(QByteArray::fromStdString(p->name))));
  });
  took(nullptr);
  reset();
}

void EndsPage::make_head(QWidget* parent) {
  auto* const column = new QVBoxLayout(parent);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(kGap / 2);
  verdict_ = ends_label(parent, true);
  verdict_->setAccessibleName(tr("Verdict"));
  verdict_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  facts_ = ends_label(parent, true);
  facts_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  facts_->setAlignment(Qt::AlignLeft | Qt::AlignTop);
  facts_area_ = new QScrollArea(parent);
  facts_area_->setWidget(facts_);
  facts_area_->setWidgetResizable(true);
  facts_area_->setFrameShape(QFrame::NoFrame);
  facts_area_->setAccessibleName(tr("Sources and clocks"));
  facts_area_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  column->addWidget(verdict_);
  column->addWidget(facts_area_);
}

QWidget* EndsPage::make_calls() {
  auto* const all = new QWidget(body_);
  order_ = ends_choice(all, tr("Order"));
  const std::pair<EndsOrder, QString> orders[] = {
      {EndsOrder::kSlowestFirst, tr("Slowest first")},
      {EndsOrder::kFastestFirst, tr("Fastest first")},
      {EndsOrder::kOldestFirst, tr("Oldest first")},
      {EndsOrder::kNewestFirst, tr("Newest first")},
      {EndsOrder::kBySide, tr("By side")},
  };
  for (const auto& [order, name] : orders) order_->addItem(name, static_cast<int>(order));
  side_ = ends_choice(all, tr("Side"));
  procedure_ = ends_choice(all, tr("Procedure"));
  scale_ = ends_choice(all, tr("Scale of time"));
  const std::pair<EndsWaterfall::Scale, QString> scales[] = {
      {EndsWaterfall::Scale::kCommon, tr("One scale")},
      {EndsWaterfall::Scale::kEach, tr("Each Call full width")},
      {EndsWaterfall::Scale::kClock, tr("By the clock")},
  };
  for (const auto& [scale, name] : scales) scale_->addItem(name, static_cast<int>(scale));
  statistic_ = ends_choice(all, tr("What the table of procedures shows"));
  const std::pair<EndsTable::Statistic, QString> statistics[] = {
      {EndsTable::Statistic::kMedian, tr("Medians")},
      {EndsTable::Statistic::kP99, tr("p99")},
      {EndsTable::Statistic::kLongest, tr("Longest")},
      {EndsTable::Statistic::kTotal, tr("Totals")},
  };
  for (const auto& [what, name] : statistics) statistic_->addItem(name, static_cast<int>(what));
  count_ = ends_label(all, false);
  count_->setMinimumWidth(1);
  detail_ = ends_label(all, false);
  detail_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  waterfall_ = new EndsWaterfall(all);
  waterfall_->set_notation(notation_of(document_));
  auto* const bar = new QHBoxLayout;
  bar->setSpacing(kGap);
  for (QWidget* const w :
       std::initializer_list<QWidget*>{order_, side_, procedure_, scale_, count_}) {
    bar->addWidget(w);
  }
  bar->addStretch(1);
  bar->addWidget(statistic_);
  auto* const foot = new QHBoxLayout;
  foot->setSpacing(kGap);
  foot->addWidget(detail_, 1);
  foot->addWidget(new EndsLegend(all));
  auto* const column = new QVBoxLayout(all);
  column->setContentsMargins(0, kGap / 2, 0, kGap / 2);
  column->setSpacing(kGap / 2);
  column->addLayout(bar);
  column->addWidget(waterfall_, 1);
  column->addLayout(foot);

  for (QComboBox* const choice : {order_, side_, procedure_}) {
    connect(choice, &QComboBox::currentIndexChanged, this, &EndsPage::sort_rows);
  }
  connect(scale_, &QComboBox::currentIndexChanged, this, [this] {
    waterfall_->set_scale(static_cast<EndsWaterfall::Scale>(scale_->currentData().toInt()));
  });
  connect(statistic_, &QComboBox::currentIndexChanged, this, [this] {
    model_->set_statistic(static_cast<EndsTable::Statistic>(statistic_->currentData().toInt()));
  });
  connect(waterfall_, &EndsWaterfall::order_wanted, this, [this](EndsOrder order) {
    order_->setCurrentIndex(order_->findData(static_cast<int>(order)));
  });
  connect(waterfall_, &EndsWaterfall::call_selected, this, &EndsPage::select_in_document);
  connect(waterfall_, &EndsWaterfall::stage_selected, this, &EndsPage::show_detail);
  connect(waterfall_, &EndsWaterfall::call_activated, this, [this](quint32 call) {
    select_in_document(call);
    Q_EMIT messages_wanted();
  });
  return all;
}

// The facts take a few lines at most; more of them scroll.
void EndsPage::dress() {
  if (facts_area_ == nullptr || table_ == nullptr) return;
  verdict_->setFont(headline_font(font()));
  constexpr int kMostLines = 5;
  const int line = facts_->fontMetrics().lineSpacing();
  const int lines = static_cast<int>(facts_->text().count('\n')) + 1;
  facts_area_->setFixedHeight(line * std::min(kMostLines, lines) + 6);
  facts_area_->setVisible(!facts_->text().isEmpty());
  facts_area_->setFocusPolicy(lines > kMostLines ? Qt::StrongFocus : Qt::NoFocus);
  table_->verticalHeader()->setDefaultSectionSize(row_height_of(fontMetrics()));
}

}  // namespace rpcrdma::gui
