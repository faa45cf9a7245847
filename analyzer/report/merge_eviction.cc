#include "merge_eviction.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <tuple>
#include <vector>

#include <rpcrdma/roce/connections.h>

namespace rpcrdma::report {

namespace {

std::size_t kind_of(const Connection& c) {
  return c.recorded ? 2 : c.transport == roce::Transport::kIwarp ? 1 : 0;
}

// In the order of eviction.
auto idle_key(const Connection& c) {
  return std::tuple(c.state < roce::State::kRejected, c.last_frame, c.id);
}

std::set<std::uint32_t> choose(const Report& r) {
  std::array<std::vector<const Connection*>, 3> kinds;
  for (const Connection& c : r.connections) kinds[kind_of(c)].push_back(&c);
  std::set<std::uint32_t> evicted;
  for (auto& list : kinds) {
    if (list.size() <= roce::kMaxConnections) continue;
    const auto end =
        list.begin() + static_cast<std::ptrdiff_t>(list.size() - roce::kMaxConnections);
    std::nth_element(list.begin(), end, list.end(), [](const Connection* a, const Connection* b) {
      return idle_key(*a) < idle_key(*b);
    });
    std::for_each(list.begin(), end, [&](const Connection* c) { evicted.insert(c->id); });
  }
  return evicted;
}

}  // namespace

void evict_connections(Report& report) {
  if (report.connections.size() <= roce::kMaxConnections) return;
  const std::set<std::uint32_t> evicted = choose(report);
  if (evicted.empty()) return;
  const auto gone = [&](std::uint32_t id) { return evicted.contains(id); };
  for (const ConnectionLatency& c : report.latencies.connections) {
    if (!gone(c.connection)) continue;
    const Connection& of = *report.connection(c.connection);
    ConnectionLatency& pair = report.latencies.pair(of.side[0].address, of.side[1].address);
    for (std::size_t d = 0; d < 2; ++d) pair.direction[d].merge(c.direction[d]);
  }
  std::erase_if(report.latencies.connections,
                [&](const ConnectionLatency& c) { return gone(c.connection); });
  std::erase_if(report.credits, [&](const ConnectionCredits& c) { return gone(c.connection); });
  std::erase_if(report.edges.open_calls, [&](const OpenCall& c) { return gone(c.connection); });
  std::erase_if(report.edges.early_replies,
                [&](const EarlyReply& r) { return gone(r.connection); });
  for (const Connection& c : report.connections) {
    if (gone(c.id)) report.not_listed.add(c);
  }
  std::erase_if(report.connections, [&](const Connection& c) { return gone(c.id); });
  report.credits_omitted = count_credits_omitted(report);
}

}  // namespace rpcrdma::report
