// Builds the charts of a report, for the HTML page and the terminal.
#include "charts.h"

#include "importance.h"
#include "text/time_window.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include <fmt/core.h>

#include <rpcrdma/report/context.h>

namespace rpcrdma::report {

namespace {

double since_start(const Report& r, std::int64_t time_ns) {
  return std::max(0.0,
                  (static_cast<double>(time_ns) - static_cast<double>(r.capture.first_ns)) / 1e9);
}

template <typename Bin>
double bin_begin(const Report& r, const Series<Bin>& series, std::int64_t n) {
  return since_start(r, n * series.width_ns());
}

plot::Chart chart_of(const Report& r, std::string title, plot::Unit y) {
  plot::Chart chart;
  chart.title = std::move(title);
  chart.y_unit = y;
  chart.window = time_window(r);
  chart.x_end = chart.window->end;
  return chart;
}

// Adds a series with the result of `value` for each traffic bin. A series of zeros is left out.
template <typename Value>
void add_series(const Report& r, plot::Chart& chart, const char* name, plot::Style style,
                Value&& value) {
  plot::Series series{name, style, {}};
  bool any = false;
  const TrafficSeries& t = r.traffic;
  for (std::int64_t n = t.first(); n <= t.last(); ++n) {
    const double y = value(t.bin(n));
    any = any || y > 0;
    series.points.push_back({bin_begin(r, t, n), y, {}});
  }
  if (!any) return;
  // There is no traffic after the last bin.
  const double end = bin_begin(r, t, t.last() + 1);
  if (chart.x_end && end < *chart.x_end) series.points.push_back({end, 0, {}});
  chart.series.push_back(std::move(series));
}

struct Ledger {
  const Connection* connection;
  std::size_t direction;
  const CreditSeries* series;
};

std::vector<Ledger> ledgers(const Report& r) {
  std::vector<Ledger> out;
  for (const ConnectionCredits& x : r.credits) {
    const Connection* c = r.connection(x.connection);
    for (std::size_t d = 0; c != nullptr && d < 2; ++d) {
      if (c->direction[d].calls != 0 && !x.direction[d].empty()) {
        out.push_back({c, d, &x.direction[d]});
      }
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const Ledger& a, const Ledger& b) {
    return a.connection != b.connection && more_important(*a.connection, *b.connection);
  });
  return out;
}

plot::Chart credit_chart(const Report& r, const Ledger& ledger) {
  const Direction& d = ledger.connection->direction[ledger.direction];
  const bool reverse = ledger.direction == 1;
  plot::Chart chart = chart_of(r,
                               fmt::format("Credits of connection {}{}", ledger.connection->id,
                                           reverse ? ", reverse direction" : ""),
                               plot::Unit::kCount);
  const std::string asked = d.requested_known ? fmt::format("Requested {}", d.requested_max)
                                              : std::string("Requests unknown");
  const std::string given = d.granted_known
                                ? fmt::format("granted {} to {}", d.granted_min, d.granted_max)
                                : std::string("grants unknown");
  chart.description = fmt::format("{}, {}, at most {} in use.", asked, given, d.in_use_max);
  plot::Series requested{"requested", plot::Style::kStep, {}};
  plot::Series granted{"granted", plot::Style::kStep, {}};
  plot::Series in_use{"in use", plot::Style::kArea, {}};
  const CreditSeries& s = *ledger.series;
  for (std::int64_t n = s.first(); n <= s.last(); ++n) {
    const CreditBin& bin = s.bin(n);
    const double x = bin_begin(r, s, n);
    // A requested or granted value holds until the next one. The number in use is sampled when a
    // Call starts: a bin without a Call has no requested value and counts as none in use.
    if (bin.requested_max != 0)
      requested.points.push_back({x, static_cast<double>(bin.requested_max), {}});
    if (bin.granted) granted.points.push_back({x, static_cast<double>(bin.granted_min), {}});
    in_use.points.push_back({x, static_cast<double>(bin.in_use_max), {}});
  }
  const double end = bin_begin(r, s, s.last() + 1);
  if (chart.x_end && end < *chart.x_end) in_use.points.push_back({end, 0, {}});
  chart.series = {std::move(requested), std::move(granted), std::move(in_use)};
  return chart;
}

base::Histogram all_latencies(const Report& r) {
  base::Histogram all;
  for (const auto& [key, p] : r.procedures) all.merge(p.total);
  return all;
}

std::string latency_sentence(const base::Histogram& h) {
  return fmt::format("{} Calls: p50 {}, p99 {}, max {}.", h.count(),
                     format_duration(h.quantile(0.5)), format_duration(h.quantile(0.99)),
                     format_duration(h.max()));
}

// Returns the lower edge of a bucket in seconds. Bucket 0 starts at half its end, as the others do.
double latency_edge(std::size_t bucket) {
  return 512e-9 * std::exp2(static_cast<double>(bucket));
}

// `counts` returns the counts of a bin by latency_bucket().
template <typename Bin, typename Counts>
plot::HeatMap heat_map(const Report& r, const Series<Bin>& t, Counts&& counts, std::string title,
                       std::string description) {
  plot::HeatMap map;
  map.title = std::move(title);
  map.description = std::move(description);
  map.window = time_window(r);
  if (t.empty()) return map;
  std::size_t low = kLatencyBuckets;
  std::size_t high = 0;
  for (std::int64_t n = t.first(); n <= t.last(); ++n) {
    for (std::size_t b = 0; b < kLatencyBuckets; ++b) {
      if (counts(t.bin(n))[b] == 0) continue;
      low = std::min(low, b);
      high = std::max(high, b);
    }
  }
  if (low > high) return map;
  for (std::size_t b = low; b <= high + 1; ++b) map.y.push_back(latency_edge(b));
  for (std::int64_t n = t.first(); n <= t.last(); ++n) {
    // The first bin can start before the capture, which then shows only a part of it.
    map.x.push_back(bin_begin(r, t, n));
    for (std::size_t b = low; b <= high; ++b) {
      map.cells.push_back(static_cast<double>(counts(t.bin(n))[b]));
    }
  }
  map.x.push_back(bin_begin(r, t, t.last() + 1));
  return map;
}

// A map of fewer Calls shows less than their latencies in a table.
constexpr std::uint64_t kWorthAMap = 10;

struct MapOf {
  std::string title;  // empty: no map
  base::Histogram latencies;
};

// `map_of` returns the title and the distribution of an entry with a series.
template <typename Entry, typename Function>
std::vector<plot::HeatMap> series_maps(const Report& r, const std::vector<Entry>& entries,
                                       Function&& map_of) {
  std::vector<std::pair<std::uint64_t, plot::HeatMap>> maps;
  for (const Entry& entry : entries) {
    if (entry.series.empty()) continue;
    MapOf of = map_of(entry);
    if (of.title.empty() || of.latencies.count() < kWorthAMap) continue;
    maps.emplace_back(of.latencies.sum(),
                      heat_map(
                          r, entry.series, [](const LatencyBin& b) { return b.counts; },
                          std::move(of.title), latency_sentence(of.latencies)));
  }
  std::stable_sort(maps.begin(), maps.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<plot::HeatMap> out;
  out.reserve(maps.size());
  for (auto& [sum, map] : maps) out.push_back(std::move(map));
  return out;
}

}  // namespace

std::vector<plot::Chart> credit_charts(const Report& report, std::size_t count) {
  std::vector<plot::Chart> charts;
  for (const Ledger& l : ledgers(report)) {
    if (charts.size() == count) break;
    charts.push_back(credit_chart(report, l));
  }
  return charts;
}

std::size_t count_credit_charts(const Report& report) {
  return ledgers(report).size();
}

plot::Chart call_rate_chart(const Report& report) {
  plot::Chart chart = chart_of(report, "Calls per second", plot::Unit::kPerSecond);
  const double width = static_cast<double>(report.traffic.width_ns()) / 1e9;
  chart.description = "Rate of Calls, and of Calls answered with an error.";
  add_series(report, chart, "Calls", plot::Style::kArea,
             [&](const TrafficBin& b) { return static_cast<double>(b.calls) / width; });
  add_series(report, chart, "errors", plot::Style::kStep,
             [&](const TrafficBin& b) { return static_cast<double>(b.errors) / width; });
  return chart;
}

plot::Chart byte_rate_chart(const Report& report) {
  plot::Chart chart = chart_of(report, "Bytes per second", plot::Unit::kBytesPerSecond);
  const double width = static_cast<double>(report.traffic.width_ns()) / 1e9;
  chart.description = "Bytes moved by RDMA Read, by RDMA Write, and inline in Sends.";
  add_series(report, chart, "RDMA Read", plot::Style::kStep,
             [&](const TrafficBin& b) { return static_cast<double>(b.read_bytes) / width; });
  add_series(report, chart, "RDMA Write", plot::Style::kStep,
             [&](const TrafficBin& b) { return static_cast<double>(b.write_bytes) / width; });
  add_series(report, chart, "inline", plot::Style::kStep,
             [&](const TrafficBin& b) { return static_cast<double>(b.inline_bytes) / width; });
  return chart;
}

plot::Chart outstanding_chart(const Report& report) {
  plot::Chart chart = chart_of(report, "Most Calls in flight", plot::Unit::kCount);
  chart.description = "Calls in flight on all connections together.";
  add_series(report, chart, "", plot::Style::kArea,
             [](const TrafficBin& b) { return static_cast<double>(b.outstanding_max); });
  return chart;
}

plot::Chart trouble_chart(const Report& report) {
  plot::Chart chart = chart_of(report, "Retransmitted packets and NAKs", plot::Unit::kCount);
  chart.description = "Retransmissions and negative acknowledgments over time.";
  add_series(report, chart, "retransmitted", plot::Style::kStep,
             [](const TrafficBin& b) { return static_cast<double>(b.retransmitted); });
  add_series(report, chart, "NAKs", plot::Style::kStep,
             [](const TrafficBin& b) { return static_cast<double>(b.naks); });
  add_series(report, chart, "RNR NAKs", plot::Style::kStep,
             [](const TrafficBin& b) { return static_cast<double>(b.rnrs); });
  return chart;
}

plot::Chart congestion_chart(const Report& report) {
  plot::Chart chart = chart_of(report, "Signals of congestion", plot::Unit::kCount);
  chart.description = "Packets marked CE, CNPs and pause frames over time.";
  add_series(report, chart, "marked CE", plot::Style::kStep,
             [](const TrafficBin& b) { return static_cast<double>(b.ce); });
  add_series(report, chart, "CNPs", plot::Style::kStep,
             [](const TrafficBin& b) { return static_cast<double>(b.cnps); });
  add_series(report, chart, "pause frames", plot::Style::kStep,
             [](const TrafficBin& b) { return static_cast<double>(b.pauses); });
  return chart;
}

bool any_congestion(const Report& report) {
  return report.capture.packets.ce != 0 || report.capture.packets.cnp != 0 ||
         !report.capture.pauses.empty();
}

plot::Chart latency_chart(const Report& report) {
  plot::Chart chart = chart_of(report, "Latency over time", plot::Unit::kSeconds);
  chart.y_log = true;
  chart.description = latency_sentence(all_latencies(report));
  // Dots, because lines between few Calls would be too short to see.
  plot::Series mean{"mean", plot::Style::kDots, {}};
  plot::Series most{"slowest", plot::Style::kDots, {}, true};
  const TrafficSeries& t = report.traffic;
  for (std::int64_t n = t.first(); n <= t.last(); ++n) {
    const TrafficBin& b = t.bin(n);
    if (b.latency_count == 0) continue;
    const double x = bin_begin(report, t, n);
    const double sum = static_cast<double>(b.latency_sum) / 1e9;
    mean.points.push_back({x, sum / static_cast<double>(b.latency_count), {}});
    most.points.push_back({x, static_cast<double>(b.latency_max) / 1e9, {}});
  }
  chart.series = {std::move(mean), std::move(most)};
  return chart;
}

plot::Chart slow_calls_chart(const Report& report) {
  plot::Chart chart = chart_of(report, "The slowest Calls", plot::Unit::kSeconds);
  chart.y_log = true;
  chart.description = "Send times and latencies of the slowest Calls.";
  std::vector<const SlowCall*> calls;
  for (const SlowCall& c : report.slowest.list()) calls.push_back(&c);
  for (const auto& [key, p] : report.procedures) {
    for (const SlowCall& c : p.slowest.list()) calls.push_back(&c);
  }
  // The slowest Calls of all are in the lists of their procedures too.
  const auto place = [](const SlowCall* c) { return std::tuple(c->time_ns, c->frame, c->xid); };
  std::sort(calls.begin(), calls.end(),
            [&](const SlowCall* a, const SlowCall* b) { return place(a) < place(b); });
  calls.erase(
      std::unique(calls.begin(), calls.end(),
                  [&](const SlowCall* a, const SlowCall* b) { return place(a) == place(b); }),
      calls.end());
  plot::Series dots{"", plot::Style::kDots, {}};
  for (const SlowCall* c : calls) {
    dots.points.push_back(
        {since_start(report, c->time_ns), static_cast<double>(c->latency_ns) / 1e9,
         fmt::format("{}, frame {}: {}", c->label, c->frame, format_duration(c->latency_ns))});
  }
  chart.series.push_back(std::move(dots));
  return chart;
}

plot::HeatMap latency_map(const Report& report) {
  return heat_map(
      report, report.traffic, [](const TrafficBin& b) { return b.latency; },
      "Latency over time: number of Calls", latency_sentence(all_latencies(report)));
}

std::vector<plot::HeatMap> connection_maps(const Report& report) {
  return series_maps(report, report.latencies.connections, [&](const ConnectionLatency& c) {
    const Connection* const listed = report.connection(c.connection);
    base::CompactHistogram both = c.direction[0].total;
    both.merge(c.direction[1].total);
    return MapOf{listed == nullptr ? std::string()
                                   : fmt::format("Connection {}: {} - {}", listed->id,
                                                 listed->side[0].address, listed->side[1].address),
                 both.expanded()};
  });
}

std::vector<plot::HeatMap> procedure_maps(const Report& report) {
  return series_maps(report, report.latencies.procedures, [&](const ProcedureSeries& s) {
    const auto at = report.procedures.find(s.procedure);
    if (at == report.procedures.end()) return MapOf{};
    return MapOf{fmt::format("{}{}", s.procedure.reverse ? "reverse " : "", at->second.label),
                 at->second.total};
  });
}

plot::Histogram latency_histogram(const Report& report) {
  plot::Histogram histogram;
  const base::Histogram all = all_latencies(report);
  histogram.title = "Latency of all Calls";
  histogram.description = latency_sentence(all);
  all.for_each_bucket([&](base::Histogram::Bucket b) {
    histogram.buckets.push_back({static_cast<double>(base::Histogram::lowest_of(b.index)) / 1e9,
                                 static_cast<double>(base::Histogram::lowest_of(b.index + 1)) / 1e9,
                                 b.count});
  });
  return histogram;
}

}  // namespace rpcrdma::report
