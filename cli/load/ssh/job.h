// The steps of a load by agents: reach them, measure their clocks, send the options, and for each
// round of the pattern connect, begin together, and gather what they report.
#pragma once

#include "load/ssh/agents_option.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/load/interval.h>
#include <rpcrdma/load_agents/crew.h>
#include <rpcrdma/load_ranks/gather.h>
#include <rpcrdma/load_ranks/pattern.h>
#include <rpcrdma/load_ranks/results.h>

namespace rpcrdma::cli {

struct AgentsJobHooks {
  // The load begins, `epoch` in nanoseconds since the epoch.
  std::function<void(fabric::Time epoch)> on_begin;
  // What all agents did in one second, which ends so long after the begin. Returning false stops
  // the load.
  std::function<bool(const load::Interval& second, fabric::Time end)> on_second;
};

class AgentsJob {
 public:
  // `servers`: those that the command line names. `plan` outlives it.
  AgentsJob(const AgentsPlan& plan, std::vector<std::string> servers, AgentsJobHooks hooks);

  // Runs the load, until Interrupt at most. Returns nothing if it did not begin, after a line on
  // standard error; agents that are lost are named there in either case.
  [[nodiscard]] std::optional<load_ranks::Results> run();

  // Whether any agent was lost, with a result or without one.
  [[nodiscard]] bool lost_any() const { return lost_any_; }
  // How far the clocks of the agents are known, at worst; agents whose clock is known.
  [[nodiscard]] fabric::Time clock_error() const;

 private:
  using Members = std::vector<std::size_t>;

  [[nodiscard]] bool prepare();
  [[nodiscard]] Members everyone() const;
  [[nodiscard]] bool find_addresses();
  void take_address(const load_agents::Crew::Event& event);
  [[nodiscard]] bool make_schedule();
  [[nodiscard]] std::optional<std::string> address_of(std::size_t agent) const;
  void send_options();
  // Nothing but frames of type `expected`, one from each of `from`: until all have come. Returns
  // false if an agent was lost, or Interrupt came.
  [[nodiscard]] bool wait_for(load_agents::FrameType expected, const Members& from);
  // Turns until `done`; false as above.
  [[nodiscard]] bool turn_until(const std::function<bool()>& done);

  [[nodiscard]] bool run_round(std::uint32_t round);
  [[nodiscard]] bool connect(std::uint32_t round, const Members& callers);
  void start(std::uint32_t round, const Members& callers);
  void gather(std::uint32_t round, const Members& callers);
  void take(std::uint32_t round, const load_agents::Crew::Event& event);
  void show_seconds(std::uint32_t round);
  void watch(std::uint32_t round);
  void stop(const std::string& why);

  void say_lost();

  const AgentsPlan& plan_;
  std::vector<std::string> servers_;
  AgentsJobHooks hooks_;
  load_agents::Crew crew_;
  std::vector<std::string> addresses_;  // of agents, for each other; empty: not needed
  load_ranks::Schedule schedule_;
  load_ranks::Gather gather_;
  std::vector<bool> said_;  // by agent: that it is lost
  bool lost_any_ = false;
  bool stopped_ = false;
  fabric::Time stopped_at_ = 0;
  fabric::Time first_start_ = 0;  // of the first round, by this machine's CLOCK_MONOTONIC
  fabric::Time round_start_ = 0;
  std::uint64_t seconds_ = 0;      // of the round, that an agent has reported
  std::uint64_t next_second_ = 0;  // of these, that was not shown
  fabric::Time elapsed_ = 0;       // of the round, that an agent has reported
};

}  // namespace rpcrdma::cli
