// What `rpcrdma load --agents` starts: the hosts, and the words that start an agent at one of them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/base/error.h>

namespace rpcrdma::load_agents {

inline constexpr std::size_t kMostAgents = 512;

struct AgentName {
  std::string host;  // as ssh receives it: "host1", "root@host1", "2001:db8::1"
  std::string name;  // for messages: the host; "host1#2" for the second agent there
};

// Parses "host1,host2:4,[2001:db8::1]:2": as in mpirun's --host, a number after the colon is the
// number of agents there, and a host may be named several times. Error: a host that ssh would take
// for an option, or with characters that no host has; a wrong number; more than kMostAgents.
[[nodiscard]] base::Expected<std::vector<AgentName>> parse_agents(std::string_view text);

// Splits a command into words as a shell does, with quotes and backslashes, without expansions.
// Error: a quote without its end, or no word.
[[nodiscard]] base::Expected<std::vector<std::string>> split_words(std::string_view text);

// The word for a POSIX shell, quoted unless it has only characters that need no quotes.
[[nodiscard]] std::string quote_word(std::string_view word);

}  // namespace rpcrdma::load_agents
