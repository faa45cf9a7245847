#include "answer.h"

#include "accept.h"
#include "openmetrics.h"

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

}  // namespace

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
