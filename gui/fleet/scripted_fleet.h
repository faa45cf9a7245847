// For tests and pictures: a fleet without a bus, whose state a script sets, and hosts to begin
// with.
#pragma once

#include "fleet_source.h"

#include <algorithm>
#include <string>
#include <utility>
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
  void show(const FleetShown& now) { Q_EMIT shown(std::make_shared<const FleetShown>(now)); }

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

// A cluster of two servers and their clients at one second of its life: one client waits for
// credits, one has no news, one has vanished, one was stopped. The same second is the same state.
// `wall_ns`: of second 0.
[[nodiscard]] inline FleetShown scripted_cluster(int second, std::int64_t wall_ns) {
  constexpr std::int64_t kSecondNs = 1'000'000'000;
  constexpr std::int64_t kAwayFrom = 40;  // from this second on, three hosts are silent
  FleetShown shown;
  fleet::FleetState& state = shown.state;
  state.connected = true;
  state.wall_ns = wall_ns + second * kSecondNs;
  // A rate that varies about `mean`, different for each host.
  const auto varied = [&](double mean, int phase) {
    const int step = (second * 7 + phase * 13) % 11;
    return mean * (0.85 + 0.03 * step);
  };
  for (int i = 1; i <= 2; ++i) {
    const std::string n = std::to_string(i);
    auto e = scripted_endpoint("nfsd", "server on 10.0.0." + n, varied(24'000 + 3'000 * i, i));
    e.connections = 5;
    e.credits = {640, 640, static_cast<std::uint64_t>(150 + (second * i) % 40), 0};
    e.latency.p50_ns = 95'000;
    e.latency.p99_ns = 640'000;
    if (i == 2) e.findings = {0, 1, 2};
    state.hosts.push_back(scripted_host("storage" + n, {e}));
  }
  for (int i = 1; i <= 6; ++i) {
    const std::string n = "0" + std::to_string(i);
    std::vector<fleet::EndpointState> endpoints{
        scripted_endpoint("mount-data", "client of 10.0.0.1", varied(4'000 + 300 * i, i)),
        scripted_endpoint("mount-home", "client of 10.0.0.2", varied(240 + 40 * i, i + 3))};
    endpoints[0].credits = {128, 128, static_cast<std::uint64_t>(20 + (second * i) % 30), 0};
    if (i == 3) {
      endpoints[0].credits = {128, 16, 16, static_cast<std::uint64_t>(23 + second % 5)};
      endpoints[0].rates->calls = varied(second < 30 ? 4'900 : 1'100, i);
      endpoints[0].latency.p50_ns = 2'600'000;
      endpoints[0].latency.p99_ns = 31'000'000;
      endpoints[0].findings = {1, 3, 0};
    }
    fleet::HostState h = scripted_host("node" + n, std::move(endpoints));
    if (i == 2) h.lost = 3;
    if (i == 4) h.recordings = 1;
    const bool away = i >= 5 && second >= kAwayFrom;
    h.age_ns = 100'000'000 * (2 + i);
    if (away && i == 5) {
      h.fresh = false;
      h.presence = fleet::HostPresence::kSilent;
      h.age_ns = 4'300'000'000;
    }
    if (away && i == 6) {
      h.fresh = false;
      h.presence = fleet::HostPresence::kSilent;
      h.age_ns = (second - kAwayFrom) * kSecondNs + 700'000'000;
    }
    state.hosts.push_back(std::move(h));
  }
  if (second >= kAwayFrom) {
    fleet::HostState left = scripted_host("spare", {});
    left.fresh = false;
    left.presence = fleet::HostPresence::kLeft;
    left.rates.reset();
    left.age_ns = (second - 10) * kSecondNs;
    state.hosts.push_back(std::move(left));
  }
  std::sort(state.hosts.begin(), state.hosts.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  fleet::FleetTotals& t = state.totals;
  fleet::ViewRates rates;
  for (const fleet::HostState& h : state.hosts) {
    t.lost += h.lost;
    if (!h.fresh) {
      ++(h.presence == fleet::HostPresence::kLeft ? t.left_hosts : t.old_hosts);
      continue;
    }
    ++t.hosts;
    t.endpoints += h.running;
    t.connections += h.connections;
    t.credits.granted += h.credits.granted;
    t.credits.in_use += h.credits.in_use;
    t.credits.waiting += h.credits.waiting;
    rates.calls += h.rates->calls;
    rates.read_bytes += h.rates->read_bytes;
    rates.write_bytes += h.rates->write_bytes;
    t.findings.errors += h.findings.errors;
    t.findings.warnings += h.findings.warnings;
    t.findings.notes += h.findings.notes;
  }
  t.rates = rates;
  t.latency = {1'000'000, 118'000, 3'900'000, 30'000'000, 34'000'000};

  const auto finding = [&](std::int64_t at, const char* severity, const char* host,
                           const char* endpoint, const char* rule, std::uint64_t count,
                           const char* text) {
    fleet::FindingNote note;
    note.wall_ns = wall_ns + at * kSecondNs;
    note.severity = severity;
    note.host = host;
    note.endpoint = endpoint;
    note.rule = rule;
    note.count = count;
    note.text = text;
    note.kind = shown.findings.size();
    shown.findings.push_back(note);
  };
  finding(57, "error", "node03", "mount-data", "STALL", 2,
          "Calls had no Reply for 1.2 s while the connection was open");
  finding(52, "warning", "node03", "mount-data", "CREDIT-STARVED", 41,
          "Calls waited for a credit: the server grants 16, the client requests 128");
  finding(50, "warning", "storage2", "nfsd", "RETX-STORM", 6,
          "3.1 % of the packets of a connection were sent again");
  finding(31, "note", "storage2", "nfsd", "CREDIT-DROP", 2, "the grant fell from 128 to 16");
  const auto event = [&](fleet::ViewEvent::Kind kind, std::int64_t at, const char* host,
                         const char* text) {
    state.events.push_back({kind, wall_ns + at * kSecondNs, host, text, 1});
  };
  event(fleet::ViewEvent::Kind::kBad, 43, "node06", "vanished: no summary for 3 s");
  event(fleet::ViewEvent::Kind::kNote, 10, "spare", "the agent stopped");
  return shown;
}

}  // namespace rpcrdma::gui
