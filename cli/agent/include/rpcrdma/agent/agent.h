// An agent: follows the endpoints of this host, and publishes summaries and findings on the bus of
// a fleet. It never makes an endpoint wait: it is one reader of each, as `rpcrdma top` is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <rpcrdma/base/error.h>
#include <rpcrdma/fleet/bus.h>
#include <rpcrdma/rules/rule.h>

namespace rpcrdma::agent {

enum class Level : std::uint8_t { kInfo, kWarning, kError };
// A line for the log; it may contain names from outside, which must be escaped.
using LogLine = std::function<void(Level level, const std::string& text)>;

struct AgentOptions {
  std::string host;  // its name in the fleet
  rules::Profile profile = rules::Profile::k8166;
  bool record = true;             // whether recordings may be requested
  std::uint64_t most_record = 0;  // bytes of one
  std::string spool;              // folder for recordings until they are sent; empty: the system's
};

class Agent {
 public:
  // Prepares the streams, and checks that no other agent has this host's name. Errors: one line.
  [[nodiscard]] static base::Expected<std::unique_ptr<Agent>> start(const AgentOptions& options,
                                                                    fleet::Bus& bus, LogLine log);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Does what is due, and waits for more until a time (base::monotonic_ns()), at most 100 ms, or
  // until a signal. Call it again and again. Error: the bus has ended the
  // connection.
  [[nodiscard]] base::Expected<void> run(std::int64_t until_ns);
  // Publishes the last state and findings, and that this agent stops.
  void goodbye();

  // For the service manager: "3 endpoints, bus connected".
  [[nodiscard]] std::string status() const;

 private:
  struct Impl;
  explicit Agent(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::agent
