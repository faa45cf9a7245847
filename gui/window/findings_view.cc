// The tree of findings with its groups, and the text of the selected one.
#include "findings_view.h"

#include "overview_model.h"
#include "sections.h"
#include "signs.h"

#include <QAbstractItemView>
#include <QEvent>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/rules/rule.h>

namespace rpcrdma::gui {

namespace {

enum FindingRole : int { kKind = Qt::UserRole, kPlace };
enum FindingColumn : int {
  kFinding,
  kCount,
  kSince,
  kUntil,
  kConnection,
  kFault,
  kDescription,
  kFindingColumns
};

QString times_text(std::uint64_t count) {
  return count == 1 ? FindingsView::tr("once") : FindingsView::tr("%L1 times").arg(count);
}

}  // namespace

bool worse(const index::FoundKind& a, const index::FoundKind& b) {
  const auto key = [](const index::FoundKind& kind) {
    return std::tuple(kind.severity, kind.rule->where != rules::Where::kDiagnosis,
                      UINT64_MAX - kind.count);
  };
  return key(a) < key(b);
}

FindingsView::FindingsView(Document& document, QWidget* parent)
    : QWidget(parent),
      document_(document),
      grouping_(new QComboBox(this)),
      tree_(new QTreeWidget(this)),
      text_(new QTextBrowser(this)),
      step_(new QLabel(this)),
      previous_(new QPushButton(tr("&Previous evidence"), this)),
      next_(new QPushButton(tr("&Next evidence"), this)) {
  grouping_->addItems({tr("By severity"), tr("By rule"), tr("By peer")});
  grouping_->setAccessibleName(tr("Grouping of findings"));
  grouping_->view()->setAccessibleName(tr("Grouping of findings"));
  tree_->setHeaderLabels({tr("Finding"), tr("Count"), tr("Since"), tr("Until"), tr("Conn."),
                          tr("At fault"), tr("Description")});
  tree_->setUniformRowHeights(true);
  tree_->setAccessibleName(tr("Findings"));
  tree_->header()->setStretchLastSection(true);
  const int wide = fontMetrics().averageCharWidth();
  const int widths[] = {28, 8, 15, 15, 7, 20};
  for (int i = 0; i < kDescription; ++i) tree_->header()->resizeSection(i, wide * (widths[i] + 1));
  text_->setAccessibleName(tr("Details and advice"));
  text_->setOpenLinks(false);
  step_->setTextFormat(Qt::PlainText);
  step_->setAccessibleName(tr("Which evidence is selected"));
  previous_->setToolTip(tr("Selects the previous evidence"));
  next_->setToolTip(tr("Selects the next message or frame that shows it"));
  auto* const bar = new QHBoxLayout;
  bar->addWidget(grouping_);
  bar->addStretch();
  bar->addWidget(step_);
  bar->addWidget(previous_);
  bar->addWidget(next_);
  auto* const split = new QSplitter(Qt::Horizontal, this);
  split->addWidget(tree_);
  split->addWidget(text_);
  split->setStretchFactor(0, 3);
  split->setStretchFactor(1, 2);
  auto* const all = new QVBoxLayout(this);
  all->setContentsMargins(4, 4, 4, 4);
  all->addLayout(bar);
  all->addWidget(split);
  connect(grouping_, &QComboBox::currentIndexChanged, this, &FindingsView::build);
  connect(previous_, &QPushButton::clicked, this, [this] { jump(-1); });
  connect(next_, &QPushButton::clicked, this, [this] { jump(1); });
  connect(tree_, &QTreeWidget::currentItemChanged, this, [this] {
    chosen_ = true;
    show_current();
  });
  connect(tree_, &QTreeWidget::itemActivated, this, [this](QTreeWidgetItem* item) {
    if (!item->data(0, kKind).isValid()) return;
    const std::size_t kind = item->data(0, kKind).toULongLong();
    if (item->data(0, kPlace).isValid()) at_[kind] = item->data(0, kPlace).toULongLong();
    jump(1);
  });
  connect(&document_, &Document::changed, this, &FindingsView::update_list);
  connect(&document_, &Document::finished, this, &FindingsView::show_current);
  connect(&document_, &Document::time_format_changed, this, &FindingsView::build);
  connect(&document_, &Document::reset, this, [this] {
    kinds_.clear();
    at_.clear();
    chosen_ = false;
    shown_state_ = 0;
    build();
  });
  connect(&document_, &Document::message_selected, this, &FindingsView::select_of);
  build();
}

void FindingsView::set_grouping(By by) {
  grouping_->setCurrentIndex(static_cast<int>(by));
}

// Returns false if nothing has changed since.
bool FindingsView::take_kinds() {
  return document_.store().read([this](const index::Content& c) {
    std::uint64_t state = c.kinds.size();
    const auto mix = [&state](std::uint64_t value) { state = state * 1'000'003 + value; };
    for (const index::FoundKind& kind : c.kinds) {
      mix(kind.count);
      for (const rules::Span& span : kind.spans) mix(static_cast<std::uint64_t>(span.until_ns) + 1);
    }
    if (state == shown_state_) return false;
    shown_state_ = state;
    kinds_.resize(c.kinds.size());
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      kinds_[i].kind = c.kinds[i];
      kinds_[i].place_ns.clear();
      for (const index::FoundKind::Place& place : c.kinds[i].places) {
        const bool known = place.message != 0 && place.message <= c.rows.size();
        kinds_[i].place_ns.push_back(known ? c.rows[place.message - 1].time_ns : 0);
      }
    }
    at_.resize(kinds_.size());
    return true;
  });
}

void FindingsView::update_list() {
  if (take_kinds()) build();
}

QString FindingsView::peer_of(const index::FoundKind& kind) const {
  if (kind.peer.empty()) return {};
  return one_line(
      QString::fromStdString(kind.role.empty() ? kind.peer : kind.role + " " + kind.peer));
}

// A fault that lasts has a begin and an end; others, the times of their first and last evidence.
std::pair<QString, QString> FindingsView::times_of(const Listed& listed) const {
  const auto& [kind, place_ns] = listed;
  if (!kind.spans.empty() && kind.spans.front().since_ns != 0) {
    const std::int64_t until = kind.spans.back().until_ns;
    return {document_.time_text(kind.spans.front().since_ns),
            until != 0 ? document_.time_text(until) : tr("the end")};
  }
  if (place_ns.empty() || place_ns.front() == 0) return {};
  std::pair<QString, QString> times{document_.time_text(place_ns.front()), {}};
  const bool all = kind.count == place_ns.size();
  if (all && place_ns.size() > 1 && place_ns.back() != 0) {
    times.second = document_.time_text(place_ns.back());
  }
  return times;
}

QString FindingsView::spans_of(const index::FoundKind& kind) const {
  QStringList all;
  for (const rules::Span& span : kind.spans) {
    if (span.since_ns == 0) continue;
    const QString since = document_.time_text(span.since_ns);
    all << (span.until_ns == 0 ? tr("since %1").arg(since)
                               : tr("%1 to %2").arg(since, document_.time_text(span.until_ns)));
  }
  return all.join("; ");
}

QTreeWidgetItem* FindingsView::add_item(QTreeWidgetItem* group, std::size_t at) {
  const index::FoundKind& kind = kinds_[at].kind;
  const QString text = one_line(QString::fromStdString(kind.text));
  const auto [since, until] = times_of(kinds_[at]);
  auto* const item = new QTreeWidgetItem(
      group,
      {kind.rule->name, QString(), since, until,
       kind.connection != 0 ? QString::number(kind.connection) : QString(), peer_of(kind), text});
  item->setData(kCount, Qt::DisplayRole, QVariant::fromValue<quint64>(kind.count));
  item->setData(0, kKind, QVariant::fromValue<quint64>(at));
  item->setToolTip(kFinding, rule_help(kind.rule->name));
  item->setToolTip(kDescription, tool_tip(text));
  item->setIcon(kFinding, sign_icon(palette(), sign_of(kind.severity)));
  for (const int column : {kCount, kSince, kUntil, kConnection}) {
    item->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
  }
  for (std::size_t p = 0; p < kind.places.size(); ++p) {
    const std::int64_t ns = kinds_[at].place_ns[p];
    auto* const place = new QTreeWidgetItem(
        item,
        {tr("frame %1").arg(kind.places[p].frame), QString(),
         ns != 0 ? document_.time_text(ns) : QString(), QString(), QString(), QString(),
         kind.places[p].message != 0 ? tr("message %1").arg(kind.places[p].message) : QString()});
    place->setTextAlignment(kSince, Qt::AlignRight | Qt::AlignVCenter);
    place->setData(0, kKind, QVariant::fromValue<quint64>(at));
    place->setData(0, kPlace, QVariant::fromValue<quint64>(p));
  }
  return item;
}

// Groups and findings in them: the worst first.
void FindingsView::build() {
  const QTreeWidgetItem* const before = tree_->currentItem();
  const QVariant chosen = before != nullptr && chosen_ ? before->data(0, kKind) : QVariant();
  const QString chosen_group =
      before != nullptr && chosen_ && !chosen.isValid() ? before->text(0) : QString();
  std::map<QString, bool> open;
  for (int i = 0; i < tree_->topLevelItemCount(); ++i) {
    open[tree_->topLevelItem(i)->text(0)] = tree_->topLevelItem(i)->isExpanded();
  }
  std::vector<std::size_t> order(kinds_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
    return worse(kinds_[a].kind, kinds_[b].kind);
  });
  const QSignalBlocker quiet(tree_);
  tree_->clear();
  const auto by = static_cast<By>(grouping_->currentIndex());
  std::map<QString, QTreeWidgetItem*> groups;
  QTreeWidgetItem* again = nullptr;
  QTreeWidgetItem* worst = nullptr;
  for (const std::size_t i : order) {
    const index::FoundKind& kind = kinds_[i].kind;
    QString name = peer_of(kind);
    if (name.isEmpty()) name = tr("neither side");
    if (by == By::kSeverity) name = tr(rules::severity_name(kind.severity));
    if (by == By::kRule) name = kind.rule->name;
    QTreeWidgetItem*& group = groups[name];
    if (group == nullptr) {
      group = new QTreeWidgetItem(tree_, {name});
      group->setData(kCount, Qt::DisplayRole, QVariant::fromValue<quint64>(0));
      group->setTextAlignment(kCount, Qt::AlignRight | Qt::AlignVCenter);
      const auto was = open.find(name);
      group->setExpanded(was == open.end() || was->second);
      if (name == chosen_group) again = group;
    }
    const quint64 sum = group->data(kCount, Qt::DisplayRole).toULongLong() + kind.count;
    group->setData(kCount, Qt::DisplayRole, QVariant::fromValue<quint64>(sum));
    QTreeWidgetItem* const item = add_item(group, i);
    if (worst == nullptr) worst = item;
    if (chosen.isValid() && chosen.toULongLong() == i) again = item;
  }
  if (again == nullptr) again = worst;
  if (again != nullptr) tree_->setCurrentItem(again);
  show_current();
}

void FindingsView::show_current() {
  const QTreeWidgetItem* const item = tree_->currentItem();
  if (item == nullptr) {
    const bool over =
        document_.store().read([](const index::Content& c) { return c.progress.finished; });
    text_->setPlainText(document_.is_empty() ? QString()
                        : over               ? tr("No findings.")
                                             : tr("No findings so far."));
  } else if (item->data(0, kKind).isValid()) {
    show_kind(item->data(0, kKind).toULongLong());
  } else {
    show_group(*item);
  }
  show_step();
}

void FindingsView::show_kind(std::size_t at) {
  const index::FoundKind& kind = kinds_[at].kind;
  QStringList about{times_text(kind.count)};
  if (kind.connection != 0) about << tr("connection %1").arg(kind.connection);
  if (const QString peer = peer_of(kind); !peer.isEmpty()) about << tr("at fault: %1").arg(peer);
  if (const QString spans = spans_of(kind); !spans.isEmpty()) about << spans;
  const QString text = one_line(QString::fromStdString(kind.text));
  const QString advice = QString::fromStdString(kind.advice).toHtmlEscaped();
  text_->setHtml(
      QString(
          "<p><b>%1: %2</b> (%3)<br>%4</p><p>%5%6</p><p><b>%7</b> %8</p><p>%9.<br><i>%10</i></p>")
          .arg(tr(rules::severity_name(kind.severity)), rule_title(kind.rule->name).toHtmlEscaped(),
               kind.rule->name, about.join(", ").toHtmlEscaped(), text.toHtmlEscaped(),
               text.endsWith('.') ? QString() : QString("."), tr("What to do:"), advice,
               tr("Rule: %1").arg(QString(kind.rule->sentence)).toHtmlEscaped())
          .arg(QString(kind.rule->section).toHtmlEscaped()));
}

void FindingsView::show_group(const QTreeWidgetItem& group) {
  QString lines;
  for (int i = 0; i < group.childCount(); ++i) {
    const index::FoundKind& kind = kinds_[group.child(i)->data(0, kKind).toULongLong()].kind;
    lines += QString("<li>%1 (%2), %3</li>")
                 .arg(rule_title(kind.rule->name).toHtmlEscaped(), kind.rule->name,
                      times_text(kind.count));
  }
  const quint64 sum = group.data(kCount, Qt::DisplayRole).toULongLong();
  text_->setHtml(QString("<p><b>%1</b>: %2</p><ul>%3</ul>")
                     .arg(group.text(0).toHtmlEscaped(), times_text(sum), lines));
}

// "3 of 32", or "3 of the first 100 of 4,000" where not all places are kept.
void FindingsView::show_step() {
  const QTreeWidgetItem* const item = tree_->currentItem();
  const bool any = item != nullptr && item->data(0, kKind).isValid();
  const std::size_t at = any ? item->data(0, kKind).toULongLong() : 0;
  const std::size_t places = any ? kinds_[at].kind.places.size() : 0;
  next_->setEnabled(!kinds_.empty());
  previous_->setEnabled(!kinds_.empty());
  if (places == 0) {
    step_->setText(any ? tr("no frame shows it alone") : QString());
    return;
  }
  const std::uint64_t count = kinds_[at].kind.count;
  const bool more = count > places && places >= index::FoundKind::kMostPlaces;
  if (at_[at] == 0) {
    step_->setText(places == 1 ? tr("1 place")
                   : more      ? tr("the first %1 of %L2 places").arg(places).arg(count)
                               : tr("%1 places").arg(places));
    return;
  }
  step_->setText(more ? tr("%1 of the first %2 of %L3").arg(at_[at]).arg(places).arg(count)
                      : tr("%1 of %2").arg(at_[at]).arg(places));
}

QTreeWidgetItem* FindingsView::item_of(std::size_t kind) const {
  for (int g = 0; g < tree_->topLevelItemCount(); ++g) {
    QTreeWidgetItem* const group = tree_->topLevelItem(g);
    for (int i = 0; i < group->childCount(); ++i) {
      if (group->child(i)->data(0, kKind).toULongLong() == kind) return group->child(i);
    }
  }
  return nullptr;
}

bool FindingsView::select_worst() {
  update_list();
  if (kinds_.empty()) return false;
  const auto worst =
      std::max_element(kinds_.begin(), kinds_.end(),
                       [](const Listed& a, const Listed& b) { return worse(b.kind, a.kind); });
  tree_->setCurrentItem(item_of(static_cast<std::size_t>(worst - kinds_.begin())));
  return true;
}

void FindingsView::jump(int by) {
  if (tree_->currentItem() == nullptr && !select_worst()) return;
  QTreeWidgetItem* item = tree_->currentItem();
  if (!item->data(0, kKind).isValid() && item->childCount() != 0) {
    item = item->child(0);
    tree_->setCurrentItem(item);
  }
  if (!item->data(0, kKind).isValid()) return;
  chosen_ = true;
  const std::size_t i = item->data(0, kKind).toULongLong();
  const index::FoundKind& kind = kinds_[i].kind;
  if (kind.places.empty()) return;
  const auto count = static_cast<std::ptrdiff_t>(kind.places.size());
  // Before the first step, the previous one is the last.
  const auto from = static_cast<std::ptrdiff_t>(at_[i]) - (at_[i] == 0 && by < 0 ? 0 : 1);
  const std::ptrdiff_t now = ((from + by) % count + count) % count;
  at_[i] = static_cast<std::size_t>(now) + 1;
  show_step();
  const index::FoundKind::Place& place = kind.places[static_cast<std::size_t>(now)];
  if (place.message != 0) {
    document_.select_message(place.message);
  } else {
    document_.select_frame(place.frame);
  }
}

// Notes the step if the message is evidence of the finding. Evidence that is no message is shown by
// the first message that ends with its frame or later.
bool FindingsView::note_step(std::size_t at, std::uint64_t message) {
  const auto& places = kinds_[at].kind.places;
  std::uint64_t before = 0;
  std::uint64_t frame = 0;
  document_.store().read([&](const index::Content& c) {
    if (message == 0 || message > c.rows.size()) return;
    frame = c.rows[message - 1].frame;
    if (message > 1) before = c.rows[message - 2].frame;
  });
  const auto it = std::find_if(places.begin(), places.end(), [&](const auto& place) {
    return place.message != 0 ? place.message == message
                              : before < place.frame && place.frame <= frame;
  });
  if (it == places.end()) return false;
  at_[at] = static_cast<std::size_t>(it - places.begin()) + 1;
  show_step();
  return true;
}

// Keeps a finding of the message if one is selected already: a message can have several.
void FindingsView::select_of(quint64 message) {
  update_list();
  const QTreeWidgetItem* const now = tree_->currentItem();
  const bool on_kind = now != nullptr && now->data(0, kKind).isValid();
  if (on_kind && note_step(now->data(0, kKind).toULongLong(), message)) return;
  if (tree_->hasFocus()) return;
  std::vector<std::uint32_t> wanted;
  document_.store().read([&](const index::Content& c) {
    const auto [from, to] = c.kinds_of.equal_range(message);
    for (auto it = from; it != to; ++it) wanted.push_back(it->second);
  });
  if (wanted.empty()) return;
  if (on_kind &&
      std::find(wanted.begin(), wanted.end(), now->data(0, kKind).toULongLong()) != wanted.end()) {
    return;
  }
  if (QTreeWidgetItem* const item = item_of(wanted.front())) {
    tree_->setCurrentItem(item);
    note_step(wanted.front(), message);
  }
}

void FindingsView::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) build();
}

}  // namespace rpcrdma::gui
