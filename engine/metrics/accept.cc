#include "accept.h"

#include <algorithm>

namespace rpcrdma::metrics {

namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same(std::string_view a, std::string_view lower_case) {
  return std::ranges::equal(a, lower_case, {}, lower);
}

// Returns the text before `separator`, without surrounding blanks, and removes both from `text`.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  const std::size_t first = std::min(taken.find_first_not_of(" \t"), taken.size());
  taken.remove_prefix(first);
  return taken.substr(0, taken.find_last_not_of(" \t") + 1);
}

// q=0, q=0.0, ...
bool is_refused(std::string_view parameters) {
  while (!parameters.empty()) {
    std::string_view value = take_until(parameters, ';');
    if (!same(take_until(value, '='), "q")) continue;
    return value.starts_with('0') && value.find_first_not_of("0.") == std::string_view::npos;
  }
  return false;
}

}  // namespace

Format wanted_format(std::string_view accept) {
  bool openmetrics = false;
  bool no_openmetrics = false;
  bool text = false;
  while (!accept.empty()) {
    std::string_view parameters = take_until(accept, ',');
    const std::string_view type = take_until(parameters, ';');
    const bool refused = is_refused(parameters);
    if (same(type, "application/openmetrics-text")) {
      (refused ? no_openmetrics : openmetrics) = true;
    } else if (same(type, "text/plain") || same(type, "text/html") || same(type, "text/*")) {
      text = text || !refused;
    }
  }
  return openmetrics || !(text || no_openmetrics) ? Format::kOpenMetrics : Format::kText;
}

}  // namespace rpcrdma::metrics
