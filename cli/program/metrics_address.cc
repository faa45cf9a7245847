#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include <rpcrdma/base/parse.h>
#include <rpcrdma/program/metrics_address.h>

namespace rpcrdma::cli {

namespace {

bool belongs_into_a_host(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_';
}

// Of an IPv6 address, with the zone of a link-local one.
bool belongs_into_brackets(char c) {
  return belongs_into_a_host(c) || c == ':' || c == '%';
}

}  // namespace

base::Expected<MetricsAddress> parse_metrics_address(const std::string& text,
                                                     const std::string& config) {
  const auto wrong = [&](const char* why) {
    return base::fail(
        fmt::format("--metrics {}: {}; give HOST:PORT, [IPV6]:PORT or :PORT, such as "
                    "127.0.0.1:9464",
                    text, why));
  };
  const std::size_t colon = text.rfind(':');
  std::string host = colon == std::string::npos ? "127.0.0.1" : text.substr(0, colon);
  const auto port = base::parse_u32(colon == std::string::npos ? text : text.substr(colon + 1));
  if (!port || *port > UINT16_MAX) return wrong("no port");
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) {
    host = host.substr(1, host.size() - 2);
    if (!std::ranges::all_of(host, belongs_into_brackets)) return wrong("not an IPv6 address");
  } else if (host.find(':') != std::string::npos) {
    return wrong("an IPv6 address needs brackets");
  } else if (!std::ranges::all_of(host, belongs_into_a_host)) {
    return wrong("not a host");
  }
  MetricsAddress address{host, static_cast<std::uint16_t>(*port)};
  if (!config.empty()) {
    auto web = metrics::read_web_config(config);
    if (!web) return base::fail("--metrics-config " + web.error().message);
    address.web = std::move(*web);
  }
  return address;
}

std::string to_text(const MetricsAddress& address) {
  const bool ipv6 = address.host.find(':') != std::string::npos;
  return fmt::format(fmt::runtime(ipv6 ? "[{}]:{}" : "{}:{}"), address.host, address.port);
}

std::string metrics_url(const MetricsAddress& address, const std::string& bound) {
  return fmt::format("{}://{}/metrics", address.web.tls ? "https" : "http", bound);
}

}  // namespace rpcrdma::cli
