// The text of each cell in the list of connections.
#include "connections_model.h"

#include "colours.h"

#include <QGuiApplication>
#include <array>
#include <set>

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
  kTransport,
  kSource,
  kVersion,
  kThresholds,
  kInvalidation,
  kState,
  kCalls,
  kReverse,
  kUnanswered,
  kCallRate,
  kCredits,
  kBytes,
  kByteRate,
  kAgain,
  kCongestion,
  kFindings,
  kTunnels,
  kTitles,
};

constexpr std::array<Title, kTitles> kTitle{{
    {"Conn.", "Number of the connection, as in reports"},
    {"Client", "Address and QP of the client; if unknown, of the side that sent the first Call"},
    {"Server", "Address and QP of the server"},
    {"Transport", "Transport of its packets; for events, the endpoint's provider"},
    {"Seen",
     "Source of the data: packets, with or without the connection's set-up, or an endpoint; and "
     "how "
     "many other files show the same connection"},
    {"Version", "RPC-over-RDMA version; for version 2, the dialect"},
    {"Inline", "Inline thresholds for Calls and for Replies, bytes"},
    {"Remote inv.", "Sides that announce support for Remote Invalidation"},
    {"State", "Open, or how it ended"},
    {"Calls", "Forward Calls"},
    {"Reverse", "Calls sent by the server"},
    {"Unanswered", "Calls without a Reply"},
    {"Calls/s", "Calls per second, averaged over the time it was seen"},
    {"Credits", "Forward direction: requested, granted (minimum to maximum), maximum in use"},
    {"Chunks", "Bytes moved through chunks"},
    {"Chunks/s", "Bytes moved through chunks per second, on average"},
    {"Retransmitted", "Retransmitted packets; NAKs and RNR NAKs"},
    {"Congestion",
     "Packets of the client and of the server that switches marked CE; CNPs that they sent"},
    {"Findings", "Errors, warnings and notes"},
    {"Tunnels", "Encapsulations around its packets, their keys and outer addresses"},
}};

// "CE 10, 10; CNP 0, 10": of the client, of the server. Empty if there are none.
QString congestion_text(const std::array<index::ConnectionInfo::Signals, 2>& by_end) {
  const auto pair = [](const char* name, quint64 client, quint64 server) {
    return client + server == 0 ? QString()
                                : QString("%1 %2, %3").arg(name).arg(client).arg(server);
  };
  QStringList both{pair("CE", by_end[0].marked, by_end[1].marked),
                   pair("CNP", by_end[0].cnps, by_end[1].cnps)};
  both.removeAll(QString());
  return both.join("; ");
}

QString version_text(const index::ConnectionInfo& c) {
  if (c.version == 0) return QString();
  QString text = QString::number(c.version);
  if (c.version >= 2 && c.dialect != wire::Dialect::kDraft02) {
    text += QString(" (%1)").arg(wire::dialect_name(c.dialect));
  }
  return text;
}

QString state_text(const index::ConnectionInfo& c, bool peer_gone) {
  if (c.endpoint_ended) return "gone: its endpoint ended without closing it";
  if (peer_gone && c.state < roce::State::kRejected) return "peer gone: its endpoint ended";
  QString text = report::state_name(c.state);
  if (!c.ended.empty()) text += ": " + QString::fromStdString(c.ended);
  return text;
}

}  // namespace

QString ConnectionsModel::text(const Row& row, int column) {
  const index::ConnectionInfo& c = row.info;
  const double calls = row.calls_per_second;
  const double bytes = row.bytes_per_second;
  const model::CallerCounts& f = c.direction[0];
  const model::CallerCounts& r = c.direction[1];
  switch (column) {
    case kId:
      return QString::number(c.id);
    case kClient:
      return QString::fromStdString(c.end[0]);
    case kServer:
      return QString::fromStdString(c.end[1]);
    case kTransport:
      return c.transport;
    case kSource: {
      QString seen = c.recorded      ? "reported by its endpoint"
                     : c.set_up_seen ? "from set-up"
                                     : "mid-stream start";
      if (!c.views.empty()) seen += QString(", and by %1 more").arg(c.views.size());
      return seen;
    }
    case kVersion:
      return version_text(c);
    case kThresholds:
      if (c.thresholds.call == 0 && c.thresholds.reply == 0) return QString();
      return QString("%1 / %2").arg(c.thresholds.call).arg(c.thresholds.reply);
    case kInvalidation:
      return QString::fromStdString(c.invalidation);
    case kState:
      return state_text(c, row.peer_gone);
    case kCalls:
      return QString::number(f.calls);
    case kReverse:
      return QString::number(r.calls);
    case kUnanswered:
      return QString::number(f.unmatched_calls + r.unmatched_calls);
    case kCallRate:
      return QString::number(calls, 'f', calls < 10 ? 1 : 0);
    case kCredits:
      return QString("%1, %2 to %3, %4")
          .arg(f.requested_max)
          .arg(f.granted_min)
          .arg(f.granted_max)
          .arg(f.in_use_max);
    case kBytes:
      return QString::fromStdString(
          report::format_bytes(c.chunk_bytes[0] + c.chunk_bytes[1] + c.chunk_bytes[2]));
    case kByteRate:
      return QString::fromStdString(report::format_bytes(static_cast<std::uint64_t>(bytes))) + "/s";
    case kAgain:
      return QString("%1, %2").arg(c.retransmitted).arg(c.refused);
    case kCongestion:
      return congestion_text(c.signals);
    case kTunnels:
      return QString::fromStdString(c.tunnels);
    case kFindings:
      return QString("%1, %2, %3").arg(c.findings[0]).arg(c.findings[1]).arg(c.findings[2]);
    default:
      return {};
  }
}

ConnectionsModel::ConnectionsModel(Document& document, QObject* parent)
    : QAbstractTableModel(parent), document_(document) {
  connect(&document_, &Document::changed, this, &ConnectionsModel::update);
  connect(&document_, &Document::reset, this, [this] {
    beginResetModel();
    rows_.clear();
    endResetModel();
  });
  update();
}

void ConnectionsModel::update() {
  std::vector<Row> now;
  std::set<std::array<std::string, 2>> gone;  // ends that their endpoint did not close
  document_.store().read([&](const index::Content& c) {
    for (std::uint32_t i = 0; i < c.connections.size(); ++i) {
      const index::ConnectionInfo& info = c.connections[i];
      if (info.id == 0 || c.canonical(i) != i) continue;
      Row row{.index = i, .info = info};
      const double seconds = static_cast<double>(info.last_ns - info.first_ns) / 1e9;
      if (seconds > 0) {
        row.calls_per_second =
            static_cast<double>(info.direction[0].calls + info.direction[1].calls) / seconds;
        row.bytes_per_second =
            static_cast<double>(info.chunk_bytes[0] + info.chunk_bytes[1] + info.chunk_bytes[2]) /
            seconds;
      }
      if (info.endpoint_ended) gone.insert(info.end);
      now.push_back(std::move(row));
    }
  });
  for (Row& row : now) row.peer_gone = !row.info.endpoint_ended && gone.contains(row.info.end);
  const auto same = [](const Row& a, const Row& b) { return a.index == b.index; };
  if (now.size() >= rows_.size() && std::equal(rows_.begin(), rows_.end(), now.begin(), same)) {
    const int old = static_cast<int>(rows_.size());
    if (now.size() > rows_.size()) {
      beginInsertRows({}, old, static_cast<int>(now.size()) - 1);
      rows_ = std::move(now);
      endInsertRows();
    } else {
      rows_ = std::move(now);
    }
    if (old != 0) Q_EMIT dataChanged(index(0, 0), index(old - 1, kTitles - 1));
    return;
  }
  beginResetModel();
  rows_ = std::move(now);
  endResetModel();
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
    if (role == Qt::ToolTipRole && at.column() == kSource) {
      for (const std::string& view : row.info.views) shown += "; " + QString::fromStdString(view);
    }
    return role == Qt::ToolTipRole ? tool_tip(shown) : one_line(shown);
  }
  if (role == Qt::ForegroundRole && at.column() == kFindings) {
    for (std::uint8_t s = 0; s < 3; ++s) {
      if (row.info.findings[s] != 0)
        return severity_colour(QGuiApplication::palette(), static_cast<int>(s));
    }
  }
  if (role == Qt::TextAlignmentRole) {
    const bool right = at.column() == kId || (at.column() >= kCalls && at.column() <= kCallRate);
    return static_cast<int>(Qt::AlignVCenter | (right ? Qt::AlignRight : Qt::AlignLeft));
  }
  return {};
}

QVariant ConnectionsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kTitles) return {};
  if (role == Qt::DisplayRole) return tr(kTitle[static_cast<std::size_t>(section)].title);
  if (role == Qt::ToolTipRole) return tr(kTitle[static_cast<std::size_t>(section)].help);
  return {};
}

}  // namespace rpcrdma::gui
