#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include <rpcrdma/report/latency.h>

namespace rpcrdma::report {

namespace {

// Returns null if the list is full of lower keys. A lower key replaces the highest.
ProcedureLatency* procedure_of(std::vector<ProcedureLatency>& list, const ProcedureKey& key) {
  const auto at = std::lower_bound(
      list.begin(), list.end(), key,
      [](const ProcedureLatency& p, const ProcedureKey& wanted) { return p.procedure < wanted; });
  if (at != list.end() && at->procedure == key) return &*at;
  if (list.size() < kMaxLatencyProcedures) return &*list.insert(at, {key});
  if (at == list.end()) return nullptr;
  std::move_backward(at, list.end() - 1, list.end());
  *at = {key};
  return &*at;
}

}  // namespace

void LatencyRow::add(ProcedureKey procedure, std::int64_t latency_ns) {
  total.add(latency_ns);
  procedure.reverse = false;
  ProcedureLatency* const p = procedure_of(procedures, procedure);
  if (p == nullptr) return;
  ++p->count;
  p->sum_ns += static_cast<std::uint64_t>(std::max<std::int64_t>(latency_ns, 0));
}

void LatencyRow::sort() {
  std::sort(procedures.begin(), procedures.end(),
            [](const ProcedureLatency& a, const ProcedureLatency& b) {
              return a.procedure < b.procedure;
            });
}

void LatencyRow::merge(const LatencyRow& other) {
  total.merge(other.total);
  for (const ProcedureLatency& from : other.procedures) {
    ProcedureLatency* const to = procedure_of(procedures, from.procedure);
    if (to == nullptr) continue;
    to->count += from.count;
    to->sum_ns += from.sum_ns;
  }
}

SizeClass size_class(std::uint64_t bytes) {
  constexpr std::array<std::uint64_t, 4> kEnds{4096, 65536, 262144, 1048576};
  return static_cast<SizeClass>(std::lower_bound(kEnds.begin(), kEnds.end(), bytes) -
                                kEnds.begin());
}

const char* size_class_name(SizeClass size) {
  constexpr std::array<const char*, kSizeClasses> kNames{
      "up to 4 KiB", "up to 64 KiB", "up to 256 KiB", "up to 1 MiB", "over 1 MiB", "unknown"};
  return kNames[static_cast<std::size_t>(size)];
}

ConnectionLatency& Latencies::pair(const std::string& client, const std::string& server) {
  const auto find = [this](std::string_view wanted, std::string_view with) {
    return std::find_if(pairs.begin(), pairs.end(), [&](const ConnectionLatency& c) {
      return c.client == wanted && c.server == with;
    });
  };
  auto at = find(client, server);
  const bool full = at == pairs.end() && pairs.size() >= kMaxLatencyPairs;
  if (full) at = find({}, {});
  if (at != pairs.end()) return *at;
  ConnectionLatency added;
  const bool others = full || (client.empty() && server.empty());
  if (!others) {
    added.client = client;
    added.server = server;
  }
  // By address: then it does not matter how reports are grouped for a merge. All others are last.
  const auto place =
      others ? pairs.end() : std::find_if(pairs.begin(), pairs.end(), [&](const auto& c) {
        return (c.client.empty() && c.server.empty()) ||
               std::tie(c.client, c.server) > std::tie(added.client, added.server);
      });
  return *pairs.insert(place, std::move(added));
}

LatencySeries* Latencies::series(const ProcedureKey& procedure) {
  const auto at = std::lower_bound(
      procedures.begin(), procedures.end(), procedure,
      [](const ProcedureSeries& p, const ProcedureKey& key) { return p.procedure < key; });
  if (at != procedures.end() && at->procedure == procedure) return &at->series;
  if (procedures.size() >= kMaxProcedureSeries) {
    if (at == procedures.end()) return nullptr;
    const auto index = at - procedures.begin();
    procedures.pop_back();
    return &procedures.insert(procedures.begin() + index, {procedure, {}})->series;
  }
  return &procedures.insert(at, {procedure, {}})->series;
}

}  // namespace rpcrdma::report
