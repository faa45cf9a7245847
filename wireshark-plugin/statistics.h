// A table of Wireshark's statistics, with its rows found by key.
#pragma once

#include "wireshark.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rpcrdma::wireshark {

// What a table keeps beside what Wireshark keeps of it. Wireshark makes tables and frees them, row
// by row: see tables.cc.
struct TableRows {
  std::map<std::uint64_t, guint> row;  // by key
  bool filtered = false;               // a filter selects the frames that are counted
  std::size_t findings_seen = 0;
};

using Cell = stat_tap_table_item_type;
[[nodiscard]] Cell cell(std::uint64_t value);
// Of which Wireshark has a copy of its own.
[[nodiscard]] Cell cell(const std::string& text);

// How one kind of table is filled.
struct TableKind {
  const char* title;
  const char* argument;  // of tshark -z
  std::vector<stat_tap_table_item> columns;
  // A frame that the tap brings.
  void (*frame)(stat_tap_table* table, TableRows& rows, const struct Tapped& tapped);
  // All frames have come.
  void (*complete)(stat_tap_table* table, TableRows& rows);
};
void register_table(const TableKind& kind);

// Puts a row under its key, over what was there.
void put_row(stat_tap_table* table, TableRows& rows, std::uint64_t key, std::vector<Cell> cells);

[[nodiscard]] TableKind findings_table();
[[nodiscard]] TableKind connections_table();
[[nodiscard]] TableKind chunks_table();
void register_response_times();

}  // namespace rpcrdma::wireshark
