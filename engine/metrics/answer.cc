#include "answer.h"

#include "openmetrics.h"

#include <algorithm>

#include <prometheus/text_serializer.h>

namespace rpcrdma::metrics {

namespace {

constexpr std::string_view kPath = "/metrics";
constexpr const char* kTextType = "text/plain; version=0.0.4; charset=utf-8";
constexpr const char* kMessageType = "text/plain; charset=utf-8";

HttpResponse content(Format format, const prometheus::Collectable& figures) {
  const auto families = figures.Collect();
  HttpResponse r;
  r.type = format == Format::kOpenMetrics ? kOpenMetricsType : kTextType;
  r.body = format == Format::kOpenMetrics ? openmetrics(families)
                                          : prometheus::TextSerializer().Serialize(families);
  r.fields = {{"Vary", "Accept"}};
  return r;
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
  while (!accept.empty()) {
    std::string_view parameters = take_until(accept, ',');
    const std::string_view type = take_until(parameters, ';');
    if (same(type, "application/openmetrics-text") && !is_refused(parameters)) {
      return Format::kOpenMetrics;
    }
  }
  return Format::kText;
}

HttpResponse answer(const HttpRequest& request, const prometheus::Collectable& figures) {
  if (request.path != kPath) return {404, kMessageType, "Metrics are at /metrics.\n", {}};
  if (request.method != "HEAD" && request.method != "GET") {
    return {405, kMessageType, "Only GET and HEAD are supported.\n", {{"Allow", "GET, HEAD"}}};
  }
  return content(wanted_format(request.accept), figures);
}

}  // namespace rpcrdma::metrics
