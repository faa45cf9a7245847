#include "clocks.h"

#include <algorithm>
#include <utility>

namespace rpcrdma::ends {

namespace {

// A clock is followed this much beyond the messages that describe it.
constexpr std::int64_t kBeyond = 2'000'000'000;

const HalfCall& half_of(std::span<const SourceHalves> sources, const Group::Member& m,
                        std::uint32_t call) {
  return sources[m.source].calls[call];
}

PointKind kind_of(std::span<const SourceHalves> sources, const Group::Member& m) {
  return sources[m.source].connections[m.connection].kind;
}

// Calls f(a, b) for each XID that both have exactly once: whatever the clocks are, it is one Call.
template <typename Function>
void for_each_certain(std::span<const SourceHalves> sources, const Group::Member& a,
                      const Group::Member& b, Function&& f) {
  const auto run = [&](const Group::Member& m, std::size_t at) {
    std::size_t end = at + 1;
    const std::uint32_t xid = half_of(sources, m, m.calls[at]).xid;
    while (end < m.calls.size() && half_of(sources, m, m.calls[end]).xid == xid) ++end;
    return end;
  };
  std::size_t i = 0, j = 0;
  while (i < a.calls.size() && j < b.calls.size()) {
    const HalfCall& x = half_of(sources, a, a.calls[i]);
    const HalfCall& y = half_of(sources, b, b.calls[j]);
    if (x.xid < y.xid) {
      ++i;
    } else if (y.xid < x.xid) {
      ++j;
    } else {
      const std::size_t next_i = run(a, i), next_j = run(b, j);
      if (next_i == i + 1 && next_j == j + 1 && x.reverse == y.reverse) f(x, y);
      i = next_i;
      j = next_j;
    }
  }
}

// By how much longer a Call and its Reply take from the first to the second capture than back: the
// second is so much nearer to the server.
std::int64_t distance(std::span<const SourceHalves> sources, const Group::Member& a,
                      const Group::Member& b) {
  std::vector<std::int64_t> all;
  for_each_certain(sources, a, b, [&](const HalfCall& x, const HalfCall& y) {
    if (x.call_ns == kNoTime || y.call_ns == kNoTime) return;
    if (x.reply_ns == kNoTime || y.reply_ns == kNoTime) return;
    const std::int64_t longer = (x.reply_ns - x.call_ns) - (y.reply_ns - y.call_ns);
    all.push_back(x.reverse ? -longer : longer);
  });
  if (all.empty()) return 0;
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

void order_points(std::span<const SourceHalves> sources, Group& group) {
  struct Ranked {
    int end = 0;
    std::int64_t distance = 0;
    Group::Member member;
  };
  std::vector<Ranked> all;
  const Group::Member* first_wire = nullptr;
  for (const Group::Member& m : group.members) {
    if (first_wire == nullptr && kind_of(sources, m) == PointKind::kWire) first_wire = &m;
  }
  for (const Group::Member& m : group.members) {
    const PointKind kind = kind_of(sources, m);
    Ranked r;
    r.end = kind == PointKind::kClient ? 0 : kind == PointKind::kWire ? 1 : 2;
    if (kind == PointKind::kWire && &m != first_wire) {
      r.distance = distance(sources, *first_wire, m);
    }
    r.member = m;
    all.push_back(std::move(r));
  }
  std::stable_sort(all.begin(), all.end(), [](const Ranked& x, const Ranked& y) {
    return std::pair(x.end, x.distance) < std::pair(y.end, y.distance);
  });
  for (std::size_t i = 0; i < all.size(); ++i) group.members[i] = std::move(all[i].member);
}

std::int64_t drifted(const ClockStretch& s, std::int64_t ns) {
  const double grown = static_cast<double>(ns - s.from_ns) * s.drift_ppm * 1e-6;
  return s.offset_ns + static_cast<std::int64_t>(grown);
}

// The messages that went from one point to another, `near` to the caller and `far` from it.
void add_crossings(const HalfCall& near, bool near_is_wire, const HalfCall& far, bool far_is_wire,
                   bool near_is_reference, std::vector<Crossing>& to) {
  const std::int64_t called = far_is_wire && !near_is_wire ? far.call_first_ns : far.call_ns;
  if (near.call_ns != kNoTime && called != kNoTime) {
    to.push_back({near.call_ns, called, near_is_reference});
  }
  const std::int64_t replied = near_is_wire && !far_is_wire ? near.reply_first_ns : near.reply_ns;
  if (far.reply_ns != kNoTime && replied != kNoTime) {
    to.push_back({far.reply_ns, replied, !near_is_reference});
  }
}

}  // namespace

Clocks::Clocks(std::span<const SourceHalves> sources, std::vector<Group>& groups)
    : maps_(sources.size()), reached_(sources.size()) {
  for (Group& g : groups) order_points(sources, g);
  choose_reference(sources, groups);
  align_all(sources, groups);
}

// The source that most others share a connection with; among these a client, then a capture.
void Clocks::choose_reference(std::span<const SourceHalves> sources,
                              const std::vector<Group>& groups) {
  struct Score {
    std::vector<bool> shares;
    int kind = 0;
  };
  std::vector<Score> scores(sources.size());
  for (Score& s : scores) s.shares.resize(sources.size());
  for (const Group& g : groups) {
    for (const Group::Member& m : g.members) {
      const PointKind kind = kind_of(sources, m);
      const int value = kind == PointKind::kClient ? 3 : kind == PointKind::kWire ? 2 : 1;
      scores[m.source].kind = std::max(scores[m.source].kind, value);
      for (const Group::Member& other : g.members) scores[m.source].shares[other.source] = true;
    }
  }
  std::pair<std::ptrdiff_t, int> best{-1, 0};
  for (std::uint32_t s = 0; s < sources.size(); ++s) {
    const auto shared = std::count(scores[s].shares.begin(), scores[s].shares.end(), true);
    const std::pair<std::ptrdiff_t, int> score{shared, scores[s].kind};
    if (score <= best) continue;
    best = score;
    reference_ = s;
  }
}

void Clocks::align_all(std::span<const SourceHalves> sources, const std::vector<Group>& groups) {
  if (sources.empty()) return;
  reached_[reference_] = true;
  // Each round aligns the source that shares most Calls with one that is aligned.
  for (;;) {
    std::size_t most = 0;
    std::uint32_t known = kNowhere, next = kNowhere;
    std::vector<std::size_t> shared(sources.size() * sources.size());
    for (const Group& g : groups) {
      for (const Group::Member& a : g.members) {
        for (const Group::Member& b : g.members) {
          if (!reached_[a.source] || reached_[b.source]) continue;
          std::size_t& n = shared[a.source * sources.size() + b.source];
          n += std::min(a.calls.size(), b.calls.size());
          // The reference itself needs no second map.
          const std::size_t weight =
              n + (a.source == reference_ ? sources[a.source].calls.size() : 0);
          if (weight <= most) continue;
          most = weight;
          known = a.source;
          next = b.source;
        }
      }
    }
    if (next == kNowhere) return;
    std::vector<Crossing> crossings;
    std::int64_t bound_of_known = 0;
    bool unbounded = false;
    for (const Group& g : groups) {
      for (std::size_t i = 0; i < g.members.size(); ++i) {
        for (std::size_t j = i + 1; j < g.members.size(); ++j) {
          const Group::Member& a = g.members[i];
          const Group::Member& b = g.members[j];
          const bool first = a.source == known && b.source == next;
          if (!first && (a.source != next || b.source != known)) continue;
          const bool a_wire = kind_of(sources, a) == PointKind::kWire;
          const bool b_wire = kind_of(sources, b) == PointKind::kWire;
          for_each_certain(sources, a, b, [&](const HalfCall& x, const HalfCall& y) {
            x.reverse ? add_crossings(y, b_wire, x, a_wire, !first, crossings)
                      : add_crossings(x, a_wire, y, b_wire, first, crossings);
          });
        }
      }
    }
    if (known != reference_) {
      std::size_t kept = 0;
      for (const Crossing& c : crossings) {
        Crossing mapped = c;
        std::int64_t& of_known = c.from_reference ? mapped.sent_ns : mapped.received_ns;
        const auto by_reference = map(known, of_known);
        if (!by_reference) continue;
        of_known = *by_reference;
        crossings[kept++] = mapped;
      }
      crossings.resize(kept);
      const auto worst = maps_[known].worst_bound_ns();
      unbounded = !worst;
      bound_of_known = worst.value_or(0);
    }
    ClockMap aligned = align(crossings);
    for (ClockStretch& s : aligned.stretches) {
      s.bound_ns += bound_of_known;
      s.one_way |= unbounded;
    }
    maps_[next] = std::move(aligned);
    reached_[next] = true;
  }
}

std::optional<std::int64_t> Clocks::map(std::uint32_t source, std::int64_t ns) const {
  if (ns == kNoTime) return std::nullopt;
  if (source == reference_) return ns;
  if (const auto mapped = maps_[source].to_reference(ns)) return mapped;
  const std::vector<ClockStretch>& all = maps_[source].stretches;
  if (all.empty()) return std::nullopt;
  if (ns < all.front().from_ns && all.front().from_ns - ns < kBeyond) {
    return ns + drifted(all.front(), ns);
  }
  if (ns > all.back().until_ns && ns - all.back().until_ns < kBeyond) {
    return ns + drifted(all.back(), ns);
  }
  return std::nullopt;
}

std::optional<std::int64_t> Clocks::bound(std::uint32_t source, std::int64_t ns) const {
  if (source == reference_) return 0;
  if (const auto known = maps_[source].bound_at(ns)) return known;
  const std::vector<ClockStretch>& all = maps_[source].stretches;
  if (all.empty() || !map(source, ns)) return std::nullopt;
  const ClockStretch& s = ns < all.front().from_ns ? all.front() : all.back();
  return s.one_way ? std::nullopt : std::optional(s.bound_ns);
}

}  // namespace rpcrdma::ends
