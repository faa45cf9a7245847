// Tables of connections and their parameters (-z rpcrdma,connections), and of bytes moved through
// chunks (-z rpcrdma,chunks).
#include "plugin.h"
#include "statistics.h"

namespace rpcrdma::wireshark {

namespace {

using annotations::ConnectionRow;

std::string version_of(const ConnectionRow& c) {
  if (c.version == 0) return "-";
  std::string text = std::to_string(c.version);
  if (c.version == 2) text += std::string(" (") + wire::dialect_name(c.dialect) + ")";
  return text;
}

void put_connection(stat_tap_table* table, TableRows& rows, const ConnectionRow& c) {
  put_row(table, rows, c.id,
          {cell(c.id), cell(c.client), cell(c.server), cell(version_of(c)),
           cell(std::string(c.set_up_seen ? "seen" : "before the capture")), cell(c.private_data),
           cell(c.invalidation), cell(c.threshold_call), cell(c.threshold_reply), cell(c.calls),
           cell(c.reverse_calls), cell(c.replies), cell(c.errors), cell(c.unanswered),
           cell(c.requested), cell(c.granted_min), cell(c.granted_max), cell(c.in_use_max)});
}

void put_chunks(stat_tap_table* table, TableRows& rows, const ConnectionRow& c) {
  put_row(table, rows, c.id,
          {cell(c.id), cell(c.inline_bytes), cell(c.chunks[0]), cell(c.chunk_bytes[0]),
           cell(c.chunks[1]), cell(c.chunk_bytes[1]), cell(c.chunks[2]), cell(c.chunk_bytes[2]),
           cell(c.unmatched_operations)});
}

using Put = void (*)(stat_tap_table*, TableRows&, const ConnectionRow&);

// While Wireshark reads a capture, connections change with every message, and an open window is
// updated for each change; tshark prints the final table.
template <Put kPut>
void put_of_frame(stat_tap_table* table, TableRows& rows, const Tapped& tapped) {
  if (tapped.note == nullptr || tapped.note->connection == 0) return;
  const std::uint32_t id = tapped.note->connection;
  const bool known = rows.row.count(id) != 0;
  if (known && (tapped.session->finished() || tapped.note->message == 0)) return;
  if (known && is_tshark()) return;
  const ConnectionRow* const c = tapped.session->connection(id);
  if (c != nullptr) kPut(table, rows, *c);
}

template <Put kPut>
void put_all(stat_tap_table* table, TableRows& rows) {
  const annotations::Session* const s = session();
  if (s == nullptr) return;
  std::vector<std::uint64_t> ids;
  for (const auto& [id, row] : rows.row) ids.push_back(id);
  for (const std::uint64_t id : ids) {
    const ConnectionRow* const c = s->connection(static_cast<std::uint32_t>(id));
    if (c != nullptr) kPut(table, rows, *c);
  }
}

}  // namespace

TableKind connections_table() {
  return {"RPC-over-RDMA Connections",
          "rpcrdma,connections",
          {{TABLE_ITEM_UINT, TAP_ALIGN_RIGHT, "Connection", "%u"},
           {TABLE_ITEM_STRING, TAP_ALIGN_LEFT, "Client", "%s"},
           {TABLE_ITEM_STRING, TAP_ALIGN_LEFT, "Server", "%s"},
           {TABLE_ITEM_STRING, TAP_ALIGN_LEFT, "Version", "%s"},
           {TABLE_ITEM_STRING, TAP_ALIGN_LEFT, "Set-up", "%s"},
           {TABLE_ITEM_STRING, TAP_ALIGN_LEFT, "Private data", "%s"},
           {TABLE_ITEM_STRING, TAP_ALIGN_LEFT, "Remote Invalidation", "%s"},
           {TABLE_ITEM_UINT, TAP_ALIGN_RIGHT, "Call threshold", "%u"},
           {TABLE_ITEM_UINT, TAP_ALIGN_RIGHT, "Reply threshold", "%u"},
           {TABLE_ITEM_UINT, TAP_ALIGN_RIGHT, "Calls", "%u"},
           {TABLE_ITEM_UINT, TAP_ALIGN_RIGHT, "Reverse Calls", "%u"},
           {TABLE_ITEM_UINT, TAP_ALIGN_RIGHT, "Replies", "%u"},
           {TABLE_ITEM_UINT, TAP_ALIGN_RIGHT, "Errors", "%u"},
           {TABLE_ITEM_UINT, TAP_ALIGN_RIGHT, "Unanswered", "%u"},
           {TABLE_ITEM_UINT, TAP_ALIGN_RIGHT, "Credits requested", "%u"},
           {TABLE_ITEM_UINT, TAP_ALIGN_RIGHT, "Minimum granted", "%u"},
           {TABLE_ITEM_UINT, TAP_ALIGN_RIGHT, "Maximum granted", "%u"},
           {TABLE_ITEM_UINT, TAP_ALIGN_RIGHT, "Maximum in use", "%u"}},
          put_of_frame<put_connection>,
          put_all<put_connection>};
}

TableKind chunks_table() {
  return {"RPC-over-RDMA Chunks",
          "rpcrdma,chunks",
          {{TABLE_ITEM_UINT, TAP_ALIGN_RIGHT, "Connection", "%u"},
           {TABLE_ITEM_UINT, TAP_ALIGN_RIGHT, "Inline bytes", "%u"},
           {TABLE_ITEM_UINT, TAP_ALIGN_RIGHT, "Read chunks", "%u"},
           {TABLE_ITEM_UINT, TAP_ALIGN_RIGHT, "Bytes read", "%u"},
           {TABLE_ITEM_UINT, TAP_ALIGN_RIGHT, "Write chunks", "%u"},
           {TABLE_ITEM_UINT, TAP_ALIGN_RIGHT, "Bytes written", "%u"},
           {TABLE_ITEM_UINT, TAP_ALIGN_RIGHT, "Reply chunks", "%u"},
           {TABLE_ITEM_UINT, TAP_ALIGN_RIGHT, "Bytes in Replies", "%u"},
           {TABLE_ITEM_UINT, TAP_ALIGN_RIGHT, "Unmatched operations", "%u"}},
          put_of_frame<put_chunks>,
          put_all<put_chunks>};
}

}  // namespace rpcrdma::wireshark
