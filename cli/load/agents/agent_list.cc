#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>

#include <fmt/core.h>

#include <rpcrdma/load_agents/agent_list.h>

namespace rpcrdma::load_agents {
namespace {

using base::Expected;
using base::fail;

constexpr std::size_t kMostHostBytes = 255;

bool in_host(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("-._@:%").find(c) != std::string_view::npos;
}

struct Item {
  std::string_view host;
  std::string_view number;  // empty: 1
};

// "[::1]:2" has a number, "::1" has none.
Item split_item(std::string_view text) {
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return {text, {}};
    const std::string_view rest = text.substr(end + 1);
    if (rest.empty()) return {text.substr(1, end - 1), {}};
    if (rest.size() > 1 && rest[0] == ':') return {text.substr(1, end - 1), rest.substr(1)};
    return {text, {}};
  }
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || text.find(':', colon + 1) != std::string_view::npos) {
    return {text, {}};
  }
  // An empty number is wrong, and not 1.
  return {text.substr(0, colon), colon + 1 < text.size() ? text.substr(colon + 1) : "-"};
}

}  // namespace

Expected<std::vector<AgentName>> parse_agents(std::string_view text) {
  std::vector<AgentName> agents;
  std::map<std::string, std::size_t, std::less<>> at_host;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view item = text.substr(begin, end - begin);
    begin = end + 1;
    const auto [host, number] = split_item(item);
    if (host.empty() || host.size() > kMostHostBytes || host[0] == '-' ||
        !std::ranges::all_of(host, in_host)) {
      return fail(fmt::format("'{}' is not a host", item));
    }
    std::size_t count = 1;
    if (!number.empty()) {
      const char* const last = number.data() + number.size();
      const auto [stop, error] = std::from_chars(number.data(), last, count);
      if (error != std::errc() || stop != last || count == 0) {
        return fail(fmt::format("'{}': not a number of agents after the colon", item));
      }
    }
    if (count > kMostAgents - agents.size()) {
      return fail(fmt::format("more than {} agents", kMostAgents));
    }
    for (; count != 0; --count) {
      const std::size_t nth = ++at_host[std::string(host)];
      agents.push_back(
          {std::string(host), nth == 1 ? std::string(host) : fmt::format("{}#{}", host, nth)});
    }
  }
  return agents;
}

Expected<std::vector<std::string>> split_words(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == '\0' && std::isspace(static_cast<unsigned char>(c)) != 0) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == quote) {
      quote = '\0';
    } else if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      words.back() += text[++i];
    } else {
      words.back() += c;
    }
  }
  if (quote != '\0') return fail(fmt::format("the quote {} has no end", quote));
  if (words.empty() || words[0].empty()) return fail("it is empty");
  return words;
}

std::string quote_word(std::string_view word) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("-._/+,=@%:").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, plain)) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace rpcrdma::load_agents
