// The active side of connection set-up: handling of a REP (IBA 12.9.7.1).
#include "cm_impl.h"

namespace rpcrdma::soft {
namespace {

CmAnswer rej_of(const wire::CmRep& m, const wire::MadHeader& h, const Path& path,
                std::uint16_t reason) {
  CmAnswer a;
  a.path = path;
  a.transaction_id = h.transaction_id;
  a.local_id = m.remote_comm_id;
  a.remote_id = m.local_comm_id;
  a.about = kAboutRep;
  a.reason = reason;
  return a;
}

}  // namespace

void ConnectionManager::Impl::on(const wire::CmRep& m, const wire::MadHeader& h, const Path& at,
                                 fabric::Time now) {
  // We sent no REQ with this ID, or no longer know it. The answer stops the peer's retries.
  if (find(m.remote_comm_id) == nullptr) {
    answer(rej_of(m, h, at, kRejInvalidCommId));
    return;
  }
  CmConnection* const c = find(m.remote_comm_id, at);
  if (c == nullptr || !c->active || m.local_comm_id == 0 || !cm_qpn_good(m.local_qpn)) {
    ++counters.dropped;
    return;
  }
  if (c->state != CmState::kRequesting) return repeated_rep(*c, m);

  std::vector<std::uint8_t> private_data(m.private_data.begin(), m.private_data.end());
  c->remote_id = m.local_comm_id;
  // The peer has proved its address: it names an ID that only the receiver of our REQ knows.
  const auto old = by_remote_qpn.find({at.remote, m.local_qpn});
  if (old != by_remote_qpn.end() && peer_restarted(*old->second, now)) {
    CmEvent& event = emit(*c, CmEventType::kRejected);
    event.reason = kRejStale;
    enter_time_wait(*c, now);
    return ask_rej(*c, kAboutRep, kRejStale);
  }
  by_remote_qpn[{at.remote, m.local_qpn}] = c;
  timers.stop(c->timer);
  sending.remove(*c);
  c->pending = 0;
  c->private_data = {};
  c->state = CmState::kReplied;
  c->remote_guid = m.local_ca_guid;
  c->remote_qpn = m.local_qpn;
  c->remote_psn = m.starting_psn;

  CmEvent& event = emit(*c, CmEventType::kReply);
  event.peer = {m.local_qpn,       m.starting_psn,    m.responder_resources,
                m.initiator_depth, m.rnr_retry_count, m.end_to_end_flow_control};
  event.private_data = std::move(private_data);
}

void ConnectionManager::Impl::repeated_rep(CmConnection& c, const wire::CmRep& m) {
  // A connection that was aborted before the peer had sent its ID: this message contains it.
  if (c.state == CmState::kTimeWait && c.remote_id == 0) c.remote_id = m.local_comm_id;
  if (c.remote_id != m.local_comm_id) {
    ++counters.dropped;
    return;
  }
  ++counters.duplicates;
  switch (c.state) {
    case CmState::kReplied:
      return ask(c, kPendingMra);
    case CmState::kEstablished:
      return ask(c, kPendingRtu);
    case CmState::kTimeWait:
      if (!c.was_established) {
        ask_rej(c, kAboutRep, c.rej_reason == kRejStale ? kRejStale : kRejConsumer);
      }
      return;
    case CmState::kRequesting:
    case CmState::kWaiting:
    case CmState::kReplying:
    case CmState::kDisconnecting:
      return;
  }
}

}  // namespace rpcrdma::soft
