// The columns of the message table: headings, tooltips, widths, and the text of each cell.
#include "columns.h"

#include "kind_text.h"

#include <array>

#include <fmt/core.h>

#include <rpcrdma/report/context.h>
#include <rpcrdma/rules/finding.h>

namespace rpcrdma::gui {

namespace {

constexpr std::array<ColumnSpec, 23> kColumns{{
    {Column::kFrame, "Frame", "Number of the last frame of its Send", 6, true, true},
    {Column::kTime, "Time", "Time of the last frame of its Send", 11, true, true},
    {Column::kConnection, "Conn.", "Number of the connection, as in reports", 4, true, true},
    {Column::kSource, "Source", "Address and QP of the sender", 18, false, false},
    {Column::kDestination, "Destination", "Address and QP of the receiver", 18, false, false},
    {Column::kKind, "Kind", "Call, Reply or error, and the direction", 6, false, true},
    {Column::kXid, "XID", "Transaction ID", 10, false, true},
    {Column::kType, "Type", "rdma_proc", 12, false, false},
    {Column::kCredit, "Credit", "rdma_credit: requested by a Call, granted by a Reply", 6, true,
     false},
    {Column::kRequested, "Requested", "Credits requested by the latest Call of its direction", 9,
     true, false},
    {Column::kGranted, "Granted", "Credits granted by the latest Reply of its direction", 8, true,
     false},
    {Column::kInUse, "In use", "Calls of its direction in flight after it", 6, true, false},
    {Column::kLength, "Length", "Length of the Send, bytes", 6, true, true},
    {Column::kReadBytes, "Read list", "Bytes advertised by its Read list", 9, true, false},
    {Column::kWriteBytes, "Write list", "Bytes advertised or returned by its Write list", 9, true,
     false},
    {Column::kReplyBytes, "Reply chunk", "Bytes of its Reply chunk", 10, true, false},
    {Column::kMoved, "Moved", "Bytes moved through the chunks of its Call", 9, true, false},
    {Column::kOperations, "RDMA ops", "RDMA Reads and Writes of its Call", 8, true, false},
    {Column::kLatency, "Latency", "Time from the Call to its Reply", 7, true, true},
    {Column::kProcedure, "Procedure", "Program, version and procedure", 22, false, false},
    {Column::kStatus, "Status", "How the RPC ended", 14, false, false},
    {Column::kFinding, "Finding", "Rules that it violates", 8, false, true},
    {Column::kInfo, "Info", "The message in one line", 30, false, true},
}};

QString number(std::uint64_t n) {
  return QString::number(n);
}

QString amount(std::uint32_t bytes, std::uint32_t parts) {
  return parts == 0 ? QString() : number(bytes);
}

QString since(const index::MessageRow& row, const index::MessageRow* before) {
  return time_text(row.time_ns, before == nullptr ? row.time_ns : before->time_ns,
                   TimeFormat::kRelative);
}

QString findings(const index::Content& content, std::uint64_t id) {
  QString text;
  const auto [begin, end] = content.kinds_of.equal_range(id);
  for (auto it = begin; it != end; ++it) {
    const QString name = content.kinds[it->second].rule->name;
    if (text.split(", ").contains(name)) continue;
    text += (text.isEmpty() ? "" : ", ") + name;
  }
  return text;
}

}  // namespace

std::span<const ColumnSpec> columns() {
  return kColumns;
}

QString cell(const index::Content& content, std::uint64_t id, Column column, TimeFormat time,
             std::int64_t origin_ns, const index::MessageRow* before) {
  if (id == 0 || id > content.rows.size()) return {};
  const index::MessageRow& row = content.rows[id - 1];
  switch (column) {
    case Column::kFrame:
      return number(row.frame);
    case Column::kTime:
      return time == TimeFormat::kDelta ? since(row, before)
                                        : time_text(row.time_ns, origin_ns, time);
    case Column::kConnection:
      return number(content.connection_id(row.connection));
    case Column::kSource:
    case Column::kDestination: {
      const index::ConnectionInfo* const c = content.connection(row.connection);
      if (c == nullptr) return {};
      const std::size_t sender = content.sender(row);
      return QString::fromStdString(c->end[column == Column::kSource ? sender : 1 - sender]);
    }
    case Column::kKind:
      return kind_text(row.kind, content.reverse(row));
    case Column::kXid:
      return QString("0x%1").arg(row.xid, 8, 16, QChar('0'));
    case Column::kType: {
      model::Message m;
      m.kind = row.kind;
      m.version = row.version;
      m.proc = row.proc;
      m.dialect = row.dialect;
      return model::type_name(m);
    }
    case Column::kCredit:
      return row.is(index::MessageRow::kNoCredit) ? QString() : number(row.credit);
    case Column::kRequested:
      return row.is(index::MessageRow::kNoRequested) ? QString() : number(row.requested);
    case Column::kGranted:
      return row.is(index::MessageRow::kNoGranted) ? QString() : number(row.granted);
    case Column::kInUse:
      return number(row.in_use);
    case Column::kLength:
      return row.is(index::MessageRow::kNoLength) ? QString() : number(row.length);
    case Column::kReadBytes:
      return amount(row.read_bytes, row.read_segments);
    case Column::kWriteBytes:
      return amount(row.write_bytes, row.write_chunks);
    case Column::kReplyBytes:
      return row.is(index::MessageRow::kReplyChunk) ? number(row.reply_bytes) : QString();
    case Column::kMoved:
      return row.moved == 0 ? QString() : number(row.moved);
    case Column::kOperations:
      return row.operations == 0 ? QString() : number(row.operations);
    case Column::kLatency:
      return row.latency_ns < 0 ? QString()
                                : QString::fromStdString(report::format_duration(row.latency_ns));
    case Column::kProcedure:
      return row.procedure == 0 ? QString()
                                : QString::fromStdString(content.procedures[row.procedure].label);
    case Column::kStatus:
      return row.outcome == 0 ? QString()
                              : QString::fromStdString(content.outcomes[row.outcome].text);
    case Column::kFinding:
      return row.worst == index::MessageRow::kNothingFound ? QString() : findings(content, id);
    case Column::kInfo:
      return QString::fromStdString(content.summary(row));
  }
  return {};
}

}  // namespace rpcrdma::gui
