// The address at which a program serves its metrics.
#pragma once

#include <cstdint>
#include <string>

#include <rpcrdma/base/error.h>
#include <rpcrdma/fabric/address.h>

namespace rpcrdma::cli {

struct MetricsAddress {
  fabric::Address address;  // IPv4
  std::uint16_t port = 0;
};

// Parses "127.0.0.1:9464". Error: what is wrong with it, in one line.
[[nodiscard]] base::Expected<MetricsAddress> parse_metrics_address(const std::string& text);

}  // namespace rpcrdma::cli
