// Replaces exposer.cc in a build without prometheus-cpp, libmicrohttpd or yaml-cpp.
#include <rpcrdma/metrics/exposer.h>
#include <rpcrdma/metrics/web_config.h>

namespace rpcrdma::metrics {

struct Exposer::Impl {};

bool Exposer::available() {
  return false;
}

bool Exposer::has_native_histograms() {
  return false;
}

namespace {

tl::unexpected<fabric::Error> no_metrics() {
  return fabric::fail(fabric::Errc::kSystem,
                      "this build has no metrics: it was configured without prometheus-cpp, "
                      "libmicrohttpd or yaml-cpp");
}

}  // namespace

fabric::Expected<std::unique_ptr<Exposer>> Exposer::open(const std::string& /*host*/,
                                                         std::uint16_t /*port*/,
                                                         std::span<Source* const> /*sources*/,
                                                         const WebConfig& /*web*/) {
  return no_metrics();
}
fabric::Expected<std::unique_ptr<Exposer>> Exposer::open_figures(const std::string& /*host*/,
                                                                 std::uint16_t /*port*/,
                                                                 std::function<Snapshot()> /*take*/,
                                                                 const WebConfig& /*web*/) {
  return no_metrics();
}
fabric::Expected<std::unique_ptr<Exposer>> Exposer::open_text(
    const std::string& /*host*/, std::uint16_t /*port*/, std::function<void(TextWriter&)> /*write*/,
    const WebConfig& /*web*/) {
  return no_metrics();
}

fabric::Expected<WebConfig> read_web_config(const std::string& /*path*/) {
  return no_metrics();
}

std::string Exposer::address() const {
  return {};
}
Exposer::~Exposer() = default;

}  // namespace rpcrdma::metrics
