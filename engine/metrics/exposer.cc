#include "answer.h"
#include "families.h"
#include "http_server.h"

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include <prometheus/collectable.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/metrics/exposer.h>
#include <rpcrdma/metrics/source.h>

namespace rpcrdma::metrics {

using fabric::Expected;
using std::chrono::steady_clock;

namespace {

// Time limit for a loop's answer to a scrape. Prometheus itself waits ten seconds.
constexpr std::chrono::seconds kPatience{1};

}  // namespace

// Queries the sources at each scrape.
class Collector : public prometheus::Collectable {
 public:
  // The sources outlive it. If a loop has not answered after `patience`, its previous snapshot is
  // used.
  Collector(std::span<Source* const> sources, steady_clock::duration patience);

  // May be called by any thread except the loops' threads, also concurrently.
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  std::vector<Source*> sources_;
  steady_clock::duration patience_;
};

Collector::Collector(std::span<Source* const> sources, steady_clock::duration patience)
    : sources_(sources.begin(), sources.end()), patience_(patience) {}

std::vector<prometheus::MetricFamily> Collector::Collect() const {
  // Ask all of them before waiting for any.
  std::vector<std::uint64_t> questions;
  for (Source* const s : sources_) questions.push_back(s->ask());
  const steady_clock::time_point until = steady_clock::now() + patience_;
  std::vector<Snapshot> snapshots;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    snapshots.push_back(sources_[i]->wait(questions[i], until));
  }
  return families(snapshots, base::monotonic_ns());
}

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
