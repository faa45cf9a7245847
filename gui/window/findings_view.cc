// The tree of findings with its groups, and the text of the selected one.
#include "findings_view.h"

#include "colours.h"
#include "sections.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QSplitter>
#include <QVBoxLayout>
#include <map>

#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/rules/rule.h>

namespace rpcrdma::gui {

namespace {

enum FindingRole : int { kKind = Qt::UserRole, kPlace };
constexpr std::size_t kPlacesShown = 100;

}  // namespace

FindingsView::FindingsView(Document& document, QWidget* parent)
    : QWidget(parent),
      document_(document),
      grouping_(new QComboBox(this)),
      tree_(new QTreeWidget(this)),
      text_(new QTextBrowser(this)) {
  grouping_->addItems({tr("By severity"), tr("By rule"), tr("By peer")});
  grouping_->setAccessibleName(tr("Grouping of findings"));
  tree_->setHeaderLabels(
      {tr("Finding"), tr("Count"), tr("Connection"), tr("At fault"), tr("Description")});
  tree_->setUniformRowHeights(true);
  tree_->setAccessibleName(tr("Findings"));
  tree_->header()->setStretchLastSection(true);
  const int wide = fontMetrics().averageCharWidth();
  tree_->header()->resizeSection(0, wide * 30);
  tree_->header()->resizeSection(1, wide * 9);
  tree_->header()->resizeSection(2, wide * 12);
  tree_->header()->resizeSection(3, wide * 22);
  text_->setAccessibleName(tr("Details and advice"));
  text_->setOpenLinks(false);
  auto* const previous = new QPushButton(tr("&Previous evidence"), this);
  auto* const next = new QPushButton(tr("&Next evidence"), this);
  previous->setToolTip(tr("Selects the previous evidence"));
  next->setToolTip(tr("Selects the next message or frame that shows it"));
  auto* const bar = new QHBoxLayout;
  bar->addWidget(grouping_);
  bar->addStretch();
  bar->addWidget(previous);
  bar->addWidget(next);
  auto* const split = new QSplitter(Qt::Horizontal, this);
  split->addWidget(tree_);
  split->addWidget(text_);
  split->setStretchFactor(0, 3);
  split->setStretchFactor(1, 1);
  auto* const all = new QVBoxLayout(this);
  all->setContentsMargins(2, 2, 2, 2);
  all->addLayout(bar);
  all->addWidget(split);
  connect(grouping_, &QComboBox::currentIndexChanged, this, [this] {
    shown_total_ = UINT64_MAX;
    update_list();
  });
  connect(previous, &QPushButton::clicked, this, [this] { jump(-1); });
  connect(next, &QPushButton::clicked, this, [this] { jump(1); });
  connect(tree_, &QTreeWidget::currentItemChanged, this, &FindingsView::show_current);
  connect(tree_, &QTreeWidget::itemActivated, this, [this](QTreeWidgetItem* item) {
    if (!item->data(0, kKind).isValid()) return;
    const std::size_t kind = item->data(0, kKind).toULongLong();
    if (item->data(0, kPlace).isValid()) at_[kind] = item->data(0, kPlace).toULongLong();
    jump(1);
  });
  connect(&document_, &Document::changed, this, &FindingsView::update_list);
  connect(&document_, &Document::reset, this, [this] {
    kinds_.clear();
    at_.clear();
    shown_total_ = UINT64_MAX;
    update_list();
  });
  connect(&document_, &Document::message_selected, this, &FindingsView::select_of);
}

void FindingsView::set_grouping(By by) {
  grouping_->setCurrentIndex(static_cast<int>(by));
}

void FindingsView::update_list() {
  std::uint64_t total = 0;
  document_.store().read([&](const index::Content& c) {
    for (const std::uint64_t n : c.found_total) total += n;
    if (total != shown_total_) kinds_ = c.kinds;
  });
  if (total == shown_total_) return;
  shown_total_ = total;
  at_.resize(kinds_.size());
  const QTreeWidgetItem* const before = tree_->currentItem();
  const QVariant chosen = before != nullptr ? before->data(0, kKind) : QVariant();
  std::map<QString, bool> open;
  for (int i = 0; i < tree_->topLevelItemCount(); ++i) {
    open[tree_->topLevelItem(i)->text(0)] = tree_->topLevelItem(i)->isExpanded();
  }
  const QSignalBlocker quiet(tree_);
  tree_->clear();
  std::map<std::pair<int, QString>, QTreeWidgetItem*> groups;
  const auto by = static_cast<By>(grouping_->currentIndex());
  QTreeWidgetItem* again = nullptr;
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    const index::FoundKind& kind = kinds_[i];
    const int severity = static_cast<int>(kind.severity);
    const QString peer =
        kind.peer.empty()
            ? QString()
            : QString::fromStdString(kind.role.empty() ? kind.peer : kind.role + " " + kind.peer);
    std::pair<int, QString> key{0, peer.isEmpty() ? tr("neither side") : peer};
    if (by == By::kSeverity) key = {severity, tr(rules::severity_name(kind.severity))};
    if (by == By::kRule) key = {0, kind.rule->name};
    QTreeWidgetItem*& group = groups[key];
    if (group == nullptr) {
      group = new QTreeWidgetItem({key.second});
      group->setData(1, Qt::DisplayRole, QVariant::fromValue<quint64>(0));
    }
    group->setData(1, Qt::DisplayRole, group->data(1, Qt::DisplayRole).toULongLong() + kind.count);
    auto* const item = new QTreeWidgetItem(
        group, {kind.rule->name, QString(),
                kind.connection != 0 ? QString::number(kind.connection) : QString(), peer,
                QString::fromStdString(kind.text)});
    item->setData(1, Qt::DisplayRole, QVariant::fromValue<quint64>(kind.count));
    item->setData(0, kKind, QVariant::fromValue<quint64>(i));
    item->setToolTip(0, rule_help(kind.rule->name));
    item->setToolTip(4, tool_tip(QString::fromStdString(kind.text)));
    item->setForeground(0, severity_colour(palette(), severity));
    for (std::size_t p = 0; p < std::min(kind.places.size(), kPlacesShown); ++p) {
      auto* const place = new QTreeWidgetItem(
          item,
          {tr("frame %1").arg(kind.places[p].frame), QString(), QString(), QString(),
           kind.places[p].message != 0 ? tr("message %1").arg(kind.places[p].message) : QString()});
      place->setData(0, kKind, QVariant::fromValue<quint64>(i));
      place->setData(0, kPlace, QVariant::fromValue<quint64>(p));
    }
    if (chosen.isValid() && chosen.toULongLong() == i) again = item;
  }
  for (const auto& [key, group] : groups) {
    tree_->addTopLevelItem(group);
    const auto was = open.find(key.second);
    group->setExpanded(was == open.end() || was->second);
  }
  if (again != nullptr) tree_->setCurrentItem(again);
  if (kinds_.empty()) text_->setHtml(tr("<p>No findings.</p>"));
}

void FindingsView::show_current() {
  const QTreeWidgetItem* const item = tree_->currentItem();
  if (item == nullptr || !item->data(0, kKind).isValid()) return;
  const index::FoundKind& kind = kinds_[item->data(0, kKind).toULongLong()];
  const std::string when = rules::spans_text(kind.spans);
  const std::string text = when.empty() ? kind.text : kind.text + " (" + when + ")";
  QString advice = QString::fromStdString(kind.advice).toHtmlEscaped();
  text_->setHtml(
      QString("<p><b>%1 %2</b>, %3 times</p><p>%4.</p><p>%5.<br><i>%6</i></p><p><b>%7</b> %8</p>")
          .arg(tr(rules::severity_name(kind.severity)), kind.rule->name)
          .arg(kind.count)
          .arg(QString::fromStdString(text).toHtmlEscaped(),
               QString(kind.rule->sentence).toHtmlEscaped(), kind.rule->section, tr("What to do:"),
               advice));
}

void FindingsView::jump(int by) {
  const QTreeWidgetItem* item = tree_->currentItem();
  if (item != nullptr && !item->data(0, kKind).isValid() && item->childCount() != 0) {
    item = item->child(0);
  }
  if (item == nullptr || !item->data(0, kKind).isValid()) return;
  const std::size_t i = item->data(0, kKind).toULongLong();
  const index::FoundKind& kind = kinds_[i];
  if (kind.places.empty()) return;
  const auto count = static_cast<std::ptrdiff_t>(kind.places.size());
  const std::ptrdiff_t now =
      ((static_cast<std::ptrdiff_t>(at_[i]) - 1 + by) % count + count) % count;
  at_[i] = static_cast<std::size_t>(now) + 1;
  const index::FoundKind::Place& place = kind.places[static_cast<std::size_t>(now)];
  if (place.message != 0) {
    document_.select_message(place.message);
  } else {
    document_.select_frame(place.frame);
  }
}

void FindingsView::select_of(quint64 message) {
  if (tree_->hasFocus()) return;
  std::optional<std::uint32_t> wanted;
  document_.store().read([&](const index::Content& c) {
    const auto it = c.kinds_of.find(message);
    if (it != c.kinds_of.end()) wanted = it->second;
  });
  if (!wanted) return;
  for (int g = 0; g < tree_->topLevelItemCount(); ++g) {
    QTreeWidgetItem* const group = tree_->topLevelItem(g);
    for (int i = 0; i < group->childCount(); ++i) {
      if (group->child(i)->data(0, kKind).toULongLong() == *wanted) {
        tree_->setCurrentItem(group->child(i));
        return;
      }
    }
  }
}

}  // namespace rpcrdma::gui
