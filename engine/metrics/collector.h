// Asks the sources each time that somebody scrapes.
#pragma once

#include "families.h"

#include <chrono>
#include <vector>

#include <prometheus/collectable.h>

#include <rpcrdma/metrics/source.h>

namespace rpcrdma::metrics {

class Collector : public prometheus::Collectable {
 public:
  // The sources outlive it. Loops that have not answered after `patience` are told as they were
  // when they last did.
  Collector(std::span<Source* const> sources, std::chrono::steady_clock::duration patience);

  // By any thread but the loops', several at a time too.
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  std::vector<Source*> sources_;
  std::chrono::steady_clock::duration patience_;
};

}  // namespace rpcrdma::metrics
