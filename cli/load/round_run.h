// One round's load of a rank, in a thread of its own: the thread that talks to the coordinator
// never waits for it.
#pragma once

#include "load/options.h"
#include "load/runner.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <tl/expected.hpp>

#include <rpcrdma/fabric/time.h>
#include <rpcrdma/load_ranks/results.h>
#include <rpcrdma/load_ranks/tick.h>

namespace rpcrdma::cli {

class RoundRun {
 public:
  // Begins to connect to the servers. `options` outlives it.
  RoundRun(const LoadOptions& options, std::vector<std::string> servers);
  // Ends the load as stop() does, and waits for the thread.
  ~RoundRun();
  RoundRun(const RoundRun&) = delete;
  RoundRun& operator=(const RoundRun&) = delete;

  // Nothing until all connections are established or one cannot be.
  [[nodiscard]] std::optional<tl::expected<void, std::string>> connected();
  // Once connected: starts at this time of CLOCK_MONOTONIC.
  void start(fabric::Time at, const LoadRole& role);
  // Ends the load soon; its result says that it was interrupted. Before the start: there is none.
  void stop();
  // The next second's results.
  [[nodiscard]] std::optional<load_ranks::Tick> take_tick();
  // The result, when the load has ended. All its ticks can be taken before.
  [[nodiscard]] std::optional<load_ranks::Results> take_result();

 private:
  struct Start {
    fabric::Time at = 0;
    LoadRole role;
  };

  void run();
  [[nodiscard]] tl::expected<void, std::string> run_load();
  [[nodiscard]] std::optional<Start> wait_for_start(LoadRunner& runner);

  const LoadOptions& options_;
  const std::vector<std::string> servers_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // All guarded by mutex_.
  std::optional<tl::expected<void, std::string>> connected_;
  std::optional<Start> start_;
  bool stopped_ = false;
  bool interruptible_ = false;
  std::vector<load_ranks::Tick> ticks_;
  std::optional<load_ranks::Results> result_;

  std::thread thread_;
};

}  // namespace rpcrdma::cli
