// All endpoints share one session and so one collector, whose connections are numbered together.
// Here they are divided again: each endpoint is a source of its own.
#include "ends_window.h"

#include <algorithm>
#include <array>
#include <utility>

namespace rpcrdma::top {

namespace {

using ends::EndsCall;
using ends::Stage;

// The part of a Call's way that a stage is shown under.
enum class Part : std::uint8_t { kClient, kThere, kServer, kData, kBack };
constexpr std::size_t kParts = 5;

Part part_of(Stage stage) {
  switch (stage) {
    case Stage::kSlot:
    case Stage::kCredit:
    case Stage::kPost:
    case Stage::kWake:
      return Part::kClient;
    case Stage::kNetworkThere:
      return Part::kThere;
    case Stage::kNetworkBack:
      return Part::kBack;
    case Stage::kRead:
    case Stage::kWrite:
      return Part::kData;
    case Stage::kDecode:
    case Stage::kExecute:
    case Stage::kSend:
      break;
  }
  return Part::kServer;
}

// Shares of the time of all Calls. A part that no Call shows is unknown.
void add_shares(ShownEnds& to, const std::vector<const EndsCall*>& calls) {
  std::array<double, kParts> part{};
  std::array<bool, kParts> known{};
  double all = 0, unknown = 0;
  for (const EndsCall* call : calls) {
    all += static_cast<double>(std::max<std::int64_t>(call->end_ns - call->begin_ns, 0));
    unknown += static_cast<double>(std::max<std::int64_t>(call->unknown_ns, 0));
    for (std::size_t i = 0; i < ends::kStages; ++i) {
      if (call->took_ns[i] == ends::kUnknownNs) continue;
      const auto at = static_cast<std::size_t>(part_of(static_cast<Stage>(i)));
      known.at(at) = true;
      part.at(at) += static_cast<double>(call->took_ns[i]);
    }
  }
  if (all <= 0) return;
  const auto share = [&](Part p) {
    const auto at = static_cast<std::size_t>(p);
    return known.at(at) ? part.at(at) / all : -1;
  };
  to.at_client = share(Part::kClient);
  to.there = share(Part::kThere);
  to.at_server = share(Part::kServer);
  to.data = share(Part::kData);
  to.back = share(Part::kBack);
  to.unknown = unknown / all;
}

// The side that most of the slow Calls are blamed on, and what most of these were slow in.
void add_side(ShownEnds& to, const std::vector<const EndsCall*>& calls) {
  std::array<std::uint64_t, 5> sides{};
  for (const EndsCall* call : calls) ++sides.at(static_cast<std::size_t>(call->side));
  to.side = ends::Side::kNone;
  for (const ends::Side side : {ends::Side::kClient, ends::Side::kNetwork, ends::Side::kServer}) {
    const std::uint64_t slow = sides.at(static_cast<std::size_t>(side));
    if (slow <= to.slow) continue;
    to.side = side;
    to.slow = slow;
  }
  if (to.side == ends::Side::kNone) return;
  std::array<std::uint64_t, ends::kStages> stages{};
  for (const EndsCall* call : calls) {
    if (call->side == to.side) ++stages.at(static_cast<std::size_t>(call->stage));
  }
  to.stage = static_cast<Stage>(std::ranges::max_element(stages) - stages.begin());
}

}  // namespace

ShownEnds show_ends(const ends::Ends& ends, std::uint32_t connection, std::int64_t latest_ns) {
  ShownEnds s;
  const ends::EndsConnection& c = ends.connections[connection];
  s.id = c.connection;
  s.client = c.client;
  s.server = c.server;
  std::vector<const EndsCall*> calls;
  std::vector<std::int64_t> took;
  for (const EndsCall& call : ends.calls) {
    if (call.connection != connection || call.reverse) continue;
    if (call.end_ns <= latest_ns - EndsWindow::kShownNs || (call.seen_by & (call.seen_by - 1)) == 0)
      continue;
    if (call.contradictory) {
      ++s.withheld;
      continue;
    }
    calls.push_back(&call);
    took.push_back(call.end_ns - call.begin_ns);
    s.bound_ns = std::max(s.bound_ns, call.bound_ns);
  }
  s.calls = calls.size();
  if (calls.empty()) return s;
  const auto middle = took.begin() + static_cast<std::ptrdiff_t>(took.size() / 2);
  std::nth_element(took.begin(), middle, took.end());
  s.p50_ns = *middle;
  add_shares(s, calls);
  add_side(s, calls);
  return s;
}

void EndsWindow::add(const ends::SourceHalves& halves, const EndpointOf& endpoint_of,
                     std::int64_t now_ns) {
  names_ = halves.names;
  connections_ = halves.connections;
  owners_.clear();
  owners_.reserve(connections_.size());
  for (const ends::HalfConnection& c : connections_) owners_.push_back(endpoint_of(c.id));
  for (const ends::HalfCall& call : halves.calls) {
    if (call.connection >= owners_.size()) continue;
    const std::uint32_t at = owners_[call.connection];
    if (at == kNone) continue;
    if (at >= calls_.size()) calls_.resize(at + 1);
    calls_[at].push_back({now_ns, call});
    if (calls_[at].size() > kMostCalls) calls_[at].pop_front();
  }
}

// Connections of which nothing is kept any more are left out.
ends::SourceHalves EndsWindow::source(std::uint32_t endpoint) const {
  ends::SourceHalves source;
  source.names = names_;
  std::vector<std::uint32_t> places(connections_.size(), kNone);
  source.calls.reserve(calls_[endpoint].size());
  for (const Kept& kept : calls_[endpoint]) {
    const std::uint32_t at = kept.call.connection;
    if (at >= owners_.size() || owners_[at] != endpoint) continue;
    if (places[at] == kNone) {
      places[at] = static_cast<std::uint32_t>(source.connections.size());
      source.connections.push_back(connections_[at]);
      source.lost += connections_[at].lost;
    }
    source.calls.push_back(kept.call);
    source.calls.back().connection = places[at];
  }
  return source;
}

void EndsWindow::join(const std::vector<std::string>& names, std::int64_t now_ns) {
  shown_.clear();
  std::vector<ends::SourceHalves> sources;
  std::int64_t came_ns = INT64_MIN;
  for (std::uint32_t i = 0; i < calls_.size(); ++i) {
    std::deque<Kept>& calls = calls_[i];
    while (!calls.empty() && calls.front().came_ns <= now_ns - kKeptNs) calls.pop_front();
    if (calls.empty()) continue;
    came_ns = std::max(came_ns, calls.back().came_ns);
    sources.push_back(source(i));
    if (i < names.size()) sources.back().file = names[i];
  }
  if (sources.size() < 2) return;
  ends::EndsOptions options;
  options.slowest = 0;
  options.keep_calls = true;
  const ends::Ends joined = ends::join(sources, options);
  std::int64_t latest_ns = INT64_MIN;
  for (const EndsCall& call : joined.calls) latest_ns = std::max(latest_ns, call.end_ns);
  // Halves come when their Calls end: without new ones, the last second had none.
  if (came_ns <= now_ns - 2 * kShownNs) latest_ns = INT64_MAX;
  for (std::uint32_t i = 0; i < joined.connections.size(); ++i) {
    ShownEnds s = show_ends(joined, i, latest_ns);
    if (s.calls == 0 && latest_ns != INT64_MAX && !joined.notes.empty()) s.why = joined.notes[0];
    shown_.push_back(std::move(s));
  }
  std::ranges::stable_sort(
      shown_, [](const ShownEnds& a, const ShownEnds& b) { return a.calls > b.calls; });
}

}  // namespace rpcrdma::top
