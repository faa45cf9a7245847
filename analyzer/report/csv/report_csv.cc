// Writes the tables of a report as CSV.
#include "csv_row.h"
#include "sessions_csv.h"
#include "text/plain_values.h"

#include <initializer_list>
#include <string>

#include <fmt/format.h>

#include <rpcrdma/report/latency_table.h>
#include <rpcrdma/report/report_csv.h>

namespace rpcrdma::report {

namespace {

using WriteText = std::function<void(std::string_view)>;

void header(const WriteText& write, std::initializer_list<const char*> names) {
  CsvRow row;
  for (const char* name : names) row.text(name);
  write(row.take());
}

std::uint64_t naks_of(const roce::SideCounters& c) {
  std::uint64_t sum = 0;
  for (const std::uint64_t n : c.naks) sum += n;
  return sum;
}

void connections(const Report& r, const WriteText& write) {
  header(write, {"id",
                 "client",
                 "client_qpn",
                 "server",
                 "server_qpn",
                 "protocol",
                 "version",
                 "state",
                 "first_frame",
                 "last_frame",
                 "calls",
                 "replies",
                 "errors",
                 "calls_without_answer",
                 "reverse_calls",
                 "reverse_replies",
                 "malformed",
                 "credits_requested",
                 "credits_granted",
                 "credits_in_use_max",
                 "read_bytes",
                 "write_bytes",
                 "reply_bytes",
                 "inline_bytes",
                 "client_packets",
                 "server_packets",
                 "client_retransmitted",
                 "server_retransmitted",
                 "lost_network",
                 "lost_capture",
                 "naks",
                 "rnr_naks",
                 "tunnels",
                 "transport",
                 "client_port",
                 "server_port",

                 "client_ce",
                 "server_ce",
                 "client_cnps",
                 "server_cnps"});
  CsvRow row;
  for (const Connection& c : r.connections) {
    const roce::SideCounters& client = c.side[0].counters;
    const roce::SideCounters& server = c.side[1].counters;
    row.number(c.id);
    for (const EndPoint& e : c.side) row.text(e.address).number(e.qpn);
    row.text(protocol_name(c.speaks));
    c.version != 0 ? row.number(c.version) : row.none();
    row.text(state_name(c.state));
    row.number(c.first_frame).number(c.last_frame);
    const Direction& d = c.direction[0];
    const Direction& back = c.direction[1];
    row.number(d.calls).number(d.replies).number(d.errors + back.errors);
    row.number(d.unmatched_calls + back.unmatched_calls);
    row.number(back.calls).number(back.replies).number(c.malformed);
    d.requested_known ? row.number(d.requested) : row.none();
    d.granted_known ? row.number(d.granted) : row.none();
    row.number(d.in_use_max);
    for (const std::uint64_t bytes : c.chunk_bytes) row.number(bytes);
    c.lacks(roce::kAbsentLengths) ? row.none() : row.number(c.inline_bytes);
    row.number(client.packets).number(server.packets);
    for (const EndPoint& e : c.side) {
      e.resends_unseen ? row.none() : row.number(e.counters.retransmitted);
    }
    row.number(client.lost_network + server.lost_network);
    row.number(client.lost_capture + server.lost_capture);
    row.number(naks_of(client) + naks_of(server)).number(client.rnr + server.rnr);
    std::string tunnels;
    for (const Tunnels& t : c.tunnels) {
      tunnels += fmt::format("{}{}: {}", tunnels.empty() ? "" : "; ",
                             t.from_server ? "server" : "client", tunnels_text(t));
    }
    row.text(tunnels);
    row.text(transport_name(c.transport));
    for (const EndPoint& e : c.side) row.number(e.port);
    row.number(client.ce).number(server.ce).number(client.cnps).number(server.cnps);
    write(row.take());
  }
}

void procedures(const Report& r, const WriteText& write) {
  header(write, {"name", "direction", "program", "version", "procedure", "calls", "replies",
                 "errors", "without_answer", "read_bytes", "write_bytes", "reply_bytes",
                 "latency_min_us", "latency_mean_us", "latency_p50_us", "latency_p90_us",
                 "latency_p99_us", "latency_p999_us", "latency_max_us"});
  CsvRow row;
  for (const auto& [key, p] : r.procedures) {
    row.text(p.label).text(direction_name(key.reverse));
    if (key.known()) {
      row.number(key.program).number(key.version).number(key.procedure);
    } else {
      row.none().none().none();
    }
    row.number(p.calls).number(p.replies).number(p.errors).number(p.unmatched);
    for (const std::uint64_t bytes : p.bytes) row.number(bytes);
    if (p.total.count() == 0) {
      for (int i = 0; i < 7; ++i) row.none();
    } else {
      row.number(microseconds(p.total.min())).number(p.total.mean() / 1e3);
      for (const double q : {0.5, 0.9, 0.99, 0.999}) {
        row.number(microseconds(p.total.quantile(q)));
      }
      row.number(microseconds(p.total.max()));
    }
    write(row.take());
  }
}

void findings(const Report& r, const WriteText& write) {
  header(write, {"severity", "rule", "section", "role", "peer", "connection", "count", "frames",
                 "text", "advice", "when"});
  CsvRow row;
  for (const Finding& f : r.findings) {
    const rules::Rule* rule = rules::find_rule(f.rule);
    row.text(rules::severity_name(f.severity)).text(f.rule);
    row.text(rule != nullptr ? rule->section : "").text(f.role).text(f.peer);
    f.connection != 0 ? row.number(f.connection) : row.none();
    std::string frames;
    for (const std::uint64_t frame : f.frames) {
      frames += fmt::format("{}{}", frames.empty() ? "" : " ", frame);
    }
    row.number(f.count).text(frames).text(f.text).text(f.advice);
    row.text(rules::spans_text(f.spans));
    write(row.take());
  }
}

void calls_over_time(const Report& r, const WriteText& write) {
  header(write,
         {"time_ns", "width_ns", "calls", "replies", "errors", "read_bytes", "write_bytes",
          "inline_bytes", "in_flight_max", "latency_count", "latency_mean_us", "latency_max_us",
          "retransmitted", "naks", "rnr_naks", "ce", "cnps", "pause_frames"});
  CsvRow row;
  const TrafficSeries& t = r.traffic;
  for (std::int64_t n = t.first(); n <= t.last(); ++n) {
    const TrafficBin& b = t.bin(n);
    row.number(n * t.width_ns()).number(t.width_ns());
    row.number(b.calls).number(b.replies).number(b.errors);
    row.number(b.read_bytes).number(b.write_bytes).number(b.inline_bytes);
    row.number(b.outstanding_max).number(b.latency_count);
    if (b.latency_count == 0) {
      row.none().none();
    } else {
      row.number(static_cast<double>(b.latency_sum) / static_cast<double>(b.latency_count) / 1e3);
      row.number(microseconds(b.latency_max));
    }
    row.number(b.retransmitted).number(b.naks).number(b.rnrs);
    row.number(b.ce).number(b.cnps).number(b.pauses);
    write(row.take());
  }
}

std::optional<std::uint32_t> seen(bool there, std::uint32_t value) {
  return there ? std::optional(value) : std::nullopt;
}

void credits(const Report& r, const WriteText& write) {
  header(write, {"connection", "direction", "time_ns", "width_ns", "requested_max", "granted_min",
                 "granted_max", "in_use_max"});
  CsvRow row;
  for (const ConnectionCredits& c : r.credits) {
    for (std::size_t d = 0; d < 2; ++d) {
      const CreditSeries& s = c.direction[d];
      for (std::int64_t n = s.first(); n <= s.last(); ++n) {
        const CreditBin& b = s.bin(n);
        if (b == CreditBin{}) continue;  // no messages
        row.number(c.connection).text(direction_name(d == 1));
        row.number(n * s.width_ns()).number(s.width_ns());
        // An empty cell means "not seen": a Call can request zero credits and a Reply can grant
        // zero. A bin with a Call has at least one credit in use.
        row.number(seen(b.in_use_max != 0, b.requested_max));
        row.number(seen(b.granted, b.granted_min)).number(seen(b.granted, b.granted_max));
        row.number(seen(b.in_use_max != 0, b.in_use_max));
        write(row.take());
      }
    }
  }
}

void files(const Report& r, const WriteText& write) {
  header(write, {"name", "server", "handle", "reads", "writes", "other", "errors", "without_answer",
                 "read_bytes", "written_bytes", "compared", "sequential", "request_bytes",
                 "latency_mean_us", "latency_p50_us", "latency_p99_us", "latency_max_us",
                 "first_time_ns", "last_time_ns"});
  CsvRow row;
  for (const FileEntry* entry : busiest_files(r.files, r.files.list.size())) {
    const FileStats& f = entry->second;
    row.text(f.name).text(entry->first.server);
    row.text(fmt::format("{:08x}", entry->first.handle));
    row.number(f.reads).number(f.writes).number(f.other).number(f.errors).number(f.unmatched);
    row.number(f.read_bytes).number(f.written_bytes).number(f.compared).number(f.sequential);
    f.sizes.empty() ? row.none() : row.number(typical_size(f));
    if (f.latency.count() == 0) {
      row.none().none().none().none();
    } else {
      const base::Histogram latency = f.latency.expanded();
      row.number(latency.mean() / 1e3);
      row.number(microseconds(latency.quantile(0.5)));
      row.number(microseconds(latency.quantile(0.99)));
      row.number(microseconds(latency.max()));
    }
    row.number(f.first_ns).number(f.last_ns);
    write(row.take());
  }
}

void latencies(const Report& r, const WriteText& write) {
  header(write, {"by", "name", "connection", "direction", "calls", "share_of_time", "times_as_slow",
                 "latency_min_us", "latency_mean_us", "latency_p50_us", "latency_p90_us",
                 "latency_p95_us", "latency_p99_us", "latency_p999_us", "latency_max_us"});
  CsvRow row;
  for (const LatencyBy by : kLatencyTables) {
    for (const LatencyTableRow& l : latency_table(r, by)) {
      row.text(latency_by_name(by)).text(l.name);
      l.connection != 0 ? row.number(l.connection) : row.none();
      row.text(direction_name(l.reverse)).number(l.latency.count()).number(l.share_of_time);
      l.times_as_slow ? row.number(*l.times_as_slow) : row.none();
      row.number(microseconds(l.latency.min())).number(l.latency.mean() / 1e3);
      for (const LatencyQuantile& q : kLatencyQuantiles) {
        const auto ns = given_quantile(l.latency, q.q);
        ns ? row.number(microseconds(*ns)) : row.none();
      }
      row.number(microseconds(l.latency.max()));
      write(row.take());
    }
  }
}

}  // namespace

const char* table_file(Table table) {
  switch (table) {
    case Table::kConnections:
      return "connections.csv";
    case Table::kProcedures:
      return "procedures.csv";
    case Table::kFindings:
      return "findings.csv";
    case Table::kCallsOverTime:
      return "calls-over-time.csv";
    case Table::kCredits:
      return "credits.csv";
    case Table::kSessions:
      return "sessions.csv";
    case Table::kFiles:
      return "files.csv";
    case Table::kLatency:
      return "latency.csv";
  }
  return "";
}

void write_csv(const Report& report, Table table, const WriteText& write) {
  switch (table) {
    case Table::kConnections:
      return connections(report, write);
    case Table::kProcedures:
      return procedures(report, write);
    case Table::kFindings:
      return findings(report, write);
    case Table::kCallsOverTime:
      return calls_over_time(report, write);
    case Table::kCredits:
      return credits(report, write);
    case Table::kSessions:
      return write_sessions_csv(report, write);
    case Table::kFiles:
      return files(report, write);
    case Table::kLatency:
      return latencies(report, write);
  }
}

}  // namespace rpcrdma::report
