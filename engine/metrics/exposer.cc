#include "answer.h"
#include "collector.h"
#include "http_server.h"

#include <chrono>
#include <memory>
#include <utility>

#include <rpcrdma/metrics/exposer.h>

namespace rpcrdma::metrics {

using fabric::Expected;

namespace {

// Time limit for a loop's answer to a scrape. Prometheus itself waits ten seconds.
constexpr std::chrono::seconds kPatience{1};

}  // namespace

struct Exposer::Impl {
  explicit Impl(std::span<Source* const> sources) : collector(sources, kPatience) {}

  Collector collector;
  std::unique_ptr<HttpServer> http;  // destroyed before the collector
};

bool Exposer::available() {
  return true;
}

Expected<std::unique_ptr<Exposer>> Exposer::open(const fabric::Address& address, std::uint16_t port,
                                                 std::span<Source* const> sources) {
  auto impl = std::make_unique<Impl>(sources);
  auto http = HttpServer::open(address, port, [&figures = impl->collector](const HttpRequest& r) {
    return answer(r, figures);
  });
  if (!http) return tl::unexpected(http.error());
  impl->http = std::move(*http);
  return std::unique_ptr<Exposer>(new Exposer(std::move(impl)));
}

Exposer::Exposer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Exposer::~Exposer() = default;

}  // namespace rpcrdma::metrics
