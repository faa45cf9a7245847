// The table of findings by rule and connection: -z rpcrdma,findings.
#include "plugin.h"
#include "statistics.h"

#include <algorithm>

#include <rpcrdma/rules/rule.h>

namespace rpcrdma::wireshark {

namespace {

enum : std::size_t { kSeverity, kRule, kCount, kConnection, kPeer, kFrame, kText };

std::uint64_t key_of(const annotations::FindingNote& f) {
  return static_cast<std::uint64_t>(f.severity) << 56U | std::uint64_t{f.topic & 0xff} << 48U |
         static_cast<std::uint64_t>(f.rule) << 32U | f.connection;
}

std::vector<Cell> row_of(const annotations::FindingNote& f, std::uint64_t count) {
  return {cell(std::string(rules::severity_name(f.severity))),
          cell(std::string(rules::rule(f.rule).name)),
          cell(count),
          cell(f.connection),
          cell(f.peer),
          cell(f.frame),
          cell(f.text)};
}

void add(stat_tap_table* table, TableRows& rows, const annotations::FindingNote& f) {
  const auto it = rows.row.find(key_of(f));
  if (it != rows.row.end()) {
    guint& count = table->elements[it->second][kCount].value.uint_value;
    count += static_cast<guint>(std::min<std::uint64_t>(f.count, G_MAXUINT - count));
    if (f.of == 0) return;
    put_row(table, rows, key_of(f), row_of(f, count));
    return;
  }
  put_row(table, rows, key_of(f), row_of(f, f.count));
}

void frame(stat_tap_table* table, TableRows& rows, const Tapped& tapped) {
  for_each_finding(tapped, [&](const annotations::FindingNote& f) { add(table, rows, f); });
  // In a later pass, each finding comes with one of the frames.
  rows.findings_seen = tapped.first_time ? tapped.findings_after : tapped.session->findings();
}

// Errors first, then in the order of detection. Must run before the table's user sees its rows.
void sort(stat_tap_table* table, TableRows& rows) {
  std::vector<Cell*> sorted;
  for (const auto& [key, row] : rows.row) sorted.push_back(table->elements[row]);
  guint at = 0;
  for (auto& [key, row] : rows.row) {
    table->elements[at] = sorted[at];
    row = at++;
  }
}

// Adds findings without a frame: Calls without Reply, and conclusions about the whole capture.
void complete(stat_tap_table* table, TableRows& rows) {
  const annotations::Session* const s = session();
  if (s == nullptr || rows.filtered) return;
  for (; rows.findings_seen < s->findings(); ++rows.findings_seen) {
    add(table, rows, s->finding(static_cast<annotations::Ref>(rows.findings_seen + 1)));
  }
  sort(table, rows);
}

}  // namespace

TableKind findings_table() {
  return {"RPC-over-RDMA Findings",
          "rpcrdma,findings",
          {{TABLE_ITEM_STRING, TAP_ALIGN_LEFT, "Severity", "%s"},
           {TABLE_ITEM_STRING, TAP_ALIGN_LEFT, "Rule", "%s"},
           {TABLE_ITEM_UINT, TAP_ALIGN_RIGHT, "Count", "%u"},
           {TABLE_ITEM_UINT, TAP_ALIGN_RIGHT, "Connection", "%u"},
           {TABLE_ITEM_STRING, TAP_ALIGN_LEFT, "At fault", "%s"},
           {TABLE_ITEM_UINT, TAP_ALIGN_RIGHT, "First frame", "%u"},
           {TABLE_ITEM_STRING, TAP_ALIGN_LEFT, "What", "%s"}},
          frame,
          complete};
}

}  // namespace rpcrdma::wireshark
