// Writes a report as tables for a spreadsheet (docs/csv.md): RFC 4180, UTF-8, with column names in
// the first line.
//
// Text that a spreadsheet would read as a formula gets an apostrophe in front.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

enum class Table : std::uint8_t {
  kConnections,
  kProcedures,
  kFindings,
  kCallsOverTime,
  kCredits,
  kSessions,
  kFiles,
  kLatency
};
inline constexpr std::array kTables{Table::kConnections,   Table::kProcedures, Table::kFindings,
                                    Table::kCallsOverTime, Table::kCredits,    Table::kSessions,
                                    Table::kFiles,         Table::kLatency};
[[nodiscard]] const char* table_file(Table table);  // "connections.csv", ...

// Passes the text to `write` in pieces, because a capture can have very many connections.
void write_csv(const Report& report, Table table,
               const std::function<void(std::string_view)>& write);

}  // namespace rpcrdma::report
