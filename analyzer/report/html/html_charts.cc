// The sections of the page with charts, and the tables of procedures and slowest Calls.
#include "html.h"
#include "text/charts.h"
#include "text/time_window.h"

#include <algorithm>

#include <fmt/core.h>

#include <rpcrdma/report/context.h>
#include <rpcrdma/report/latency_table.h>

namespace rpcrdma::report::html {

namespace {

std::string named(bool reverse, const std::string& label) {
  return reverse ? fmt::format("reverse {}", label) : label;
}

using Align = Table::Align;

Table procedure_latencies() {
  Table table("Latency of each procedure");
  table.column("Procedure", Align::kLeft);
  latency_columns(table);
  table
      .column("to operations", Align::kRight,
              "From the Call to the first RDMA operation: p50 / p99")
      .column("operations", Align::kRight, "From the first RDMA operation to the last: p50 / p99")
      .column("to Reply", Align::kRight, "From the last RDMA operation to the Reply: p50 / p99");
  return table;
}

void duration(Table& table, std::int64_t ns) {
  table.cell(format_duration(ns), static_cast<double>(ns));
}

void part(Table& table, const base::Histogram& h) {
  if (h.count() == 0) {
    table.cell("");
    return;
  }
  const auto high = given_quantile(h, 0.99);
  table.cell(fmt::format("{}{}", format_duration(h.quantile(0.5)),
                         high ? " / " + format_duration(*high) : std::string()),
             static_cast<double>(h.quantile(0.5)));
}

// Sorts procedures by Calls, the busiest first.
std::vector<const Procedures::value_type*> by_calls(const Report& r) {
  std::vector<const Procedures::value_type*> rows;
  for (const auto& entry : r.procedures) rows.push_back(&entry);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto* a, const auto* b) { return a->second.calls > b->second.calls; });
  return rows;
}

std::string more_procedures(const Report& r) {
  if (r.procedures.size() <= kMostProcedures) return {};
  return aside(fmt::format("And {} more procedures with fewer Calls.",
                           r.procedures.size() - kMostProcedures));
}

}  // namespace

std::string cuts_note(const Report& r) {
  const plot::Window window = time_window(r);
  if (window.cuts.empty()) return {};
  std::string out;
  for (const plot::Cut& c : window.cuts) {
    const auto at = [](double seconds) {
      return plot::format_value(plot::Unit::kSeconds, seconds);
    };
    out += fmt::format("{}{} to {}", out.empty() ? "" : ", ", at(c.from), at(c.to));
  }
  return aside("The charts are cut where nothing happened (dashed bands): " + out + ".");
}

std::string over_time(const Report& r) {
  Stack stack("time");
  stack.add(call_rate_chart(r));
  stack.add(byte_rate_chart(r));
  stack.add(outstanding_chart(r));
  stack.add(trouble_chart(r));
  if (any_congestion(r)) stack.add(congestion_chart(r));
  if (stack.empty()) return {};
  return section("time", "Traffic over time", cuts_note(r) + stack.take());
}

std::string credits(const Report& r) {
  Stack stack("credits");
  stack.add_folded(credit_charts(r, kMostCredits), "More connections");
  if (stack.empty()) return {};
  std::string body = cuts_note(r) + stack.take();
  const std::size_t all = count_credit_charts(r) + r.credits_omitted;
  if (all > kMostCredits) {
    body += aside(fmt::format("And {} more; these are of the most important connections.",
                              all - kMostCredits));
  }
  return section("credits", "Credits", body);
}

std::string latency(const Report& r) {
  Stack stack("latency");
  stack.add(latency_map(r), 200);
  stack.add(latency_chart(r), 200);
  stack.add(slow_calls_chart(r), 200);
  Figures figures("distribution");
  figures.add(latency_histogram(r));
  if (figures.empty()) return {};
  Stack maps("map");
  maps.add_folded(procedure_maps(r), "More procedures");
  if (r.latencies.connections.size() > 1) {
    Stack of_connections("cmap");
    of_connections.add_folded(connection_maps(r), "More connections");
    maps.append(of_connections);
  }
  Table table = procedure_latencies();
  const auto rows = by_calls(r);
  for (std::size_t i = 0; i < std::min(rows.size(), kMostProcedures); ++i) {
    const auto& [key, p] = *rows[i];
    if (p.total.count() == 0) continue;
    table.row();
    table.cell(named(key.reverse, p.label));
    latency_cells(table, p.total);
    part(table, p.before_data);
    part(table, p.data);
    part(table, p.after_data);
  }
  return section(
      "latency", "Latency",
      cuts_note(r) + stack.take() + table.take() +
          aside("Latency is measured from Call to Reply at the capture point. A percentile is left "
                "out where there are too few Calls: p90 needs 10, p99 100.") +
          more_procedures(r) + figures.take() + maps.take());
}

std::string slowest(const Report& r) {
  Table table("The slowest Calls");
  table.column("Procedure", Align::kLeft)
      .column("Latency", Align::kRight)
      .column("Call", Align::kRight, "Frame of the Call")
      .column("Reply", Align::kRight, "Frame of the Reply")
      .column("XID", Align::kLeft)
      .column("Connection", Align::kRight)
      .column("Time (UTC)", Align::kLeft)
      .column("to operations", Align::kRight)
      .column("operations", Align::kRight)
      .column("to Reply", Align::kRight);
  for (const SlowCall& c : r.slowest.list()) {
    table.row();
    table.cell(named(c.reverse, c.label));
    duration(table, c.latency_ns);
    table.count(c.frame);
    table.count(c.reply_frame);
    table.markup(fmt::format("<code>{:#010x}</code>", c.xid));
    table.markup(fmt::format("<a href=\"#c{}\">{}</a>", c.connection, c.connection));
    table.cell(format_clock(c.time_ns), static_cast<double>(c.time_ns));
    for (const std::int64_t ns : {c.before_data_ns, c.data_ns, c.after_data_ns}) {
      c.data_ns >= 0 ? duration(table, ns) : table.cell("");
    }
  }
  const std::string body = table.take();
  return body.empty() ? body : section("slowest", "Slowest Calls", body);
}

std::string procedures(const Report& r) {
  Table table("Procedures");
  table.column("Procedure", Align::kLeft);
  for (const char* name :
       {"Calls", "Replies", "Errors", "No answer", "Read chunks", "Write chunks", "Reply chunks"}) {
    table.column(name, Align::kRight);
  }
  const auto rows = by_calls(r);
  for (std::size_t i = 0; i < std::min(rows.size(), kMostProcedures); ++i) {
    const auto& [key, p] = *rows[i];
    table.row();
    table.cell(named(key.reverse, p.label));
    for (const std::uint64_t n : {p.calls, p.replies, p.errors, p.unmatched}) table.count(n);
    for (const std::uint64_t n : p.bytes) {
      table.cell(n != 0 ? format_bytes(n) : "", static_cast<double>(n));
    }
  }
  const std::string body = table.take();
  return body.empty() ? body : section("procedures", "Procedures", body + more_procedures(r));
}

}  // namespace rpcrdma::report::html
