// Who is slow: tables and pictures of latency by client, server, connection and size, and the tiles
// at the top of the page.
#include "html.h"
#include "text/time_window.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include <rpcrdma/report/context.h>
#include <rpcrdma/report/latency_table.h>

namespace rpcrdma::report::html {

namespace {

using Align = Table::Align;

std::string named(const LatencyTableRow& row) {
  return row.reverse ? fmt::format("reverse {}", row.name) : row.name;
}

struct Heading {
  const char* caption;
  const char* column;
};

Heading heading_of(LatencyBy by) {
  switch (by) {
    case LatencyBy::kConnection:
      return {"Latency by connection", "Connection"};
    case LatencyBy::kClient:
      return {"Latency by client", "Client"};
    case LatencyBy::kServer:
      return {"Latency by server", "Server"};
    case LatencyBy::kProcedure:
      return {"Latency by procedure", "Procedure"};
    case LatencyBy::kSize:
      return {"Latency by size", "Size of the data"};
  }
  return {"", ""};
}

std::string table_of(const std::vector<LatencyTableRow>& rows, LatencyBy by) {
  const Heading heading = heading_of(by);
  Table table(heading.caption);
  table.column(heading.column, Align::kLeft);
  latency_columns(table);
  table.column("Time", Align::kRight, "Part of the latencies of all Calls together");
  const bool comparable = by < LatencyBy::kProcedure;
  if (comparable) {
    table.column("vs others", Align::kRight,
                 "How many times as long its Calls took as those of the others in the same "
                 "procedures, on average");
  }
  for (std::size_t i = 0; i < std::min(rows.size(), kMostLatencyRows); ++i) {
    const LatencyTableRow& row = rows[i];
    table.row();
    if (row.connection != 0) {
      table.markup(fmt::format("<a href=\"#c{}\">{}</a>", row.connection, text(named(row))));
    } else {
      table.cell(named(row));
    }
    latency_cells(table, row.latency);
    table.cell(fmt::format("{:.0f} %", 100 * row.share_of_time), row.share_of_time);
    if (!comparable) continue;
    row.times_as_slow ? table.cell(fmt::format("{:.1f}x", *row.times_as_slow), *row.times_as_slow)
                      : table.cell("", 0);
  }
  std::string out = table.take();
  if (rows.size() > kMostLatencyRows) {
    out += aside(fmt::format("And {} more.", rows.size() - kMostLatencyRows));
  }
  return out;
}

plot::Spans spans_of(const std::vector<LatencyTableRow>& rows, LatencyBy by) {
  plot::Spans spans;
  spans.title = heading_of(by).caption;
  spans.title += ": p50 (dot), p99 (bar), max (line)";
  spans.description = "The slowest come first.";
  for (const LatencyTableRow& row : rows) {
    if (spans.rows.size() == kMostSpans) break;
    const auto seconds = [](std::int64_t ns) {
      return static_cast<double>(std::max<std::int64_t>(ns, 1)) / 1e9;
    };
    const base::Histogram& h = row.latency;
    plot::SpanRow& span = spans.rows.emplace_back();
    span.label = named(row);
    span.low = seconds(h.quantile(0.5));
    // Without a p99, the bar ends at the largest quantile that the sample gives.
    span.high = span.low;
    span.most = seconds(h.max());
    std::string high = fmt::format("max {}", format_duration(h.max()));
    for (const LatencyQuantile& q : kLatencyQuantiles) {
      const auto ns = given_quantile(h, q.q);
      if (!ns || q.q <= 0.5 || q.q > 0.99) continue;
      span.high = seconds(*ns);
      high = fmt::format("{} {}", q.name, format_duration(*ns));
    }
    span.note = h.count() == 1 ? fmt::format("1 Call, {}", format_duration(h.max()))
                               : fmt::format("{} Calls, p50 {}, {}", h.count(),
                                             format_duration(h.quantile(0.5)), high);
    span.marked = row.times_as_slow.value_or(0) >= 1.5;
  }
  return spans;
}

bool several(const std::vector<LatencyTableRow>& rows) {
  return std::count_if(rows.begin(), rows.end(),
                       [](const LatencyTableRow& row) { return !row.reverse; }) > 1;
}

// The procedure with the most time, of those that are no rare exception.
std::optional<LatencyTableRow> procedure_that_counts(const Report& r) {
  const std::vector<LatencyTableRow> rows = latency_table(r, LatencyBy::kProcedure);
  if (rows.empty()) return std::nullopt;
  const auto at = std::find_if(rows.begin(), rows.end(), [](const LatencyTableRow& row) {
    return row.latency.count() >= 10;
  });
  return at != rows.end() ? *at : rows.front();
}

std::string middle_and_high(const base::Histogram& h) {
  const auto high = given_quantile(h, 0.99);
  return fmt::format("{} / {}", format_duration(h.quantile(0.5)),
                     format_duration(high.value_or(h.max())));
}

const char* middle_and_high_name(const base::Histogram& h) {
  return given_quantile(h, 0.99) ? "p50 / p99" : "p50 / max";
}

class Tiles {
 public:
  void add(const std::string& name, const std::string& value) {
    out_ += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", text(name), text(value));
  }
  void count(const char* name, std::uint64_t n) {
    add(name, plot::format_value(plot::Unit::kCount, static_cast<double>(n)));
  }
  [[nodiscard]] std::string take() const { return "<dl class=\"facts\">\n" + out_ + "</dl>\n"; }

 private:
  std::string out_;
};

// Bytes of all messages and operations, by the time in which there was traffic.
void throughput_tile(const Report& r, Tiles& tiles) {
  std::uint64_t bytes = 0;
  for (const Connection& c : r.connections) {
    bytes += c.inline_bytes;
    for (const std::uint64_t n : c.chunk_bytes) bytes += n;
  }
  const plot::Window window = time_window(r);
  double seconds = window.end - window.begin;
  for (const plot::Cut& c : window.cuts) seconds -= c.to - c.from;
  if (bytes == 0 || r.capture.last_ns == r.capture.first_ns || !(seconds > 0)) return;
  tiles.add(window.cuts.empty() ? "Throughput" : "Throughput, without idle times",
            plot::format_value(plot::Unit::kBytesPerSecond, static_cast<double>(bytes) / seconds));
}

void slowest_peer_tile(const Report& r, Tiles& tiles) {
  for (const LatencyBy by : {LatencyBy::kClient, LatencyBy::kServer, LatencyBy::kConnection}) {
    const std::vector<LatencyTableRow> rows = latency_table(r, by);
    if (!several(rows)) continue;
    const LatencyTableRow& row = rows.front();
    tiles.add(fmt::format("Slowest {}: {}, {}", latency_by_name(by), named(row),
                          middle_and_high_name(row.latency)),
              middle_and_high(row.latency) +
                  (row.times_as_slow ? fmt::format(", {:.1f}x", *row.times_as_slow) : ""));
    return;
  }
}

void credits_tile(const Report& r, Tiles& tiles) {
  std::optional<std::uint32_t> granted;
  std::uint32_t in_use = 0;
  for (const Connection& c : r.connections) {
    const Direction& d = c.direction[0];
    in_use = std::max(in_use, d.in_use_max);
    if (!d.granted_known || d.granted_max == 0) continue;
    granted = std::min(granted.value_or(UINT32_MAX), d.granted_min);
  }
  if (granted) {
    tiles.add("Credits: least granted / most in use", fmt::format("{} / {}", *granted, in_use));
  }
}

void packets_tiles(const Report& r, Tiles& tiles) {
  const roce::PacketStats& packets = r.capture.packets;
  if (packets.iwarp != 0) tiles.count("iWARP packets", packets.iwarp);
  if ((r.capture.events != r.capture.frames || r.capture.frames == 0) &&
      (packets.roce != 0 || packets.iwarp == 0)) {
    tiles.count("RoCE packets", packets.roce);
  }
  if (r.capture.events != 0) tiles.count("Events", r.capture.events);
}

double length_of(const CaptureSummary& c) {
  // Subtracts integers, because a double cannot hold nanoseconds since 1970.
  const auto ns = static_cast<std::uint64_t>(std::max(c.first_ns, c.last_ns)) -
                  static_cast<std::uint64_t>(std::min(c.first_ns, c.last_ns));
  return static_cast<double>(ns) / 1e9;
}

}  // namespace

void latency_columns(Table& table) {
  table.column("Calls", Align::kRight);
  for (const LatencyQuantile& q : kLatencyQuantiles) table.column(q.name, Align::kRight);
  table.column("max", Align::kRight).column("mean", Align::kRight);
}

void latency_cells(Table& table, const base::Histogram& h) {
  const auto duration = [&](std::optional<std::int64_t> ns) {
    ns ? table.cell(format_duration(*ns), static_cast<double>(*ns)) : table.cell("", 0);
  };
  table.count(h.count());
  for (const LatencyQuantile& q : kLatencyQuantiles) duration(given_quantile(h, q.q));
  duration(h.count() != 0 ? std::optional(h.max()) : std::nullopt);
  duration(h.count() > 1 ? std::optional(static_cast<std::int64_t>(h.mean())) : std::nullopt);
}

std::string tiles(const Report& r) {
  Tiles tiles;
  const auto& kinds = r.messages.kinds;
  tiles.count("Calls", kinds[static_cast<std::size_t>(model::Kind::kCall)]);
  if (const auto row = procedure_that_counts(r)) {
    tiles.add(fmt::format("{}, {}", named(*row), middle_and_high_name(row->latency)),
              middle_and_high(row->latency));
  }
  slowest_peer_tile(r, tiles);
  throughput_tile(r, tiles);
  tiles.add("Retransmitted packets", fmt::format("{}", r.capture.packets.retransmitted));
  credits_tile(r, tiles);
  tiles.add("Connections", fmt::format("{}", r.connections.size() + r.not_listed.connections));
  tiles.add("Length", plot::format_value(plot::Unit::kSeconds, length_of(r.capture)));
  packets_tiles(r, tiles);
  return tiles.take();
}

std::string who_is_slow(const Report& r) {
  Stack stack("slow");
  std::string tables;
  std::size_t addresses = 0;
  for (const LatencyBy by : {LatencyBy::kClient, LatencyBy::kServer, LatencyBy::kConnection}) {
    const std::vector<LatencyTableRow> rows = latency_table(r, by);
    // With one connection for each address, a picture of connections repeats the one before.
    const bool repeated = by == LatencyBy::kConnection && rows.size() == addresses;
    if (by != LatencyBy::kConnection) addresses = std::max(addresses, rows.size());
    if (several(rows) && !repeated) stack.add(spans_of(rows, by));
    if (several(rows) || by == LatencyBy::kConnection) tables += table_of(rows, by);
  }
  const std::vector<LatencyTableRow> procedures = latency_table(r, LatencyBy::kProcedure);
  stack.add(spans_of(procedures, LatencyBy::kProcedure));
  const std::vector<LatencyTableRow> sizes = latency_table(r, LatencyBy::kSize);
  stack.add(spans_of(sizes, LatencyBy::kSize));
  tables += table_of(sizes, LatencyBy::kSize);
  if (stack.empty()) return {};
  return section(
      "slow", "Who is slow",
      stack.take() + tables +
          aside("Clients, servers and connections are sorted by the time that they lost "
                "against the others in the same procedures. The size is that of the "
                "data in chunks; without chunks, that of the longer message. With too few "
                "Calls for p99, a bar ends at p95 or p90."));
}

}  // namespace rpcrdma::report::html
