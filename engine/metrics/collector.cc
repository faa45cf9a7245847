#include "collector.h"

namespace rpcrdma::metrics {

using std::chrono::steady_clock;

Collector::Collector(std::span<Source* const> sources, steady_clock::duration patience)
    : sources_(sources.begin(), sources.end()), patience_(patience) {}

std::vector<prometheus::MetricFamily> Collector::Collect() const {
  // All are asked before any is waited for.
  std::vector<std::uint64_t> questions;
  for (Source* const s : sources_) questions.push_back(s->ask());
  const steady_clock::time_point until = steady_clock::now() + patience_;
  std::vector<Snapshot> snapshots;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    snapshots.push_back(sources_[i]->wait(questions[i], until));
  }
  // On Linux steady_clock is CLOCK_MONOTONIC, as the loops' clock is.
  return families(snapshots,
                  std::chrono::nanoseconds(steady_clock::now().time_since_epoch()).count());
}

}  // namespace rpcrdma::metrics
