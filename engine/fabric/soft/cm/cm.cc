// The public functions of the connection manager: argument checks, and dispatch of messages and
// time-outs.
#include "cm_impl.h"

#include <bit>
#include <new>
#include <utility>
#include <variant>

#include <rpcrdma/fabric/provider.h>
#include <rpcrdma/soft/cm.h>

namespace rpcrdma::soft {
namespace {

constexpr std::uint8_t kMethodSend = 3;

tl::unexpected<fabric::Error> too_long() {
  return fabric::fail(fabric::Errc::kBadArgument,
                      "private data is longer than the message's field");
}

}  // namespace

ConnectionManager::ConnectionManager(const CmLimits& limits, const Secret& secret)
    : impl_(std::make_unique<Impl>(limits, secret)) {}

ConnectionManager::~ConnectionManager() = default;

void ConnectionManager::listen(std::uint16_t port) {
  impl_->listening.set(port);
}

void ConnectionManager::unlisten(std::uint16_t port) {
  impl_->listening.reset(port);
}

fabric::Expected<CmId> ConnectionManager::connect(const CmConnect& request, fabric::Time now) {
  if (request.private_data.size() > fabric::kMaxRequestPrivateData) return too_long();
  if (request.path.local.ipv6 != request.path.remote.ipv6) {
    return fabric::fail(fabric::Errc::kBadArgument, "the addresses are of different IP versions");
  }
  if (!cm_qpn_good(request.local.qpn) || !cm_path_mtu_good(request.path_mtu)) {
    return fabric::fail(fabric::Errc::kBadArgument, "invalid QPN or path MTU");
  }
  std::vector<std::uint8_t> private_data(request.private_data.begin(), request.private_data.end());
  CmConnection* const c = impl_->create(request.path);
  if (c == nullptr) return fabric::fail(fabric::Errc::kNoRoom);
  c->active = true;
  c->state = CmState::kRequesting;
  c->transaction_id = impl_->ids.next_transaction();
  c->local = request.local;
  c->port = request.port;
  c->source_port = request.source_port;
  c->path_mtu = request.path_mtu;
  c->retry_count = request.retry_count;
  c->local_ack_timeout = request.local_ack_timeout;
  c->private_data = std::move(private_data);
  c->retries_left = impl_->limits.retries;
  impl_->ask(*c, kPendingReq);
  impl_->expect_answer(*c, now);
  return c->id;
}

fabric::Expected<void> ConnectionManager::accept(CmId id, const CmQueuePair& local,
                                                 std::span<const std::uint8_t> private_data,
                                                 fabric::Time now) {
  if (private_data.size() > fabric::kMaxAcceptPrivateData) return too_long();
  if (!cm_qpn_good(local.qpn)) {
    return fabric::fail(fabric::Errc::kBadArgument, "invalid QPN");
  }
  CmConnection* const c = impl_->find(id);
  if (c == nullptr || c->state != CmState::kWaiting) {
    return fabric::fail(fabric::Errc::kNotConnected);
  }
  c->private_data.assign(private_data.begin(), private_data.end());
  c->state = CmState::kReplying;
  c->pending = 0;
  c->local = local;
  c->retries_left = impl_->limits.retries;
  impl_->ask(*c, kPendingRep);
  impl_->expect_answer(*c, now);
  return {};
}

fabric::Expected<void> ConnectionManager::reject(CmId id, std::uint16_t reason,
                                                 std::span<const std::uint8_t> private_data,
                                                 fabric::Time now) {
  if (private_data.size() > fabric::kMaxRejectPrivateData) return too_long();
  CmConnection* const c = impl_->find(id);
  if (c == nullptr || c->state != CmState::kWaiting) {
    return fabric::fail(fabric::Errc::kNotConnected);
  }
  std::vector<std::uint8_t> sent(private_data.begin(), private_data.end());
  impl_->enter_time_wait(*c, now);
  c->private_data = std::move(sent);
  impl_->ask_rej(*c, kAboutReq, reason);
  return {};
}

void ConnectionManager::establish(CmId id, fabric::Time now) {
  CmConnection* const c = impl_->find(id);
  if (c == nullptr || c->state != CmState::kReplied) return;
  c->retries_left = impl_->limits.rtu_repeats;
  if (c->retries_left > 0) impl_->timers.set(c->timer, *c, now + kRtuPause);
  c->state = CmState::kEstablished;
  c->was_established = true;
  c->pending = 0;
  impl_->ask(*c, kPendingRtu);
}

void ConnectionManager::data_came(CmId id, fabric::Time now) {
  CmConnection* const c = impl_->find(id);
  if (c == nullptr || c->state != CmState::kReplying) return;
  impl_->make_room();
  impl_->established(*c, now);
}

void ConnectionManager::disconnect(CmId id, fabric::Time now) {
  CmConnection* const c = impl_->find(id);
  if (c != nullptr) impl_->end(*c, kRejConsumer, now);
}

void ConnectionManager::receive(const Path& path, wire::Bytes mad, fabric::Time now) {
  ++impl_->counters.received;
  impl_->refusal.reset();
  const auto decoded = wire::decode_cm(mad);
  if (!decoded || decoded->header.method != kMethodSend) {
    ++impl_->counters.dropped;
    return;
  }
  impl_->make_room();
  std::visit([&](const auto& message) { impl_->on(message, decoded->header, path, now); },
             decoded->message);
}

const CmRefusal* ConnectionManager::refusal() const {
  return impl_->refusal ? &*impl_->refusal : nullptr;
}

bool ConnectionManager::transmit(const Path*& path, wire::Bytes& mad) {
  Impl& cm = *impl_;
  CmConnection* c = cm.sending.front();
  for (; c != nullptr && !cm.may_send(*c); c = cm.sending.front()) {
    c->pending = 0;
    cm.sending.remove(*c);
    ++cm.counters.withheld;
  }
  if (c != nullptr) {
    if (c->unanswered > 0) --c->unanswered;
    const auto first = static_cast<CmPending>(1U << std::countr_zero(c->pending));
    c->pending = static_cast<std::uint8_t>(c->pending & ~first);
    if (c->pending == 0) cm.sending.remove(*c);
    cm.path = c->path;
    cm_write(*c, first, cm.times, cm.mad);
  } else if (!cm.answers.empty()) {
    cm.path = cm.answers.front().path;
    cm_write(cm.answers.front(), cm.mad);
    cm.answers.pop();
  } else {
    return false;
  }
  ++cm.counters.sent;
  path = &cm.path;
  mad = cm.mad;
  return true;
}

bool ConnectionManager::next_event(CmEvent& event) {
  if (impl_->events.empty()) return false;
  event = std::move(impl_->events.front());
  impl_->events.pop();
  return true;
}

fabric::Time ConnectionManager::deadline() const {
  return impl_->timers.next();
}

void ConnectionManager::expire(fabric::Time now) {
  try {
    while (deadline() <= now) {
      impl_->events.reserve(impl_->events.size() + 1);
      impl_->timed_out(*impl_->timers.take_due(now), now);
    }
  } catch (const std::bad_alloc&) {
    // Due timers remain due, and are handled once the events were polled.
  }
}

const ConnectionManager::Counters& ConnectionManager::counters() const {
  return impl_->counters;
}

std::size_t ConnectionManager::half_open() const {
  return impl_->half_open_total;
}

std::size_t ConnectionManager::connections() const {
  return impl_->connections.size();
}

}  // namespace rpcrdma::soft
