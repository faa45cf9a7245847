#include "text/latency_text.h"

#include <algorithm>

#include <fmt/format.h>

#include <rpcrdma/plot/escape.h>
#include <rpcrdma/report/context.h>

namespace rpcrdma::report {

namespace {

const char* heading_of(LatencyBy by) {
  switch (by) {
    case LatencyBy::kConnection:
      return "Latency by connection";
    case LatencyBy::kClient:
      return "Latency by client";
    case LatencyBy::kServer:
      return "Latency by server";
    case LatencyBy::kProcedure:
      return "Latency by procedure";
    case LatencyBy::kSize:
      return "Latency by size";
  }
  return "";
}

std::string table_text(const std::vector<LatencyTableRow>& rows, LatencyBy by, std::size_t most,
                       bool colour) {
  if (rows.empty()) return {};
  const std::size_t shown = std::min(rows.size(), most);
  std::vector<std::string> names;
  std::size_t width = 32;
  for (std::size_t i = 0; i < shown; ++i) {
    names.push_back(plot::escape_terminal(rows[i].reverse ? fmt::format("reverse {}", rows[i].name)
                                                          : rows[i].name));
    width = std::max(width, std::min<std::size_t>(names.back().size(), 96));
  }
  const bool comparable = by < LatencyBy::kProcedure;
  const std::string heading = fmt::format("\n{:<{}}{}   time{}", heading_of(by), width,
                                          latency_heading(), comparable ? "  vs others" : "");
  std::string out = (colour ? fmt::format("\033[1m{}\033[0m", heading) : heading) + '\n';
  for (std::size_t i = 0; i < shown; ++i) {
    const LatencyTableRow& row = rows[i];
    out += fmt::format("{:<{}}{} {:>4.0f} %", names[i], width, latency_columns(row.latency),
                       100 * row.share_of_time);
    if (comparable) {
      out += row.times_as_slow ? fmt::format(" {:>9.1f}x", *row.times_as_slow)
                               : fmt::format(" {:>10}", "-");
    }
    out += '\n';
  }
  if (shown < rows.size()) {
    out +=
        fmt::format("and {} more (--by {} lists them)\n", rows.size() - shown, latency_by_name(by));
  }
  return out;
}

}  // namespace

std::string latency_heading() {
  std::string out = fmt::format(" {:>7}", "Calls");
  for (const LatencyQuantile& q : kLatencyQuantiles) out += fmt::format(" {:>9}", q.name);
  return out + fmt::format(" {:>9}", "max");
}

std::string latency_columns(const base::Histogram& h) {
  std::string out = fmt::format(" {:>7}", h.count());
  for (const LatencyQuantile& q : kLatencyQuantiles) {
    const auto ns = given_quantile(h, q.q);
    out += fmt::format(" {:>9}", ns ? format_duration(*ns) : "-");
  }
  return out + fmt::format(" {:>9}", h.count() != 0 ? format_duration(h.max()) : "-");
}

std::string latency_table_text(const Report& report, LatencyBy by, std::size_t most, bool colour) {
  return table_text(latency_table(report, by), by, most, colour);
}

std::string who_is_slow(const Report& report, bool colour) {
  constexpr std::size_t kShown = 5;
  std::string out;
  std::size_t addresses = 0;
  for (const LatencyBy by : {LatencyBy::kClient, LatencyBy::kServer, LatencyBy::kConnection}) {
    const std::vector<LatencyTableRow> rows = latency_table(report, by);
    // With one connection for each address, a table of connections repeats the one before.
    const bool repeated = by == LatencyBy::kConnection && rows.size() == addresses;
    if (by != LatencyBy::kConnection) addresses = std::max(addresses, rows.size());
    const auto forward = std::count_if(rows.begin(), rows.end(),
                                       [](const LatencyTableRow& row) { return !row.reverse; });
    if (forward > 1 && !repeated) out += table_text(rows, by, kShown, colour);
  }
  if (out.empty()) return out;
  return out + "(the slowest first, by the time lost against the others in the same procedures)\n";
}

}  // namespace rpcrdma::report
