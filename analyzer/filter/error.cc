#include <algorithm>

#include <fmt/core.h>

#include <rpcrdma/filter/error.h>

namespace rpcrdma::filter {

namespace {
constexpr std::size_t kShownBefore = 60;  // characters around the fault
constexpr std::size_t kShownAfter = 40;
constexpr std::size_t kLongestMessage = 300;

// A quoted part of a filter may contain anything, but must be shown as one line on a terminal.
std::string printable(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c < ' ' || c > '~') c = '?';
  }
  return out;
}

}  // namespace

std::string explain(std::string_view text, const FilterError& error) {
  const std::size_t at = std::min(error.offset, text.size());
  const std::size_t begin = at > kShownBefore ? at - kShownBefore : 0;
  const std::string shown = printable(text.substr(begin, at - begin + kShownAfter));
  std::string message = printable(error.message);
  if (message.size() > kLongestMessage) message.replace(kLongestMessage, std::string::npos, "...");
  const std::size_t marks = std::clamp<std::size_t>(
      error.length, 1, std::max<std::size_t>(1, shown.size() - (at - begin)));
  return fmt::format("column {}: {}\n  {}\n  {}{}", at + 1, message, shown,
                     std::string(at - begin, ' '), std::string(marks, '^'));
}

}  // namespace rpcrdma::filter
