// A report as tables for a spreadsheet (docs/csv.md): RFC 4180, UTF-8, a line of column names.
//
// A cell with text that a spreadsheet would take for a formula has an apostrophe in front of it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

enum class Table : std::uint8_t { kConnections, kProcedures, kFindings, kCallsOverTime, kCredits };
inline constexpr std::array kTables{Table::kConnections, Table::kProcedures, Table::kFindings,
                                    Table::kCallsOverTime, Table::kCredits};
[[nodiscard]] const char* table_file(Table table);  // "connections.csv", ...

// In pieces, since a capture may have very many connections.
void write_csv(const Report& report, Table table,
               const std::function<void(std::string_view)>& write);

}  // namespace rpcrdma::report
