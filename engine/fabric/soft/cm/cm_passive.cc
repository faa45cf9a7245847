// The passive side of connection set-up: REQ, and the RTU that completes it (IBA 12.9.7.2).
#include "cm_impl.h"
#include "rc/packet_fields.h"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

namespace rpcrdma::soft {
namespace {

// How long a request waits for its owner: as long as the peer retransmits it, within these bounds.
constexpr fabric::Time kMinPatience = 1 * fabric::kSecond;
constexpr fabric::Time kMaxPatience = 60 * fabric::kSecond;
constexpr fabric::Time kMaxWaiting = 120 * fabric::kSecond;  // including all retransmissions

constexpr std::uint8_t kReliableConnected = 0;

constexpr bool same_ip(const fabric::Address& address, const wire::Gid& ip) {
  // In an IPv4 address the leading bytes are reserved and ignored.
  const std::size_t from = address.ipv6 ? 0 : 12;
  const std::size_t bytes = address.ipv6 ? 16 : 4;
  return std::equal(ip.begin() + from, ip.end(), address.bytes.begin(),
                    address.bytes.begin() + bytes);
}

bool ip_cm_fits(const wire::CmReq& m, const Path& path) {
  const auto header = wire::decode_ip_cm(m.private_data);
  return header && (header->ip_version == 6) == path.remote.ipv6 &&
         same_ip(path.remote, header->source) && same_ip(path.local, header->destination);
}

bool names_port(const wire::CmReq& m) {
  return m.service_id == (wire::kServiceIdRdmaTcp | wire::service_port(m.service_id));
}

// Returns the reason to reject a REQ for its contents; 0: none.
std::uint16_t why_refused(const wire::CmReq& m, const Path& path,
                          const std::bitset<65536>& listening) {
  if (!names_port(m) || !listening[wire::service_port(m.service_id)]) return kRejInvalidServiceId;
  if (m.transport_service != kReliableConnected) return kRejInvalidTransport;
  if (m.primary.remote_gid != path.local.gid()) return kRejInvalidGid;
  if (!cm_path_mtu_good(m.path_mtu)) return kRejInvalidMtu;
  if (!of_our_partition(m.pkey) || !cm_qpn_good(m.local_qpn) ||
      m.primary.local_gid != path.remote.gid() || !ip_cm_fits(m, path)) {
    return kRejUnsupported;
  }
  return 0;
}

CmAnswer rej_of(const wire::CmReq& m, const wire::MadHeader& h, const Path& path,
                std::uint16_t reason) {
  CmAnswer a;
  a.path = path;
  a.transaction_id = h.transaction_id;
  a.remote_id = m.local_comm_id;
  a.about = kAboutReq;
  a.reason = reason;
  return a;
}

bool same_request(const CmConnection& c, const wire::CmReq& m, const Path& path) {
  return c.remote_guid == m.local_ca_guid && c.remote_qpn == m.local_qpn &&
         c.remote_psn == m.starting_psn && c.path.local == path.local;
}

}  // namespace

void ConnectionManager::Impl::on(const wire::CmReq& m, const wire::MadHeader& h, const Path& at,
                                 fabric::Time now) {
  const auto known = by_remote_id.find({at.remote, m.local_comm_id});
  CmConnection* const old = known == by_remote_id.end() ? nullptr : known->second;
  if (old != nullptr && same_request(*old, m, at)) {
    ++old->unanswered;
    return repeated_req(*old, now);
  }

  if (const std::uint16_t reason = why_refused(m, at, listening); reason != 0) {
    return refuse(m, h, at, reason, now, names_port(m) ? "" : "it is not in RDMA_PS_TCP");
  }
  // If the peer restarted, connections with its ID or its queue pair are stale. But anybody can
  // send a REQ with its address. So they live on until it has proved this request, see
  // established().
  admit(m, h, at, old == nullptr ? 0 : old->id, now);
}

void ConnectionManager::Impl::refuse(const wire::CmReq& m, const wire::MadHeader& h, const Path& at,
                                     std::uint16_t reason, fabric::Time now, const char* why) {
  if (answer(rej_of(m, h, at, reason))) report(m, h, at, reason, now, why);
}

void ConnectionManager::Impl::report(const wire::CmReq& m, const wire::MadHeader& h, const Path& at,
                                     std::uint16_t reason, fabric::Time now, const char* why) {
  CmRefused& last = last_refused;
  if (now < last.until && last.peer == at.remote && last.remote_id == m.local_comm_id &&
      last.transaction_id == h.transaction_id) {
    return;
  }
  last = {at.remote, m.local_comm_id, h.transaction_id, now + kMaxPatience};
  const std::uint16_t port = names_port(m) ? wire::service_port(m.service_id) : std::uint16_t{0};
  refusal = CmRefusal{at.remote, port, reason, why};
}

void ConnectionManager::Impl::repeated_req(CmConnection& c, fabric::Time now) {
  ++counters.duplicates;
  switch (c.state) {
    case CmState::kWaiting:
      ask(c, kPendingMra);
      timers.set(c.timer, c,
                 std::min(c.give_up, now + cm_time(times.service_code) + c.remote_patience));
      return;
    case CmState::kReplying:
      return ask(c, kPendingRep);
    case CmState::kTimeWait:
      if (c.was_established) return;  // it was delayed in the network
      // A peer that retransmits its REQ has not received the REJ. With the reason time-out it would
      // look for a REP that it has not received.
      return ask_rej(c, kAboutReq,
                     c.rej_reason == 0 || c.rej_reason == kRejTimeout ? kRejStale : c.rej_reason);
    case CmState::kRequesting:
    case CmState::kReplied:
    case CmState::kEstablished:
    case CmState::kDisconnecting:
      return;
  }
}

void ConnectionManager::Impl::admit(const wire::CmReq& m, const wire::MadHeader& h, const Path& at,
                                    CmId replaced, fabric::Time now) {
  // The owner does not poll its events. The peer retransmits what was not answered.
  if (events.size() >= limits.connections) {
    ++counters.dropped;
    return;
  }
  // Without an answer, an honest peer asks again.
  if (!make_half_open_room(at.remote, now)) {
    ++counters.crowded;
    return report(m, h, at, kRejNoResources, now, "too many half-open connections");
  }
  const wire::Bytes rest = m.private_data.subspan(wire::kIpCmHeaderBytes);
  std::vector<std::uint8_t> private_data(rest.begin(), rest.end());
  CmConnection* const c = create(at);
  if (c == nullptr) return refuse(m, h, at, kRejNoResources, now, "connection limit reached");

  c->remote_id = m.local_comm_id;
  c->remote_qpn = m.local_qpn;
  try {
    by_remote_id[{at.remote, m.local_comm_id}] = c;
    enter_half_open(*c);
  } catch (const std::bad_alloc&) {
    erase(*c);
    throw;
  }
  c->state = CmState::kWaiting;
  c->replaced = replaced;
  c->unanswered = 1;
  c->asked = now;
  c->path.udp_source_port = cm_source_port(m.primary.flow_label);
  c->port = wire::service_port(m.service_id);
  c->transaction_id = h.transaction_id;
  c->remote_guid = m.local_ca_guid;
  c->remote_psn = m.starting_psn;
  c->remote_timeout = std::min(cm_time(m.local_cm_response_timeout), kMaxPatience);
  c->remote_patience =
      std::clamp(c->remote_timeout * (m.max_cm_retries + 1), kMinPatience, kMaxPatience);
  c->give_up = now + kMaxWaiting;
  timers.set(c->timer, *c, now + c->remote_patience);

  CmEvent& event = emit(*c, CmEventType::kRequest);
  event.port = c->port;
  event.path = c->path;
  event.peer = {m.local_qpn,       m.starting_psn,    m.responder_resources,
                m.initiator_depth, m.rnr_retry_count, m.end_to_end_flow_control};
  event.path_mtu = m.path_mtu;
  event.retry_count = m.retry_count;
  event.local_ack_timeout = m.primary.local_ack_timeout;
  event.private_data = std::move(private_data);
}

void ConnectionManager::Impl::on(const wire::CmRtu& m, const wire::MadHeader&, const Path& at,
                                 fabric::Time now) {
  CmConnection* const c = find(m.remote_comm_id, at);
  if (c == nullptr || c->active || c->remote_id != m.local_comm_id) {
    ++counters.dropped;
  } else if (c->state == CmState::kReplying) {
    established(*c, now);
  } else {
    ++counters.duplicates;
    // We gave it up after the REP, and could not report that to an address without proof.
    if (c->state != CmState::kTimeWait || c->was_established || c->rej_reason == 0) return;
    c->proven = true;
    ask(*c, kPendingRej);
  }
}

void ConnectionManager::Impl::established(CmConnection& c, fabric::Time now) {
  // Without memory, nothing has changed, and the peer's message is as good as lost.
  CmConnection*& of_qpn = by_remote_qpn[{c.path.remote, c.remote_qpn}];
  CmConnection* const same_qpn = std::exchange(of_qpn, &c);
  CmConnection* const same_id = find(c.replaced, c.path);

  leave_half_open(c);
  timers.stop(c.timer);
  c.pending = 0;
  sending.remove(c);
  c.state = CmState::kEstablished;
  c.was_established = c.proven = true;
  c.private_data = {};
  emit(c, CmEventType::kEstablished);
  for (CmConnection* const old : {same_qpn, same_id}) {
    if (old != nullptr && old != &c) peer_restarted(*old, now);
  }
}

}  // namespace rpcrdma::soft
