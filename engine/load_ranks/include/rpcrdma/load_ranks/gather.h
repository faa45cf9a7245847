// The coordinator's view of one load while it runs: ticks and results as they arrive. At the end it
// has the results of all ranks; of one that died, what its ticks said.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <rpcrdma/base/error.h>
#include <rpcrdma/load/interval.h>
#include <rpcrdma/load_ranks/results.h>
#include <rpcrdma/load_ranks/tick.h>

namespace rpcrdma::load_ranks {

class Gather {
 public:
  // Expects a row of this rank in this round. `row`: who it is; its numbers are ignored.
  void expect(const Row& row);
  // When a round began, from the begin of the first one.
  void begin_round(std::uint32_t round, fabric::Time since_first);

  // `now`: the coordinator's time since the begin of the round. The indexes of a rank's ticks grow.
  // Fails for a rank that is not expected, or that already has a result, and for results that
  // cannot be merged.
  [[nodiscard]] base::Expected<void> take(const Tick& tick, fabric::Time now);
  // One rank's or several ranks' results.
  [[nodiscard]] base::Expected<void> take(const Results& results);

  // Ranks of the round without a result, ascending.
  [[nodiscard]] std::vector<std::uint32_t> missing(std::uint32_t round) const;
  // When something was last heard of the rank, since the begin of the round; nothing: never.
  [[nodiscard]] std::optional<fabric::Time> heard(std::uint32_t round, std::uint32_t rank) const;
  // Gives the rank up: its row is what its ticks said.
  void give_up(std::uint32_t round, std::uint32_t rank, State state, std::string why);

  // The second `index` of the round over all ranks so far, for a progress line or --json-stream.
  // Complete when every rank that is not given up or done has passed it.
  [[nodiscard]] load::Interval second(std::uint32_t round, std::uint64_t index) const;
  [[nodiscard]] bool complete(std::uint32_t round, std::uint64_t index) const;
  // Seconds up to this one need no memory any more; their totals stay.
  void forget(std::uint32_t round, std::uint64_t index);

  // Gives up all that are missing as State::kLost, and returns everything.
  [[nodiscard]] Results finish();

 private:
  using Key = std::pair<std::uint32_t, std::uint32_t>;  // round, rank
  struct Rank {
    Row row;  // who, and what the ticks add up to
    load::HdrHistogram latency;
    LatencySeries over_time;
    std::optional<fabric::Time> heard;
    std::optional<std::uint64_t> passed;  // index of the last tick
    bool over = false;                    // has a result, or is given up
  };

  std::map<Key, Rank> ranks_;
  std::map<std::uint32_t, fabric::Time> starts_;  // of rounds
  std::map<std::pair<std::uint32_t, std::uint64_t>, load::Interval> seconds_;
  Results results_;
};

}  // namespace rpcrdma::load_ranks
