#include "collector.h"

#include <rpcrdma/base/clock.h>

namespace rpcrdma::metrics {

using std::chrono::steady_clock;

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

}  // namespace rpcrdma::metrics
