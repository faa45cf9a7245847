// Converts figures to prometheus-cpp's data model: families by name, a sample for each set of
// labels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <prometheus/metric_family.h>

#include <rpcrdma/metrics/snapshot.h>
#include <rpcrdma/protocol/durations.h>

namespace rpcrdma::metrics {

// A metric; its name, type and meaning are written once, in names.h.
struct Metric {
  const char* name;
  prometheus::MetricType type;
  const char* help;
};

using Labels = std::vector<prometheus::ClientMetric::Label>;

class Families {
 public:
  // Adds to the present value for these labels, in this order: endpoints of one process are
  // reported as one.
  void add(const Metric& metric, const Labels& labels, std::uint64_t value);
  void add(const Metric& metric, const Labels& labels, const protocol::Durations& durations);
  void add_seconds(const Metric& metric, const Labels& labels, std::uint64_t nanoseconds);

  [[nodiscard]] std::vector<prometheus::MetricFamily> take() { return std::move(families_); }

 private:
  prometheus::ClientMetric& sample(const Metric& metric, const Labels& labels);

  std::vector<prometheus::MetricFamily> families_;
};

void add(Families& families, const ServerFigures& server);
void add(Families& families, const ClientFigures& client);
void add(Families& families, const soft::ProviderCounters& packets);
void add(Families& families, const MemoryFigures& memory);
void add(Families& families, const KernelFigures& kernel);
void add(Families& families, const TraceFigures& trace);

// All metrics. `now`: of the snapshots' clock.
[[nodiscard]] std::vector<prometheus::MetricFamily> families(std::span<const Snapshot> snapshots,
                                                             fabric::Time now);

}  // namespace rpcrdma::metrics
