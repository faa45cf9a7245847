#include "host_track.h"
#include "latency_sum.h"
#include "sums.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include <fmt/core.h>

#include <rpcrdma/fleet/subjects.h>

namespace rpcrdma::fleet {

namespace {

using Kind = ViewEvent::Kind;

// Hosts that are heard first within this time after a connection were there before.
constexpr std::int64_t kDiscovery = 5'000'000'000;

}  // namespace

struct View::Impl {
  explicit Impl(const ViewLimits& l) : limits(l) {
    shared.buckets.left = l.buckets;
    shared.endpoints_left = l.endpoints;
    shared.events = EventLog(l.events);
  }

  void refuse(std::uint64_t& counter, const std::string& host, const std::string& why);
  // Returns the host's track, or null if there is no room.
  HostTrack* track_of(const std::string& host);
  [[nodiscard]] bool make_room();
  void forget(std::map<std::string, HostTrack, std::less<>>::iterator at);

  ViewLimits limits;
  Shared shared;  // outlives the hosts
  std::map<std::string, HostTrack, std::less<>> hosts;
  bool connected = false;
  std::string why = "not connected yet";
  std::int64_t connected_ns = 0;  // since when
  ViewTime now;
  ViewRefusals refused;
  std::uint64_t forgotten = 0;
  // Counts of hosts that are forgotten.
  std::uint64_t received = 0, lost = 0, late = 0, repeated = 0;
};

void View::Impl::refuse(std::uint64_t& counter, const std::string& host,
                        const std::string& reason) {
  ++counter;
  refused.latest = host.empty() ? reason : fmt::format("{}: {}", host, reason);
  shared.events.add_or_count(Kind::kBad, now.wall_ns, host, "summary refused: " + reason);
}

void View::Impl::forget(std::map<std::string, HostTrack, std::less<>>::iterator at) {
  const HostState last = at->second.state(now, connected);
  received += last.received;
  lost += last.lost;
  late += last.late;
  repeated += last.repeated;
  ++forgotten;
  hosts.erase(at);
}

// The host that has been gone for the longest time makes room.
bool View::Impl::make_room() {
  auto oldest = hosts.end();
  for (auto at = hosts.begin(); at != hosts.end(); ++at) {
    if (at->second.presence() == HostPresence::kHere) continue;
    if (oldest == hosts.end() || at->second.sent_ns() < oldest->second.sent_ns()) oldest = at;
  }
  if (oldest == hosts.end()) return false;
  forget(oldest);
  return true;
}

HostTrack* View::Impl::track_of(const std::string& host) {
  const auto at = hosts.find(host);
  if (at != hosts.end()) return &at->second;
  if (hosts.size() >= limits.hosts && !make_room()) {
    refuse(refused.hosts, {}, fmt::format("more than {} hosts", limits.hosts));
    return nullptr;
  }
  if (connected && now.monotonic_ns - connected_ns > kDiscovery) {
    shared.events.add(Kind::kGood, now.wall_ns, host, "joined");
  }
  return &hosts.try_emplace(host, host, shared).first->second;
}

View::View(const ViewLimits& limits) : impl_(std::make_unique<Impl>(limits)) {}
View::~View() = default;
View::View(View&&) noexcept = default;
View& View::operator=(View&&) noexcept = default;

void View::take(std::string_view subject, std::string_view bytes, const ViewTime& now,
                std::int64_t delayed_ns) {
  impl_->now = now;
  ViewRefusals& refused = impl_->refused;
  const std::optional<std::string> host = host_of_subject(subject);
  if (!host) return impl_->refuse(refused.malformed, {}, "a subject that names no host");
  const base::Expected<Summary> summary = summary_from_json(bytes);
  if (!summary) {
    return impl_->refuse(
        is_other_schema(summary.error()) ? refused.other_schema : refused.malformed, *host,
        summary.error().message);
  }
  if (summary->host != *host) {
    return impl_->refuse(refused.wrong_host, *host, "it is about another host: forged");
  }
  apply(*summary, now, delayed_ns);
}

void View::apply(const Summary& summary, const ViewTime& now, std::int64_t delayed_ns) {
  impl_->now = now;
  HostTrack* const host = impl_->track_of(summary.host);
  if (host != nullptr) host->take(summary, now, delayed_ns);
}

void View::bus(bool connected, std::string_view why, const ViewTime& now) {
  tick(now);
  Impl& v = *impl_;
  v.why = connected ? std::string() : std::string(why);
  if (v.connected == connected) return;
  v.connected = connected;
  if (connected) {
    v.connected_ns = now.monotonic_ns;
    v.shared.events.add(Kind::kGood, now.wall_ns, {}, "bus connected");
  } else {
    v.shared.events.add(Kind::kBad, now.wall_ns, {}, "bus disconnected: " + v.why);
  }
}

void View::dropped(std::uint64_t total) {
  impl_->refused.undelivered = total;
}

void View::tick(const ViewTime& now) {
  Impl& v = *impl_;
  v.now = now;
  const bool silence_counts = v.connected && now.monotonic_ns - v.connected_ns > kFreshNs;
  for (auto at = v.hosts.begin(); at != v.hosts.end();) {
    const auto host = at++;
    host->second.tick(now, silence_counts);
    if (host->second.presence() == HostPresence::kLeft &&
        now.monotonic_ns - host->second.sent_ns() > v.limits.kept_left_ns) {
      v.forget(host);
    }
  }
}

FleetState View::state() const {
  const Impl& v = *impl_;
  FleetState f;
  f.connected = v.connected;
  f.bus = v.why;
  f.wall_ns = v.now.wall_ns;
  f.refused = v.refused;
  f.refused.histograms = v.shared.buckets.refused;
  f.forgotten = v.forgotten;
  f.events = v.shared.events.latest_first();
  f.events_dropped = v.shared.events.dropped();
  FleetTotals& t = f.totals;
  t.received = v.received;
  t.lost = v.lost;
  t.late = v.late;
  t.repeated = v.repeated;
  LatencySum latencies;
  f.hosts.reserve(v.hosts.size());
  for (const auto& [name, track] : v.hosts) {
    f.hosts.push_back(track.state(v.now, v.connected));
    const HostState& h = f.hosts.back();
    add_to(t.received, h.received);
    add_to(t.lost, h.lost);
    add_to(t.late, h.late);
    add_to(t.repeated, h.repeated);
    if (h.fresh) {
      ++t.hosts;
      add_to(t, h);
      track.add_latencies(latencies);
    } else {
      ++(h.presence == HostPresence::kLeft ? t.left_hosts : t.old_hosts);
    }
  }
  t.latency = latencies.latency();
  return f;
}

}  // namespace rpcrdma::fleet
