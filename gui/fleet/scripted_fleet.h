// For tests and pictures: a fleet without a bus, whose state a script sets, and hosts to begin with.
#pragma once

#include "fleet_source.h"

#include <string>
#include <vector>

namespace rpcrdma::gui {

class ScriptedFleet : public FleetSource {
 public:
  struct Asked {
    QString host, endpoint, path;
    int seconds = 0;
  };
  using FleetSource::FleetSource;

  void record(const QString& host, const QString& endpoint, int seconds,
              const QString& path) override {
    asked.push_back({host, endpoint, path, seconds});
  }
  void show(const FleetShown& now) {
    Q_EMIT shown(std::make_shared<const FleetShown>(now));
  }

  std::vector<Asked> asked;
};

[[nodiscard]] inline fleet::EndpointState scripted_endpoint(const std::string& name,
                                                            const std::string& role, double calls) {
  fleet::EndpointState e;
  e.name = name;
  e.role = role;
  e.user = "nfs";
  e.process = static_cast<std::uint32_t>(1000 + name.size());
  e.connections = 2;
  e.credits = {64, 32, 5, 0};
  fleet::ViewRates rates;
  rates.calls = calls;
  rates.read_bytes = calls * 20'000;
  rates.write_bytes = calls * 45'000;
  e.rates = rates;
  e.latency = {static_cast<std::uint64_t>(calls * 10), 180'000, 1'250'000, 2'000'000, 3'000'000};
  return e;
}

// A live host with these endpoints, and their sums.
[[nodiscard]] inline fleet::HostState scripted_host(const std::string& name,
                                                    std::vector<fleet::EndpointState> endpoints) {
  fleet::HostState h;
  h.name = name;
  h.fresh = true;
  h.age_ns = 400'000'000;
  h.version = "1.0";
  h.received = 60;
  fleet::ViewRates rates;
  for (const fleet::EndpointState& e : endpoints) {
    h.connections += e.connections;
    h.credits.requested += e.credits.requested;
    h.credits.granted += e.credits.granted;
    h.credits.in_use += e.credits.in_use;
    h.credits.waiting += e.credits.waiting;
    if (e.rates) {
      rates.calls += e.rates->calls;
      rates.errors += e.rates->errors;
      rates.read_bytes += e.rates->read_bytes;
      rates.write_bytes += e.rates->write_bytes;
    }
    h.latency.calls += e.latency.calls;
    h.latency.p50_ns = std::max(h.latency.p50_ns, e.latency.p50_ns);
    h.latency.p99_ns = std::max(h.latency.p99_ns, e.latency.p99_ns);
    h.findings.errors += e.findings.errors;
    h.findings.warnings += e.findings.warnings;
    h.findings.notes += e.findings.notes;
  }
  h.running = endpoints.size();
  h.rates = rates;
  h.endpoints = std::move(endpoints);
  return h;
}

}  // namespace rpcrdma::gui
