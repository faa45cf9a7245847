// Merges results: rows side by side, everything else summed.
#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include <rpcrdma/load_ranks/results.h>

namespace rpcrdma::load_ranks {

namespace {

auto key_of(const Row& row) {
  return std::pair(row.round, row.rank);
}

}  // namespace

const char* state_name(State state) {
  switch (state) {
    case State::kDone:
      return "done";
    case State::kFailed:
      return "failed";
    case State::kDead:
      return "dead";
    case State::kStuck:
      return "stuck";
    case State::kLost:
      return "lost";
  }
  return "?";
}

std::uint64_t Row::right() const {
  return calls - errors - mismatches;
}

void fill(Row& row, const load::Result& r) {
  row.calls = r.tally.calls();
  row.errors = r.tally.errors();
  row.mismatches = r.tally.mismatches();
  row.bytes = r.tally.bytes();
  row.not_begun = r.not_begun;
  row.abandoned = r.abandoned;
  row.lost = r.lost;
  row.down = r.down;
  row.why_down = r.why_down;
  row.stalls = r.stalls;
  row.resent = r.tally.resent();
  row.elapsed = r.elapsed;
  row.user = r.user;
  row.system = r.system;
  row.interrupted = r.interrupted;
  row.packets = r.packets;
  row.reverse = r.reverse;
  row.latency = base::CompactHistogram(r.tally.latency());
  row.failed = r.failed;
}

base::Expected<void> merge(Results& to, const Results& from) {
  if (to.rows.size() + from.rows.size() > kMostRows) {
    return base::fail(fmt::format("results of more than {} ranks", kMostRows));
  }
  std::vector<Row> rows;
  rows.reserve(to.rows.size() + from.rows.size());
  std::ranges::merge(to.rows, from.rows, std::back_inserter(rows), {}, key_of, key_of);
  const auto twice = std::ranges::adjacent_find(rows, {}, key_of);
  if (twice != rows.end()) {
    return base::fail(fmt::format("two results of rank {} in round {}", twice->rank, twice->round));
  }
  std::vector<RoundTime> rounds;
  std::ranges::set_union(to.rounds, from.rounds, std::back_inserter(rounds), {}, &RoundTime::round,
                         &RoundTime::round);
  // For a round in both, the union has the one of `to`.
  for (const RoundTime& r : from.rounds) {
    if (*std::ranges::lower_bound(rounds, r.round, {}, &RoundTime::round) != r) {
      return base::fail(fmt::format("two start times of round {}", r.round));
    }
  }
  to.rows = std::move(rows);
  to.rounds = std::move(rounds);
  to.tally.merge(from.tally);
  to.latency.merge(from.latency);
  to.latency_over_time.merge(from.latency_over_time);
  return {};
}

base::Expected<std::vector<std::uint8_t>> merge_encoded(std::span<const std::uint8_t> a,
                                                        std::span<const std::uint8_t> b) {
  auto both = decode(a);
  if (!both) return tl::unexpected(both.error());
  const auto other = decode(b);
  if (!other) return tl::unexpected(other.error());
  if (const auto merged = merge(*both, *other); !merged) return tl::unexpected(merged.error());
  return encode(*both);
}

}  // namespace rpcrdma::load_ranks
