#include "families.h"

#include "names.h"

#include <algorithm>

namespace rpcrdma::metrics {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using protocol::RoundDurations;

namespace {

double seconds(std::uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e9;
}

}  // namespace

std::pair<std::size_t, std::size_t> Families::find(const Metric& metric, const Labels& labels) {
  auto& all = all_.families;
  auto family = std::ranges::find(all, metric.name, &MetricFamily::name);
  if (family == all.end()) {
    family = all.insert(all.end(), {metric.name, metric.help, metric.type, {}});
  }
  auto& samples = family->metric;
  auto found = std::ranges::find(samples, labels, &ClientMetric::label);
  if (found == samples.end()) {
    found = samples.insert(samples.end(), ClientMetric{});
    found->label = labels;
  }
  return {static_cast<std::size_t>(family - all.begin()),
          static_cast<std::size_t>(found - samples.begin())};
}

ClientMetric& Families::sample(const Metric& metric, const Labels& labels) {
  const auto at = find(metric, labels);
  return all_.families[at.first].metric[at.second];
}

void Families::add(const Metric& metric, const Labels& labels, std::uint64_t value) {
  ClientMetric& s = sample(metric, labels);
  const auto number = static_cast<double>(value);
  if (metric.type == MetricType::Counter) {
    s.counter.value += number;
  } else {
    s.gauge.value += number;
  }
}

void Families::add(const Metric& metric, const Labels& labels,
                   const protocol::Durations& durations) {
  add(metric, labels, durations.round());
  all_.native[find(metric, labels)] += durations.native();
}

void Families::add(const Metric& metric, const Labels& labels, const RoundDurations& durations) {
  ClientMetric::Histogram& h = sample(metric, labels).histogram;
  h.sample_count += durations.count();
  h.sample_sum += seconds(durations.sum());
  // The last bucket is the one without an upper bound, which every histogram has.
  h.bucket.resize(RoundDurations::kLongest.size());
  std::uint64_t cumulative = 0;
  for (std::size_t i = 0; i < h.bucket.size(); ++i) {
    cumulative += durations.buckets()[i];
    h.bucket[i].cumulative_count += cumulative;
    h.bucket[i].upper_bound = seconds(static_cast<std::uint64_t>(RoundDurations::kLongest[i]));
  }
}

void Families::set(const Metric& metric, const Labels& labels, double value) {
  ClientMetric& s = sample(metric, labels);
  (metric.type == MetricType::Counter ? s.counter.value : s.gauge.value) = value;
}

void Families::add_seconds(const Metric& metric, const Labels& labels, std::uint64_t nanoseconds) {
  sample(metric, labels).counter.value += seconds(nanoseconds);
}

void add_error(Families& f, const char* role, ErrorClass what, const std::string& kind,
               std::uint64_t value) {
  const char* const name = what == ErrorClass::kRdmaError   ? "rdma_error"
                           : what == ErrorClass::kRpcError  ? "rpc_error"
                           : what == ErrorClass::kViolation ? "violation"
                                                            : "failure";
  f.add(kErrors, {{"role", role}, {"class", name}, {"kind", kind}}, value);
}

// To add a subsystem, give it figures in Snapshot and an add() of its own, and call it here.
Collected families(std::span<const Snapshot> snapshots, fabric::Time now,
                   const ProcessFigures* process) {
  Families all;
  if (process != nullptr) add(all, *process);
  fabric::Time oldest = now;
  for (const Snapshot& s : snapshots) {
    if (s.server) add(all, *s.server);
    if (s.client) add(all, *s.client);
    const char* const role = s.server ? "server" : "client";
    for (const ProcedureCalls& p : s.procedures) {
      const Labels labels{{"role", role}, {"program", p.program}, {"procedure", p.procedure}};
      all.add(kProcedureCalls, labels, p.calls);
      all.add(kProcedureDuration, labels, p.durations);
    }
    for (const ClientErrors& e : s.client_errors) {
      add_error(all, "client", e.what, e.kind, e.calls);
    }
    if (s.packets) add(all, *s.packets, role);
    if (s.kernel) {
      add(all, *s.kernel);
    } else {
      add(all, s.memory);
    }
    if (s.trace) add(all, *s.trace);
    oldest = std::min(oldest, s.taken);
  }
  Collected made = all.take();
  ClientMetric age;
  age.gauge.value = seconds(static_cast<std::uint64_t>(now - oldest));
  made.families.push_back({kAge.name, kAge.help, kAge.type, {age}});
  return made;
}

}  // namespace rpcrdma::metrics
