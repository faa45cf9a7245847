#include "metrics_option.h"

#include "input.h"

#include <fmt/core.h>

namespace rpcrdma::cli {

void add_metrics_options(command_line::Command& command, MetricsText& text) {
  if (!metrics::Exposer::available()) return;
  command
      .option("--metrics", text.address,
              "Serve metrics for Prometheus over HTTP at this address or name of this machine: "
              "10.0.0.1:9464, [::1]:9464, 9464 for the loopback address, or :9464 for all "
              "addresses; port 0: any that is free (docs/metrics.md)")
      .value("HOST:PORT");
  command
      .option("--metrics-config", text.config,
              "With --metrics: TLS and users, in the format of Prometheus's --web.config.file "
              "(docs/metrics.md)")
      .value("FILE")
      .needs("--metrics");
}

std::optional<MetricsAddress> parse_metrics(const MetricsText& text, const char* command) {
  const auto address = parse_metrics_address(text.address, text.config);
  if (address) return *address;
  complain(fmt::format("{}: {}", command, address.error().message));
  return std::nullopt;
}

std::unique_ptr<Metrics> Metrics::open(const MetricsAddress& where,
                                       const std::vector<metrics::Parts>& parts,
                                       const char* command) {
  auto metrics = std::make_unique<Metrics>();
  std::vector<metrics::Source*> sources;
  for (const metrics::Parts& p : parts) {
    metrics->sources_.push_back(std::make_unique<metrics::Source>(p));
    sources.push_back(metrics->sources_.back().get());
  }
  auto exposer = metrics::Exposer::open(where.host, where.port, sources, where.web);
  if (!exposer) {
    complain(fmt::format("{}: --metrics {}: {}", command, to_text(where), exposer.error().message));
    return nullptr;
  }
  metrics->exposer_ = std::move(*exposer);
  return metrics;
}

void add_echo_calls(metrics::Snapshot& snapshot, service::echo::Proc proc, std::uint64_t calls,
                    const protocol::Durations& durations) {
  snapshot.procedures.push_back({"ECHO", service::echo::proc_name(proc), calls, durations});
}

}  // namespace rpcrdma::cli
