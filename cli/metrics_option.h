// --metrics ADDRESS:PORT of the commands that run an endpoint (docs/metrics.md).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/command_line/command.h>
#include <rpcrdma/fabric/address.h>
#include <rpcrdma/metrics/exposer.h>
#include <rpcrdma/metrics/source.h>
#include <rpcrdma/service/echo.h>

namespace rpcrdma::cli {

// In a build that has metrics; else there is no such option.
void add_metrics_option(command_line::Command& command, std::string& text);

struct MetricsAddress {
  fabric::Address address;  // IPv4
  std::uint16_t port = 0;
};
// Of a text that is not empty; else a line on stderr and nothing.
[[nodiscard]] std::optional<MetricsAddress> parse_metrics(const std::string& text,
                                                          const char* command);

// The figures of some loops, served as long as it lives. Whoever runs the loops, does so as ever.
class Metrics {
 public:
  // What `parts` are of outlives it. Null, and a line on stderr, if they cannot be served there.
  [[nodiscard]] static std::unique_ptr<Metrics> open(const MetricsAddress& where,
                                                     const std::vector<metrics::Parts>& parts,
                                                     const char* command);

 private:
  std::vector<std::unique_ptr<metrics::Source>> sources_;
  std::unique_ptr<metrics::Exposer> exposer_;  // ends before the sources
};

// For metrics::Parts::more: Calls of one procedure of ECHO.
void add_echo_calls(metrics::Snapshot& snapshot, service::echo::Proc proc, std::uint64_t calls);

}  // namespace rpcrdma::cli
