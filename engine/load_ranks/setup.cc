#include "setup.h"

#include <map>
#include <set>

#include <fmt/format.h>

namespace rpcrdma::load_ranks {

std::size_t hosts_of(const Results& results) {
  std::set<std::string> hosts;
  for (const Row& row : results.rows) hosts.insert(row.host);
  return hosts.size();
}

std::size_t ranks_of(const Results& results) {
  std::set<std::uint32_t> ranks;
  for (const Row& row : results.rows) ranks.insert(row.rank);
  return ranks.size();
}

bool histogram_full(const Results& results) {
  bool full = false;
  results.tally.latency().for_each_bucket(
      [&](base::Histogram::Bucket b) { full = full || b.count == UINT32_MAX; });
  return full;
}

load::Setup setup_of_all(const WholeSetup& setup, const Results& results) {
  load::Setup all = setup.each;
  std::set<std::string> servers;
  std::map<std::uint32_t, std::uint32_t> in_round;  // ranks
  std::map<std::uint32_t, std::uint64_t> connections;
  for (const Row& row : results.rows) {
    servers.insert(row.servers.begin(), row.servers.end());
    ++in_round[row.round];
    connections[row.round] += std::uint64_t{setup.each.connections} * row.servers.size();
  }
  std::uint32_t ranks = 1;
  std::uint64_t most = 0;
  for (const auto& [round, count] : in_round) ranks = std::max(ranks, count);
  for (const auto& [round, count] : connections) most = std::max(most, count);
  all.server =
      servers.size() == 1 ? *servers.begin() : count_text(servers.size(), "server", "servers");
  all.from = fmt::format("{} on {}{}", count_text(ranks_of(results), "rank", "ranks"),
                         count_text(hosts_of(results), "host", "hosts"),
                         setup.pattern ? fmt::format(", {}", pattern_name(*setup.pattern)) : "");
  // Connections at the same time.
  all.connections = static_cast<std::uint32_t>(std::min<std::uint64_t>(most, UINT32_MAX));
  all.threads *= ranks;
  all.rate *= ranks;
  return all;
}

}  // namespace rpcrdma::load_ranks
