// The address at which a program serves its metrics.
#pragma once

#include <cstdint>
#include <string>

#include <rpcrdma/base/error.h>

namespace rpcrdma::cli {

struct MetricsAddress {
  std::string host;        // an address or a name, not resolved yet; empty: all addresses
  std::uint16_t port = 0;  // 0: any that is free
};

// Parses "127.0.0.1:9464", "[::1]:9464", "localhost:9464", ":9464" or "9464". Error: what is wrong
// with it, in one line.
[[nodiscard]] base::Expected<MetricsAddress> parse_metrics_address(const std::string& text);

// As it is parsed.
[[nodiscard]] std::string to_text(const MetricsAddress& address);

}  // namespace rpcrdma::cli
