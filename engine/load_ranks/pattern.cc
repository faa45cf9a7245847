// Computes which ranks call which servers.
#include <algorithm>
#include <array>
#include <map>

#include <rpcrdma/load_ranks/pattern.h>

namespace rpcrdma::load_ranks {

namespace {

constexpr std::array<const char*, kPatterns> kNames{"n-to-1", "1-to-n", "pairwise", "all-to-all"};

using Round = std::vector<std::vector<std::string>>;

// With given servers.
Schedule to_given(Pattern pattern, std::size_t ranks, std::span<const std::string> servers) {
  Schedule s;
  const std::vector<std::string> all(servers.begin(), servers.end());
  switch (pattern) {
    case Pattern::kManyToOne:
    case Pattern::kAllToAll:
      s.rounds.emplace_back(ranks, all);
      break;
    case Pattern::kOneToMany:
      s.rounds.emplace_back(ranks).front() = all;
      break;
    case Pattern::kPairwise: {
      const std::size_t rounds = std::max(ranks, servers.size());
      for (std::size_t r = 0; r < rounds; ++r) {
        Round& round = s.rounds.emplace_back(ranks);
        for (std::size_t i = 0; i < ranks; ++i) {
          const std::size_t server = (i + r) % rounds;
          if (server < servers.size()) round[i] = {servers[server]};
        }
      }
      break;
    }
  }
  return s;
}

// The hosts of the ranks, in the order of their lowest ranks.
struct Hosts {
  std::vector<std::uint32_t> lowest;  // rank
  std::vector<std::size_t> of_rank;   // index of its host
};

Hosts hosts_of(std::span<const Place> ranks) {
  Hosts hosts;
  std::map<std::string_view, std::size_t> known;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto [at, is_new] = known.try_emplace(ranks[i].host, hosts.lowest.size());
    hosts.of_rank.push_back(at->second);
    if (is_new) hosts.lowest.push_back(static_cast<std::uint32_t>(i));
  }
  return hosts;
}

// With the servers of the ranks' own hosts.
Schedule to_each_other(Pattern pattern, std::span<const Place> ranks, const Hosts& hosts) {
  Schedule s;
  const std::size_t count = hosts.lowest.size();
  const auto server = [&](std::size_t host) { return ranks[hosts.lowest[host]].address; };
  switch (pattern) {
    case Pattern::kManyToOne: {
      Round& round = s.rounds.emplace_back(ranks.size());
      for (std::size_t i = 0; i < ranks.size(); ++i) {
        if (hosts.of_rank[i] != 0) round[i] = {server(0)};
      }
      s.serving = {hosts.lowest[0]};
      return s;
    }
    case Pattern::kOneToMany:
    case Pattern::kAllToAll: {
      Round& round = s.rounds.emplace_back(ranks.size());
      for (std::size_t i = 0; i < (pattern == Pattern::kAllToAll ? ranks.size() : 1); ++i) {
        for (std::size_t host = 0; host < count; ++host) {
          if (host != hosts.of_rank[i]) round[i].push_back(server(host));
        }
      }
      break;
    }
    case Pattern::kPairwise:
      for (std::size_t r = 1; r < count; ++r) {
        Round& round = s.rounds.emplace_back(ranks.size());
        for (std::size_t i = 0; i < ranks.size(); ++i) {
          round[i] = {server((hosts.of_rank[i] + r) % count)};
        }
      }
      break;
  }
  s.serving = hosts.lowest;
  if (pattern == Pattern::kOneToMany) s.serving.erase(s.serving.begin());
  return s;
}

}  // namespace

const char* pattern_name(Pattern pattern) {
  return kNames[static_cast<std::size_t>(pattern)];
}

std::optional<Pattern> pattern_of(std::string_view name) {
  for (std::size_t i = 0; i < kPatterns; ++i) {
    if (name == kNames[i]) return static_cast<Pattern>(i);
  }
  return std::nullopt;
}

base::Expected<Schedule> schedule(Pattern pattern, std::span<const Place> ranks,
                                  std::span<const std::string> servers) {
  if (ranks.empty()) return base::fail("there is no rank");
  if (!servers.empty()) {
    if (pattern == Pattern::kManyToOne && servers.size() != 1) {
      return base::fail("pattern n-to-1: give one server; all-to-all calls several");
    }
    return to_given(pattern, ranks.size(), servers);
  }
  const Hosts hosts = hosts_of(ranks);
  if (hosts.lowest.size() < 2) {
    return base::fail(
        "all ranks run on one host, and without a given server they call other hosts only");
  }
  return to_each_other(pattern, ranks, hosts);
}

}  // namespace rpcrdma::load_ranks
