// The text of each cell in the list of connections.
#include "connections_model.h"

#include "colours.h"

#include <QGuiApplication>
#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/report/context.h>
#include <rpcrdma/report/report.h>

namespace rpcrdma::gui {

namespace {

struct Title {
  const char* title;
  const char* help;
};

enum : int {
  kId,
  kClient,
  kServer,
  kView,
  kState,
  kErrors,
  kWarnings,
  kCalls,
  kCallRate,
  kUnanswered,
  kAgain,
  kRefused,
  kGranted,
  kInUse,
  kBytes,
  kByteRate,
  kReverse,
  kRequested,
  kLeastGranted,
  kNotes,
  kCallThreshold,
  kReplyThreshold,
  kVersion,
  kTransport,
  kStart,
  kInvalidation,
  kMarkedClient,
  kMarkedServer,
  kCnpsClient,
  kCnpsServer,
  kTunnels,
  kTitles,
};

constexpr std::array<Title, kTitles> kTitle{{
    {"Conn.", "Number of the connection, as in reports"},
    {"Client", "Address and QP of the client; if unknown, of the side that sent the first Call"},
    {"Server", "Address and QP of the server"},
    {"View",
     "Who shows it: the packets, or the endpoint of the client or of the server; all times "
     "and latencies are as seen there"},
    {"State", "Open, or how it ended"},
    {"Errors", "Findings that are errors"},
    {"Warnings", "Findings that are warnings"},
    {"Calls", "Forward Calls"},
    {"Calls/s", ""},
    {"Unanswered", "Calls without a Reply, of both sides"},
    {"Retransmitted", "Packets sent again"},
    {"NAKs", "NAKs and RNR NAKs"},
    {"Granted", "Forward direction: the most credits granted"},
    {"In use", "Forward direction: the most credits in use"},
    {"Chunk bytes", "Bytes moved through chunks"},
    {"Chunk bytes/s", ""},
    {"Reverse Calls", "Calls sent by the server"},
    {"Requested", "Forward direction: the most credits requested"},
    {"Least granted", "Forward direction: the fewest credits granted"},
    {"Notes", "Findings that are notes"},
    {"Inline Call", "Inline threshold for Calls, bytes"},
    {"Inline Reply", "Inline threshold for Replies, bytes"},
    {"Version", "RPC-over-RDMA version; for version 2, the dialect"},
    {"Transport", "Transport of its packets; for events, the endpoint's provider"},
    {"Start", "Whether its set-up was seen"},
    {"Remote inv.", "Sides that announce support for Remote Invalidation"},
    {"CE client", "Packets of the client that switches marked CE"},
    {"CE server", "Packets of the server that switches marked CE"},
    {"CNPs client", "CNPs that the client sent"},
    {"CNPs server", "CNPs that the server sent"},
    {"Tunnels", "Encapsulations around its packets, their keys and outer addresses"},
}};

QString version_text(const index::ConnectionInfo& c) {
  if (c.version == 0) return QString();
  QString text = QString::number(c.version);
  if (c.version >= 2 && c.dialect != wire::Dialect::kDraft02) {
    text += QString(" (%1)").arg(wire::dialect_name(c.dialect));
  }
  return text;
}

QString state_text(const index::ConnectionInfo& c, bool peer_gone) {
  if (c.endpoint_ended && c.peer_ended) return ConnectionsModel::tr("gone: both endpoints ended");
  if (c.endpoint_ended) {
    return ConnectionsModel::tr("gone: its endpoint ended without closing it");
  }
  if ((peer_gone || c.peer_ended) && c.state < roce::State::kRejected) {
    return ConnectionsModel::tr("peer gone: its endpoint ended");
  }
  QString text = report::state_name(c.state);
  if (!c.ended.empty()) text += ": " + QString::fromStdString(c.ended);
  return text;
}

}  // namespace

bool ConnectionsModel::is_number(int column) {
  switch (column) {
    case kClient:
    case kServer:
    case kView:
    case kState:
    case kVersion:
    case kTransport:
    case kStart:
    case kInvalidation:
    case kTunnels:
      return false;
    default:
      return true;
  }
}

double ConnectionsModel::number(const Row& row, int column) {
  const index::ConnectionInfo& c = row.info;
  const model::CallerCounts& f = c.direction[0];
  const model::CallerCounts& r = c.direction[1];
  const auto of = [](std::uint64_t n) { return static_cast<double>(n); };
  switch (column) {
    case kId:
      return of(c.id);
    case kErrors:
      return of(c.findings[0]);
    case kWarnings:
      return of(c.findings[1]);
    case kNotes:
      return of(c.findings[2]);
    case kCalls:
      return of(f.calls);
    case kReverse:
      return of(r.calls);
    case kUnanswered:
      return of(f.unmatched_calls + r.unmatched_calls);
    case kCallRate:
      return row.calls_per_second;
    case kByteRate:
      return row.bytes_per_second;
    case kAgain:
      return of(c.retransmitted);
    case kRefused:
      return of(c.refused);
    case kRequested:
      return of(f.requested_max);
    case kGranted:
      return of(f.granted_max);
    case kLeastGranted:
      return of(f.granted_min);
    case kInUse:
      return of(f.in_use_max);
    case kBytes:
      return of(c.chunk_bytes[0] + c.chunk_bytes[1] + c.chunk_bytes[2]);
    case kCallThreshold:
      return of(c.thresholds.call);
    case kReplyThreshold:
      return of(c.thresholds.reply);
    case kMarkedClient:
      return of(c.signals[0].marked);
    case kMarkedServer:
      return of(c.signals[1].marked);
    case kCnpsClient:
      return of(c.signals[0].cnps);
    case kCnpsServer:
      return of(c.signals[1].cnps);
    default:
      return 0;
  }
}

QString ConnectionsModel::text(const Row& row, int column) {
  const index::ConnectionInfo& c = row.info;
  const auto bytes = [](double n) {
    return QString::fromStdString(report::format_bytes(static_cast<std::uint64_t>(n)));
  };
  switch (column) {
    case kClient:
      return QString::fromStdString(c.end[0]);
    case kServer:
      return QString::fromStdString(c.end[1]);
    case kView: {
      QString seen = tr(index::observer_name(c.observer));
      if (!c.other_observers.empty()) seen += QString(" +%1").arg(c.other_observers.size());
      return seen;
    }
    case kState:
      return state_text(c, row.peer_gone);
    case kVersion:
      return version_text(c);
    case kTransport:
      return c.transport;
    case kStart:
      return c.set_up_seen ? tr("set-up seen") : tr("mid-stream");
    case kInvalidation:
      return QString::fromStdString(c.invalidation);
    case kTunnels:
      return QString::fromStdString(c.tunnels);
    case kCallRate:
      return QString::number(row.calls_per_second, 'f', row.calls_per_second < 10 ? 1 : 0);
    case kBytes:
      return bytes(number(row, column));
    case kByteRate:
      return bytes(row.bytes_per_second) + "/s";
    case kCallThreshold:
    case kReplyThreshold:
      if (number(row, column) == 0) return {};  // not known
      break;
    default:
      break;
  }
  return QString::number(number(row, column), 'f', 0);
}

ConnectionsModel::ConnectionsModel(Document& document, QObject* parent)
    : QAbstractTableModel(parent), document_(document) {
  clock_.start();
  timer_.setInterval(std::chrono::seconds(1));
  connect(&timer_, &QTimer::timeout, this, &ConnectionsModel::update);
  connect(&document_, &Document::changed, this, &ConnectionsModel::update);
  connect(&document_, &Document::reset, this, [this] {
    beginResetModel();
    rows_.clear();
    samples_.clear();
    endResetModel();
  });
  update();
}

// Of the last seconds if the document grows, otherwise of the whole time.
void ConnectionsModel::rate(Row& row, qint64 now_ms) {
  constexpr qint64 kApartMs = 1000;
  const index::ConnectionInfo& info = row.info;
  const std::uint64_t calls = info.direction[0].calls + info.direction[1].calls;
  const std::uint64_t bytes = info.chunk_bytes[0] + info.chunk_bytes[1] + info.chunk_bytes[2];
  if (!lately_) {
    const double seconds = static_cast<double>(info.last_ns - info.first_ns) / 1e9;
    if (seconds <= 0) return;
    row.calls_per_second = static_cast<double>(calls) / seconds;
    row.bytes_per_second = static_cast<double>(bytes) / seconds;
    return;
  }
  Samples& s = samples_[row.index];
  const std::size_t kept = std::min(s.count, Samples::kMost);
  if (kept != 0) {
    const Sample& first = s.ring[(s.count - kept) % Samples::kMost];
    const double seconds = static_cast<double>(now_ms - first.at_ms) / 1e3;
    if (seconds > 0.2) {
      row.calls_per_second = static_cast<double>(calls - std::min(calls, first.calls)) / seconds;
      row.bytes_per_second = static_cast<double>(bytes - std::min(bytes, first.bytes)) / seconds;
    }
    if (now_ms - s.ring[(s.count - 1) % Samples::kMost].at_ms < kApartMs) return;
  }
  s.ring[s.count++ % Samples::kMost] = {now_ms, calls, bytes};
}

void ConnectionsModel::update() {
  std::vector<Row> now;
  std::set<std::array<std::string, 2>> gone;  // ends that their endpoint did not close
  bool lately = false;
  document_.store().read([&](const index::Content& c) {
    lately = document_.is_live() && !c.progress.finished;
    for (std::uint32_t i = 0; i < c.connections.size(); ++i) {
      const index::ConnectionInfo& info = c.connections[i];
      if (info.id == 0 || c.canonical(i) != i) continue;
      if (info.endpoint_ended) gone.insert(info.end);
      now.push_back({.index = i, .info = info});
    }
  });
  if (std::exchange(lately_, lately) != lately) {
    lately_ ? timer_.start() : timer_.stop();
    Q_EMIT headerDataChanged(Qt::Horizontal, 0, kTitles - 1);
  }
  const qint64 ms = clock_.elapsed();
  for (Row& row : now) {
    row.peer_gone = !row.info.endpoint_ended && gone.contains(row.info.end);
    rate(row, ms);
  }
  order(now);
  take(std::move(now));
}

void ConnectionsModel::take(std::vector<Row> now) {
  const auto same = [](const Row& a, const Row& b) { return a.index == b.index; };
  const bool as_before = std::equal(rows_.begin(), rows_.end(), now.begin(), now.end(), same);
  if (as_before) {
    rows_ = std::move(now);
    if (!rows_.empty()) Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, kTitles - 1));
    return;
  }
  if (now.size() < rows_.size() || rows_.empty()) {
    beginResetModel();
    rows_ = std::move(now);
    endResetModel();
    return;
  }
  // The view keeps its selection where rows move.
  if (const auto more = static_cast<int>(now.size() - rows_.size()); more != 0) {
    beginInsertRows({}, rowCount(), rowCount() + more - 1);
    std::set<std::uint32_t> old;
    for (const Row& row : rows_) old.insert(row.index);
    for (const Row& row : now) {
      if (!old.contains(row.index)) rows_.push_back(row);
    }
    endInsertRows();
  }
  Q_EMIT layoutAboutToBeChanged();
  const QModelIndexList before = persistentIndexList();
  std::vector<std::uint32_t> at;
  at.reserve(static_cast<std::size_t>(before.size()));
  for (const QModelIndex& i : before) at.push_back(index_of(i.row()));
  rows_ = std::move(now);
  QModelIndexList after;
  for (qsizetype i = 0; i < before.size(); ++i) {
    after << index(row_of(at[static_cast<std::size_t>(i)]), before[i].column());
  }
  changePersistentIndexList(before, after);
  Q_EMIT layoutChanged();
}

void ConnectionsModel::order(std::vector<Row>& rows) const {
  if (sort_column_ < 0) {
    const auto trouble = [](const Row& row) {
      return std::tuple(number(row, kErrors), number(row, kWarnings), number(row, kUnanswered),
                        number(row, kAgain));
    };
    std::stable_sort(rows.begin(), rows.end(),
                     [&](const Row& a, const Row& b) { return trouble(a) > trouble(b); });
    return;
  }
  const int column = sort_column_;
  const auto less = [column](const Row& a, const Row& b) {
    if (is_number(column)) return number(a, column) < number(b, column);
    return text(a, column) < text(b, column);
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    return sort_order_ == Qt::AscendingOrder ? less(a, b) : less(b, a);
  });
}

void ConnectionsModel::sort(int column, Qt::SortOrder order_wanted) {
  sort_column_ = column;
  sort_order_ = order_wanted;
  std::vector<Row> now = rows_;
  order(now);
  take(std::move(now));
}

int ConnectionsModel::row_of(std::uint32_t wanted) const {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].index == wanted) return static_cast<int>(i);
  }
  return -1;
}

int ConnectionsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}
int ConnectionsModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kTitles;
}

QVariant ConnectionsModel::data(const QModelIndex& at, int role) const {
  if (!at.isValid() || at.row() >= rowCount()) return {};
  const Row& row = rows_[static_cast<std::size_t>(at.row())];
  if (role == Qt::DisplayRole || role == Qt::ToolTipRole) {
    QString shown = text(row, at.column());
    if (role == Qt::ToolTipRole && at.column() == kView) {
      for (const std::string& view : row.info.views) shown += "; " + QString::fromStdString(view);
    }
    return role == Qt::ToolTipRole ? tool_tip(shown) : one_line(shown);
  }
  if (role == Qt::ForegroundRole && (at.column() == kErrors || at.column() == kWarnings)) {
    const int severity = at.column() == kErrors ? 0 : 1;
    if (row.info.findings[static_cast<std::size_t>(severity)] != 0) {
      return severity_colour(QGuiApplication::palette(), severity);
    }
  }
  if (role == Qt::TextAlignmentRole) {
    return static_cast<int>(Qt::AlignVCenter |
                            (is_number(at.column()) ? Qt::AlignRight : Qt::AlignLeft));
  }
  return {};
}

QVariant ConnectionsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kTitles) return {};
  if (role == Qt::DisplayRole) {
    const QString title = tr(kTitle[static_cast<std::size_t>(section)].title);
    if (section != kCallRate && section != kByteRate) return title;
    return lately_ ? tr("%1, last 5 s").arg(title) : tr("%1, mean").arg(title);
  }
  if (role == Qt::ToolTipRole && (section == kCallRate || section == kByteRate)) {
    return lately_ ? tr("Of the last 5 seconds") : tr("Mean over the time in which it was seen");
  }
  if (role == Qt::ToolTipRole) return tr(kTitle[static_cast<std::size_t>(section)].help);
  return {};
}

}  // namespace rpcrdma::gui
