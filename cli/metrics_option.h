// --metrics HOST:PORT and --metrics-config FILE of the commands that run an endpoint
// (docs/metrics.md).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/command_line/command.h>
#include <rpcrdma/metrics/exposer.h>
#include <rpcrdma/metrics/source.h>
#include <rpcrdma/program/metrics_address.h>
#include <rpcrdma/service/echo.h>

namespace rpcrdma::cli {

struct MetricsText {
  std::string address;
  std::string config;
};

// Adds the options if this build has metrics.
void add_metrics_options(command_line::Command& command, MetricsText& text);

// Parses an address that is not empty, and reads the configuration; on an error prints a line on
// stderr and returns nothing.
[[nodiscard]] std::optional<MetricsAddress> parse_metrics(const MetricsText& text,
                                                          const char* command);

// Serves the metrics of one or more loops while it exists. The loops run as usual.
class Metrics {
 public:
  // The objects in `parts` must outlive it. If the metrics cannot be served there, prints a line on
  // stderr and returns null.
  [[nodiscard]] static std::unique_ptr<Metrics> open(const MetricsAddress& where,
                                                     const std::vector<metrics::Parts>& parts,
                                                     const char* command);

  // As in a URL: "127.0.0.1:9464".
  [[nodiscard]] std::string address() const { return exposer_->address(); }

 private:
  std::vector<std::unique_ptr<metrics::Source>> sources_;
  std::unique_ptr<metrics::Exposer> exposer_;  // destroyed before the sources
};

// For metrics::Parts::more: adds the Calls of one procedure of ECHO.
void add_echo_calls(metrics::Snapshot& snapshot, service::echo::Proc proc, std::uint64_t calls,
                    const protocol::Durations& durations);

}  // namespace rpcrdma::cli
