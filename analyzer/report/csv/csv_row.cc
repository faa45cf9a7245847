#include "csv_row.h"

#include <utility>

namespace rpcrdma::report {

CsvRow& CsvRow::text(std::string_view value) {
  std::string cell;
  // Spreadsheets execute a cell that starts with one of these characters.
  constexpr std::string_view kFormula = "=+-@\t\r";
  if (!value.empty() && kFormula.find(value.front()) != std::string_view::npos) cell += '\'';
  cell += value;
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return raw(cell);
  std::string quoted = "\"";
  for (const char c : cell) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return raw(quoted + '"');
}

std::string CsvRow::take() {
  first_ = true;
  line_ += "\r\n";
  return std::exchange(line_, {});
}

CsvRow& CsvRow::raw(std::string_view cell) {
  if (!first_) line_ += ',';
  first_ = false;
  line_ += cell;
  return *this;
}

}  // namespace rpcrdma::report
