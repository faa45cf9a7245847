// Queries the sources at each scrape.
#pragma once

#include "families.h"

#include <chrono>
#include <vector>

#include <prometheus/collectable.h>

#include <rpcrdma/metrics/source.h>

namespace rpcrdma::metrics {

class Collector : public prometheus::Collectable {
 public:
  // The sources outlive it. If a loop has not answered after `patience`, its previous snapshot is
  // used.
  Collector(std::span<Source* const> sources, std::chrono::steady_clock::duration patience);

  // May be called by any thread except the loops' threads, also concurrently.
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  std::vector<Source*> sources_;
  std::chrono::steady_clock::duration patience_;
};

}  // namespace rpcrdma::metrics
