// Judges each fault of a connection by the sums of the last kWindowNs, with hysteresis.
#include "lately.h"

#include <algorithm>
#include <utility>

namespace rpcrdma::rules {

namespace {

// A share of the time, or an average, needs at least this much of a window.
constexpr std::int64_t kLongEnough = kWindowNs / 2;
// A fault near its threshold must not come and go: it ends when it was better for this long, or
// when nothing of it was seen in the window.
constexpr std::int64_t kBetterFor = kWindowNs / 2;

}  // namespace

Sums Lately::sums(const Knowledge& k, std::int64_t now_ns) {
  Sums sums;
  std::int64_t stalled = 0;
  for (std::size_t side = 0; side < 2; ++side) {
    sums.loss[side] = k.recovery[side].sums(k.connection, static_cast<int>(side), *k.history[side]);
    sums.credit[side] = k.credit_starvation[side].sums(now_ns);
    stalled += k.recovery[side].held_up_ns();
  }
  sums.latency = k.latency.sums(now_ns, stalled);
  return sums;
}

int Lately::guilty(const Knowledge& k, Fault fault) {
  const int side = static_cast<int>(fault) % 2;
  const auto s = static_cast<std::size_t>(side);
  switch (fault) {
    case Fault::kRnr:
    case Fault::kRnr1:
      return 1 - side;
    case Fault::kExcusedRnr:
    case Fault::kExcusedRnr1:
      return who_sent(k.connection, side, k.history[s]->excused);
    case Fault::kStarved:
    case Fault::kStarved1:
      return k.credit_starvation[s].guilty(side);
    case Fault::kSlowPeer:
      return 1 - k.client;
    case Fault::kStorm:
    case Fault::kStorm1:
    case Fault::kSlowStalls:
    case Fault::kSlowWay:
      break;
  }
  return -1;
}

// Returns the sum that grows while the fault lasts.
std::uint64_t Lately::amount(Fault fault, const Sums& sums) {
  switch (fault) {
    case Fault::kStorm:
    case Fault::kStorm1:
      return sums.loss[fault == Fault::kStorm1 ? 1 : 0].again;
    case Fault::kRnr:
    case Fault::kRnr1:
      return sums.loss[fault == Fault::kRnr1 ? 1 : 0].rnr_owed;
    case Fault::kExcusedRnr:
    case Fault::kExcusedRnr1:
      return sums.loss[fault == Fault::kExcusedRnr1 ? 1 : 0].rnr_excused;
    case Fault::kStarved:
    case Fault::kStarved1:
      return static_cast<std::uint64_t>(sums.credit[fault == Fault::kStarved1 ? 1 : 0].full_ns);
    case Fault::kSlowStalls:
      return static_cast<std::uint64_t>(sums.latency.stalled);
    case Fault::kSlowWay:
    case Fault::kSlowPeer:
      return sums.latency.slow;
  }
  return 0;
}

bool Lately::is_bad(const Knowledge& k, Fault fault, const Sums& lately, std::int64_t ns) {
  switch (fault) {
    case Fault::kStorm:
    case Fault::kStorm1: {
      const std::size_t side = fault == Fault::kStorm1 ? 1 : 0;
      return k.recovery[side].is_storm(lately.loss[side]);
    }
    case Fault::kRnr:
    case Fault::kRnr1:
    case Fault::kExcusedRnr:
    case Fault::kExcusedRnr1:
      return amount(fault, lately) != 0;
    case Fault::kStarved:
    case Fault::kStarved1:
      return ns >= kLongEnough &&
             CreditStarvation::is_starved(lately.credit[fault == Fault::kStarved1 ? 1 : 0], ns);
    case Fault::kSlowStalls:
    case Fault::kSlowWay:
    case Fault::kSlowPeer: {
      if (k.client < 0 || ns < kLongEnough) return false;
      const LatencyAttribution::Slow slow = LatencyAttribution::judge(lately.latency);
      return slow == (fault == Fault::kSlowStalls ? LatencyAttribution::Slow::kStalls
                      : fault == Fault::kSlowWay  ? LatencyAttribution::Slow::kLongWay
                                                  : LatencyAttribution::Slow::kPeer);
    }
  }
  return false;
}

std::vector<Lately::Episode>::iterator Lately::find(Fault fault) {
  return std::find_if(episodes_.begin(), episodes_.end(),
                      [fault](const Episode& e) { return e.fault == fault; });
}

void Lately::report(const Knowledge& k, const Episode& episode, const Sums& now,
                    std::int64_t now_ns, ReportPhase phase, std::int64_t until_ns) {
  const Sums added = now - episode.begin.sums;
  const std::int64_t ns =
      (phase == ReportPhase::kFound ? now_ns : episode.latest_ns) - episode.begin.time_ns;
  Evidence e;
  e.connection = &k.connection;
  e.phase = phase;
  e.span = {std::max<std::int64_t>(episode.begin.time_ns, 1), until_ns};
  e.side = episode.side;
  const int side = static_cast<int>(episode.fault) % 2;
  const auto s = static_cast<std::size_t>(side);
  switch (episode.fault) {
    case Fault::kStorm:
    case Fault::kStorm1:
      return k.recovery[s].report_storm(k.findings, k.connection, side, added.loss[s], ns, e);
    case Fault::kRnr:
    case Fault::kRnr1:
      return k.recovery[s].report_rnr(k.findings, k.connection, side, added.loss[s], e);
    case Fault::kExcusedRnr:
    case Fault::kExcusedRnr1:
      return k.recovery[s].report_excused_rnr(k.findings, k.connection, side, *k.history[s],
                                              added.loss[s], e);
    case Fault::kStarved:
    case Fault::kStarved1:
      return k.credit_starvation[s].report(k.findings, k.connection, side, added.credit[s], ns, e);
    case Fault::kSlowStalls:
      return k.latency.report(k.findings, k.connection, k.client, LatencyAttribution::Slow::kStalls,
                              added.latency, e);
    case Fault::kSlowWay:
      return k.latency.report(k.findings, k.connection, k.client,
                              LatencyAttribution::Slow::kLongWay, added.latency, e);
    case Fault::kSlowPeer:
      return k.latency.report(k.findings, k.connection, k.client, LatencyAttribution::Slow::kPeer,
                              added.latency, e);
  }
}

void Lately::judge(const Knowledge& k, Fault fault, const Sums& now, std::int64_t now_ns) {
  const Sums lately = now - window_.begin().sums;
  const bool bad = is_bad(k, fault, lately, now_ns - window_.begin().time_ns);
  auto at = find(fault);
  if (at != episodes_.end() && amount(fault, now) != amount(fault, window_.latest().sums)) {
    at->latest_ns = now_ns;
  }
  if (bad && at == episodes_.end()) {
    Episode episode{fault, {}, now_ns, -1, -1};
    episode.begin = window_.before([fault](const Sums& sums) { return amount(fault, sums); }, now,
                                   ended_ns_[static_cast<std::size_t>(fault)]);
    episode.side = guilty(k, fault);
    report(k, episode, now, now_ns, ReportPhase::kFound, 0);
    ever_[static_cast<std::size_t>(fault)] = true;
    episodes_.push_back(std::move(episode));
  } else if (at != episodes_.end()) {
    at->good_ns = bad ? -1 : at->good_ns < 0 ? now_ns : at->good_ns;
    if (bad) return;
    const bool unseen = now_ns - at->latest_ns >= kWindowNs;
    if (!unseen && now_ns - at->good_ns < kBetterFor) return;
    report(k, *at, now, now_ns, ReportPhase::kEnds, at->latest_ns);
    ended_ns_[static_cast<std::size_t>(fault)] = at->latest_ns;
    episodes_.erase(at);
  }
}

// Returns whether any fault is possible yet: each needs eight Calls, or loss.
bool Lately::is_notable(const Sums& sums) {
  constexpr std::uint64_t kReplies = 8;
  const auto lost = [](const LossSums& s) { return s.again + s.rnr_owed + s.rnr_excused != 0; };
  return sums.latency.replies >= kReplies || lost(sums.loss[0]) || lost(sums.loss[1]) ||
         sums.credit[0].waited + sums.credit[1].waited != 0;
}

void Lately::judge(const Knowledge& k, std::int64_t now_ns) {
  const Sums now = sums(k, now_ns);
  if (window_.empty()) {
    if (quiet_until_ns_ < 0) quiet_until_ns_ = std::min(k.connection.first_ns, now_ns);
    if (!is_notable(now)) {
      const std::uint64_t activity = now.loss[0].packets + now.loss[1].packets;
      if (std::exchange(activity_, activity) == activity) quiet_until_ns_ = now_ns;
      return;
    }
    window_.mark(quiet_until_ns_, Sums{});
  }
  if (!episodes_.empty() || !(now == window_.latest().sums)) {
    for (std::size_t i = 0; i < kFaults; ++i) judge(k, static_cast<Fault>(i), now, now_ns);
  }
  window_.mark(now_ns, now);
}

Reported Lately::reported(Fault fault, bool lasts) const {
  Reported r;
  r.ever = ever_[static_cast<std::size_t>(fault)];
  for (const Episode& e : episodes_) {
    if (e.fault != fault) continue;
    r.now = true;
    r.span = {std::max<std::int64_t>(e.begin.time_ns, 1), lasts ? 0 : e.latest_ns};
    r.side = e.side;
  }
  return r;
}

void Lately::end(const Knowledge& k, Fault fault, std::int64_t now_ns, bool lasts) {
  const auto at = find(fault);
  if (at == episodes_.end()) return;
  report(k, *at, sums(k, now_ns), now_ns, ReportPhase::kEnds, lasts ? 0 : at->latest_ns);
  episodes_.erase(at);
}

}  // namespace rpcrdma::rules
