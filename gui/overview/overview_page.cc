// The widgets of the overview. The values come from overview_of(), which runs in a worker.
#include "overview_page.h"

#include "cards.h"
#include "signs.h"
#include "worker.h"

#include <QEvent>
#include <QGridLayout>
#include <QVBoxLayout>
#include <algorithm>

namespace rpcrdma::gui {

namespace {

constexpr int kUpdateEveryMs = 500;
constexpr int kGap = 8;
constexpr int kMargin = 12;
constexpr int kWide = 1100;      // two columns from here on
constexpr int kTileWidth = 160;  // at least

QFont scaled(const QFont& font, double by, QFont::Weight weight) {
  QFont made = font;
  made.setPointSizeF(font.pointSizeF() * by);
  made.setWeight(weight);
  return made;
}

}  // namespace

OverviewPage::OverviewPage(Document& document, QWidget* parent)
    : QWidget(parent),
      document_(document),
      worker_(std::make_unique<Worker>()),
      scroll_(new QScrollArea(this)),
      page_(new QWidget) {
  setAccessibleName(tr("Overview"));
  scroll_->setAccessibleName(tr("Overview"));
  auto* const around = new QVBoxLayout(this);
  around->setContentsMargins(0, 0, 0, 0);
  around->addWidget(scroll_);
  scroll_->setWidgetResizable(true);
  scroll_->setFrameShape(QFrame::NoFrame);
  scroll_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll_->setWidget(page_);
  auto* const all = new QVBoxLayout(page_);
  all->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
  all->setSpacing(kGap);
  make_head();
  make_tables();
  all->addStretch();
  timer_.setSingleShot(true);
  connect(&timer_, &QTimer::timeout, this, &OverviewPage::compute);
  connect(&document_, &Document::report_changed, this, &OverviewPage::note_change);
  connect(&document_, &Document::finished, this, &OverviewPage::note_change);
  connect(&document_, &Document::paused_changed, this, &OverviewPage::note_change);
  connect(&document_, &Document::reset, this, [this] {
    ++generation_;
    expanded_.clear();
    shown_.reset();
    model_ = {};
    since_update_.invalidate();
    scroll_->ensureVisible(0, 0);
    show_model();
    note_change();
  });
  connect(&document_, &Document::time_format_changed, this, &OverviewPage::show_model);
  connect(&document_.time_range(), &TimeRange::changed, this, &OverviewPage::show_range);
  show_model();
}

OverviewPage::~OverviewPage() {
  worker_.reset();
}

void OverviewPage::make_head() {
  auto* const all = static_cast<QVBoxLayout*>(page_->layout());
  head_ = new Card(page_);
  sign_ = new SignLabel(32, head_);
  sentence_ = plain_label(head_, true);
  sentence_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  sentence_->setAccessibleName(tr("Verdict"));
  scope_ = plain_label(head_, true);
  why_ = new QPushButton(tr("Why"), head_);
  why_->setCheckable(true);
  why_->setAccessibleName(tr("Why rules were not judged"));
  reasons_ = plain_label(head_, true);
  reasons_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  reasons_->hide();
  connect(why_, &QPushButton::toggled, reasons_, &QWidget::setVisible);
  auto* const below = new QHBoxLayout;
  below->addWidget(scope_, 1);
  below->addWidget(why_);
  auto* const words = new QVBoxLayout;
  words->setSpacing(4);
  words->addWidget(sentence_);
  words->addLayout(below);
  words->addWidget(reasons_);
  auto* const row = new QHBoxLayout(head_);
  row->setContentsMargins(kMargin, kMargin, kMargin, kGap);
  row->setSpacing(kMargin);
  row->addWidget(sign_, 0, Qt::AlignTop);
  row->addLayout(words, 1);
  all->addWidget(head_);
  nothing_ = plain_label(page_, true);
  all->addWidget(nothing_);
  card_grid_ = new QGridLayout;
  card_grid_->setSpacing(kGap);
  all->addLayout(card_grid_);
  tile_grid_ = new QGridLayout;
  tile_grid_->setSpacing(kGap);
  all->addLayout(tile_grid_);
}

OverviewPage::Section OverviewPage::section(const QString& title, const QStringList& titles,
                                            int stretched) {
  Section made;
  made.box = new Card(page_);
  made.title = plain_label(made.box);
  made.title->setText(title);
  made.table = new BarTable(titles, stretched, title, made.box);
  made.more = plain_label(made.box);
  auto* const column = new QVBoxLayout(made.box);
  column->setContentsMargins(kMargin, kGap, kMargin, kGap);
  column->setSpacing(4);
  column->addWidget(made.title);
  column->addWidget(made.table);
  column->addWidget(made.more);
  return made;
}

void OverviewPage::make_tables() {
  connections_ =
      section(tr("Connections by trouble"),
              {tr("No."), tr("Client - server"), tr("State"), tr("Findings"), tr("Calls"),
               tr("p99"), tr("Slowest"), tr("No answer"), tr("Retransmitted")},
              1);
  slowest_ =
      section(tr("Slowest Calls"),
              {tr("Procedure"), tr("Latency"), tr("Time"), tr("Conn."), tr("Longest part")}, 0);
  files_ = section(tr("Files"),
                   {tr("Name"), tr("READs"), tr("WRITEs"), tr("Other"), tr("Read"), tr("Written"),
                    tr("Slowest"), tr("Pattern"), tr("Errors")},
                   0);
  mounts_ = section(
      tr("Mounts and sessions"),
      {tr("Mount"), tr("Calls"), tr("Connections"), tr("Most in use"), tr("Backchannel")}, 0);
  congestion_ = plain_label(page_, true);
  connections_.table->setToolTip(tr("Enter or a double click shows only its messages"));
  connect(connections_.table, &BarTable::row_chosen, this, &OverviewPage::choose_connection);
  connect(connections_.table, &BarTable::row_activated, this, [this](int row) {
    if (row < 0 || row >= std::ssize(model_.connections)) return;
    Q_EMIT filter_wanted(QString("rpcrdma.connection == %1")
                             .arg(model_.connections[static_cast<std::size_t>(row)].id));
    Q_EMIT view_wanted("messages");
  });
  connect(slowest_.table, &BarTable::row_chosen, this, [this](int row) {
    if (row < 0 || row >= std::ssize(model_.slowest)) return;
    document_.select_frame(model_.slowest[static_cast<std::size_t>(row)].frame);
  });
  connect(slowest_.table, &BarTable::row_activated, this,
          [this] { Q_EMIT view_wanted("messages"); });
  auto* const left = new QVBoxLayout;
  auto* const right = new QVBoxLayout;
  for (QVBoxLayout* const column : {left, right}) column->setSpacing(kGap);
  left->addWidget(connections_.box);
  left->addWidget(mounts_.box);
  left->addWidget(congestion_);
  left->addStretch();
  right->addWidget(slowest_.box);
  right->addWidget(files_.box);
  right->addStretch();
  columns_ = new QBoxLayout(QBoxLayout::TopToBottom);
  columns_->setSpacing(kGap);
  columns_->addLayout(left, 1);
  columns_->addLayout(right, 1);
  auto* const all = static_cast<QVBoxLayout*>(page_->layout());
  all->addLayout(columns_);
  notes_title_ = plain_label(page_);
  notes_title_->setText(tr("Notes"));
  all->addWidget(notes_title_);
  note_grid_ = new QGridLayout;
  note_grid_->setSpacing(kGap);
  all->addLayout(note_grid_);
  more_findings_ = new QPushButton(page_);
  connect(more_findings_, &QPushButton::clicked, this, [this] { Q_EMIT view_wanted("findings"); });
  all->addWidget(more_findings_, 0, Qt::AlignLeft);
}

void OverviewPage::note_change() {
  dirty_ = true;
  if (!isVisible() || computing_ || timer_.isActive()) return;
  const qint64 since = since_update_.isValid() ? since_update_.elapsed() : kUpdateEveryMs;
  timer_.start(static_cast<int>(std::clamp<qint64>(kUpdateEveryMs - since, 0, kUpdateEveryMs)));
}

void OverviewPage::compute() {
  const auto report = document_.report();
  const bool growing =
      !document_.store().read([](const index::Content& c) { return c.progress.finished; });
  if (!dirty_ || report == nullptr) return;
  dirty_ = false;
  if (report == shown_ && growing == shown_growing_) return;
  computing_ = true;
  shown_growing_ = growing;
  since_update_.start();
  worker_->post(
      this, [report, growing] { return overview_of(*report, growing); },
      [this, report, generation = generation_](OverviewModel model) {
        computing_ = false;
        if (generation == generation_) took(std::move(model), report);
        if (dirty_) note_change();
      });
}

void OverviewPage::took(OverviewModel model, std::shared_ptr<const report::Report> of) {
  model_ = std::move(model);
  shown_ = std::move(of);
  show_model();
  Q_EMIT updated();
}

void OverviewPage::show_model() {
  show_head();
  show_cards();
  show_tables();
  show_range();
  dress();
  arrange();
}

void OverviewPage::show_head() {
  const bool known = shown_ != nullptr;
  sign_->set_sign(model_.sign);
  head_->set_sign(known ? std::optional(model_.sign) : std::nullopt);
  sentence_->setText(known ? model_.sentence : tr("Reading ..."));
  const QString judged =
      model_.judged + (model_.judged.isEmpty() || model_.judged.endsWith('.') ? "" : ".");
  // With nothing found, the line below says what was judged.
  QString scope = known ? model_.scope + "." : QString();
  if (model_.nothing.isEmpty()) scope += " " + judged;
  scope_->setText(scope);
  why_->setVisible(!model_.reasons.isEmpty());
  reasons_->setText(model_.reasons.join('\n'));
  reasons_->setVisible(why_->isChecked() && !model_.reasons.isEmpty());
  nothing_->setText(model_.nothing.isEmpty() ? QString() : tr("%1 %2").arg(model_.nothing, judged));
  nothing_->setVisible(!model_.nothing.isEmpty());
  more_findings_->setText(tr("%L1 more kinds of findings").arg(model_.more_cards));
  more_findings_->setVisible(model_.more_cards != 0);
}

FindingWidget* OverviewPage::make_card() {
  auto* const card = new FindingWidget(page_);
  connect(card, &FindingWidget::evidence_wanted, this,
          [this, card] { show_evidence(card->card()); });
  connect(card, &FindingWidget::only_wanted, this, [this, card] {
    Q_EMIT filter_wanted(filter_of(card->card()));
    Q_EMIT view_wanted("messages");
  });
  connect(&card->advice_button(), &QPushButton::toggled, this, [this, card](bool on) {
    if (on) {
      expanded_.insert(card->card().key());
    } else {
      expanded_.erase(card->card().key());
    }
  });
  return card;
}

// Cards are kept and filled again, so that the keyboard's focus and the scroll position stay.
void OverviewPage::fill_cards(std::vector<FindingWidget*>& widgets,
                              const std::vector<FindingCard>& cards) {
  while (widgets.size() > cards.size()) {
    delete widgets.back();
    widgets.pop_back();
  }
  while (widgets.size() < cards.size()) widgets.push_back(make_card());
  for (std::size_t i = 0; i < widgets.size(); ++i) {
    const FindingCard& card = cards[i];
    const bool open = expanded_.contains(card.key());
    widgets[i]->set(card, when_of(card));
    widgets[i]->only().setVisible(!filter_of(card).isEmpty());
    widgets[i]->set_expanded(open);
  }
}

void OverviewPage::show_cards() {
  fill_cards(cards_, model_.cards);
  fill_cards(notes_, model_.notes);
  notes_title_->setVisible(!notes_.empty());
  while (tiles_.size() > model_.tiles.size()) {
    delete tiles_.back();
    tiles_.pop_back();
  }
  while (tiles_.size() < model_.tiles.size()) tiles_.push_back(new TileWidget(page_));
  for (std::size_t i = 0; i < tiles_.size(); ++i) tiles_[i]->set(model_.tiles[i]);
}

// The numbers are those of the whole time; their courses show what the other views are limited to.
void OverviewPage::show_range() {
  const auto range = document_.time_range().range();
  for (TileWidget* const tile : tiles_) {
    tile->set_range(range ? std::optional(std::pair(range->from_ns, range->to_ns)) : std::nullopt);
  }
}

void OverviewPage::arrange() {
  const int width = scroll_->viewport()->width();
  const bool wide = width >= kWide;
  columns_->setDirection(wide ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom);
  const auto place = [](QGridLayout& grid, const auto& widgets, int columns) {
    for (int i = 0; i < std::ssize(widgets); ++i) {
      grid.addWidget(widgets[static_cast<std::size_t>(i)], i / columns, i % columns);
    }
    for (int c = 0; c < std::max(columns, grid.columnCount()); ++c) {
      grid.setColumnStretch(c, c < columns ? 1 : 0);
    }
  };
  place(*card_grid_, cards_, wide && cards_.size() > 1 ? 2 : 1);
  place(*note_grid_, notes_, wide && notes_.size() > 1 ? 2 : 1);
  const int tiles = std::clamp((width - 2 * kMargin + kGap) / (kTileWidth + kGap), 1, 5);
  place(*tile_grid_, tiles_, tiles);
}

void OverviewPage::dress() {
  sentence_->setFont(scaled(font(), 1.6, QFont::Normal));
  for (QLabel* const title : {connections_.title, slowest_.title, files_.title, mounts_.title,
                              congestion_, notes_title_}) {
    title->setFont(scaled(font(), 1.1, QFont::DemiBold));
  }
  nothing_->setFont(scaled(font(), 1.1, QFont::Normal));
  QPalette colours = palette();
  colours.setColor(QPalette::WindowText, secondary_text(colours));
  for (QLabel* const label :
       {scope_, reasons_, connections_.more, slowest_.more, files_.more, mounts_.more}) {
    label->setPalette(colours);
  }
}

QString OverviewPage::time(std::int64_t ns) const {
  const QString text = document_.time_text(ns);
  return document_.time_format() == TimeFormat::kAbsolute ? text : tr("%1 s").arg(text);
}

QString OverviewPage::when_of(const FindingCard& card) const {
  if (!card.spans.empty() && card.spans.front().since_ns != 0) {
    const rules::Span& first = card.spans.front();
    QString text = first.until_ns == 0
                       ? tr("since %1").arg(time(first.since_ns))
                       : tr("%1 to %2").arg(time(first.since_ns), time(first.until_ns));
    if (card.spans.size() > 1) text += tr(" and %1 more times").arg(card.spans.size() - 1);
    return text;
  }
  std::optional<std::int64_t> at;
  document_.store().read([&](const index::Content& c) {
    for (const index::FoundKind& kind : c.kinds) {
      if (card.rule != kind.rule->name || kind.places.empty()) continue;
      const std::uint64_t message = kind.places.front().message;
      if (message != 0 && message <= c.rows.size()) at = c.rows[message - 1].time_ns;
      break;
    }
  });
  if (!at) return {};
  return card.count == 1 ? tr("at %1").arg(time(*at)) : tr("first at %1").arg(time(*at));
}

QString OverviewPage::filter_of(const FindingCard& card) const {
  const bool on_messages = document_.store().read([&](const index::Content& c) {
    return std::any_of(c.kinds.begin(), c.kinds.end(), [&](const index::FoundKind& kind) {
      return card.rule == kind.rule->name &&
             std::any_of(kind.places.begin(), kind.places.end(),
                         [](const auto& place) { return place.message != 0; });
    });
  });
  if (on_messages) return QString("rpcrdma.finding == \"%1\"").arg(card.rule);
  if (card.connection != 0) return QString("rpcrdma.connection == %1").arg(card.connection);
  return {};
}

void OverviewPage::show_evidence(const FindingCard& card) {
  std::uint64_t message = 0;
  document_.store().read([&](const index::Content& c) {
    for (const index::FoundKind& kind : c.kinds) {
      if (card.rule != kind.rule->name || kind.places.empty()) continue;
      if (card.connection != 0 && kind.connection != card.connection) continue;
      message = kind.places.front().message;
      break;
    }
  });
  if (message != 0) {
    document_.select_message(message);
  } else if (card.frame != 0) {
    document_.select_frame(card.frame);
  }
  Q_EMIT view_wanted("messages");
}

void OverviewPage::choose_connection(int row) {
  if (row < 0 || row >= std::ssize(model_.connections)) return;
  const std::uint32_t id = model_.connections[static_cast<std::size_t>(row)].id;
  const auto index = document_.store().read([&](const index::Content& c) {
    std::optional<std::uint32_t> found;
    for (std::uint32_t i = 0; i < c.connections.size() && !found; ++i) {
      if (c.connections[i].id == id && c.canonical(i) == i) found = i;
    }
    return found;
  });
  if (index) document_.select_connection(*index);
}

void OverviewPage::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  if (dirty_) note_change();
}

void OverviewPage::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  arrange();
}

void OverviewPage::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) {
    if (columns_ != nullptr) show_model();
  }
}

}  // namespace rpcrdma::gui
