// All agents of a load, as their coordinator sees them: starts them, exchanges frames, measures
// their clocks, and finds out who has died or hangs. One thread; nothing waits for one agent alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/load_agents/agent_list.h>
#include <rpcrdma/load_agents/frame.h>
#include <rpcrdma/load_agents/messages.h>
#include <rpcrdma/load_ranks/clock.h>
#include <rpcrdma/load_ranks/results.h>

namespace rpcrdma::load_agents {

struct CrewOptions {
  // The words that start an agent, such as those of an ssh client.
  std::function<std::vector<std::string>(const AgentName&)> words;
  std::string version;  // of this program: agents of another one are refused
  // Receives lines that agents print on standard error, and what the crew says about them. They
  // are not escaped.
  std::function<void(const std::string& line)> print;
  // Limits: from the start of the process to kHello; without a sign of life; how long an agent has
  // to end by itself.
  std::int64_t reach = 30 * base::kSecond;
  std::int64_t silence = 10 * base::kSecond;
  std::int64_t farewell = 3 * base::kSecond;
  // Agents that are started and have not sent kHello: an ssh server refuses too many at once.
  std::size_t most_starting = 64;
  std::size_t most_starting_of_host = 8;
};

class Crew {
 public:
  enum class State : std::uint8_t { kWaiting, kStarting, kHere, kLost };
  struct Event {
    std::size_t agent = 0;
    Frame frame;
  };

  Crew(std::vector<AgentName> agents, CrewOptions options);
  // Kills those that have not ended.
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Starts agents, waits at most `wait` for something to arrive, and returns frames that the crew
  // does not handle itself: all but kHello, kPong and kRefusal.
  [[nodiscard]] std::vector<Event> turn(std::int64_t wait);

  void send(std::size_t agent, FrameType type, Bytes body = {});
  // Sends as many pings one after another; clock() has the result.
  void measure_clocks(std::uint32_t exchanges);
  // Whether all exchanges with the agents that are not lost have ended.
  [[nodiscard]] bool clocks_measured() const;

  // Gives an agent up; its process is ended.
  void lose(std::size_t agent, load_ranks::State how, std::string why);

  // Ends all agents in bounded time, and waits for their processes.
  void dismiss();

  [[nodiscard]] std::size_t size() const { return members_.size(); }
  [[nodiscard]] const std::string& name(std::size_t agent) const;
  [[nodiscard]] const std::string& host(std::size_t agent) const;
  [[nodiscard]] State state(std::size_t agent) const;
  // Whether all are in this state.
  [[nodiscard]] bool all(State state) const;
  // How a lost one ended, and why in one clause for display, not escaped.
  [[nodiscard]] load_ranks::State how_lost(std::size_t agent) const;
  [[nodiscard]] const std::string& why_lost(std::size_t agent) const;
  // Whether it has sent anything lately, such as answers to pings.
  [[nodiscard]] bool answers(std::size_t agent) const;
  // For one that is or was here.
  [[nodiscard]] const std::string& address(std::size_t agent) const;
  // By how much its clock is ahead of this machine's; nothing: not measured.
  [[nodiscard]] std::optional<load_ranks::ClockOffset> clock(std::size_t agent) const;
  // The shortest exchange of the agent with the longest one.
  [[nodiscard]] std::int64_t round_trip() const;

 private:
  struct Member;

  void start_some();
  void start(Member& member);
  void wait_for_something(std::int64_t wait);
  void exchange(std::size_t agent, std::vector<Event>& events);
  void handle(Member& member, std::size_t agent, Frame frame, std::vector<Event>& events);
  void greet(Member& member, Bytes body);
  void take_pong(Member& member, Bytes body);
  void ping(Member& member);
  void watch(Member& member);
  void pass_lines(Member& member);
  void lose(Member& member, load_ranks::State how, std::string why);
  [[nodiscard]] std::string why_ended(Member& member) const;

  CrewOptions options_;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace rpcrdma::load_agents
