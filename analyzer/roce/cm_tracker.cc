// Finds connections by their set-up: the CM messages on QP 1.
#include "state.h"

#include <algorithm>
#include <variant>

#include <rpcrdma/roce/note_tunnels.h>
#include <rpcrdma/wire/cm.h>

namespace rpcrdma::roce {

namespace {

// The most REQs without a REP that are kept.
constexpr std::size_t kMaxUnanswered = 64;

std::uint32_t mtu_bytes(std::uint8_t code) {
  return code >= 1 && code <= 5 ? 128U << code : 0;
}

std::vector<std::uint8_t> without_trailing_zeros(wire::Bytes data) {
  std::size_t n = data.size();
  while (n != 0 && data[n - 1] == 0) --n;
  return {data.begin(), data.begin() + static_cast<std::ptrdiff_t>(n)};
}

// A program may put a number there: its low bytes can be zeros.
std::vector<std::uint8_t> in_words(wire::Bytes data) {
  std::vector<std::uint8_t> bytes = without_trailing_zeros(data);
  bytes.resize(std::min((bytes.size() + 3) / 4 * 4, data.size()));
  return bytes;
}

}  // namespace

void Tracker::Impl::cm(const capture::TransportPacket& t, const wire::RocePacket& roce,
                       const PacketMeta& meta) {
  const auto mad = wire::decode_cm(roce.payload);
  if (!mad) {
    ++(t.complete() ? stats.other_service : stats.cm_cut);
    return;
  }
  ++stats.cm;

  const auto known = [&](const capture::Address& address, std::uint32_t comm_id) -> FlowRef {
    const auto it = by_comm_id.find({address, comm_id});
    return it == by_comm_id.end() ? FlowRef{} : it->second;
  };
  const auto report = [&](const FlowRef& ref) {
    if (ref.connection != nullptr) {
      ref.connection->last_frame = meta.frame;
      ref.connection->last_ns = meta.time_ns;
      note_tunnels(ref.connection->side[ref.sender], t.tunnels, meta.frame);
    }
    listener.on_cm({ref.connection, ref.sender, *mad, meta});
  };
  // A message after the REQ: its connection is found by the sender's communication ID or by the
  // receiver's. IDs are reused; if both are known, both must match.
  const auto fits = [](const FlowRef& ref, int side, std::uint32_t id) {
    const CmSide& cm = ref.connection->side[static_cast<std::size_t>(side)].cm;
    return !cm.seen || cm.comm_id == id;
  };
  const auto sender_of = [&](std::uint32_t local_id, std::uint32_t remote_id) -> FlowRef {
    FlowRef ref = known(t.src, local_id);
    if (ref.connection != nullptr && fits(ref, 1 - ref.sender, remote_id)) return ref;
    ref = known(t.dst, remote_id);
    ref.sender = static_cast<std::uint8_t>(1 - ref.sender);
    if (ref.connection != nullptr && fits(ref, ref.sender, local_id)) return ref;
    return {};
  };
  const auto hear = [&](CmSide& side, std::uint32_t comm_id, std::uint32_t psn,
                        std::uint8_t resources, std::uint8_t depth, std::uint8_t rnr_retry,
                        wire::Bytes private_data) {
    side.seen = true;
    side.frame = meta.frame;
    side.time_ns = meta.time_ns;
    side.comm_id = comm_id;
    side.starting_psn = psn;
    side.responder_resources = resources;
    side.initiator_depth = depth;
    side.retries_known = true;
    side.rnr_retry_count = rnr_retry;
    side.private_data = without_trailing_zeros(private_data);
  };
  // Assigns the flow to a QP that a CM message names to this connection; an older connection with
  // the same QP is over.
  const auto take_flow = [&](const FlowKey& key, FlowRef ref) {
    const auto it = flows.find(key);
    if (it != flows.end() && it->second.connection != ref.connection) {
      forget_one_sided(*it->second.connection);
      close(*it->second.connection, State::kClosed);
    }
    bind_flow(key, ref);
  };

  if (const auto* req = std::get_if<wire::CmReq>(&mad->message)) {
    FlowRef ref = known(t.src, req->local_comm_id);
    // A retransmission, or a new connection with the numbers of an old one?
    const bool again = ref.connection != nullptr && ref.connection->side[0].qpn == req->local_qpn &&
                       ref.connection->side[0].cm.starting_psn == req->starting_psn &&
                       ref.connection->state != State::kClosed;
    if (!again && numbers.next == UINT32_MAX) {
      ref = {};
    } else if (!again) {
      ConnectionState& c = new_connection(Setup::kCm, meta);
      c.state = State::kOpening;
      c.side[0].address = t.src;
      c.side[1].address = t.dst;
      c.side[0].qpn = req->local_qpn;
      c.side[0].qpn_known = true;
      c.begun_at = meta.point;
      c.service_id = req->service_id;
      c.path_mtu = mtu_bytes(req->path_mtu);
      wire::Bytes data = req->private_data;
      if (wire::is_rdma_ip_service(req->service_id) && data.size() >= wire::kIpCmHeaderBytes) {
        data = data.subspan(wire::kIpCmHeaderBytes);
      }
      hear(c.side[0].cm, req->local_comm_id, req->starting_psn, req->responder_resources,
           req->initiator_depth, req->rnr_retry_count, data);
      c.side[0].cm.retry_count = req->retry_count;
      ref = {&c, 0};
      by_comm_id[{t.src, req->local_comm_id}] = ref;
      take_flow({t.dst, t.src, req->local_qpn}, {&c, 1});
      if (unanswered.size() >= kMaxUnanswered) unanswered.erase(unanswered.begin());
      unanswered.push_back(&c);
      c.stream[0].started = true;
      c.stream[0].next = req->starting_psn;
    }
    if (ref.connection != nullptr && ref.connection->begun_at == meta.point) {
      ++ref.connection->requests_sent;
    }
    report(ref);
  } else if (const auto* rep = std::get_if<wire::CmRep>(&mad->message)) {
    FlowRef ref = known(t.dst, rep->remote_comm_id);
    if (ref.connection != nullptr && ref.connection->side[1].address != t.src) ref = {};
    ref.sender = 1;
    if (ref.connection != nullptr && !ref.connection->side[1].cm.seen) {
      ConnectionState& c = *ref.connection;
      std::erase(unanswered, &c);
      hear(c.side[1].cm, rep->local_comm_id, rep->starting_psn, rep->responder_resources,
           rep->initiator_depth, rep->rnr_retry_count, rep->private_data);
      unbind(c, 1);  // inferred, perhaps for another QP
      c.side[1].qpn = rep->local_qpn;
      c.side[1].qpn_known = true;
      by_comm_id[{t.src, rep->local_comm_id}] = ref;
      take_flow({t.dst, t.src, rep->local_qpn}, {&c, 0});
      if (!c.stream[1].seen) {
        c.stream[1].started = true;
        c.stream[1].next = rep->starting_psn;
      }
      if (c.state == State::kOpening) {
        c.state = State::kOpen;
        listener.on_open(c);
      }
    }
    report(ref);
  } else if (const auto* rtu = std::get_if<wire::CmRtu>(&mad->message)) {
    const FlowRef ref = sender_of(rtu->local_comm_id, rtu->remote_comm_id);
    if (ref.connection != nullptr && ref.sender == 0) ref.connection->confirmed = true;
    report(ref);
  } else if (const auto* mra = std::get_if<wire::CmMra>(&mad->message)) {
    report(sender_of(mra->local_comm_id, mra->remote_comm_id));
  } else if (const auto* rej = std::get_if<wire::CmRej>(&mad->message)) {
    const FlowRef ref = sender_of(rej->local_comm_id, rej->remote_comm_id);
    report(ref);
    if (ref.connection != nullptr && ref.connection->state < State::kRejected) {
      ref.connection->closed_by = ref.sender;
      ref.connection->closed_frame = meta.frame;
      ref.connection->reject_reason = rej->reason;
      ref.connection->reject_data = in_words(rej->private_data);
      close(*ref.connection, State::kRejected);
    }
  } else if (const auto* dreq = std::get_if<wire::CmDreq>(&mad->message)) {
    FlowRef ref = sender_of(dreq->local_comm_id, dreq->remote_comm_id);
    if (ref.connection == nullptr) {
      // A connection that was set up before the capture began is found by the QP in the DREQ.
      const auto it = flows.find({t.src, t.dst, dreq->remote_qpn});
      if (it != flows.end()) ref = it->second;
    }
    // A retransmitted DREQ may arrive when its communication IDs belong to a new connection.
    if (ref.connection != nullptr) {
      const Side& other = ref.connection->side[1U - ref.sender];
      if (other.qpn_known && other.qpn != dreq->remote_qpn) ref = {};
    }
    report(ref);
    if (ref.connection != nullptr && ref.connection->state < State::kRejected) {
      ref.connection->closed_by = ref.sender;
      ref.connection->closed_frame = meta.frame;
      forget_one_sided(*ref.connection);
      close(*ref.connection, State::kClosed);
    }
  } else if (const auto* drep = std::get_if<wire::CmDrep>(&mad->message)) {
    report(sender_of(drep->local_comm_id, drep->remote_comm_id));
  }
}

// A copy of a CM message says nothing but in which tunnel it was captured.
void Tracker::Impl::copied_cm(const capture::TransportPacket& t, const wire::RocePacket& roce,
                              const PacketMeta& meta) {
  if (t.tunnels.count == 0) return;
  const auto mad = wire::decode_cm(roce.payload);
  if (!mad) return;
  std::visit(
      [&](const auto& message) {
        if constexpr (requires { message.local_comm_id; }) {
          const auto it = by_comm_id.find({t.src, message.local_comm_id});
          if (it == by_comm_id.end()) return;
          note_tunnels(it->second.connection->side[it->second.sender], t.tunnels, meta.frame);
        }
      },
      mad->message);
}

}  // namespace rpcrdma::roce
