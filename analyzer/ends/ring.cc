// The next file of a ring repeats its connections. A capture of the same packets elsewhere does as
// well, and with another clock it may seem to be later: but it repeats the Calls, too.
#include "ring.h"

#include "match.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_set>
#include <utility>

namespace rpcrdma::ends {

namespace {

using Identity =
    std::tuple<PointKind, std::array<capture::Address, 2>, std::array<std::uint32_t, 2>>;

Identity identity(const HalfConnection& c) {
  return {c.kind, c.address, c.qpn};
}

std::pair<std::int64_t, std::int64_t> span_of(const SourceHalves& s) {
  std::int64_t first = INT64_MAX, last = INT64_MIN;
  for (const HalfCall& c : s.calls) {
    first = std::min(first, moment_of(c));
    last = std::max(last, moment_of(c));
  }
  return {first, last};
}

// One end is the same host whatever its connection; of captures the connection must be the same.
bool continues(const SourceHalves& before, const SourceHalves& after) {
  if (before.calls.empty() || after.calls.empty()) return false;
  if (span_of(after).first < span_of(before).second) return false;
  std::map<Identity, bool> known;
  for (const HalfConnection& c : before.connections) known[identity(c)] = true;
  const bool shared =
      std::any_of(after.connections.begin(), after.connections.end(),
                  [&](const HalfConnection& c) { return known.count(identity(c)) != 0; });
  if (!shared) return false;
  constexpr std::size_t kMostEqual = 2;  // Calls in flight when the file ended are in both
  std::unordered_set<std::uint32_t> xids;
  for (const HalfCall& c : before.calls) xids.insert(c.xid);
  const auto equal = static_cast<std::size_t>(
      std::count_if(after.calls.begin(), after.calls.end(),
                    [&](const HalfCall& c) { return xids.count(c.xid) != 0; }));
  return equal <= kMostEqual || equal * 8 < std::min(before.calls.size(), after.calls.size());
}

void append(SourceHalves& to, SourceHalves&& from) {
  std::map<Identity, std::uint32_t> known;
  for (std::uint32_t i = 0; i < to.connections.size(); ++i) {
    known[identity(to.connections[i])] = i;
  }
  std::vector<std::uint32_t> at;
  for (const HalfConnection& c : from.connections) {
    const auto [it, fresh] =
        known.try_emplace(identity(c), static_cast<std::uint32_t>(to.connections.size()));
    if (fresh) {
      to.connections.push_back(c);
    } else {
      to.connections[it->second].lost += c.lost;
    }
    at.push_back(it->second);
  }
  const auto names = static_cast<std::uint32_t>(to.names.size());
  to.names.insert(to.names.end(), from.names.begin(), from.names.end());
  for (HalfCall c : from.calls) {
    if (c.connection >= at.size()) continue;
    c.connection = at[c.connection];
    c.name += names;
    to.calls.push_back(c);
  }
  to.lost += from.lost;
  to.not_kept += from.not_kept;
  to.file += ", " + from.file;
}

}  // namespace

void unite_rings(std::vector<SourceHalves>& sources) {
  std::stable_sort(sources.begin(), sources.end(),
                   [](const SourceHalves& a, const SourceHalves& b) {
                     return span_of(a).first < span_of(b).first;
                   });
  for (std::size_t i = 0; i < sources.size(); ++i) {
    for (std::size_t j = i + 1; j < sources.size();) {
      if (!continues(sources[i], sources[j])) {
        ++j;
        continue;
      }
      append(sources[i], std::move(sources[j]));
      sources.erase(sources.begin() + static_cast<std::ptrdiff_t>(j));
    }
  }
}

}  // namespace rpcrdma::ends
