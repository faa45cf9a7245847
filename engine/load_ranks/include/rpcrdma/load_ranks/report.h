// The report of a coordinated load as a whole: what all ranks did together, the rank that is
// slowest, how fair the shares are, and the worst moments. docs/load.md describes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/fabric/time.h>
#include <rpcrdma/load/report.h>
#include <rpcrdma/load/threshold.h>
#include <rpcrdma/load_ranks/pattern.h>
#include <rpcrdma/load_ranks/results.h>

namespace rpcrdma::load_ranks {

// The parameters of the whole.
struct WholeSetup {
  // The report of one rank; `connections` are those to each server. `server` and `from` are those
  // of the rows.
  load::Setup each;
  // How ranks and servers were matched; nothing: a single load, which has neither.
  std::optional<Pattern> pattern;
  std::uint32_t ranks = 1;  // that were started; some may only serve
  fabric::Time epoch = 0;   // the common start: nanoseconds since the epoch
  bool started = true;      // all began at an agreed time, so that the skew means something
};

// Jain's fairness index of the shares: 1: all equal; 1/n: one has all. Nothing: no shares, or all
// are 0.
[[nodiscard]] std::optional<double> jain(const std::vector<double>& shares);

// A time in which a rank, or all, did least.
struct WorstWindow {
  std::uint32_t rank = 0;
  std::uint32_t round = 0;
  fabric::Time begin = 0;  // since the begin of the first round
  fabric::Time length = 0;
  std::uint64_t calls = 0, errors = 0;
  double calls_per_second = 0;
  double bytes_per_second = 0;
  double of_average = 0;  // of the rank's own rate
};

struct RoundSum {
  std::uint32_t round = 0;
  fabric::Time start = 0;    // since the begin of the first round
  fabric::Time elapsed = 0;  // until the last outcome of the slowest rank
  std::uint32_t rows = 0;    // ranks that called
  std::uint64_t right = 0, bytes = 0;
};

// Values derived from the results.
struct Whole {
  load::Result result;  // of all ranks together, with the thresholds that the whole exceeded
  std::vector<RoundSum> rounds;
  std::vector<const Row*> missing;  // rows without a complete result
  const Row* slowest = nullptr;     // of the complete ones, by Calls per second; null: fewer than 2
  std::optional<double> slowest_of_median;  // its rate
  // Of Calls per second of the complete ranks, of which there are at least two.
  std::optional<double> fairness;
  std::uint32_t fair_ranks = 0;
  // The window of all rows that is the least of its rank's average: a steady slow rank
  // does not hide a fast one that stalls.
  std::optional<WorstWindow> second;              // of a second, or of the narrowest windows
  std::optional<WorstWindow> five;                // of 5 seconds
  std::vector<std::optional<WorstWindow>> worst;  // the worst second of each row, by calls
  std::optional<WorstWindow> all_second;          // of all together; with one round
  fabric::Time skew = 0;  // at most this between the begins of two ranks, with the clocks' errors
  Series series;          // of all, since the begin of the first round
};
// `results` outlives it.
[[nodiscard]] Whole derive(const WholeSetup& setup, const Results& results,
                           const load::Thresholds& limits);

// The parameters of all ranks together, for the report of a load: "10.0.0.1 port 20049" from
// "4 ranks on 4 hosts".
[[nodiscard]] load::Setup setup_of_all(const WholeSetup& setup, const Results& results);
// Calls with a correct answer per second.
[[nodiscard]] double rate_of(const Row& row);
// "rank 3 (host-d)", "rank 3 (host-d) in round 2"; not escaped.
[[nodiscard]] std::string row_name(const Row& row, bool with_round);
// "is dead, last heard of 3.1 s after the start: signal 9"; for a row that is not State::kDone.
[[nodiscard]] std::string missing_text(const Row& row);

// Why the exit status is not 0, one clause each, for standard error; none: it is 0. A rank without
// a complete result is among them.
[[nodiscard]] std::vector<std::string> complaints(const Results& results, const Whole& whole);

// Several lines, each with its newline.
[[nodiscard]] std::string to_text(const WholeSetup& setup, const Results& results,
                                  const Whole& whole);
// One object, without newline: the keys of `load --json`, and more.
[[nodiscard]] std::string to_json(const WholeSetup& setup, const Results& results,
                                  const Whole& whole);

}  // namespace rpcrdma::load_ranks
