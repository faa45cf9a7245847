#include "load/ssh/agents_option.h"

#include "endpoint.h"
#include "input.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include <fmt/core.h>

namespace rpcrdma::cli {
namespace {

// What the coordinator does with the results of all.
constexpr std::array<std::string_view, 15> kOfCoordinator{
    "HOST",          "--agents",      "--pattern",    "--network", "--serve",
    "--stuck-after", "--ssh",         "--agent-path", "--html",    "--interval",
    "--json",        "--json-stream", "--hgrm",       "--hlog",    "--config"};
// Agents would all write the same file, or listen on the same port.
constexpr std::array<std::string_view, 8> kOfOne{
    "--pcapng",      "--record",  "--record-files",   "--record-size",
    "--record-time", "--metrics", "--metrics-config", "--agent"};

// Options of a load that a server has, too, and that both ends should have.
constexpr std::array<std::string_view, 13> kOfServer{
    "--port",         "--inline",          "--no-private-data",
    "--rdma-version", "--private-data-v2", "--no-remote-invalidation",
    "--profile",      "--max-reads",       "--provider",
    "--device",       "--gid-index",       "--handles",
    "--busy-poll"};

bool is_in(std::span<const std::string_view> names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

void add_agents_options(command_line::Command& command, AgentsOptions& options) {
  command.group("Many hosts");
  command
      .option("--agents", options.agents,
              "Let these hosts make the load together, started by ssh: host1,host2:4 (a number: so "
              "many agents there)")
      .value("HOSTS");
  command
      .option("--pattern", options.pattern, "Who calls whom. Without HOST, the agents' hosts serve")
      .value("NAME")
      .one_of({"n-to-1", "1-to-n", "pairwise", "all-to-all"})
      .show_default()
      .needs("--agents");
  command
      .option("--network", options.network,
              "Without HOST: where agents reach each other's server: an interface or "
              "a network, such as ib0 or 10.1.0.0/16 (the addresses of --agents)")
      .value("NETWORK")
      .needs("--agents");
  command
      .option("--serve", options.serve,
              "Without HOST: options of `rpcrdma serve` for the servers that agents "
              "run: \"--credits 64\"")
      .value("OPTIONS")
      .needs("--agents");
  command
      .option("--stuck-after", options.stuck_after,
              "Name an agent that sends nothing for this time, and end the load with "
              "the results of the others")
      .value("DURATION")
      .show_default()
      .needs("--agents");
  command
      .option("--ssh", options.ssh,
              "The command that runs a command at a host; the host and that command "
              "follow")
      .value("COMMAND")
      .show_default()
      .needs("--agents");
  command.option("--agent-path", options.path, "The program at the hosts")
      .value("FILE")
      .show_default()
      .needs("--agents");
  command
      .flag("--agent", options.agent,
            "Be an agent: take the options and the start from standard input. --agents uses it")
      .excludes("--agents");
}

std::optional<AgentsPlan> parse_agents_options(const command_line::Command& command,
                                               const AgentsOptions& options) {
  AgentsPlan plan;
  auto agents = load_agents::parse_agents(options.agents);
  if (!agents) {
    complain(fmt::format("load: --agents: {}", agents.error().message));
    return std::nullopt;
  }
  plan.agents = std::move(*agents);
  plan.pattern = *load_ranks::pattern_of(options.pattern);
  auto ssh = load_agents::split_words(options.ssh);
  if (!ssh) {
    complain(fmt::format("load: --ssh: {}", ssh.error().message));
    return std::nullopt;
  }
  plan.ssh = std::move(*ssh);
  plan.path = options.path;
  if (plan.path.empty()) {
    complain("load: --agent-path: it is empty");
    return std::nullopt;
  }
  const auto silence = duration_option(options.stuck_after, "load", "--stuck-after");
  if (!silence) return std::nullopt;
  if (*silence < 3 * fabric::kSecond) {
    complain("load: --stuck-after: agents report once a second; give at least 3s");
    return std::nullopt;
  }
  plan.silence = *silence;
  plan.network = options.network;
  for (const auto& option : command.options()) {
    const std::string name = option->name();
    if (!option->given() || is_in(kOfCoordinator, name)) continue;
    if (is_in(kOfOne, name)) {
      complain(fmt::format("load: {} cannot be used with --agents", name));
      return std::nullopt;
    }
    std::vector<std::string> words;
    if (!option->takes_value()) words.push_back(name);
    for (const std::string& word : option->words()) {
      if (option->takes_value()) words.push_back(fmt::format("{}={}", name, word));
    }
    plan.words.insert(plan.words.end(), words.begin(), words.end());
    if (is_in(kOfServer, name)) plan.serve.insert(plan.serve.end(), words.begin(), words.end());
  }
  if (!options.serve.empty()) {
    const auto more = load_agents::split_words(options.serve);
    if (!more) {
      complain(fmt::format("load: --serve: {}", more.error().message));
      return std::nullopt;
    }
    plan.serve.insert(plan.serve.end(), more->begin(), more->end());
  }
  return plan;
}

std::vector<std::string> agent_words(const AgentsPlan& plan, const load_agents::AgentName& agent) {
  std::vector<std::string> words = plan.ssh;
  words.push_back(agent.host);
  words.push_back(load_agents::quote_word(plan.path) + " load --agent");
  return words;
}

}  // namespace rpcrdma::cli
