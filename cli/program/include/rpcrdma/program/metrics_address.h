// Where and how a program serves its metrics.
#pragma once

#include <cstdint>
#include <string>

#include <rpcrdma/base/error.h>
#include <rpcrdma/metrics/web_config.h>

namespace rpcrdma::cli {

struct MetricsAddress {
  std::string host;        // an address or a name, not resolved yet; empty: all addresses
  std::uint16_t port = 0;  // 0: any that is free
  metrics::WebConfig web = {};
};

// Parses "127.0.0.1:9464", "[::1]:9464", "localhost:9464", ":9464" or "9464", which is a port of
// the loopback address. Reads the file `config`, unless it is empty. Error: what is wrong, in one
// line.
[[nodiscard]] base::Expected<MetricsAddress> parse_metrics_address(const std::string& text,
                                                                   const std::string& config);

// As it is parsed.
[[nodiscard]] std::string to_text(const MetricsAddress& address);

// The URL for users. `bound`: the address with the real port, as from metrics::Exposer.
[[nodiscard]] std::string metrics_url(const MetricsAddress& address, const std::string& bound);

}  // namespace rpcrdma::cli
