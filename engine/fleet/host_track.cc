#include "host_track.h"

#include "latency_sum.h"
#include "sums.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/core.h>

namespace rpcrdma::fleet {

namespace {

using Kind = ViewEvent::Kind;
using Arrival = SequenceWindow::Arrival;

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::size_t kMostAgents = 8;
// Late summaries of an agent that was restarted come back, too, but not that many and not for long.
constexpr unsigned kCameBack = 3;
constexpr std::int64_t kBothUseTheName = 10 * kNsPerSecond;
constexpr unsigned kClockSeen = 3;
// Times and counts from the bus are used in sums.
constexpr std::int64_t kMostNs = std::int64_t{1} << 61;

std::int64_t bounded(std::int64_t ns) {
  return std::clamp<std::int64_t>(ns, 0, kMostNs);
}

bool reports(const Summary& s, std::uint64_t generation) {
  return std::ranges::find(s.endpoints, generation, &EndpointSummary::generation) !=
         s.endpoints.end();
}

std::string seconds(std::int64_t ns) {
  return fmt::format("{} s", ns / kNsPerSecond);
}

}  // namespace

bool HostTrack::is_current(const Agent& agent) const {
  return agents_.front().get() == &agent;
}

HostTrack::Agent& HostTrack::agent_of(const Summary& s, const ViewTime& now) {
  const auto known = std::ranges::find(
      agents_, s.instance, [](const auto& agent) -> auto& { return agent->instance; });
  if (known != agents_.end()) return **known;
  // If it started after the host was last heard, summaries before this one are lost.
  std::optional<std::uint64_t> expected;
  if (!agents_.empty()) {
    constexpr std::uint64_t kMargin = 5;
    const std::int64_t silent = std::max<std::int64_t>(now.monotonic_ns - sent_.monotonic_ns, 0);
    if (s.sequence <= static_cast<std::uint64_t>(silent / kNsPerSecond) + kMargin) expected = 1;
  }
  if (agents_.size() == kMostAgents) {
    lost_before_ += agents_.back()->order.lost();
    agents_.pop_back();
  }
  auto agent = std::make_unique<Agent>(expected);
  agent->instance = s.instance;
  agent->boot = s.boot;
  const auto same_clock = std::ranges::find(
      agents_, s.boot, [](const auto& one) -> auto& { return one->boot; });
  if (same_clock != agents_.end()) agent->delay = (*same_clock)->delay;
  agents_.push_back(std::move(agent));
  return *agents_.back();
}

bool HostTrack::takes_over(Agent& agent, const ViewTime& now) {
  if (!agent.heard) return true;
  // It is known, and another one has taken its place. Its late summaries do not count, and if it
  // still runs, only one of the two is shown.
  if (now.monotonic_ns - agents_.front()->heard_ns > kFreshNs) return true;
  agent.came_back = now.monotonic_ns - agent.heard_ns > kBothUseTheName ? 1 : agent.came_back + 1;
  return false;
}

void HostTrack::make_current(const Agent& agent, const ViewTime& now) {
  const auto at = std::ranges::find(agents_, &agent, &std::unique_ptr<Agent>::get);
  std::rotate(agents_.begin(), at, at + 1);
  if (agents_.size() == 1) return;
  ++restarts_;
  shared_->events.add_or_count(presence_ == HostPresence::kHere ? Kind::kBad : Kind::kNote,
                               now.wall_ns, name_, "its agent restarted");
}

void HostTrack::count_agents(const ViewTime& now) {
  const std::uint64_t before = using_name_;
  using_name_ = static_cast<std::uint64_t>(std::ranges::count_if(agents_, [&](const auto& agent) {
    return is_current(*agent) ||
           (agent->came_back >= kCameBack && now.monotonic_ns - agent->heard_ns <= kBothUseTheName);
  }));
  if (using_name_ > before) {
    shared_->events.add(Kind::kBad, now.wall_ns, name_,
                        fmt::format("{} agents use this name", using_name_));
  }
}

void HostTrack::take(const Summary& s, const ViewTime& now, std::int64_t delayed_ns) {
  const bool replayed = delayed_ns > 0;
  // What the stream stored is older than what a known host has sent since.
  if (replayed && !agents_.empty() && s.instance != agents_.front()->instance) return;
  const bool first = agents_.empty();
  Agent& agent = agent_of(s, now);
  const Arrival arrival = agent.order.take(s.sequence);
  if (arrival == Arrival::kRepeated) {
    ++repeated_;
    return;
  }
  ++received_;
  const std::int64_t arrived = now.monotonic_ns - std::clamp<std::int64_t>(delayed_ns, 0, kMostNs);
  const std::int64_t made = bounded(s.monotonic_ns);
  const std::int64_t slow = bounded(agent.delay.add(made, arrived));
  const bool current = is_current(agent) && !first;
  const bool changes = !current && (first || takes_over(agent, now));
  agent.heard = true;
  agent.heard_ns = now.monotonic_ns;
  if (arrival == Arrival::kLate) {
    ++late_;
    return count_agents(now);
  }
  if (changes) {
    make_current(agent, now);
    agent.came_back = 0;
  } else if (!current) {
    return count_agents(now);
  }
  count_agents(now);
  // A host's clock may not step back, so this is forged; its endpoints would have negative rates.
  if (!changes && made <= agent.latest_made_ns) return;
  agent.latest_made_ns = made;
  const std::int64_t before_ns = now.monotonic_ns - arrived + slow;
  const ViewTime sent{now.monotonic_ns - before_ns, now.wall_ns - before_ns};
  if (s.goodbye) {
    if (presence_ != HostPresence::kLeft) {
      shared_->events.add(Kind::kNote, now.wall_ns, name_, "left: its agent stopped");
    }
    presence_ = HostPresence::kLeft;
    sent_ = sent;
  } else {
    hear(now, sent);
  }
  if (!replayed) check_clock(s, sent);
  version_ = s.version;
  counters_ = s.agent;
  if (changes) {  // nothing continues
    shared_->endpoints_left += endpoints_.size();
    endpoints_.clear();
  } else {
    report_endpoints(s, now);
  }
  take_endpoints(s);
}

void HostTrack::hear(const ViewTime& now, const ViewTime& sent) {
  const std::int64_t silent = now.monotonic_ns - sent_.monotonic_ns;
  sent_ = sent;
  if (presence_ == HostPresence::kHere || now.monotonic_ns - sent.monotonic_ns > kFreshNs) return;
  shared_->events.add(Kind::kGood, now.wall_ns, name_,
                      fmt::format("is back after {}", seconds(silent)));
  presence_ = HostPresence::kHere;
}

void HostTrack::check_clock(const Summary& s, const ViewTime& sent) {
  clock_off_ns_ = bounded(s.wall_ns) - sent.wall_ns;
  if (std::abs(clock_off_ns_) <= kClockOffNs) {
    clock_off_seen_ = 0;
  } else if (clock_off_seen_ < kClockSeen) {
    ++clock_off_seen_;
  }
}

void HostTrack::report_endpoints(const Summary& s, const ViewTime& now) {
  const auto report = [&](Kind kind, const std::string& endpoint, const std::string& what) {
    shared_->events.add(kind, now.wall_ns, name_, fmt::format("endpoint {} {}", endpoint, what));
  };
  for (const EndpointSummary& e : s.endpoints) {
    const auto at = endpoints_.find(e.generation);
    const bool ran = at != endpoints_.end() && at->second.state().end == EndpointEnd::kNone;
    if (at == endpoints_.end() && e.end == EndpointEnd::kNone) {
      report(Kind::kNote, e.name, "started");
    } else if (ran && e.end == EndpointEnd::kClosed) {
      report(Kind::kNote, e.name, "ended");
    } else if (ran && e.end == EndpointEnd::kKilled) {
      report(Kind::kBad, e.name, "was killed or crashed");
    } else if (ran && e.end == EndpointEnd::kRefused) {
      report(Kind::kBad, e.name, "is not read any more: " + e.why);
    }
  }
  for (const auto& [generation, track] : endpoints_) {
    const EndpointState& e = track.state();
    if (e.end == EndpointEnd::kNone && s.endpoints_left_out == 0 && !reports(s, generation)) {
      report(Kind::kBad, e.name, "is not reported any more");
    }
  }
}

void HostTrack::take_endpoints(const Summary& s) {
  left_out_ = s.endpoints_left_out;
  shared_->endpoints_left +=
      std::erase_if(endpoints_, [&](const auto& one) { return !reports(s, one.first); });
  for (const EndpointSummary& e : s.endpoints) {
    auto at = endpoints_.find(e.generation);
    if (at == endpoints_.end()) {
      if (shared_->endpoints_left == 0) {
        ++left_out_;
        continue;
      }
      --shared_->endpoints_left;
      at = endpoints_.try_emplace(e.generation, shared_->buckets).first;
    }
    at->second.take(e, bounded(s.monotonic_ns));
  }
}

void HostTrack::tick(const ViewTime& now, bool silence_counts) {
  count_agents(now);
  const std::int64_t age = now.monotonic_ns - sent_.monotonic_ns;
  if (presence_ != HostPresence::kHere || !silence_counts || age <= kFreshNs) return;
  presence_ = HostPresence::kSilent;
  shared_->events.add(Kind::kBad, now.wall_ns, name_,
                      fmt::format("vanished: no summary for {}", seconds(age)));
}

std::uint64_t HostTrack::lost() const {
  std::uint64_t lost = lost_before_;
  for (const auto& agent : agents_) lost += agent->order.lost();
  return lost;
}

void HostTrack::add_latencies(LatencySum& sum) const {
  for (const auto& [generation, track] : endpoints_) {
    if (track.window() != nullptr) sum.add(track.window()->expanded());
  }
}

std::string HostTrack::problem() const {
  std::string text;
  const auto add = [&](const std::string& clause) { text += (text.empty() ? "" : "; ") + clause; };
  if (using_name_ > 1) add(fmt::format("{} agents use this name", using_name_));
  if (clock_off_seen_ >= kClockSeen) {
    add(fmt::format("clock {} {}", seconds(std::abs(clock_off_ns_)),
                    clock_off_ns_ > 0 ? "ahead" : "behind"));
  }
  if (counters_.endpoints_unread != 0) {
    add(fmt::format("{} endpoints cannot be read", counters_.endpoints_unread));
  }
  if (left_out_ != 0) add(fmt::format("{} endpoints left out", left_out_));
  if (counters_.findings_dropped != 0) {
    add(fmt::format("{} findings dropped", counters_.findings_dropped));
  }
  return text;
}

HostState HostTrack::state(const ViewTime& now, bool connected) const {
  HostState h;
  h.name = name_;
  h.presence = presence_;
  h.age_ns = std::max<std::int64_t>(now.monotonic_ns - sent_.monotonic_ns, 0);
  h.fresh = connected && presence_ == HostPresence::kHere && h.age_ns <= kFreshNs;
  h.heard_wall_ns = sent_.wall_ns;
  h.version = version_;
  h.problem = problem();
  h.received = received_;
  h.lost = lost();
  h.late = late_;
  h.repeated = repeated_;
  h.restarts = restarts_;
  h.agents = using_name_;
  h.clock_off_ns = clock_off_ns_;
  h.clock_off = clock_off_seen_ >= kClockSeen;
  h.agent = counters_;
  h.endpoints_left_out = left_out_;
  LatencySum latencies;
  add_latencies(latencies);
  h.latency = latencies.latency();
  h.endpoints.reserve(endpoints_.size());
  for (const auto& [generation, track] : endpoints_) {
    add_to(h, track.state());
    h.endpoints.push_back(track.state());
  }
  std::ranges::sort(h.endpoints, {},
                    [](const EndpointState& e) { return std::tie(e.name, e.process); });
  return h;
}

}  // namespace rpcrdma::fleet
