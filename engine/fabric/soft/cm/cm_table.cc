// The connection table of the CM: creation and lookup, timers, time-wait, and stale connections.
#include "cm_impl.h"

#include <algorithm>

#include <rpcrdma/soft/share.h>

namespace rpcrdma::soft {
namespace {

// Time-wait lasts as long as packets of the connection may still be in flight (12.9.8.4), and as
// long as the peer may retransmit the message that we answered last.
constexpr int kTimeWaitTimeouts = 4;
constexpr int kTimeWaitRemoteTimeouts = 2;
constexpr fabric::Time kMaxRemoteTimeWait = 10 * fabric::kSecond;

// Bounds on a caller's values, so that no sum of times overflows and expire() terminates.
constexpr fabric::Time kMinResponseTimeout = fabric::kMicrosecond;
constexpr fabric::Time kMaxResponseTimeout = 600 * fabric::kSecond;
constexpr std::uint8_t kServiceCode = 20;  // our MRA: 4.3 s

void erase_entry(std::map<CmRemoteKey, CmConnection*>& table, const CmRemoteKey& key,
                 const CmConnection& c) {
  const auto it = table.find(key);
  if (it != table.end() && it->second == &c) table.erase(it);
}

}  // namespace

ConnectionManager::Impl::Impl(const CmLimits& given, const Secret& secret)
    : limits(given), ids(secret) {
  limits.response_timeout =
      std::clamp(limits.response_timeout, kMinResponseTimeout, kMaxResponseTimeout);
  times.response_code = cm_time_code(limits.response_timeout);
  times.retries = limits.retries;
  times.service_code = kServiceCode;
  make_room();
}

void ConnectionManager::Impl::make_room() {
  events.reserve(events.size() + kCmEventsAtOnce);
  if (!answers.full()) answers.reserve(answers.size() + 1);
}

CmConnection* ConnectionManager::Impl::find(CmId id) {
  const auto it = connections.find(id);
  return it == connections.end() ? nullptr : &it->second;
}

CmConnection* ConnectionManager::Impl::find(CmId id, const Path& at) {
  CmConnection* const c = find(id);
  return c != nullptr && c->path.local == at.local && c->path.remote == at.remote ? c : nullptr;
}

CmConnection* ConnectionManager::Impl::create(const Path& at) {
  if (connections.size() >= limits.connections) {
    if (time_wait.front() == nullptr) return nullptr;
    erase(*time_wait.front());
  }
  timers.reserve(connections.size() + 1);
  CmId id = ids.next_communication();
  while (share_of_cm_id(id) != limits.share || connections.contains(id)) {
    id = ids.next_communication();
  }
  CmConnection& c = connections[id];
  c.id = id;
  c.path = at;
  return &c;
}

void ConnectionManager::Impl::erase(CmConnection& c) {
  timers.stop(c.timer);
  sending.remove(c);
  time_wait.remove(c);
  leave_half_open(c);
  erase_entry(by_remote_id, {c.path.remote, c.remote_id}, c);
  erase_entry(by_remote_qpn, {c.path.remote, c.remote_qpn}, c);
  connections.erase(CmId{c.id});
}

void ConnectionManager::Impl::ask(CmConnection& c, CmPending pending) {
  c.pending = static_cast<std::uint8_t>(c.pending | pending);
  sending.push_back(c);
}

void ConnectionManager::Impl::ask_rej(CmConnection& c, std::uint8_t about, std::uint16_t reason) {
  c.rej_about = about;
  c.rej_reason = reason;
  ask(c, kPendingRej);
}

bool ConnectionManager::Impl::answer(CmAnswer a) {
  if (answers.full()) {
    ++counters.dropped;
    return false;
  }
  a.path.udp_source_port = Path{}.udp_source_port;  // the peer's port is unrelated to ours
  answers.push(a);
  return true;
}

CmEvent& ConnectionManager::Impl::emit(const CmConnection& c, CmEventType type) {
  CmEvent& event = events.next();
  events.push();
  event = {};
  event.type = type;
  event.id = c.id;
  return event;
}

void ConnectionManager::Impl::expect_answer(CmConnection& c, fabric::Time now) {
  c.extended = false;
  timers.set(c.timer, c, now + limits.response_timeout);
}

void ConnectionManager::Impl::enter_time_wait(CmConnection& c, fabric::Time now) {
  leave_half_open(c);
  sending.remove(c);
  c.pending = 0;
  c.private_data.clear();
  c.state = CmState::kTimeWait;
  time_wait.push_back(c);
  const fabric::Time ours = kTimeWaitTimeouts * limits.response_timeout;
  const fabric::Time theirs =
      std::min(kTimeWaitRemoteTimeouts * c.remote_timeout, kMaxRemoteTimeWait);
  timers.set(c.timer, c, now + std::max(ours, theirs));
}

void ConnectionManager::Impl::end(CmConnection& c, std::uint16_t reason, fabric::Time now) {
  const CmState was = c.state;
  if (was == CmState::kDisconnecting || was == CmState::kTimeWait) return;
  if (was == CmState::kEstablished) {
    c.state = CmState::kDisconnecting;
    c.disconnect_transaction_id = ids.next_transaction();
    c.retries_left = limits.retries;
    ask(c, kPendingDreq);
    expect_answer(c, now);
    return;
  }
  emit(c, CmEventType::kDisconnect);
  enter_time_wait(c, now);
  if (was == CmState::kRequesting) {
    // We do not know the peer's ID yet, so the peer can match only a time-out REJ.
    ask_rej(c, kAboutOther, kRejTimeout);
  } else {
    const bool about_req = was == CmState::kWaiting, about_rep = was == CmState::kReplied;
    ask_rej(c, about_req ? kAboutReq : about_rep ? kAboutRep : kAboutOther, reason);
  }
}

void ConnectionManager::Impl::timed_out(CmConnection& c, fabric::Time now) {
  CmPending again = kPendingReq;
  switch (c.state) {
    case CmState::kTimeWait:
      return erase(c);
    case CmState::kWaiting:
      emit(c, CmEventType::kTimedOut);
      return enter_time_wait(c, now);
    case CmState::kRequesting:
      break;
    case CmState::kReplying:
      again = kPendingRep;
      break;
    case CmState::kDisconnecting:
      again = kPendingDreq;
      break;
    case CmState::kEstablished:
      if (!c.active || c.retries_left == 0) return;
      if (--c.retries_left > 0) timers.set(c.timer, c, now + kRtuPause);
      return ask(c, kPendingRtu);
    case CmState::kReplied:
      return;  // no timer is running
  }
  if (c.retries_left > 0) {
    --c.retries_left;
    if (may_send(c)) {
      ++counters.retried;
      ask(c, again);
    } else {
      ++counters.withheld;
    }
    return expect_answer(c, now);
  }
  const bool disconnecting = c.state == CmState::kDisconnecting;
  emit(c, disconnecting ? CmEventType::kDisconnect : CmEventType::kTimedOut);
  enter_time_wait(c, now);
  if (!disconnecting) ask_rej(c, kAboutOther, kRejTimeout);
}

bool ConnectionManager::Impl::peer_restarted(CmConnection& old, fabric::Time now) {
  if (old.state == CmState::kTimeWait) return false;
  if (old.state != CmState::kDisconnecting) {
    end(old, kRejStale, now);
    return true;
  }
  // A peer that starts a new connection has finished the old one that we wait for.
  emit(old, CmEventType::kDisconnect);
  enter_time_wait(old, now);
  return false;
}

}  // namespace rpcrdma::soft
