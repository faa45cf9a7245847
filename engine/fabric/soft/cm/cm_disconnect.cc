// Messages that either side may send: MRA (IBA 12.6.6), REJ (12.6.7), DREQ and DREP (12.9.7.3).
#include "cm_impl.h"

#include <algorithm>

#include <rpcrdma/wire/endian.h>

namespace rpcrdma::soft {
namespace {

constexpr fabric::Time kMaxService = 70 * fabric::kSecond;  // Linux sends 69 s

CmAnswer drep_of(const wire::CmDreq& m, const wire::MadHeader& h, const Path& path) {
  CmAnswer a;
  a.path = path;
  a.transaction_id = h.transaction_id;
  a.drep = true;
  a.local_id = m.remote_comm_id;
  a.remote_id = m.local_comm_id;
  return a;
}

}  // namespace

void ConnectionManager::Impl::on(const wire::CmMra& m, const wire::MadHeader&, const Path& at,
                                 fabric::Time now) {
  CmConnection* const c = find(m.remote_comm_id, at);
  const bool expected =
      c != nullptr && ((c->state == CmState::kRequesting && m.message_mraed == kAboutReq) ||
                       (c->state == CmState::kReplying && m.message_mraed == kAboutRep &&
                        c->remote_id == m.local_comm_id));
  if (!expected) {
    ++counters.dropped;
    return;
  }
  // One extension per transmission of ours, so that a peer cannot delay the time-out forever.
  if (c->extended) {
    ++counters.duplicates;
    return;
  }
  c->extended = true;
  c->proven = true;
  const fabric::Time until = now + std::min(cm_time(m.service_timeout), kMaxService);
  timers.set(c->timer, *c, std::max(c->timer.deadline(), until + limits.response_timeout));
}

// A peer that never received our ID can only send its own, with the reason time-out.
CmConnection* ConnectionManager::Impl::find_rejected(const wire::CmRej& m, const Path& at) {
  if (m.remote_comm_id != 0 || m.reason != kRejTimeout) {
    CmConnection* const c = find(m.remote_comm_id, at);
    if (c == nullptr) return nullptr;
    // The sender of a REJ to a REQ does not necessarily have an ID.
    const bool fits = c->state == CmState::kRequesting ? m.message_rejected != kAboutRep
                                                       : m.local_comm_id == c->remote_id;
    return fits ? c : nullptr;
  }
  const auto it = by_remote_id.find({at.remote, m.local_comm_id});
  if (it == by_remote_id.end() || it->second->path.local != at.local) return nullptr;
  CmConnection& c = *it->second;
  const bool pending = c.state == CmState::kWaiting || c.state == CmState::kReplying;
  if (!pending || m.additional_info.size() < sizeof c.remote_guid) return nullptr;
  return wire::load_be64(m.additional_info.data()) == c.remote_guid ? &c : nullptr;
}

void ConnectionManager::Impl::on(const wire::CmRej& m, const wire::MadHeader&, const Path& at,
                                 fabric::Time now) {
  CmConnection* const c = find_rejected(m, at);
  if (c == nullptr) {
    ++counters.dropped;
    return;
  }
  switch (c->state) {
    case CmState::kRequesting:
    case CmState::kReplied:
    case CmState::kWaiting:
    case CmState::kReplying: {
      std::vector<std::uint8_t> private_data(m.private_data.begin(), m.private_data.end());
      CmEvent& event = emit(*c, CmEventType::kRejected);
      event.reason = m.reason;
      event.private_data = std::move(private_data);
      // The active side is done; the passive side may receive the request again.
      if (c->active) return erase(*c);
      return enter_time_wait(*c, now);
    }
    case CmState::kEstablished:
    case CmState::kDisconnecting:
      // The peer did not receive our RTU. From the active side, a REJ after its RTU is invalid.
      if (!c->active) break;
      emit(*c, CmEventType::kDisconnect);
      return enter_time_wait(*c, now);
    case CmState::kTimeWait:
      ++counters.duplicates;
      return;
  }
  ++counters.dropped;
}

void ConnectionManager::Impl::on(const wire::CmDreq& m, const wire::MadHeader& h, const Path& at,
                                 fabric::Time now) {
  CmConnection* const any = find(m.remote_comm_id);
  CmConnection* const c = find(m.remote_comm_id, at);
  // The connection is unknown here, ended or lost in a restart. The DREP lets the peer end it, too.
  if (any == nullptr || (c != nullptr && c->remote_id != m.local_comm_id)) {
    answer(drep_of(m, h, at));
    return;
  }
  if (c == nullptr || c->local.qpn != m.remote_qpn || c->state == CmState::kWaiting) {
    ++counters.dropped;
    return;
  }
  c->proven = true;
  if (c->state == CmState::kTimeWait) {
    ++counters.duplicates;
  } else {
    c->was_established = true;
    emit(*c, CmEventType::kDisconnect);
    enter_time_wait(*c, now);
  }
  c->disconnect_transaction_id = h.transaction_id;
  ask(*c, kPendingDrep);
}

void ConnectionManager::Impl::on(const wire::CmDrep& m, const wire::MadHeader&, const Path& at,
                                 fabric::Time now) {
  CmConnection* const c = find(m.remote_comm_id, at);
  if (c == nullptr || c->remote_id != m.local_comm_id) {
    ++counters.dropped;
  } else if (c->state == CmState::kDisconnecting) {
    emit(*c, CmEventType::kDisconnect);
    enter_time_wait(*c, now);
  } else {
    ++counters.duplicates;
  }
}

}  // namespace rpcrdma::soft
