#include "ends_table.h"

#include "ends_words.h"

#include <QApplication>
#include <algorithm>
#include <numeric>

#include <rpcrdma/gui_text/plain_text.h>

namespace rpcrdma::gui {

namespace {

// Short, since there are many columns; tooltips have the whole name.
QString stage_title(std::size_t index) {
  switch (static_cast<ends::Stage>(index)) {
    case ends::Stage::kSlot:
      return EndsTable::tr("slot");
    case ends::Stage::kCredit:
      return EndsTable::tr("credit");
    case ends::Stage::kPost:
      return EndsTable::tr("post");
    case ends::Stage::kNetworkThere:
      return EndsTable::tr("there");
    case ends::Stage::kDecode:
      return EndsTable::tr("decode");
    case ends::Stage::kRead:
      return EndsTable::tr("Read");
    case ends::Stage::kExecute:
      return EndsTable::tr("execute");
    case ends::Stage::kWrite:
      return EndsTable::tr("Write");
    case ends::Stage::kSend:
      return EndsTable::tr("send");
    case ends::Stage::kNetworkBack:
      return EndsTable::tr("back");
    case ends::Stage::kWake:
      return EndsTable::tr("wake");
  }
  return {};
}

// The side that most Calls wait for, and for how many: "server 98 %".
QString side_share(const ends::ProcedureEnds& p) {
  std::size_t most = static_cast<std::size_t>(ends::Side::kClient);
  for (std::size_t i = most; i < p.sides.size(); ++i) {
    if (p.sides[i] > p.sides[most]) most = i;
  }
  if (p.calls == 0 || p.sides[most] == 0) return QStringLiteral("-");
  const std::uint64_t percent = p.sides[most] * 100 / p.calls;
  return side_name(static_cast<ends::Side>(most)) + ' ' +
         (percent == 0 ? QStringLiteral("<1 %") : QString("%1 %").arg(percent));
}

QString sides_text(const ends::ProcedureEnds& p) {
  QStringList lines;
  for (std::size_t i = 0; i < p.sides.size(); ++i) {
    const auto side = static_cast<ends::Side>(i);
    const QString name = side == ends::Side::kNone ? EndsTable::tr("no side") : side_name(side);
    if (p.sides[i] != 0) lines << EndsTable::tr("%1: %2 Calls").arg(name).arg(p.sides[i]);
  }
  return lines.join('\n');
}

QString sum_text(const QString& name, const ends::StageSum& sum) {
  if (sum.calls == 0) return name + ": " + EndsTable::tr("not known");
  return name + '\n' +
         EndsTable::tr("known of %1 Calls\nmedian %2, p99 %3, longest %4, total %5")
             .arg(sum.calls)
             .arg(duration_text(sum.p50_ns), duration_text(sum.p99_ns), duration_text(sum.max_ns),
                  duration_text(sum.total_ns));
}

}  // namespace

void EndsTable::set_ends(SharedEnds all) {
  beginResetModel();
  all_ = std::move(all);
  order_.clear();
  if (all_ != nullptr) {
    order_.resize(all_->procedures.size());
    std::iota(order_.begin(), order_.end(), 0U);
    std::stable_sort(order_.begin(), order_.end(), [this](std::uint32_t a, std::uint32_t b) {
      return all_->procedures[a].all.total_ns > all_->procedures[b].all.total_ns;
    });
  }
  endResetModel();
}

void EndsTable::set_statistic(Statistic statistic) {
  statistic_ = statistic;
  if (order_.empty()) return;
  Q_EMIT dataChanged(index(0, kWhole), index(rowCount() - 1, columnCount() - 1));
}

const ends::ProcedureEnds* EndsTable::procedure(int row) const {
  if (row < 0 || static_cast<std::size_t>(row) >= order_.size()) return nullptr;
  return &all_->procedures[order_[static_cast<std::size_t>(row)]];
}

int EndsTable::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(order_.size());
}

int EndsTable::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kFirstStage + static_cast<int>(ends::kStages);
}

std::int64_t EndsTable::value(const ends::StageSum& sum) const {
  switch (statistic_) {
    case Statistic::kMedian:
      return sum.p50_ns;
    case Statistic::kP99:
      return sum.p99_ns;
    case Statistic::kLongest:
      return sum.max_ns;
    case Statistic::kTotal:
      return sum.total_ns;
  }
  return 0;
}

QVariant EndsTable::data(const QModelIndex& at, int role) const {
  const ends::ProcedureEnds* const p = procedure(at.row());
  if (p == nullptr) return {};
  const int column = at.column();
  if (role == Qt::TextAlignmentRole) {
    const bool words = column == kProcedure || column == kConnection || column == kSide;
    return static_cast<int>((words ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  }
  if (column >= kWhole) {
    const bool whole = column == kWhole;
    const auto i = static_cast<std::size_t>(whole ? 0 : column - kFirstStage);
    if (i >= ends::kStages) return {};
    const ends::StageSum& sum = whole ? p->all : p->stages[i];
    const auto stage = static_cast<ends::Stage>(i);
    if (role == Qt::DisplayRole) {
      if (sum.calls == 0) return QStringLiteral("?");
      return sum.max_ns == 0 ? QStringLiteral("-") : duration_text(value(sum));
    }
    if (role == Qt::ToolTipRole) {
      return tool_tip(sum_text(whole ? tr("the whole Call") : stage_name(stage), sum));
    }
    if (role == Qt::BackgroundRole && !whole && p->all.total_ns > 0 && sum.total_ns > 0) {
      // The more of the procedure's time a stage takes, the stronger is its side's colour.
      const double share = static_cast<double>(sum.total_ns) / static_cast<double>(p->all.total_ns);
      const QPalette palette = QApplication::palette();
      constexpr double kStrongest = 0.35;  // text stays readable
      return tint(palette, ink(palette, side_ink(ends::side_of(stage))),
                  kStrongest * std::min(1.0, share));
    }
    return {};
  }
  const bool tip = role == Qt::ToolTipRole;
  if (role != Qt::DisplayRole && !tip) return {};
  switch (column) {
    case kProcedure: {
      const QString name = one_line(QString::fromStdString(p->name));
      return tip ? tool_tip(name) : name;
    }
    case kConnection: {
      if (p->connection >= all_->connections.size()) return {};
      const ends::EndsConnection& c = all_->connections[p->connection];
      const QString ends = one_line(QString::fromStdString(c.client + " - " + c.server));
      return tip ? tool_tip(ends) : ends;
    }
    case kCalls:
      return tip ? QVariant() : QVariant(QString::number(p->calls));
    case kSide:
      return tip ? tool_tip(sides_text(*p)) : side_share(*p);
    default:
      return {};
  }
}

QVariant EndsTable::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::ToolTipRole && section >= kFirstStage && section < columnCount()) {
    const auto stage = static_cast<ends::Stage>(section - kFirstStage);
    return tool_tip(stage_name(stage) + ": " + side_name(ends::side_of(stage)));
  }
  if (role != Qt::DisplayRole) return {};
  switch (section) {
    case kProcedure:
      return tr("Procedure");
    case kConnection:
      return tr("Connection");
    case kCalls:
      return tr("Calls");
    case kSide:
      return tr("Side");
    case kWhole:
      return tr("whole");
    default:
      return section < columnCount() ? stage_title(static_cast<std::size_t>(section - kFirstStage))
                                     : QVariant();
  }
}

}  // namespace rpcrdma::gui
