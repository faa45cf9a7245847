// Serves figures to whoever asks by HTTP: GET /metrics, as OpenMetrics 1.0 or in the text format of
// Prometheus, as is asked for (docs/metrics.md). It has threads of its own, and none of them
// touches an endpoint: each scrape asks the sources, and waits for their loops' answers
// (rpcrdma/metrics/source.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <rpcrdma/fabric/address.h>
#include <rpcrdma/fabric/error.h>
#include <rpcrdma/metrics/source.h>

namespace rpcrdma::metrics {

class Exposer {
 public:
  // False in a build without prometheus-cpp or civetweb.
  [[nodiscard]] static bool available();

  // Listens at once. The sources outlive it. What several of them count is told as one sum. Signals
  // of the process go to none of its threads. Errors: kBadArgument for an address that is not
  // IPv4's; kSystem when it cannot be listened on, or in a build without.
  [[nodiscard]] static fabric::Expected<std::unique_ptr<Exposer>> open(
      const fabric::Address& address, std::uint16_t port, std::span<Source* const> sources);
  // Whoever is connected and says nothing is waited for, two seconds at most.
  ~Exposer();
  Exposer(const Exposer&) = delete;
  Exposer& operator=(const Exposer&) = delete;

 private:
  struct Impl;
  explicit Exposer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::metrics
