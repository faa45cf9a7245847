// Finds the two directions of a connection whose set-up is not in the capture.
#include "state.h"

#include <algorithm>

#include <rpcrdma/roce/psn.h>

namespace rpcrdma::roce {

namespace {

// How far behind the newest PSN of a stream an acknowledgement may be and still be evidence. Two
// unrelated streams agree by chance once in 2^24 / kEvidenceWindow.
constexpr std::int32_t kEvidenceWindow = 2048;
// How far ahead it may be, since the newest packets may be missing in the capture.
constexpr std::int32_t kEvidenceAhead = 32;
// The newest half-seen connections between two ports are the candidates: bounds the work for one
// packet.
constexpr std::size_t kMaxCandidates = 16;

bool within_reads(const Stream& s, std::uint32_t psn) {
  return std::any_of(s.reads.begin(), s.reads.end(), [&](const ReadInProgress& r) {
    const std::int32_t d = psn_diff(psn, r.op.psn);
    return d >= 0 && static_cast<std::uint32_t>(d) < r.packets;
  });
}

}  // namespace

bool Tracker::Impl::is_partner(ConnectionState& candidate, const Packet& p) {
  const Stream& s = candidate.stream[0];
  const wire::RocePacket& roce = *p.roce;
  if (p.info->read_response) return within_reads(s, roce.bth.psn);
  if (p.info->response) {
    if (!s.started) return false;
    const std::uint32_t newest = s.held.empty() ? s.next : s.held.back().psn;
    const std::int32_t behind = psn_diff(newest, roce.bth.psn);
    // PSNs before the first packet seen are no evidence.
    const std::int32_t lived = psn_diff(newest, s.first);
    const std::int32_t window = lived >= 0 && lived < kEvidenceWindow ? lived : kEvidenceWindow;
    return (behind > -kEvidenceAhead && behind <= window) || within_reads(s, roce.bth.psn);
  }
  if (p.info->send && p.info->first) return listener.answers(candidate, roce.payload, 0);
  if (p.info->reth) return listener.answers(candidate, {}, roce.reth.rkey);
  return false;
}

ConnectionState* Tracker::Impl::find_partner(const AddressPair& reverse, const Packet& p,
                                             const ConnectionState* self) {
  const auto it = one_sided.find(reverse);
  if (it == one_sided.end()) return nullptr;
  // If several connections have PSNs near each other, an acknowledgement does not identify one;
  // other evidence will follow.
  ConnectionState* found = nullptr;
  for (ConnectionState* c : it->second) {
    if (c == self || !is_partner(*c, p)) continue;
    if (found != nullptr) return nullptr;
    found = c;
  }
  return found;
}

// The sender of a REQ sends to a QP that only the REP names, and begins with the PSN that the REP
// named (with some stacks, with the PSN that it named itself). The PSN is not checked if an RTU
// proves that there was a REP, and this is the only unanswered REQ between the two ports.
ConnectionState* Tracker::Impl::find_unanswered(const capture::TransportPacket& t,
                                                const Packet& p) {
  if (!p.info->request) return nullptr;
  ConnectionState* near = nullptr;
  bool ambiguous = false;
  ConnectionState* only = nullptr;
  bool several = false;
  for (ConnectionState* c : unanswered) {
    const std::int32_t ahead = psn_diff(p.roce->bth.psn, c->side[0].cm.starting_psn);
    if (c->side[1].qpn_known || c->state >= State::kRejected || c->side[0].address != t.src ||
        c->side[1].address != t.dst) {
      continue;
    }
    if (ahead == 0) return c;
    several = only != nullptr;
    only = c;
    if (ahead < 0 || ahead >= kEvidenceAhead) continue;
    // The first packets may be missing in the capture.
    ambiguous = near != nullptr;
    near = c;
  }
  if (near != nullptr && !ambiguous) return near;
  return only != nullptr && !several && only->confirmed ? only : nullptr;
}

FlowRef Tracker::Impl::infer_flow(const capture::TransportPacket& t, const Packet& p) {
  const FlowKey key{t.src, t.dst, p.roce->bth.dest_qp};
  if (ConnectionState* c = find_unanswered(t, p)) {
    c->side[1].qpn = key.qpn;
    c->side[1].qpn_known = true;
    const FlowRef ref{c, 0};
    bind_flow(key, ref);
    return ref;
  }
  if (ConnectionState* partner = find_partner({t.dst, t.src}, p, nullptr)) {
    // `partner` is the direction toward the sender of this packet; now its QP is known.
    forget_one_sided(*partner);
    partner->side[0].qpn = key.qpn;
    partner->side[0].qpn_known = true;
    const FlowRef ref{partner, 1};
    bind_flow(key, ref);
    listener.on_open(*partner);
    return ref;
  }
  if (numbers.next == UINT32_MAX) return {};
  ConnectionState& c = new_connection(Setup::kInferred, p.meta);
  c.side[0].address = t.src;
  c.side[1].address = t.dst;
  c.side[1].qpn = key.qpn;
  c.side[1].qpn_known = true;
  const FlowRef ref{&c, 0};
  bind_flow(key, ref);
  auto& candidates = one_sided[{t.src, t.dst}];
  if (candidates.size() >= kMaxCandidates) candidates.erase(candidates.begin());
  candidates.push_back(&c);
  listener.on_open(c);
  return ref;
}

void Tracker::Impl::try_merge(FlowRef& ref, const capture::TransportPacket& t, const Packet& p) {
  ConnectionState* self = ref.connection;
  ConnectionState* into = find_partner({t.dst, t.src}, p, self);
  if (into == nullptr) return;
  forget_one_sided(*into);
  forget_one_sided(*self);
  // Each of the two calls its own sender side 0, so the other's side 0 becomes side 1 here.
  into->side[0].qpn = self->side[1].qpn;
  into->side[0].qpn_known = true;
  into->side[1].counters = self->side[0].counters;
  into->side[1].tunnels = self->side[0].tunnels;
  into->side[0].counters.orphans += self->side[1].counters.orphans;
  into->stream[1] = std::move(self->stream[0]);
  into->stream[1].send.sender = 1;
  into->stream[1].write.initiator = 1;
  for (ReadInProgress& r : into->stream[1].reads) r.op.initiator = 1;
  into->icrc_good += self->icrc_good;
  into->icrc_bad += self->icrc_bad;
  into->icrc_accepted += self->icrc_accepted;
  if (self->first_frame < into->first_frame) {
    into->first_frame = self->first_frame;
    into->first_ns = self->first_ns;
  }
  if (into->path_mtu == 0) into->path_mtu = self->path_mtu;
  into->mtu_at_least = std::max(into->mtu_at_least, self->mtu_at_least);
  into->icrc_trust[1] = self->icrc_trust[0];
  into->mirror[1] = self->mirror[0];
  self->merged_away = true;
  idle.requeue(*self, self->idle);
  ref = {into, 1};
  bind_flow({t.src, t.dst, p.roce->bth.dest_qp}, ref);
  listener.on_merge({*into, *self});
  listener.on_open(*into);
}

void Tracker::Impl::forget_one_sided(ConnectionState& c) {
  const auto it = one_sided.find({c.side[0].address, c.side[1].address});
  if (it == one_sided.end()) return;
  auto& list = it.value();
  list.erase(std::remove(list.begin(), list.end(), &c), list.end());
  if (list.empty()) one_sided.erase(it);
}

}  // namespace rpcrdma::roce
