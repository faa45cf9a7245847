// Which of the two texts somebody wants who asks for figures.
#pragma once

#include <cstdint>
#include <string_view>

namespace rpcrdma::metrics {

enum class Format : std::uint8_t {
  kOpenMetrics,
  kText,  // of Prometheus, 0.0.4
};

// `accept`: the value of HTTP's Accept, empty if there is none (RFC 9110 section 12.5.1).
// OpenMetrics for whoever names it, and whoever names nothing: `*/*` is what curl says. Text of
// Prometheus for whoever names plain text or HTML without OpenMetrics, as browsers do and scrapers
// that know nothing else, or refuses OpenMetrics by q=0. Whatever is between these is not weighed:
// all that name OpenMetrics read it.
[[nodiscard]] Format wanted_format(std::string_view accept);

}  // namespace rpcrdma::metrics
