// Lists the JSON fields of latencies by connection and size, for both writer and reader.
#pragma once

#include "traffic_fields.h"

#include <utility>
#include <vector>

#include <rpcrdma/report/latency_table.h>

namespace rpcrdma::report {

template <typename Archive>
void fields(Archive& a, Of<Archive, LatencyRow>& row) {
  a.object_of("latency_us", row.total);
  a.rows("procedures", row.procedures,
         {.columns = 6, .otherwise = "expected six integers", .most = kMaxLatencyProcedures},
         [](auto& to, auto& p) {
           to(p.procedure.program);
           to(p.procedure.version);
           to(p.procedure.procedure);
           to(p.procedure.operation);
           to(p.count);
           to(p.sum_ns);
         });
  if constexpr (Archive::kReads) row.sort();  // older versions wrote them in the order of Calls
}

// Bins as in the series of credits: lists of integers, here the bin, then pairs of bucket and
// count.
inline void write_bin(FieldWriter& a, std::int64_t n, std::int64_t /*width_ns*/,
                      const LatencyBin& b) {
  a.json().array();
  a.json().value(n);
  for (std::size_t i = 0; i < b.counts.size(); ++i) {
    if (b.counts[i] == 0) continue;
    a.json().value(i);
    a.json().value(b.counts[i]);
  }
  a.json().end();
}
[[nodiscard]] inline std::int64_t number_of_bin(const JsonNode& bin, const LatencySeries&) {
  if (bin.size() % 2 == 1) return bin.at(0).ns();
  bin.fail("expected an odd number of integers");
  return 0;
}
inline void read_bin(const JsonNode& bin, LatencyBin& to) {
  for (std::size_t i = 1; i + 1 < bin.size(); i += 2) {
    const std::uint64_t bucket = bin.at(i).u64();
    if (bucket >= to.counts.size()) return bin.fail("no such bucket");
    to.counts[bucket] += bin.at(i + 1).u32();
  }
}
template <typename Archive>
void fields(Archive& a, Of<Archive, LatencySeries>& series) {
  series_fields<Archive, LatencyBin>(a, series);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, ConnectionLatency>& c) {
  a.id_or_none("connection", c.connection);
  a.nullable("client", c.client);
  a.nullable("server", c.server);
  a.object_of("forward", c.direction[0]);
  a.object_of("reverse", c.direction[1]);
  if (a.present("series", !c.series.empty())) a.object_of("series", c.series);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, ProcedureSeries>& p) {
  fields(a, p.procedure);
  a.object_of("series", p.series);
}

struct SizeLatency {
  SizeClass size = SizeClass::kUnknown;
  bool reverse = false;
  base::CompactHistogram total;
};

template <typename Archive>
void fields(Archive& a, Of<Archive, SizeLatency>& s) {
  a.name("size", s.size, size_class_name, kSizeClasses);
  a.either("direction", s.reverse, "forward", "reverse");
  a.object_of("latency_us", s.total);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, Latencies>& l) {
  std::vector<ConnectionLatency> rows;
  std::vector<SizeLatency> sizes;
  if constexpr (!Archive::kReads) {
    rows = l.connections;
    rows.insert(rows.end(), l.pairs.begin(), l.pairs.end());
    for (std::size_t d = 0; d < 2; ++d) {
      for (std::size_t i = 0; i < kSizeClasses; ++i) {
        if (l.sizes[d][i].count() == 0) continue;
        sizes.push_back({static_cast<SizeClass>(i), d == 1, l.sizes[d][i]});
      }
    }
  }
  a.objects("connections", rows, kMaxLatencyConnections + kMaxLatencyPairs + 1);
  a.objects("sizes", sizes, 2 * kSizeClasses);
  if constexpr (!Archive::kReads) {
    a.objects("procedures", l.procedures, kMaxProcedureSeries);
  } else {
    std::vector<ProcedureSeries> procedures;
    a.objects("procedures", procedures, kMaxProcedureSeries);
    for (const ProcedureSeries& p : procedures) {
      if (LatencySeries* const to = l.series(p.procedure)) to->merge(p.series);
    }
    for (ConnectionLatency& c : rows) {
      (c.connection != 0 ? l.connections : l.pairs).push_back(std::move(c));
    }
    for (SizeLatency& s : sizes) {
      l.sizes[s.reverse ? 1 : 0][static_cast<std::size_t>(s.size)].merge(s.total);
    }
  }
}

// The tables follow from the other fields: they are written and not read back.
template <typename Archive>
void write_latency_tables(Archive& /*a*/, const Report& /*r*/) {}
inline void write_latency_tables(FieldWriter& a, const Report& r) {
  JsonWriter& json = a.json();
  json.object("by");
  for (const LatencyBy by : kLatencyTables) {
    json.array(latency_by_name(by));
    for (const LatencyTableRow& row : latency_table(r, by)) {
      json.object();
      json.field("name", row.name);
      if (by == LatencyBy::kConnection) json.optional("id", row.connection != 0, row.connection);
      json.field("direction", direction_name(row.reverse));
      json.field("calls", row.latency.count());
      for (const LatencyQuantile& q : kLatencyQuantiles) {
        const auto ns = given_quantile(row.latency, q.q);
        json.optional(q.key, ns.has_value(), microseconds(ns.value_or(0)));
      }
      json.field("max", microseconds(row.latency.max()));
      json.field("mean", row.latency.mean() / 1e3);
      json.field("share_of_time", row.share_of_time);
      json.optional("times_as_slow", row.times_as_slow.has_value(), row.times_as_slow.value_or(0));
      json.end();
    }
    json.end();
  }
  json.end();
}

template <typename Archive>
void latency_fields(Archive& a, Of<Archive, Report>& r) {
  if (!a.present("latency", true)) return;
  a.object("latency", [&](auto& in) {
    fields(in, r.latencies);
    write_latency_tables(in, r);
  });
}

}  // namespace rpcrdma::report
