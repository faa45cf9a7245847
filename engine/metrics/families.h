// Converts figures to prometheus-cpp's data model: families by name, a sample for each set of
// labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
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

// What a scrape collects. prometheus-cpp's histograms have fixed buckets only, so the native
// buckets of those that have them come beside it.
struct Collected {
  std::vector<prometheus::MetricFamily> families;
  // By positions in `families` and in its `metric`.
  std::map<std::pair<std::size_t, std::size_t>, protocol::NativeBuckets> native = {};
};

class Families {
 public:
  // Adds to the present value for these labels, in this order: endpoints of one process are
  // reported as one.
  void add(const Metric& metric, const Labels& labels, std::uint64_t value);
  void add(const Metric& metric, const Labels& labels, const protocol::Durations& durations);
  void add(const Metric& metric, const Labels& labels, const protocol::RoundDurations& durations);
  void add_seconds(const Metric& metric, const Labels& labels, std::uint64_t nanoseconds);
  // The same for all endpoints of a process, so it is not added up.
  void set(const Metric& metric, const Labels& labels, double value);

  [[nodiscard]] Collected take() { return std::move(all_); }

 private:
  // Returns the positions of the sample, which is made if it is new.
  std::pair<std::size_t, std::size_t> find(const Metric& metric, const Labels& labels);
  prometheus::ClientMetric& sample(const Metric& metric, const Labels& labels);

  Collected all_;
};

void add(Families& families, const ServerFigures& server);
void add(Families& families, const ClientFigures& client);
void add(Families& families, const soft::ProviderCounters& packets, const char* role);
void add(Families& families, const MemoryFigures& memory);
void add(Families& families, const KernelFigures& kernel);
void add(Families& families, const TraceFigures& trace);
void add(Families& families, const ProcessFigures& process);
void add_error(Families& families, const char* role, ErrorClass what, const std::string& kind,
               std::uint64_t value);

// All metrics of endpoints. `now`: of the snapshots' clock. `process`: null: none.
[[nodiscard]] Collected families(std::span<const Snapshot> snapshots, fabric::Time now,
                                 const ProcessFigures* process);

}  // namespace rpcrdma::metrics
