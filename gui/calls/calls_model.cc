#include "calls_model.h"

#include <algorithm>
#include <cmath>

#include <rpcrdma/base/quantity.h>
#include <rpcrdma/gui_text/plain_text.h>

namespace rpcrdma::gui {

namespace {

constexpr double kShortestNs = 1000;  // the scale of latencies begins here

struct CallColumnSpec {
  const char* title;
  const char* help;
  bool right;
};
constexpr std::array<CallColumnSpec, kCallColumns> kCallSpecs{{
    {QT_TRANSLATE_NOOP("rpcrdma::gui::CallsModel", "Status"),
     QT_TRANSLATE_NOOP("rpcrdma::gui::CallsModel", "How the Call ended"), false},
    {QT_TRANSLATE_NOOP("rpcrdma::gui::CallsModel", "Time"),
     QT_TRANSLATE_NOOP("rpcrdma::gui::CallsModel", "Time of the Call. Click to sort"), true},
    {QT_TRANSLATE_NOOP("rpcrdma::gui::CallsModel", "Conn."),
     QT_TRANSLATE_NOOP("rpcrdma::gui::CallsModel", "Number of the connection, as in reports"),
     true},
    {QT_TRANSLATE_NOOP("rpcrdma::gui::CallsModel", "Call"),
     QT_TRANSLATE_NOOP("rpcrdma::gui::CallsModel", "Procedure, file and bytes"), false},
    {QT_TRANSLATE_NOOP("rpcrdma::gui::CallsModel", "Up"),
     QT_TRANSLATE_NOOP("rpcrdma::gui::CallsModel",
                       "Bytes from the requester: the Call and its Read chunks"),
     true},
    {QT_TRANSLATE_NOOP("rpcrdma::gui::CallsModel", "Down"),
     QT_TRANSLATE_NOOP("rpcrdma::gui::CallsModel",
                       "Bytes to the requester: the Reply, its Write chunks and Reply chunk"),
     true},
    {QT_TRANSLATE_NOOP("rpcrdma::gui::CallsModel", "Latency"),
     QT_TRANSLATE_NOOP("rpcrdma::gui::CallsModel",
                       "Time from the Call to its Reply, on a logarithmic scale. Orange: above p90 "
                       "of its procedure; red: above p99. Click to sort"),
     false},
    {QT_TRANSLATE_NOOP("rpcrdma::gui::CallsModel", "Parts"),
     QT_TRANSLATE_NOOP("rpcrdma::gui::CallsModel", "Where the time went, as far as it is known"),
     false},
    {QT_TRANSLATE_NOOP("rpcrdma::gui::CallsModel", "Ops"),
     QT_TRANSLATE_NOOP("rpcrdma::gui::CallsModel", "RDMA Reads and Writes"), true},
    {QT_TRANSLATE_NOOP("rpcrdma::gui::CallsModel", "XID"),
     QT_TRANSLATE_NOOP("rpcrdma::gui::CallsModel", "Transaction ID"), false},
}};

QString duration(std::int64_t ns) {
  return ns < 0 ? QString() : QString::fromStdString(base::format_duration(ns));
}

QString size_text(std::int64_t bytes) {
  return bytes < 0 ? QString()
                   : QString::fromStdString(base::format_bytes(static_cast<std::uint64_t>(bytes)));
}

CallRow read_call(const index::Content& c, std::uint64_t id) {
  CallRow shown;
  if (id == 0 || id > c.rows.size()) return shown;
  const index::MessageRow& row = c.rows[id - 1];
  std::optional<index::MessageRow> answer;
  if (row.match != 0 && row.match <= c.rows.size()) answer = c.rows[row.match - 1];
  shown.id = id;
  shown.time_ns = row.time_ns;
  shown.latency_ns = row.latency_ns;
  shown.connection = c.connection_id(row.connection);
  shown.xid = row.xid;
  shown.reverse = c.reverse(row);
  shown.procedure = QString::fromStdString(c.procedures[row.procedure].label);
  shown.request = QString::fromStdString(c.request(row));
  shown.operations = row.operations;
  const std::uint64_t read = std::min<std::uint64_t>(row.read_bytes, row.moved);
  if (!row.is(index::MessageRow::kNoLength)) {
    shown.up = static_cast<std::int64_t>(row.length + read);
  }
  if (answer && !answer->is(index::MessageRow::kNoLength)) {
    shown.down = static_cast<std::int64_t>(answer->length + row.moved - read);
  }
  if (!answer) {
    shown.fate = row.is(index::MessageRow::kOver) ? CallFate::kUnanswered : CallFate::kInFlight;
  } else if (answer->kind == model::Kind::kError) {
    shown.fate = CallFate::kError;
    model::Message m;
    m.kind = answer->kind;
    m.version = answer->version;
    m.proc = answer->proc;
    m.dialect = answer->dialect;
    m.error = static_cast<wire::RdmaErr>(answer->error);
    shown.outcome = QString::fromStdString(std::string(model::error_name(m)));
  } else {
    const index::Outcome& outcome = c.outcomes[answer->outcome];
    shown.fate = answer->outcome == 0 || outcome.ok() ? CallFate::kOk : CallFate::kError;
    shown.outcome = QString::fromStdString(outcome.text);
  }
  if (const index::CallDetail* const d = c.detail(row)) {
    shown.parts = d->parts;
    for (std::size_t i = 0; i < shown.part.size(); ++i) shown.part[i] = d->part[i].ns();
  }
  return shown;
}

}  // namespace

CallsModel::CallsModel(Document& document, CallList& list, QObject* parent)
    : QAbstractTableModel(parent), document_(document), list_(list) {
  connect(&list_, &CallList::growing, this, [this](qsizetype place, qsizetype count) {
    const int first = static_cast<int>(std::min<qsizetype>(place, INT_MAX - 1));
    beginInsertRows({}, first, static_cast<int>(std::min<qsizetype>(first + count, INT_MAX) - 1));
  });
  connect(&list_, &CallList::grown, this, [this] { endInsertRows(); });
  connect(&list_, &CallList::replacing, this, [this] { beginResetModel(); });
  connect(&list_, &CallList::replaced, this, [this] { endResetModel(); });
}

int CallsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(std::min<std::size_t>(list_.size(), INT_MAX));
}

int CallsModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kCallColumns;
}

CallRow CallsModel::call(int row) const {
  if (row < 0) return {};
  const std::uint64_t id = list_.at(static_cast<std::size_t>(row));
  CallRow shown =
      document_.store().read([id](const index::Content& c) { return read_call(c, id); });
  if (shown.latency_ns >= 0) {
    const auto limits = limits_.constFind(shown.procedure);
    if (limits != limits_.cend()) {
      shown.slowness = shown.latency_ns > limits->p99 ? 2 : shown.latency_ns > limits->p90 ? 1 : 0;
    }
    // Without a scale a bar would say something.
    if (longest_ns_ == 0) return shown;
    const double most = std::log(std::max(10.0, static_cast<double>(longest_ns_) / kShortestNs));
    const double own = std::max(1.0, static_cast<double>(shown.latency_ns) / kShortestNs);
    shown.length = std::clamp(std::log(own) / most, 0.01, 1.0);
  }
  return shown;
}

void CallsModel::note_latencies() {
  limits_.clear();
  longest_ns_ = p50_ = p99_ = 0;
  struct Read {
    QString label;
    base::Histogram total;
  };
  base::Histogram all;
  document_.store().read([&](const index::Content& c) {
    for (const auto& [key, times] : c.times) {
      if (times.total.count() == 0) continue;
      limits_.insert(QString::fromStdString(times.label),
                     {times.total.quantile(0.9), times.total.quantile(0.99)});
      longest_ns_ = std::max(longest_ns_, times.total.max());
      all.merge(times.total);
    }
  });
  if (all.count() == 0) return;
  p50_ = all.quantile(0.5);
  p99_ = all.quantile(0.99);
}

QString CallsModel::totals() const {
  const QString count = list_.size() == 1 ? tr("1 Call") : tr("%L1 Calls").arg(list_.size());
  if (longest_ns_ == 0) return count;
  return tr("%1; of all: p50 %2, p99 %3, the slowest %4")
      .arg(count, duration(p50_), duration(p99_), duration(longest_ns_));
}

QString CallsModel::part_name(index::CallDetail::Parts parts, std::size_t part) {
  using Parts = index::CallDetail::Parts;
  switch (parts) {
    case Parts::kPackets: {
      const QString names[] = {tr("until the first RDMA operation"), tr("moving data"),
                               tr("until the Reply")};
      return names[part];
    }
    case Parts::kRequester: {
      const QString names[] = {tr("waiting for a credit"), tr("until sent"), tr("until the Reply")};
      return names[part];
    }
    case Parts::kResponder: {
      const QString names[] = {tr("reading Read chunks"), tr("in the server"), QString()};
      return names[part];
    }
    case Parts::kNone:
      break;
  }
  return {};
}

QString CallsModel::parts_text(const CallRow& row) {
  QStringList parts;
  for (std::size_t i = 0; i < row.part.size(); ++i) {
    if (row.part[i] < 0) continue;
    parts << part_name(row.parts, i) + " " + duration(row.part[i]);
  }
  return parts.join(", ");
}

QString CallsModel::text(const CallRow& row, CallColumn column) const {
  switch (column) {
    case CallColumn::kStatus:
      switch (row.fate) {
        case CallFate::kOk:
          return row.outcome.isEmpty() ? tr("answered") : row.outcome;
        case CallFate::kError:
          return row.outcome;
        case CallFate::kUnanswered:
          return tr("no Reply");
        case CallFate::kInFlight:
          return tr("in flight");
      }
      return {};
    case CallColumn::kTime:
      return document_.time_text(row.time_ns);
    case CallColumn::kConnection:
      return QString::number(row.connection);
    case CallColumn::kCall: {
      const QString what = row.request.isEmpty() ? tr("not known") : one_line(row.request);
      return row.reverse ? tr("reverse: %1").arg(what) : what;
    }
    case CallColumn::kUp:
      return size_text(row.up);
    case CallColumn::kDown:
      return size_text(row.down);
    case CallColumn::kLatency:
      return duration(row.latency_ns);
    case CallColumn::kParts:
      return parts_text(row);
    case CallColumn::kOperations:
      return row.operations == 0 ? QString() : QString::number(row.operations);
    case CallColumn::kXid:
      return QString("0x%1").arg(row.xid, 8, 16, QChar('0'));
  }
  return {};
}

QString CallsModel::help(const CallRow& row) const {
  QStringList lines;
  lines << (row.procedure.isEmpty() ? tr("Procedure not known") : row.procedure) + ", " +
               text(row, CallColumn::kXid);
  if (!row.request.isEmpty()) lines << row.request;
  lines << text(row, CallColumn::kStatus);
  if (row.latency_ns >= 0) {
    QString line = tr("%1 from the Call to its Reply").arg(duration(row.latency_ns));
    if (row.slowness == 2) line += tr(", slower than 99 % of its procedure");
    if (row.slowness == 1) line += tr(", slower than 90 % of its procedure");
    lines << line;
  }
  const QString parts = parts_text(row);
  if (!parts.isEmpty()) lines << parts;
  return lines.join('\n');
}

QVariant CallsModel::data(const QModelIndex& at, int role) const {
  if (!at.isValid()) return {};
  const auto column = static_cast<CallColumn>(at.column());
  switch (role) {
    case Qt::DisplayRole:
      return text(call(at.row()), column);
    case Qt::ToolTipRole:
      return tool_tip(help(call(at.row())));
    case Qt::TextAlignmentRole:
      return QVariant::fromValue(Qt::AlignVCenter |
                                 (kCallSpecs[static_cast<std::size_t>(at.column())].right
                                      ? Qt::AlignRight
                                      : Qt::AlignLeft));
    default:
      return {};
  }
}

QVariant CallsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kCallColumns) return {};
  const CallColumnSpec& spec = kCallSpecs[static_cast<std::size_t>(section)];
  switch (role) {
    case Qt::DisplayRole:
      return tr(spec.title);
    case Qt::ToolTipRole:
      return tool_tip(tr(spec.help));
    case Qt::TextAlignmentRole:
      return QVariant::fromValue(Qt::AlignVCenter | (spec.right ? Qt::AlignRight : Qt::AlignLeft));
    default:
      return {};
  }
}

void CallsModel::sort(int column, Qt::SortOrder order) {
  const bool descending = order == Qt::DescendingOrder;
  if (column == static_cast<int>(CallColumn::kTime)) {
    list_.set_order(descending ? CallList::Order::kNewestFirst : CallList::Order::kOldestFirst);
  } else if (column == static_cast<int>(CallColumn::kLatency)) {
    list_.set_order(descending ? CallList::Order::kSlowestFirst : CallList::Order::kFastestFirst);
  }
}

}  // namespace rpcrdma::gui
