// Runs one load in this process: connects, begins at a given time, hands over each second's
// results, and returns the result. Prints nothing.
#pragma once

#include "load/options.h"
#include "load/worker.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include <rpcrdma/fabric/time.h>
#include <rpcrdma/load/interval.h>
#include <rpcrdma/load/report.h>
#include <rpcrdma/load_ranks/results.h>

namespace rpcrdma::cli {

// The rank that runs the load, as reports name it.
struct LoadRole {
  std::uint32_t rank = 0;
  std::uint32_t round = 0;
  std::string host;  // name of this machine
  // By how much this machine's CLOCK_MONOTONIC is ahead of the coordinator's, if it was measured.
  std::optional<load_ranks::ClockOffset> offset;
  // From the begin of the first round to that of this one, by the coordinator's clock.
  fabric::Time since_first = 0;
};

// The name of this machine.
[[nodiscard]] std::string own_host_name();

// What happened in one interval. Intervals end at multiples of their length after the start, so
// that those of several ranks are the same in time.
struct LoadTick {
  std::uint64_t index = 0;  // of the interval, from 0 on; some are missing if this process paused
  load::Interval interval;
  load::Progress progress;   // since the start
  fabric::Time elapsed = 0;  // from the start to the end of the interval
  fabric::Time length = 0;   // shorter for the last
  bool last = false;
};

struct LoadRunOptions {
  fabric::Time interval = fabric::kSecond;
  bool intervals = false;  // LoadTick::interval; else only its times and the progress
  bool series = false;     // results over time, and the HdrHistogram
  // Called from the thread that called run(). Returning false stops the load.
  std::function<bool(const LoadTick&)> on_tick;
};

class LoadRunner {
 public:
  // Opens the providers. `plan` outlives it, and so does `tracing`. Error: one clause for display.
  [[nodiscard]] static tl::expected<std::unique_ptr<LoadRunner>, std::string> open(
      const LoadPlan& plan, LoadRunOptions options, Tracing& tracing);
  ~LoadRunner();

  [[nodiscard]] std::vector<service::Loop*> loops();  // for Interrupt
  [[nodiscard]] std::vector<metrics::Parts> metrics_parts();

  // Returns when all connections are established, or Interrupt has come.
  [[nodiscard]] tl::expected<void, std::string> connect();

  struct Outcome {
    load::Result result;          // for the report of this process alone
    load_ranks::Results results;  // the same as one row, to be merged with those of others
    // Errors of threads. What came before is in the results, whose row then is State::kFailed.
    std::vector<std::string> problems;
  };
  // Waits until `start` by CLOCK_MONOTONIC, keeping the connections alive, and runs the load; 0:
  // at once. A start that has passed is late, which the row's skew says. Returns after the last
  // outcome, or soon after Interrupt.
  [[nodiscard]] Outcome run(fabric::Time start, const LoadRole& role);
  // Closes the connections.
  void disconnect();

 private:
  LoadRunner(const LoadPlan& plan, LoadRunOptions options, std::unique_ptr<RawFile> raw,
             std::vector<std::unique_ptr<LoadWorker>> workers);

  const LoadPlan& plan_;
  LoadRunOptions options_;
  std::unique_ptr<RawFile> raw_;  // null: no --raw
  std::vector<std::unique_ptr<LoadWorker>> workers_;
};

}  // namespace rpcrdma::cli
