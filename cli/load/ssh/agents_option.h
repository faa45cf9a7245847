// The options of `rpcrdma load --agents`, and what they mean.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/command_line/command.h>
#include <rpcrdma/fabric/time.h>
#include <rpcrdma/load_agents/agent_list.h>
#include <rpcrdma/load_ranks/pattern.h>

namespace rpcrdma::cli {

struct AgentsOptions {
  std::string agents;
  std::string pattern = "n-to-1";
  std::string ssh = "ssh -o BatchMode=yes";
  std::string path = "rpcrdma";
  std::string network;
  std::string serve;
  std::string stuck_after = "5s";
  bool agent = false;
};
// --agents, --pattern, --network, --serve, --stuck-after, --ssh, --agent-path, --agent.
void add_agents_options(command_line::Command& command, AgentsOptions& options);

struct AgentsPlan {
  std::vector<load_agents::AgentName> agents;
  load_ranks::Pattern pattern = load_ranks::Pattern::kManyToOne;
  std::vector<std::string> ssh;  // words
  std::string path;
  std::string network;
  fabric::Time silence = 0;
  std::vector<std::string> words;  // options that every agent receives
  std::vector<std::string> serve;  // options of agents' servers, without --listen
};
// Options of `command` that the command line or a configuration file contains, and that are not the
// coordinator's own, become words for the agents. On an error prints a line on stderr and returns
// nothing.
[[nodiscard]] std::optional<AgentsPlan> parse_agents_options(const command_line::Command& command,
                                                             const AgentsOptions& options);

// The words that start an agent at its host. ssh gives the last of them to a shell there.
[[nodiscard]] std::vector<std::string> agent_words(const AgentsPlan& plan,
                                                   const load_agents::AgentName& agent);

}  // namespace rpcrdma::cli
