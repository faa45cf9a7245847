#include "answer.h"

#include "openmetrics.h"
#include "protobuf.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include <prometheus/text_serializer.h>

namespace rpcrdma::metrics {

namespace {

constexpr std::string_view kPath = "/metrics";
constexpr const char* kTextType = "text/plain; version=0.0.4; charset=utf-8";
constexpr const char* kMessageType = "text/plain; charset=utf-8";

const char* type_of(Format format) {
  switch (format) {
    case Format::kProtobuf:
      return kProtobufType;
    case Format::kOpenMetrics:
      return kOpenMetricsType;
    case Format::kText:
      break;
  }
  return kTextType;
}

std::string content(Format format, const Collected& collected) {
  switch (format) {
    case Format::kProtobuf:
      return protobuf(collected);
    case Format::kOpenMetrics:
      return openmetrics(collected.families);
    case Format::kText:
      break;
  }
  return prometheus::TextSerializer().Serialize(collected.families);
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

// Returns the value of a parameter of a media type; nothing if it is not there.
std::optional<std::string_view> parameter(std::string_view parameters, std::string_view name) {
  while (!parameters.empty()) {
    std::string_view value = take_until(parameters, ';');
    if (!same(take_until(value, '='), name)) continue;
    value = take_until(value, ';');
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
      value = value.substr(1, value.size() - 2);
    }
    return value;
  }
  return std::nullopt;
}

// 0 is a refusal; 1 without a weight.
double weight(std::string_view parameters) {
  const std::string_view q = parameter(parameters, "q").value_or("1");
  double value = 1;
  const auto parsed = std::from_chars(q.data(), q.data() + q.size(), value);
  return parsed.ec == std::errc() && std::isfinite(value) ? value : 1;
}

bool is_families(std::string_view parameters) {
  return parameter(parameters, "proto") == "io.prometheus.client.MetricFamily" &&
         parameter(parameters, "encoding") == "delimited";
}

}  // namespace

Format wanted_format(std::string_view accept, bool protobuf) {
  Format best = Format::kText;
  double highest = 0;
  while (!accept.empty()) {
    std::string_view parameters = take_until(accept, ',');
    const std::string_view type = take_until(parameters, ';');
    const bool is_protobuf =
        protobuf && same(type, "application/vnd.google.protobuf") && is_families(parameters);
    if (!is_protobuf && !same(type, "application/openmetrics-text")) continue;
    const double q = weight(parameters);
    if (q <= highest) continue;
    highest = q;
    best = is_protobuf ? Format::kProtobuf : Format::kOpenMetrics;
  }
  return best;
}

std::optional<HttpResponse> refusal(const HttpRequest& request) {
  if (request.path != kPath) {
    return HttpResponse{404, kMessageType, "Metrics are at /metrics.\n", {}};
  }
  if (request.method != "HEAD" && request.method != "GET") {
    return HttpResponse{
        405, kMessageType, "Only GET and HEAD are supported.\n", {{"Allow", "GET, HEAD"}}};
  }
  return std::nullopt;
}

HttpResponse text_answer(Format format, std::string body) {
  return {200, type_of(format), std::move(body), {{"Vary", "Accept"}}};
}

HttpResponse answer(const HttpRequest& request, const Collect& collect) {
  if (auto refused = refusal(request)) return *std::move(refused);
  const Format format = wanted_format(request.accept, has_protobuf());
  return text_answer(format, content(format, *collect()));
}

}  // namespace rpcrdma::metrics
