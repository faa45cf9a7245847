// Chooses the text format that a scrape requests.
#pragma once

#include <cstdint>
#include <string_view>

namespace rpcrdma::metrics {

enum class Format : std::uint8_t {
  kOpenMetrics,
  kText,  // Prometheus text format 0.0.4
};

// `accept`: the value of HTTP's Accept, empty if there is none (RFC 9110 section 12.5.1). Returns
// OpenMetrics for clients that name it, and for those that name nothing: `*/*` is what curl sends.
// Returns the Prometheus text format for clients that name plain text or HTML without OpenMetrics,
// as browsers and old scrapers do, or that refuse OpenMetrics by q=0. Other weights are ignored:
// every client that names OpenMetrics can read it.
[[nodiscard]] Format wanted_format(std::string_view accept);

}  // namespace rpcrdma::metrics
