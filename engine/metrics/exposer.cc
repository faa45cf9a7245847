#include "answer.h"
#include "families.h"
#include "http_server.h"
#include "openmetrics.h"
#include "process.h"
#include "protobuf.h"

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <prometheus/text_serializer.h>

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

// May be called by any thread except those of the loops, also concurrently.
using Take = std::function<std::vector<Snapshot>()>;

namespace {

// Queries the sources, which outlive the collector. If a loop has not answered after `patience`,
// its previous snapshot is used.
Take ask_all(std::span<Source* const> sources, steady_clock::duration patience) {
  return [all = std::vector<Source*>(sources.begin(), sources.end()), patience] {
    // Ask all of them before waiting for any.
    std::vector<std::uint64_t> questions;
    for (Source* const s : all) questions.push_back(s->ask());
    const steady_clock::time_point until = steady_clock::now() + patience;
    std::vector<Snapshot> snapshots;
    for (std::size_t i = 0; i < all.size(); ++i) {
      snapshots.push_back(all[i]->wait(questions[i], until));
    }
    return snapshots;
  };
}

// The metrics of an owner that writes text, with those that every program has.
class Texts {
 public:
  explicit Texts(std::function<void(TextWriter&)> write) : write_(std::move(write)) {}

  // For one thread.
  std::string make(TextFormat format) {
    TextWriter writer(format);
    // The next one is about as long.
    writer.expect(length_ + length_ / 16);
    write_(writer);
    std::string text = writer.take();
    Families own;
    add(own, read_process());
    const std::vector<prometheus::MetricFamily> process = own.take().families;
    // OpenMetrics's text brings the end.
    text += format == TextFormat::kOpenMetrics ? openmetrics(process)
                                               : prometheus::TextSerializer().Serialize(process);
    length_ = text.size();
    return text;
  }

 private:
  const std::function<void(TextWriter&)> write_;
  std::size_t length_ = 0;  // of the last text
};

}  // namespace

struct Exposer::Impl {
  // Error: the address cannot be listened on, or `web` is invalid.
  static Expected<std::unique_ptr<Impl>> open(const std::string& host, std::uint16_t port,
                                              const WebConfig& web, Take take) {
    const auto collect = [take = std::move(take)] {
      const std::vector<Snapshot> snapshots = take();
      const ProcessFigures process = read_process();
      return families(snapshots, base::monotonic_ns(), &process);
    };
    // Requests that came together share one collection: many of them do not wait for a stopped loop
    // one after the other.
    auto http = HttpServer::open(host, port, web, [collect]() -> HttpServer::Handler {
      const auto shared = std::make_shared<std::shared_ptr<const Collected>>();
      return [collect, shared](const HttpRequest& request) {
        return answer(request, [&] {
          if (!*shared) *shared = std::make_shared<const Collected>(collect());
          return *shared;
        });
      };
    });
    if (!http) return tl::unexpected(http.error());
    return of(std::move(*http));
  }

  static Expected<std::unique_ptr<Impl>> open_text(const std::string& host, std::uint16_t port,
                                                   const WebConfig& web,
                                                   std::function<void(TextWriter&)> write) {
    // Here, too, requests that came together share one text.
    const auto texts = std::make_shared<Texts>(std::move(write));
    auto http = HttpServer::open(host, port, web, [texts] {
      auto made = std::make_shared<std::array<std::optional<std::string>, 2>>();
      return [texts, made](const HttpRequest& request) -> HttpResponse {
        if (auto refused = refusal(request)) return *std::move(refused);
        const Format format = wanted_format(request.accept, false);
        const bool is_openmetrics = format == Format::kOpenMetrics;
        auto& text = (*made)[is_openmetrics ? 0 : 1];
        if (!text)
          text = texts->make(is_openmetrics ? TextFormat::kOpenMetrics : TextFormat::kText);
        return text_answer(format, *text);
      };
    });
    if (!http) return tl::unexpected(http.error());
    return of(std::move(*http));
  }

  static std::unique_ptr<Impl> of(std::unique_ptr<HttpServer> http) {
    auto impl = std::make_unique<Impl>();
    impl->http = std::move(http);
    return impl;
  }

  std::unique_ptr<HttpServer> http;
};

bool Exposer::available() {
  return true;
}

bool Exposer::has_native_histograms() {
  return has_protobuf();
}

Expected<std::unique_ptr<Exposer>> Exposer::open(const std::string& host, std::uint16_t port,
                                                 std::span<Source* const> sources,
                                                 const WebConfig& web) {
  auto impl = Impl::open(host, port, web, ask_all(sources, kPatience));
  if (!impl) return tl::unexpected(impl.error());
  return std::unique_ptr<Exposer>(new Exposer(std::move(*impl)));
}

Expected<std::unique_ptr<Exposer>> Exposer::open_figures(const std::string& host,
                                                         std::uint16_t port,
                                                         std::function<Snapshot()> take,
                                                         const WebConfig& web) {
  auto impl = Impl::open(host, port, web,
                         [take = std::move(take)] { return std::vector<Snapshot>{take()}; });
  if (!impl) return tl::unexpected(impl.error());
  return std::unique_ptr<Exposer>(new Exposer(std::move(*impl)));
}

Expected<std::unique_ptr<Exposer>> Exposer::open_text(const std::string& host, std::uint16_t port,
                                                      std::function<void(TextWriter&)> write,
                                                      const WebConfig& web) {
  auto impl = Impl::open_text(host, port, web, std::move(write));
  if (!impl) return tl::unexpected(impl.error());
  return std::unique_ptr<Exposer>(new Exposer(std::move(*impl)));
}

std::string Exposer::address() const {
  return impl_->http->address();
}

Exposer::Exposer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Exposer::~Exposer() = default;

}  // namespace rpcrdma::metrics
