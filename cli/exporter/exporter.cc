#include "families.h"

#include <array>
#include <utility>

#include <rpcrdma/base/error.h>
#include <rpcrdma/exporter/exporter.h>

namespace rpcrdma::exporter {

namespace {

// In the order of Exporter::faults_.
constexpr std::array<std::string_view, 5> kSources{"mountstats", "sunrpc", "svcrdma", "nfsd",
                                                   "devices"};

constexpr std::size_t kLastRoom = 8192;

}  // namespace

void Exporter::note(std::size_t source, const std::string& why) {
  auto& fault = faults_[source];
  if (fault == why) return;
  // A source that was there from the start needs no line.
  const bool is_news = fault.has_value() || !why.empty();
  fault = why;
  if (!is_news || !options_.log) return;
  const std::string name(kSources[source]);
  options_.log(why.empty() ? name + ": can be read now" : "without " + name + ": " + why);
}

void Exporter::write(metrics::TextWriter& to) {
  std::array<std::uint64_t, kSources.size()> left_out{};
  std::size_t i = 0;
  const auto source = [&](const auto& read, const auto& write_families) {
    if (read) write_families(to, *read, left_out[i]);
    note(i++, read ? std::string() : read.error().message);
  };
  source(host::read_mountstats(options_.proc), write_mounts);
  source(host::read_sunrpc(options_.sys), write_sunrpc);
  source(host::read_svcrdma(options_.proc), write_svcrdma);
  source(host::read_nfsd(options_.proc), write_nfsd);
  source(host::read_devices(options_.sys), write_devices);

  const std::uint64_t samples = to.left_out();
  to.make_room(kLastRoom);
  to.family("rpcrdma_exporter_source_up", TextType::kGauge,
            "1 if the source could be read, 0 if it is absent or unreadable.");
  for (std::size_t k = 0; k < kSources.size(); ++k) {
    std::string labels;
    label(labels, "source", kSources[k]);
    to.sample(labels, faults_[k]->empty() ? 1 : 0);
  }
  to.family("rpcrdma_exporter_left_out", TextType::kGauge,
            "What a source states and this scrape does not show: not valid, not known, or beyond "
            "the bounds.");
  for (std::size_t k = 0; k < kSources.size(); ++k) {
    std::string labels;
    label(labels, "source", kSources[k]);
    to.sample(labels, left_out[k]);
  }
  to.family("rpcrdma_exporter_samples_left_out", TextType::kGauge,
            "Samples of this scrape beyond the bound of its length.");
  to.sample({}, samples);
}

}  // namespace rpcrdma::exporter
