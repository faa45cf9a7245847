#include "answer.h"

#include "openmetrics.h"

#include <algorithm>

#include <fmt/core.h>
#include <prometheus/text_serializer.h>

namespace rpcrdma::metrics {

namespace {

constexpr std::string_view kPath = "/metrics";
constexpr const char* kTextType = "text/plain; version=0.0.4; charset=utf-8";
constexpr const char* kMessageType = "text/plain; charset=utf-8";

struct Content {
  const char* type;
  std::string body;
};

// `fields`: further header fields, each with its line end.
std::string head(const char* status, const Content& content, const char* fields) {
  return fmt::format(
      "HTTP/1.1 {}\r\n"
      "Content-Type: {}\r\n"
      "Content-Length: {}\r\n"
      "{}"
      "Connection: close\r\n\r\n",
      status, content.type, content.body.size(), fields);
}

Content content(Format format, const prometheus::Collectable& figures) {
  const auto families = figures.Collect();
  if (format == Format::kOpenMetrics) return {kOpenMetricsType, openmetrics(families)};
  return {kTextType, prometheus::TextSerializer().Serialize(families)};
}

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

std::string answer(const HttpRequest& request, const prometheus::Collectable& figures) {
  const bool is_head = request.method == "HEAD";
  const auto whole = [&](const char* status, const Content& c, const char* fields) {
    return head(status, c, fields) + (is_head ? std::string() : c.body);
  };
  if (request.path != kPath) {
    return whole("404 Not Found", {kMessageType, "Metrics are at /metrics.\n"}, "");
  }
  if (!is_head && request.method != "GET") {
    return whole("405 Method Not Allowed", {kMessageType, "Only GET and HEAD are supported.\n"},
                 "Allow: GET, HEAD\r\n");
  }
  return whole("200 OK", content(wanted_format(request.accept), figures), "Vary: Accept\r\n");
}

}  // namespace rpcrdma::metrics
