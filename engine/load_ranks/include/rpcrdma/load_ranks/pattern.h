// Patterns of a load, which ranks call which servers: pure functions of the pattern, the ranks and
// the servers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/base/error.h>

namespace rpcrdma::load_ranks {

enum class Pattern : std::uint8_t {
  kManyToOne,  // "n-to-1": every rank calls the same server
  kOneToMany,  // "1-to-n": rank 0 calls all servers; other ranks are idle
  kPairwise,   // "pairwise": rounds; in each, a rank calls one server and a server has one caller
  kAllToAll,   // "all-to-all": every rank calls every server, all at once
};
inline constexpr std::size_t kPatterns = 4;
[[nodiscard]] const char* pattern_name(Pattern pattern);
[[nodiscard]] std::optional<Pattern> pattern_of(std::string_view name);

// Where a rank runs.
struct Place {
  std::string host;     // ranks with the same one share a server
  std::string address;  // HOST or HOST:PORT under which other ranks reach a server there
};

struct Schedule {
  // Without given servers: the ranks that serve during the whole load, one on each host that is
  // called, ascending; else empty.
  std::vector<std::uint32_t> serving;
  // For each round, by rank, the servers that it calls; none: it is idle in this round.
  std::vector<std::vector<std::vector<std::string>>> rounds;
};

// With `servers`, ranks call these. Without, each host of the ranks has one server, run by its
// lowest rank, and no rank calls its own host:
// - n-to-1: the host of rank 0 serves, ranks of other hosts call.
// - 1-to-n: rank 0 calls all other hosts.
// - pairwise: in round r, hosts call the r-th host after them: each ordered pair once.
// - all-to-all: each rank calls all other hosts.
// If there are fewer or more ranks than servers in pairwise, some are idle in some rounds, and each
// rank still calls each server once.
// Fails if nobody would call: one clause for display.
[[nodiscard]] base::Expected<Schedule> schedule(Pattern pattern, std::span<const Place> ranks,
                                                std::span<const std::string> servers);

}  // namespace rpcrdma::load_ranks
