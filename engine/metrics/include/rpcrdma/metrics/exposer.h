// Serves metrics by HTTP: GET /metrics, as OpenMetrics 1.0, in the Prometheus text format or in its
// protobuf format, as the client requests (docs/metrics.md). It has threads of its own, and none of
// them accesses an endpoint: each scrape queries the sources, and waits for their loops' answers
// (rpcrdma/metrics/source.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include <rpcrdma/fabric/error.h>
#include <rpcrdma/metrics/source.h>
#include <rpcrdma/metrics/text_writer.h>
#include <rpcrdma/metrics/web_config.h>

namespace rpcrdma::metrics {

class Exposer {
 public:
  // False in a build without prometheus-cpp, libmicrohttpd or yaml-cpp.
  [[nodiscard]] static bool available();
  // Whether histograms are native, too; false in a build without protozero.
  [[nodiscard]] static bool has_native_histograms();

  // Listens at once. `host`: an address of this machine, IPv4 or IPv6, or a name of it; empty: all
  // its addresses. `port`: 0: one that is free. The sources outlive it; figures of several sources
  // are added up. `web`: TLS and users, if any. Its threads receive no signals of the process.
  // Error: kSystem if it cannot be listened on, a certificate is invalid, or in a build without the
  // libraries.
  [[nodiscard]] static fabric::Expected<std::unique_ptr<Exposer>> open(
      const std::string& host, std::uint16_t port, std::span<Source* const> sources,
      const WebConfig& web = {});
  // The same for an owner without loops: `take` returns its figures, and is called by any of the
  // Exposer's threads.
  [[nodiscard]] static fabric::Expected<std::unique_ptr<Exposer>> open_figures(
      const std::string& host, std::uint16_t port, std::function<Snapshot()> take,
      const WebConfig& web = {});
  // The same for an owner that writes its metrics as text, anew for each scrape; those of the
  // process are added. One thread calls `write`, which may take its time. There is no protobuf
  // format then.
  [[nodiscard]] static fabric::Expected<std::unique_ptr<Exposer>> open_text(
      const std::string& host, std::uint16_t port, std::function<void(TextWriter&)> write,
      const WebConfig& web = {});
  ~Exposer();
  Exposer(const Exposer&) = delete;
  Exposer& operator=(const Exposer&) = delete;

  // Where it listens, as in a URL: "127.0.0.1:9464", "[::1]:9464".
  [[nodiscard]] std::string address() const;

 private:
  struct Impl;
  explicit Exposer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::metrics
