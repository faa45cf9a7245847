// Joins connections of consecutive reports: finds pairs with the same addresses and QPs, agrees on
// which side is the client, and adds the counters.
#include "connection_join.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace rpcrdma::report {

namespace {

bool is_open(roce::State state) {
  return state < roce::State::kRejected;
}

void add(roce::SideCounters& to, const roce::SideCounters& from) {
  to.packets += from.packets;
  to.payload_bytes += from.payload_bytes;
  to.retransmitted += from.retransmitted;
  to.captured_twice += from.captured_twice;
  to.reordered += from.reordered;
  to.lost_network += from.lost_network;
  to.lost_capture += from.lost_capture;
  to.reads_unseen += from.reads_unseen;
  to.acknowledged_unseen += from.acknowledged_unseen;
  to.acks += from.acks;
  for (std::size_t i = 0; i < to.naks.size(); ++i) to.naks[i] += from.naks[i];
  to.rnr += from.rnr;
  to.ecn_capable += from.ecn_capable;
  to.ce += from.ce;
  to.cnps += from.cnps;
  to.illegal_sequence += from.illegal_sequence;
  to.orphans += from.orphans;
}

void add(EndPoint& to, const EndPoint& from) {
  if (!to.qpn) to.qpn = from.qpn;
  if (!to.port) to.port = from.port;
  if (!to.cm_seen && from.cm_seen) {
    to.cm_seen = true;
    to.cm_frame = from.cm_frame;
    to.responder_resources = from.responder_resources;
    to.initiator_depth = from.initiator_depth;
    to.rnr_retry_count = from.rnr_retry_count;
  }
  if (!to.private_data) to.private_data = from.private_data;
  add(to.counters, from.counters);
  to.resends_unseen &= from.resends_unseen;
}

void add(ReplyTimes& to, const ReplyTimes& from) {
  if (from.first_frame == 0) return;
  if (to.first_frame == 0) to = from;
  to.last_ns = from.last_ns;
}

void add(Direction& to, const Direction& from) {
  to.requested_known &= from.requested_known;
  to.granted_known &= from.granted_known;
  if (from.calls != 0) to.requested = from.requested;
  if (from.replies != 0 || from.granted_max != 0) to.granted = from.granted;
  to.calls += from.calls;
  to.replies += from.replies;
  to.errors += from.errors;
  to.unmatched_calls += from.unmatched_calls;
  to.unmatched_replies += from.unmatched_replies;
  to.requested_max = std::max(to.requested_max, from.requested_max);
  to.granted_max = std::max(to.granted_max, from.granted_max);
  to.in_use_max = std::max(to.in_use_max, from.in_use_max);
  if (to.granted_min == 0 || (from.granted_min != 0 && from.granted_min < to.granted_min)) {
    to.granted_min = from.granted_min;
  }
}

model::Speaks both(model::Speaks a, model::Speaks b) {
  using model::Speaks;
  if (a == Speaks::kRpc || b == Speaks::kRpc) return Speaks::kRpc;
  return a == Speaks::kOther ? a : b;
}

void add(std::vector<Tunnels>& to, const std::vector<Tunnels>& from) {
  for (const Tunnels& later : from) {
    const auto same =
        std::find_if(to.begin(), to.end(), [&](const Tunnels& t) { return t.same_as(later); });
    if (same != to.end()) {
      same->packets += later.packets;
    } else if (to.size() < kMaxTunnels) {
      to.push_back(later);
    }
  }
}

// Adds a later part of a connection. Fields that only the set-up reveals keep their values.
void add(Connection& to, const Connection& from) {
  to.speaks = both(to.speaks, from.speaks);
  for (std::size_t i = 0; i < 2; ++i) {
    add(to.side[i], from.side[i]);
    add(to.direction[i], from.direction[i]);
  }
  add(to.forward_replies, from.forward_replies);
  to.roles = std::max(to.roles, from.roles);
  to.joined += from.joined + 1;
  to.state = from.state;
  to.reject_reason = from.reject_reason;
  to.reject_data = from.reject_data;
  to.closed_by = from.closed_by;
  to.closed_frame = from.closed_frame;
  to.ended_ns = from.ended_ns;
  if (to.path_mtu == 0) to.path_mtu = from.path_mtu;
  if (from.version != 0) to.version = from.version;
  if (to.dialect.name.empty()) to.dialect = from.dialect;
  to.recorded |= from.recorded;
  if (roce::is_kernel(from.origin)) to.origin = from.origin;
  to.absent |= from.absent;
  to.events_lost += from.events_lost;
  to.operations_unseen |= from.operations_unseen;
  add(to.tunnels, from.tunnels);
  to.sends += from.sends;
  to.messages += from.messages;
  to.malformed += from.malformed;
  to.cut_short += from.cut_short;
  // Consecutive captures can overlap slightly; then time steps back where they are joined.
  to.clock_stepped_back |= from.clock_stepped_back || from.first_ns < to.last_ns;
  for (std::size_t i = 0; i < to.chunks.size(); ++i) {
    to.chunks[i] += from.chunks[i];
    to.chunk_bytes[i] += from.chunk_bytes[i];
  }
  to.inline_bytes += from.inline_bytes;
  to.unmatched_operations += from.unmatched_operations;
  to.icrc_good += from.icrc_good;
  to.icrc_bad += from.icrc_bad;
  to.last_frame = from.last_frame;
  to.last_ns = from.last_ns;
  if (to.file.empty()) to.file = from.file;
  to.views.insert(to.views.end(), from.views.begin(), from.views.end());
  if (to.views.size() > kMaxViews) to.views.resize(kMaxViews);
}

void move_frames(Connection& c, std::uint64_t by) {
  for (EndPoint& e : c.side) {
    if (e.cm_seen) e.cm_frame += by;
  }
  if (c.closed_by >= 0) c.closed_frame += by;
  for (session::View& v : c.views) {
    for (session::ViewDifference& d : v.differences) {
      if (d.frame != 0) d.frame += by;
      if (d.other_frame != 0) d.other_frame += by;
    }
  }
  if (c.forward_replies.first_frame != 0) c.forward_replies.first_frame += by;
  c.first_frame += by;
  c.last_frame += by;
}

}  // namespace

bool same_qps(const Connection& a, const Connection& b, bool swapped) {
  for (std::size_t side = 0; side < 2; ++side) {
    const auto& x = a.side[side].qpn;
    const auto& y = b.side[swapped ? 1 - side : side].qpn;
    if (x && y && *x != *y) return false;
  }
  return true;
}

void flip(Connection& c) {
  std::swap(c.side[0], c.side[1]);
  std::swap(c.direction[0], c.direction[1]);
  std::swap(c.thresholds.call, c.thresholds.reply);
  for (Tunnels& t : c.tunnels) t.from_server = !t.from_server;
  if (c.closed_by >= 0) c.closed_by = 1 - c.closed_by;
  for (session::View& v : c.views) v = session::swapped_view(std::move(v));
}

ConnectionJoin::ConnectionJoin(Report& earlier, Report& later, std::uint64_t frames)
    : earlier_ids_(earlier.connection_ids), later_ids_(later.connection_ids) {
  // The newest connection of each flow.
  Flows flows;
  for (std::size_t i = 0; i < earlier.connections.size(); ++i) {
    for (std::size_t side = 0; side < 2; ++side) {
      const Connection& c = earlier.connections[i];
      if (c.side[side].qpn || c.side[side].port)
        flows.insert_or_assign(flow(c, side), FlowEnd{i, side});
    }
  }
  // The keys point into `earlier`, so clear them before it changes.
  find(earlier, later, flows);
  flows.clear();
  for (Connection& c : earlier.connections) {
    if (flipped_earlier(c.id)) flip(c);
  }
  for (const std::size_t index : closed_) {
    earlier.connections[index].state = roce::State::kClosed;
    ++earlier.connections[index].joined;
  }
  for (const auto& [id, index] : joined_) {
    joined_ids_.push_back(id);
    targets_.emplace(id, earlier.connections[index].id);
  }
  for (Connection& c : later.connections) {
    move_frames(c, frames);
    const auto it = joined_.find(c.id);
    if (it == joined_.end()) {
      c.id = id(c.id);
      earlier.connections.push_back(std::move(c));
      continue;
    }
    Connection& to = earlier.connections[it->second];
    if (flipped_later_.count(c.id) != 0) flip(c);
    add(to, c);
  }
  later.connections.clear();
}

void ConnectionJoin::find(Report& earlier, const Report& later, const Flows& flows) {
  struct Match {
    const Connection* later;
    std::size_t earlier;
    bool swapped;  // client and server
  };
  std::vector<Match> matches;
  std::map<std::size_t, roce::State> now;  // of connections that continued or were replaced
  for (const Connection& c : later.connections) {
    for (std::size_t side = 0; side < 2; ++side) {
      if (!c.side[side].qpn && !c.side[side].port) continue;
      const auto it = flows.find(flow(c, side));
      if (it == flows.end()) continue;
      const std::size_t index = it->second.connection;
      const Connection& old = earlier.connections[index];
      const auto state = now.try_emplace(index, old.state).first;
      if (!is_open(state->second)) continue;
      if (c.by_cm) {
        state->second = roce::State::kClosed;
        closed_.push_back(index);
        continue;
      }
      const bool swapped = it->second.side != side;
      if (!same_qps(old, c, swapped)) continue;
      matches.push_back({&c, index, swapped});
      joined_.emplace(c.id, index);
      state->second = c.state;
      break;
    }
  }
  // If the parts disagree which side is the client, the more certain part decides.
  std::set<std::size_t> flipped;
  for (const Match& m : matches) {
    const Connection& old = earlier.connections[m.earlier];
    if (m.swapped && m.later->roles > old.roles && flipped.insert(m.earlier).second) {
      flipped_earlier_.insert(old.id);
    }
  }
  for (const Match& m : matches) {
    if (m.swapped != (flipped.count(m.earlier) != 0)) flipped_later_.insert(m.later->id);
  }
}

std::uint32_t ConnectionJoin::id(std::uint32_t later) const {
  const auto target = targets_.find(later);
  if (target != targets_.end()) return target->second;
  const auto before = std::lower_bound(joined_ids_.begin(), joined_ids_.end(), later);
  return earlier_ids_ + later - static_cast<std::uint32_t>(before - joined_ids_.begin());
}

}  // namespace rpcrdma::report
