// Two connections are the same if their addresses are equal, their QPNs too where both know them,
// and if they show the same XIDs. Addresses and QPNs alone are no proof, since QPNs are used again.
#include "match.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include <fmt/core.h>

namespace rpcrdma::ends {

namespace {

constexpr std::size_t kLeastEqual = 3;  // XIDs, without QPNs
constexpr std::size_t kMostEqual = 64;  // Calls of one XID that are looked at: hostile beyond

using capture::AddressKind;

bool fits(const HalfConnection& a, const HalfConnection& b, bool& certain) {
  certain = true;
  for (std::size_t side = 0; side < 2; ++side) {
    const bool known =
        a.address[side].kind != AddressKind::kNone && b.address[side].kind != AddressKind::kNone;
    if (known && a.address[side] != b.address[side]) return false;
    if (a.qpn[side] != 0 && b.qpn[side] != 0 && a.qpn[side] != b.qpn[side]) return false;
    certain &= known && a.qpn[side] != 0 && b.qpn[side] != 0;
  }
  // Both ends of one connection, or an end and the wire: not the same end twice.
  return a.kind == PointKind::kWire || a.kind != b.kind;
}

struct ByXid {
  std::uint32_t xid = 0;
  std::uint32_t call = 0;
};

std::vector<ByXid> by_xid(const SourceHalves& source) {
  std::vector<ByXid> all;
  all.reserve(source.calls.size());
  for (std::uint32_t i = 0; i < source.calls.size(); ++i) all.push_back({source.calls[i].xid, i});
  std::sort(all.begin(), all.end(), [&](const ByXid& a, const ByXid& b) {
    if (a.xid != b.xid) return a.xid < b.xid;
    const std::int64_t x = moment_of(source.calls[a.call]), y = moment_of(source.calls[b.call]);
    return x != y ? x < y : a.call < b.call;
  });
  return all;
}

struct Candidate {
  std::size_t equal = 0;
  std::uint32_t a = 0, b = 0;  // numbers of places
  bool certain = false;
};

// Connections of all sources, numbered.
class Places {
 public:
  explicit Places(std::span<const SourceHalves> sources) {
    for (const SourceHalves& s : sources) {
      first_.push_back(count_);
      count_ += static_cast<std::uint32_t>(s.connections.size());
    }
  }
  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] std::uint32_t at(std::size_t source, std::uint32_t connection) const {
    return first_[source] + connection;
  }
  [[nodiscard]] std::uint32_t source_of(std::uint32_t place) const {
    const auto behind = std::upper_bound(first_.begin(), first_.end(), place);
    return static_cast<std::uint32_t>(behind - first_.begin()) - 1;
  }
  [[nodiscard]] std::uint32_t connection_of(std::uint32_t place) const {
    return place - first_[source_of(place)];
  }

 private:
  std::vector<std::uint32_t> first_;
  std::uint32_t count_ = 0;
};

// Counts equal XIDs of each pair of connections that can be the same.
std::vector<Candidate> compare(std::span<const SourceHalves> sources, std::size_t a, std::size_t b,
                               const std::vector<ByXid>& of_a, const std::vector<ByXid>& of_b,
                               const Places& places) {
  std::unordered_map<std::uint64_t, Candidate> pairs;
  std::size_t at = 0;
  std::size_t run = 0;  // Calls of `a` with one XID
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    const std::uint32_t xid = of_a[i].xid;
    run = i != 0 && of_a[i - 1].xid == xid ? run + 1 : 0;
    if (run >= kMostEqual) continue;
    while (at < of_b.size() && of_b[at].xid < xid) ++at;
    const std::uint32_t from = sources[a].calls[of_a[i].call].connection;
    std::size_t seen = 0;
    for (std::size_t j = at; j < of_b.size() && of_b[j].xid == xid && seen < kMostEqual;
         ++j, ++seen) {
      const std::uint32_t to = sources[b].calls[of_b[j].call].connection;
      bool certain = false;
      if (!fits(sources[a].connections[from], sources[b].connections[to], certain)) continue;
      Candidate& c = pairs[std::uint64_t{from} << 32U | to];
      c.a = places.at(a, from);
      c.b = places.at(b, to);
      c.certain = certain;
      ++c.equal;
    }
  }
  std::vector<Candidate> all;
  for (const auto& [key, c] : pairs) all.push_back(c);
  return all;
}

// Why two sources belong together or not.
std::string why_apart(const SourceHalves& a, const SourceHalves& b) {
  const auto none = [](const SourceHalves& x) { return fmt::format("{} shows no Call.", x.file); };
  if (a.calls.empty()) return none(a);
  if (b.calls.empty()) return none(b);
  constexpr std::size_t kCompared = 4096;
  const std::span x(a.connections.data(), std::min(a.connections.size(), kCompared));
  const std::span y(b.connections.data(), std::min(b.connections.size(), kCompared));
  bool fit = false;
  for (std::size_t i = 0; i < x.size() && !fit; ++i) {
    for (std::size_t j = 0; j < std::min<std::size_t>(y.size(), 256) && !fit; ++j) {
      bool certain = false;
      fit = fits(x[i], y[j], certain);
    }
  }
  return fit ? fmt::format(
                   "{} and {} show connections between the same addresses, but not the "
                   "same Calls: they were recorded at other times, or too little of both.",
                   a.file, b.file)
             : fmt::format("{} and {} show no common connection.", a.file, b.file);
}

}  // namespace

std::int64_t moment_of(const HalfCall& half) {
  return half.call_ns != kNoTime ? half.call_ns : half.reply_ns;
}

void collapse_superseded(SourceHalves& source) {
  std::vector<HalfCall>& calls = source.calls;
  if (std::none_of(calls.begin(), calls.end(), [](const HalfCall& c) { return c.superseded; })) {
    return;
  }
  const std::vector<ByXid> order = by_xid(source);
  std::vector<bool> gone(calls.size());
  std::unordered_map<std::uint64_t, std::uint32_t> before;  // by connection and direction
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i != 0 && order[i - 1].xid != order[i].xid) before.clear();
    HalfCall& now = calls[order[i].call];
    const std::uint64_t key = std::uint64_t{now.connection} << 1U | (now.reverse ? 1U : 0U);
    const auto at = before.find(key);
    if (at != before.end() && calls[at->second].superseded && now.call_ns != kNoTime) {
      const HalfCall& first = calls[at->second];
      now.call_first_ns = first.call_first_ns;
      now.call_ns = first.call_ns;
      now.attempts = static_cast<std::uint16_t>(
          std::min<std::uint32_t>(std::uint32_t{now.attempts} + first.attempts, UINT16_MAX));
      now.acknowledged_after = first.acknowledged_after;
      gone[at->second] = true;
    }
    before[key] = order[i].call;
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (!gone[i]) calls[kept++] = calls[i];
  }
  calls.resize(kept);
}

std::vector<Group> shared_connections(std::span<const SourceHalves> sources,
                                      std::vector<std::string>& notes) {
  const Places places(sources);
  std::vector<std::vector<ByXid>> ordered;
  for (const SourceHalves& s : sources) ordered.push_back(by_xid(s));
  std::vector<std::size_t> calls_of(places.count());
  for (std::size_t s = 0; s < sources.size(); ++s) {
    for (const HalfCall& c : sources[s].calls) ++calls_of[places.at(s, c.connection)];
  }

  std::vector<Candidate> candidates;
  for (std::size_t a = 0; a < sources.size(); ++a) {
    for (std::size_t b = a + 1; b < sources.size(); ++b) {
      for (const Candidate& c : compare(sources, a, b, ordered[a], ordered[b], places)) {
        const std::size_t fewer = std::min(calls_of[c.a], calls_of[c.b]);
        if (c.certain || c.equal >= kLeastEqual || c.equal >= fewer) candidates.push_back(c);
      }
    }
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& x, const Candidate& y) {
    if (x.certain != y.certain) return x.certain;
    if (x.equal != y.equal) return x.equal > y.equal;
    return std::pair(x.a, x.b) < std::pair(y.a, y.b);
  });

  // A group has at most one connection of each source.
  std::vector<std::vector<std::uint32_t>> members(places.count());
  std::vector<std::uint32_t> group(places.count());
  std::iota(group.begin(), group.end(), 0U);
  for (std::uint32_t i = 0; i < places.count(); ++i) members[i] = {i};
  for (const Candidate& c : candidates) {
    std::uint32_t into = group[c.a], from = group[c.b];
    if (into == from) continue;
    const bool clash = std::any_of(members[into].begin(), members[into].end(), [&](auto x) {
      return std::any_of(members[from].begin(), members[from].end(),
                         [&](auto y) { return places.source_of(x) == places.source_of(y); });
    });
    if (clash) continue;
    for (const std::uint32_t place : members[from]) group[place] = into;
    members[into].insert(members[into].end(), members[from].begin(), members[from].end());
    members[from].clear();
  }

  std::vector<Group> groups;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> at(places.count(), {kNowhere, 0});
  std::vector<bool> together(sources.size() * sources.size());
  for (std::vector<std::uint32_t>& m : members) {
    if (m.size() < 2) continue;
    std::sort(m.begin(), m.end());
    Group g;
    for (const std::uint32_t place : m) {
      at[place] = {static_cast<std::uint32_t>(groups.size()),
                   static_cast<std::uint32_t>(g.members.size())};
      g.members.push_back({places.source_of(place), places.connection_of(place), {}});
    }
    for (const Group::Member& x : g.members) {
      for (const Group::Member& y : g.members) {
        together[x.source * sources.size() + y.source] = true;
      }
    }
    groups.push_back(std::move(g));
  }
  for (std::size_t s = 0; s < sources.size(); ++s) {
    for (const ByXid& x : ordered[s]) {
      const auto [g, m] = at[places.at(s, sources[s].calls[x.call].connection)];
      if (g != kNowhere) groups[g].members[m].calls.push_back(x.call);
    }
  }
  for (std::size_t a = 0; a < sources.size(); ++a) {
    const bool alone = std::none_of(groups.begin(), groups.end(), [&](const Group& g) {
      return std::any_of(g.members.begin(), g.members.end(),
                         [&](const Group::Member& m) { return m.source == a; });
    });
    if (!alone) continue;
    for (std::size_t b = 0; b < sources.size(); ++b) {
      if (b == a || (b < a && !together[b * sources.size() + b])) continue;
      notes.push_back(why_apart(sources[a], sources[b]));
      break;
    }
  }
  return groups;
}

}  // namespace rpcrdma::ends
