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
  load::Setup each;  // of one rank; `server` and `from` are those of the rows
  Pattern pattern = Pattern::kManyToOne;
  std::uint32_t ranks = 0;     // that were started
  fabric::Time epoch = 0;      // the common start: nanoseconds since the epoch
  bool started = true;         // all began at an agreed time, so that the skew means something
};

// Jain's fairness index of the shares: 1: all equal; 1/n: one has all. Nothing: no shares, or all
// are 0.
[[nodiscard]] std::optional<double> jain(const std::vector<double>& shares);

// A time in which a rank did least.
struct WorstWindow {
  std::uint32_t rank = 0;
  std::uint32_t round = 0;
  fabric::Time begin = 0;  // since the begin of the first round
  fabric::Time length = 0;
  double calls_per_second = 0;
  double bytes_per_second = 0;
  std::uint64_t errors = 0;
};

// What is derived from the results.
struct Whole {
  load::Result result;  // of all ranks together, with the thresholds that the whole exceeded
  std::vector<const Row*> rows;       // rows that took part, in the order of the results
  std::vector<const Row*> missing;    // of these, without a complete result
  const Row* slowest = nullptr;       // of the complete ones, by Calls per second; null: fewer than 2
  std::optional<double> fairness;     // of Calls per second, over the complete rows
  std::optional<WorstWindow> second;  // the worst second, or narrowest window, of any rank
  std::optional<WorstWindow> five;    // the worst 5 seconds in a row
  std::vector<WorstWindow> worst;     // the worst second of each row, in their order
  fabric::Time skew = 0;              // largest, with the error of the offsets
  Series series;                      // of all, since the begin of the first round
};
// `results` outlives it.
[[nodiscard]] Whole derive(const WholeSetup& setup, const Results& results,
                           const load::Thresholds& limits);

// Whether the exit status is 0: every rank is complete and answered, and no limit was exceeded.
[[nodiscard]] bool good(const Whole& whole);
// Why it is not, one clause each, for standard error.
[[nodiscard]] std::vector<std::string> complaints(const Whole& whole);

// Several lines, each with its newline.
[[nodiscard]] std::string to_text(const WholeSetup& setup, const Results& results,
                                  const Whole& whole);
// One object, without newline: the keys of `load --json`, and more.
[[nodiscard]] std::string to_json(const WholeSetup& setup, const Results& results,
                                  const Whole& whole);

}  // namespace rpcrdma::load_ranks
