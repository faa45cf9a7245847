#include <fmt/core.h>

#include <rpcrdma/base/parse.h>
#include <rpcrdma/program/metrics_address.h>

namespace rpcrdma::cli {

base::Expected<MetricsAddress> parse_metrics_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon != std::string::npos) {
    const auto address = fabric::parse_address(text.substr(0, colon));
    const auto port = base::parse_u32(text.substr(colon + 1));
    if (address && !address->ipv6 && port && *port != 0 && *port <= UINT16_MAX) {
      return MetricsAddress{*address, static_cast<std::uint16_t>(*port)};
    }
  }
  return base::fail(
      fmt::format("--metrics {}: not an IPv4 address and port, such as 127.0.0.1:9464", text));
}

}  // namespace rpcrdma::cli
