#include "counts.h"

#include <algorithm>

#include <fmt/core.h>

#include <rpcrdma/decode/programs.h>

namespace rpcrdma::top {

namespace {

using trace_reader::CountedProcedure;
using trace_reader::ProcedureKey;
using trace_reader::SumLatencies;

// A source repeats the sums of a procedure while they grow. Latencies of a procedure that has not
// been called for this long are not recent.
constexpr std::int64_t kRecentNs = 10'000'000'000;
// Procedures of the selected connection that are kept for display.
constexpr std::size_t kMostShown = 32;

void add_recent(SumLatencies& to, const CountedProcedure& procedure, std::int64_t now_ns) {
  if (now_ns - procedure.latest_ns < kRecentNs) to.add(trace_reader::recent_latencies(procedure));
}

Latency latency_of(const SumLatencies& latencies) {
  const auto quantile = [&](double q) {
    const auto ns = latencies.quantile(q);
    return ns ? static_cast<std::int64_t>(*ns) : -1;
  };
  return {quantile(0.5), quantile(0.99)};
}

double rate_of(const CountedProcedure& procedure, std::uint64_t trace::ProcedureSums::*what,
               std::int64_t now_ns) {
  return procedure.per_second(what, now_ns).value_or(0);
}

std::string name_of(const ProcedureKey& key) {
  const char* const program = decode::program_name(key.program, key.version, key.procedure);
  const char* const procedure = decode::procedure_name(key.program, key.version, key.procedure);
  return fmt::format("{} v{} {}", program != nullptr ? program : std::to_string(key.program),
                     key.version, procedure != nullptr ? procedure : std::to_string(key.procedure));
}

}  // namespace

void Counts::take(const trace_reader::Event& event) {
  if (event.connection != nullptr) sums_.take(event.connection->index, event.view);
}

bool Counts::has(std::uint32_t connection) const {
  if (sums_.connections().contains(connection)) return true;
  bool found = false;
  each_procedure(connection, [&](const auto&, const auto&) { found = true; });
  return found;
}

void Counts::each_procedure(std::uint32_t connection, const Visit& visit) const {
  const auto& all = sums_.procedures();
  ProcedureKey first;
  first.connection = connection;
  for (auto at = all.lower_bound(first); at != all.end(); ++at) {
    if (at->first.connection != connection) break;
    visit(at->first, at->second);
  }
}

Totals Counts::totals(std::uint32_t connection) const {
  Totals t;
  each_procedure(connection, [&](const ProcedureKey&, const CountedProcedure& p) {
    const trace::ProcedureSums& sums = p.latest.sums;
    t.calls += sums.calls;
    t.replies += sums.replies;
    t.errors += sums.errors;
    t.chunk_bytes[0] += sums.read_chunk_bytes;
    t.chunk_bytes[1] += sums.write_chunk_bytes;
  });
  return t;
}

Rates Counts::rates(std::uint32_t connection, std::int64_t now_ns) const {
  Rates r;
  each_procedure(connection, [&](const ProcedureKey&, const CountedProcedure& p) {
    r.calls += rate_of(p, &trace::ProcedureSums::calls, now_ns);
    r.chunk_bytes[0] += rate_of(p, &trace::ProcedureSums::read_chunk_bytes, now_ns);
    r.chunk_bytes[1] += rate_of(p, &trace::ProcedureSums::write_chunk_bytes, now_ns);
  });
  return r;
}

Latency Counts::latency(std::uint32_t connection, std::int64_t now_ns) const {
  SumLatencies recent;
  each_procedure(connection, [&](const ProcedureKey&, const CountedProcedure& p) {
    add_recent(recent, p, now_ns);
  });
  return latency_of(recent);
}

Latency Counts::latency_of_all(std::int64_t now_ns) const {
  SumLatencies recent;
  for (const auto& [key, procedure] : sums_.procedures()) add_recent(recent, procedure, now_ns);
  return latency_of(recent);
}

SumLatencies Counts::all_latencies(std::uint32_t connection) const {
  SumLatencies all;
  each_procedure(connection, [&](const ProcedureKey&, const CountedProcedure& p) {
    all.add(p.latest.latencies);
  });
  return all;
}

SumLatencies Counts::all_latencies() const {
  SumLatencies all;
  for (const auto& [key, procedure] : sums_.procedures()) all.add(procedure.latest.latencies);
  return all;
}

ShownCounts Counts::shown(std::uint32_t connection, std::int64_t now_ns) const {
  ShownCounts s;
  const auto at = sums_.connections().find(connection);
  if (at != sums_.connections().end()) s.sums = at->second.latest;
  each_procedure(connection, [&](const ProcedureKey& key, const CountedProcedure& p) {
    ShownProcedure shown;
    shown.name = name_of(key);
    shown.calls = p.latest.sums.calls;
    shown.errors = p.latest.sums.errors;
    shown.rate = rate_of(p, &trace::ProcedureSums::calls, now_ns);
    SumLatencies recent;
    add_recent(recent, p, now_ns);
    shown.latency = latency_of(recent);
    shown.slowest_ns = static_cast<std::int64_t>(p.latest.sums.max_latency_ns);
    s.procedures.push_back(std::move(shown));
  });
  std::ranges::stable_sort(s.procedures, [](const ShownProcedure& a, const ShownProcedure& b) {
    return std::pair(a.rate, a.calls) > std::pair(b.rate, b.calls);
  });
  if (s.procedures.size() > kMostShown) s.procedures.resize(kMostShown);
  return s;
}

}  // namespace rpcrdma::top
