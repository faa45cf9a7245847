#include "latency_join.h"

#include <algorithm>

namespace rpcrdma::report {

namespace {

// The entry of a connection, a new one if there is room, else null.
ConnectionLatency* entry_of(Latencies& all, std::uint32_t id) {
  const auto at = std::find_if(all.connections.begin(), all.connections.end(),
                               [&](const ConnectionLatency& c) { return c.connection == id; });
  if (at != all.connections.end()) return &*at;
  if (all.connections.size() >= kMaxLatencyConnections) return nullptr;
  all.connections.emplace_back().connection = id;
  return &all.connections.back();
}

bool has_series(const Latencies& all, const ConnectionLatency& c) {
  return &c - all.connections.data() < static_cast<std::ptrdiff_t>(kMaxConnectionSeries);
}

ConnectionLatency& pair_of(Report& r, std::uint32_t id) {
  const Connection* const c = r.connection(id);
  if (c == nullptr) return r.latencies.pair({}, {});
  return r.latencies.pair(c->side[0].address, c->side[1].address);
}

void add_rows(ConnectionLatency& to, const ConnectionLatency& from) {
  for (std::size_t d = 0; d < 2; ++d) to.direction[d].merge(from.direction[d]);
}

}  // namespace

void join_latencies(Report& to, const Latencies& from) {
  Latencies& all = to.latencies;
  for (const ConnectionLatency& c : from.connections) {
    ConnectionLatency* const own = entry_of(all, c.connection);
    add_rows(own != nullptr ? *own : pair_of(to, c.connection), c);
    if (own != nullptr && has_series(all, *own)) own->series.merge(c.series);
  }
  for (const ConnectionLatency& c : from.pairs) add_rows(all.pair(c.client, c.server), c);
  for (std::size_t d = 0; d < 2; ++d) {
    for (std::size_t i = 0; i < kSizeClasses; ++i) all.sizes[d][i].merge(from.sizes[d][i]);
  }
  for (const ProcedureSeries& p : from.procedures) {
    if (LatencySeries* const series = all.series(p.procedure)) series->merge(p.series);
  }
}

void answer_latency(Report& to, const OpenCall& call, const ProcedureKey& counted_under,
                    std::int64_t answered_ns) {
  const std::int64_t latency = answered_ns - call.time_ns;
  Latencies& all = to.latencies;
  ConnectionLatency* const own = entry_of(all, call.connection);
  ConnectionLatency& entry = own != nullptr ? *own : pair_of(to, call.connection);
  entry.direction[call.reverse ? 1 : 0].add(counted_under, latency);
  if (own != nullptr && has_series(all, *own)) own->series.at(answered_ns).add(latency);
  const auto unknown = static_cast<std::size_t>(SizeClass::kUnknown);
  all.sizes[counted_under.reverse ? 1 : 0][unknown].add(latency);
  if (LatencySeries* const series = all.series(counted_under)) {
    series->at(answered_ns).add(latency);
  }
}

}  // namespace rpcrdma::report
