// Answers HTTP requests: with metrics, or with an error that says where they are.
#pragma once

#include "families.h"
#include "http_server.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace rpcrdma::metrics {

enum class Format : std::uint8_t {
  kProtobuf,  // the only one with native histograms
  kOpenMetrics,
  kText,  // Prometheus text format 0.0.4
};

// Chooses the format that a scrape requests. `accept`: the value of HTTP's Accept, empty if there
// is none (RFC 9110 section 12.5.1). Returns protobuf or OpenMetrics for clients that name it with
// a weight other than q=0: of both the one with the higher weight, or the first. All others get the
// Prometheus text format, as from Prometheus's own exporters: curl sends `*/*`, and promtool reads
// only the latter. The weight of text is ignored: every client that names another format can read
// it. `protobuf`: whether this build has that format.
[[nodiscard]] Format wanted_format(std::string_view accept, bool protobuf);

// Collects the metrics, for one or more answers.
using Collect = std::function<std::shared_ptr<const Collected>()>;

// Returns the error for what is not GET or HEAD of /metrics; nothing if it is.
[[nodiscard]] std::optional<HttpResponse> refusal(const HttpRequest& request);
// An answer with metrics in that format.
[[nodiscard]] HttpResponse text_answer(Format format, std::string body);

// Returns the answer. GET and HEAD of /metrics collect the metrics;
// other methods get 405, and other paths 404 (RFC 9110 section 15.5).
[[nodiscard]] HttpResponse answer(const HttpRequest& request, const Collect& collect);

}  // namespace rpcrdma::metrics
