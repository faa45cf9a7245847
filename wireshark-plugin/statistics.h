// A table of Wireshark's statistics whose rows are found by key.
#pragma once

#include "wireshark.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rpcrdma::wireshark {

// The plugin's data for a table. Wireshark creates and frees tables row by row: see tables.cc.
struct TableRows {
  std::map<std::uint64_t, guint> row;  // by key
  bool filtered = false;               // a filter selects the frames that are counted
  std::size_t findings_seen = 0;
};

using Cell = stat_tap_table_item_type;
[[nodiscard]] Cell cell(std::uint64_t value);
// Returns a cell; Wireshark makes its own copy.
[[nodiscard]] Cell cell(const std::string& text);

// How to fill one kind of table.
struct TableKind {
  const char* title;
  const char* argument;  // of tshark -z
  std::vector<stat_tap_table_item> columns;
  // Called for each frame from the tap.
  void (*frame)(stat_tap_table* table, TableRows& rows, const struct Tapped& tapped);
  // Called when all frames were read.
  void (*complete)(stat_tap_table* table, TableRows& rows);
};
void register_table(const TableKind& kind);

// Writes a row under its key, replacing an earlier one.
void put_row(stat_tap_table* table, TableRows& rows, std::uint64_t key, std::vector<Cell> cells);

[[nodiscard]] TableKind findings_table();
[[nodiscard]] TableKind connections_table();
[[nodiscard]] TableKind chunks_table();
void register_response_times();

}  // namespace rpcrdma::wireshark
