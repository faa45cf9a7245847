// Connection management of the verbs adapter: set-up, end, and the events of librdmacm and the
// device.
#include "adapter.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>

#include <fmt/core.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/base/text.h>
#include <rpcrdma/fabric/socket_address.h>
#include <rpcrdma/trace/connection_tracer.h>
#include <rpcrdma/trace/tracer.h>

namespace rpcrdma::verbs {

using fabric::Errc;
using fabric::EventType;
using fabric::Expected;

namespace {

constexpr int kRouteTimeout = 5000;  // milliseconds
// Linux may miss a neighbour's answer, and looks again only when this time is over.
constexpr int kAddressTimeout = 1000;
constexpr std::uint8_t kAddressTries = 5;
constexpr int kBacklog = 1024;
// Retransmission time-out, 4.096 us * 2^n: 268 ms. Linux's default for RoCE is 2.1 s, which would
// delay a message for that long whenever its last packet or its last ACK is lost.
constexpr std::uint8_t kAckTimeout = 16;
// Connections without an owner that may wait for their peers to agree to the disconnect.
constexpr std::size_t kMostLingering = 1024;
constexpr std::array<std::uint32_t, 3> kInline{256, 64, 0};  // bytes, tried in this order

fabric::Address address_of(const sockaddr* name) {
  fabric::SocketAddress own{};
  if (name == nullptr) return {};
  if (name->sa_family == AF_INET) std::memcpy(&own.v4, name, sizeof own.v4);
  if (name->sa_family == AF_INET6) std::memcpy(&own.v6, name, sizeof own.v6);
  own.any.sa_family = name->sa_family;
  const auto endpoint = to_endpoint(own);
  return endpoint ? endpoint->address : fabric::Address();
}

// Returns the peer's QPN; 0 if it has none or it is not known yet.
std::uint32_t peer_qpn(ibv_qp* qp) {
  ibv_qp_attr attributes{};
  ibv_qp_init_attr initial{};
  if (::ibv_query_qp(qp, &attributes, IBV_QP_DEST_QPN, &initial) != 0) return 0;
  return attributes.dest_qp_num;
}

// Call before the queue pair is ready. Devices with time-outs of their own, such as iWARP's, refuse
// the option and keep them.
void set_ack_timeout(rdma_cm_id* id) {
  std::uint8_t timeout = kAckTimeout;
  (void)::rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, sizeof timeout);
}

// The status of an event is a negative errno, or a reason of the protocol.
std::string with_status(const char* what, int status) {
  return status < 0 ? fmt::format("{}: {}", what, std::strerror(-status)) : std::string(what);
}

}  // namespace

// ----- set-up

Expected<void> Adapter::listen(std::uint16_t port, std::uint64_t cookie) {
  if (port == 0) return fabric::fail(Errc::kBadArgument, "there is no port 0");
  if (listeners_.contains(port)) {
    return fabric::fail(Errc::kBadArgument, "this port already has a listener");
  }
  auto id = bound_id(device_->events(), device_->address(), port);
  if (!id) return tl::unexpected(id.error());
  // The only events of a listener that matter are requests; they name it by this port.
  (*id)->context = reinterpret_cast<void*>(std::uintptr_t{port});
  if (::rdma_listen(id->get(), kBacklog) != 0) {
    if (errno != EADDRINUSE) return tl::unexpected(system_error("rdma_listen"));
    return fabric::fail(Errc::kSystem,
                        fmt::format("{} port {} is in use", device_->address().to_string(), port));
  }
  listeners_[port] = {std::move(*id), cookie};
  return {};
}

void Adapter::unlisten(std::uint16_t port) {
  listeners_.erase(port);
  for (const CmNews& t : events_) {
    if (t.event.type != EventType::kRequest) continue;
    Slot* const s = find(t.name);
    if (s != nullptr && s->port == port) free_slot(*s);
  }
  std::erase_if(events_, [&](const CmNews& t) {
    return t.event.type == EventType::kRequest && find(t.name) == nullptr;
  });
}

void Adapter::fill_from_options(Slot& slot, const fabric::ConnectionOptions& options) {
  const Abilities& a = device_->abilities();
  slot.cookie = options.cookie;
  slot.depths = options.depths;
  slot.responder_resources = at_most(options.responder_resources, UINT8_MAX, a.responder_resources);
  slot.initiator_depth = at_most(options.initiator_depth, UINT8_MAX, a.initiator_depth);
  slot.retry_count = std::min<std::uint8_t>(options.retry_count, 7);
  slot.rnr_retry_count = std::min<std::uint8_t>(options.rnr_retry_count, 7);
  slot.private_data.assign(options.private_data.begin(), options.private_data.end());
}

Expected<Name> Adapter::connect(const fabric::Address& peer, std::uint16_t port,
                                const fabric::ConnectionOptions& options) {
  if (lost_) return fabric::fail(Errc::kSystem, "the device is gone");
  if (port == 0) return fabric::fail(Errc::kBadArgument, "there is no port 0");
  if (options.private_data.size() > fabric::kMaxRequestPrivateData) {
    return fabric::fail(Errc::kBadArgument, "too much private data");
  }
  if (peer.ipv6 != device_->address().ipv6) {
    return fabric::fail(Errc::kBadArgument,
                        "the peer's address is of another IP version than the local one");
  }
  auto id = bound_id(device_->events(), device_->address(), 0);
  if (!id) return tl::unexpected(id.error());
  Slot* const s = take_slot();
  if (s == nullptr) return fabric::fail(Errc::kNoRoom, "too many connections");
  fill_from_options(*s, options);
  s->phase = Phase::kResolving;
  s->active = true;
  s->peer = peer;
  s->id = id->release();
  s->id->context = reinterpret_cast<void*>(std::uintptr_t{name_of(*s)});
  set_ack_timeout(s->id);
  fabric::SocketAddress to = fabric::to_socket_address(peer, port);
  s->tries_left = kAddressTries - 1;
  s->port = port;
  if (::rdma_resolve_addr(s->id, nullptr, &to.any, kAddressTimeout) != 0) {
    const fabric::Error error = system_error("rdma_resolve_addr");
    free_slot(*s);
    return tl::unexpected(error);
  }
  return name_of(*s);
}

bool Adapter::resolve_again(Slot& slot) {
  if (slot.phase != Phase::kResolving || slot.tries_left == 0) return false;
  --slot.tries_left;
  fabric::SocketAddress to = fabric::to_socket_address(slot.peer, slot.port);
  return ::rdma_resolve_addr(slot.id, nullptr, &to.any, kAddressTimeout) == 0;
}

Expected<void> Adapter::make_queue_pair(Slot& slot) {
  const QueueSizes sizes = queue_sizes(device_->abilities(), slot.depths);
  if (slot.held.size() > sizes.receive) {
    return fabric::fail(Errc::kBadArgument, "more Receives were posted than the options allow");
  }
  auto share = queues_.take(sizes.send + sizes.receive);
  if (!share) return tl::unexpected(share.error());
  slot.completions = *share;
  for (const std::uint32_t most_inline : kInline) {
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = slot.completions.queue;
    attributes.cap.max_send_wr = sizes.send;
    attributes.cap.max_recv_wr = sizes.receive;
    attributes.cap.max_send_sge = attributes.cap.max_recv_sge = fabric::kMaxSlices;
    attributes.cap.max_inline_data = most_inline;
    attributes.qp_type = IBV_QPT_RC;
    errno = 0;
    if (::rdma_create_qp(slot.id, device_->domain(), &attributes) != 0) continue;
    slot.send_room = sizes.send;
    slot.receive_room = sizes.receive;
    slot.most_inline = attributes.cap.max_inline_data;
    const std::vector<HeldReceive> held = std::exchange(slot.held, {});
    std::vector<fabric::ReceiveRequest> requests;
    requests.reserve(held.size());
    for (const HeldReceive& r : held) {
      requests.push_back({r.id, std::span(r.slices).first(r.count)});
    }
    for (std::span<const fabric::ReceiveRequest> left = requests; !left.empty();) {
      const auto posted = post_receive(name_of(slot), left);
      if (!posted) return tl::unexpected(posted.error());
      left = left.subspan(*posted);
    }
    return {};
  }
  // rdma_create_qp() fails in the same way if the peer has withdrawn its request.
  const char* const what =
      slot.active ? "cannot create a queue pair" : "cannot create a queue pair for this request";
  const fabric::Error error =
      errno != 0 ? system_error(what)
                 : fabric::Error{Errc::kSystem,
                                 fmt::format("{}: the device's library gives no reason", what)};
  queues_.give(std::exchange(slot.completions, {}));
  return tl::unexpected(error);
}

void Adapter::on_route(Slot& slot) {
  if (const auto made = make_queue_pair(slot); !made) {
    (void)finish(slot, EventType::kUnreachable, made.error().message);
    return;
  }
  rdma_conn_param p{};
  p.private_data = slot.private_data.data();
  p.private_data_len = static_cast<std::uint8_t>(slot.private_data.size());
  p.responder_resources = slot.responder_resources;
  p.initiator_depth = slot.initiator_depth;
  p.flow_control = 1;
  p.retry_count = slot.retry_count;
  p.rnr_retry_count = slot.rnr_retry_count;
  slot.phase = Phase::kConnecting;
  if (::rdma_connect(slot.id, &p) != 0) {
    (void)finish(slot, EventType::kUnreachable, system_error("rdma_connect").message);
  }
}

Expected<void> Adapter::accept(Name name, const fabric::ConnectionOptions& options) {
  Slot* const s = find(name);
  if (s == nullptr || s->phase != Phase::kRequested) return fabric::fail(Errc::kNotConnected);
  if (options.private_data.size() > fabric::kMaxAcceptPrivateData) {
    return fabric::fail(Errc::kBadArgument, "too much private data");
  }
  const std::uint8_t wanted = s->responder_resources;
  const std::uint8_t served = s->initiator_depth;
  fill_from_options(*s, options);
  s->responder_resources = std::min(s->responder_resources, wanted);
  s->initiator_depth = std::min(s->initiator_depth, served);
  if (auto made = make_queue_pair(*s); !made) return made;
  set_ack_timeout(s->id);
  rdma_conn_param p{};
  p.private_data = s->private_data.data();
  p.private_data_len = static_cast<std::uint8_t>(s->private_data.size());
  p.responder_resources = s->responder_resources;
  p.initiator_depth = s->initiator_depth;
  p.flow_control = 1;
  p.rnr_retry_count = s->rnr_retry_count;
  s->phase = Phase::kAccepted;
  if (::rdma_accept(s->id, &p) != 0) {
    const fabric::Error error = system_error("rdma_accept");
    stop(*s);
    s->phase = Phase::kDown;
    return fabric::fail(Errc::kNotConnected, error.message);
  }
  return {};
}

Expected<void> Adapter::reject(Name name, std::span<const std::uint8_t> data) {
  Slot* const s = find(name);
  if (s == nullptr || s->phase != Phase::kRequested) return fabric::fail(Errc::kNotConnected);
  if (data.size() > fabric::kMaxRejectPrivateData) {
    return fabric::fail(Errc::kBadArgument, "too much private data");
  }
  s->phase = Phase::kDown;
  if (::rdma_reject(s->id, data.data(), static_cast<std::uint8_t>(data.size())) != 0) {
    return tl::unexpected(system_error("rdma_reject"));
  }
  return {};
}

// ----- end

CmNews& Adapter::emit(EventType type, const Slot& slot) {
  CmNews& news = events_.emplace_back();
  news.name = name_of(slot);
  news.event.type = type;
  news.event.cookie = slot.cookie;
  news.event.peer = slot.peer;
  return news;
}

CmNews& Adapter::queue_end(EventType type, const Slot& slot) {
  End& end = ends_.emplace_back();
  end.news.name = name_of(slot);
  end.news.event.type = type;
  end.news.event.cookie = slot.cookie;
  end.news.event.peer = slot.peer;
  end.after = completions_.pushed();
  return end.news;
}

// Afterwards the peer can access nothing here, and no completions follow.
void Adapter::stop(Slot& slot) {
  if (!slot.has_qp()) return;
  const bool was_up = slot.phase == Phase::kEstablished || slot.phase == Phase::kAccepted;
  if (was_up && ::rdma_disconnect(slot.id) == 0) {
    slot.leaving = !slot.peer_left && slot.phase == Phase::kEstablished;
  } else {
    ibv_qp_attr error{};
    error.qp_state = IBV_QPS_ERR;
    (void)::ibv_modify_qp(slot.id->qp, &error, IBV_QP_STATE);
  }
  handles_.end_all(name_of(slot));
  // Arrived completions are not lost with the queue pair, and none of them stays in the queue.
  poll(INT_MAX);
  ::rdma_destroy_qp(slot.id);
  poll(INT_MAX);
  queues_.give(std::exchange(slot.completions, {}));
  slot.chained = 0;
}

CmNews* Adapter::finish(Slot& slot, EventType type, std::string reason) {
  if (!slot.alive()) return nullptr;
  if (slot.phase == Phase::kRequested) {
    slot.phase = Phase::kDown;
    return nullptr;
  }
  stop(slot);
  flush_unfinished(slot);
  slot.phase = Phase::kDown;
  CmNews& news = queue_end(type, slot);
  news.event.failed = type == EventType::kDisconnected && !slot.reason.empty();
  news.event.reason = std::move(reason);
  return &news;
}

void Adapter::disconnect(Name name) {
  if (Slot* const s = find(name)) {
    post_waiting();
    (void)finish(*s, EventType::kDisconnected, "disconnected here");
  }
}

void Adapter::destroy(Name name) {
  Slot* const s = find(name);
  if (s == nullptr) return;
  if (s->alive()) {
    stop(*s);
    s->phase = Phase::kDown;
  }
  completions_.drop(name);
  std::erase_if(events_, [&](const CmNews& t) { return t.name == name; });
  std::erase_if(ends_, [&](const End& e) { return e.news.name == name; });
  if (s->leaving && lingering_ < kMostLingering) {
    s->phase = Phase::kLingering;
    ++lingering_;
    return;
  }
  free_slot(*s);
}

void Adapter::lose(const std::string& why) {
  if (lost_) return;
  lost_ = true;
  for (const auto& slot : slots_) {
    slot->leaving = false;
    if (slot->phase == Phase::kLingering) {
      free_slot(*slot);
    } else {
      if (slot->reason.empty()) slot->reason = why;
      (void)finish(*slot, EventType::kDisconnected, why);
      slot->leaving = false;
    }
  }
  End& end = ends_.emplace_back();
  end.news.event.type = EventType::kProviderLost;
  end.news.event.reason = why;
  end.after = completions_.pushed();
}

// ----- connection manager events

void Adapter::read_cm_events() {
  rdma_cm_event* news = nullptr;
  while (::rdma_get_cm_event(device_->events(), &news) == 0) {
    CmEvent e;
    e.type = news->event;
    e.status = news->status;
    e.id = news->id;
    if (news->listen_id != nullptr) {
      e.listener =
          static_cast<std::uint16_t>(reinterpret_cast<std::uintptr_t>(news->listen_id->context));
    }
    if (e.type == RDMA_CM_EVENT_CONNECT_REQUEST || e.type == RDMA_CM_EVENT_ESTABLISHED ||
        e.type == RDMA_CM_EVENT_REJECTED) {
      const rdma_conn_param& p = news->param.conn;
      e.responder_resources = p.responder_resources;
      e.initiator_depth = p.initiator_depth;
      e.qpn = p.qp_num;
      if (p.private_data != nullptr) {
        const auto* const data = static_cast<const std::uint8_t*>(p.private_data);
        e.private_data.assign(data, data + p.private_data_len);
      }
    }
    (void)::rdma_ack_cm_event(news);
    on_cm(e);
  }
}

void Adapter::on_request(CmEvent& e) {
  const auto listener = listeners_.find(e.listener);
  Slot* const s = listener == listeners_.end() || lost_ ? nullptr : take_slot();
  if (s == nullptr || e.id->verbs != device_->context()) {
    if (s != nullptr) free_slot(*s);
    (void)::rdma_destroy_id(e.id);  // also rejects the request
    return;
  }
  s->phase = Phase::kRequested;
  s->port = e.listener;
  s->id = e.id;
  s->id->context = reinterpret_cast<void*>(std::uintptr_t{name_of(*s)});
  s->peer = address_of(::rdma_get_peer_addr(e.id));
  // From this side's view: the Reads that the peer wants in flight, and those that it serves.
  s->responder_resources = e.responder_resources;
  s->initiator_depth = e.initiator_depth;
  CmNews& news = emit(EventType::kRequest, *s);
  news.event.cookie = listener->second.cookie;
  news.event.private_data = std::move(e.private_data);
  news.event.responder_resources = e.responder_resources;
  news.event.initiator_depth = e.initiator_depth;
}

void Adapter::established(Slot& slot, CmEvent* e) {
  slot.phase = Phase::kEstablished;
  slot.private_data.clear();
  CmNews& news = emit(EventType::kEstablished, slot);
  news.event.local = address_of(::rdma_get_local_addr(slot.id));
  news.event.local_qpn = slot.id->qp->qp_num;
  news.event.peer_qpn = peer_qpn(slot.id->qp);
  if (slot.active && e != nullptr) {
    news.event.private_data = std::move(e->private_data);
    if (news.event.peer_qpn == 0) news.event.peer_qpn = e->qpn;
    // An iWARP connection set-up may omit them.
    if (!device_->abilities().iwarp || e->responder_resources != 0) {
      slot.responder_resources = std::min(slot.responder_resources, e->responder_resources);
    }
    if (!device_->abilities().iwarp || e->initiator_depth != 0) {
      slot.initiator_depth = std::min(slot.initiator_depth, e->initiator_depth);
    }
  }
  news.event.responder_resources = slot.responder_resources;
  news.event.initiator_depth = slot.initiator_depth;
}

void Adapter::on_cm(CmEvent& e) {
  if (e.type == RDMA_CM_EVENT_CONNECT_REQUEST) return on_request(e);
  if (e.type == RDMA_CM_EVENT_DEVICE_REMOVAL) {
    return lose(fmt::format("the device {} is gone", device_->name()));
  }
  Slot* const s = slot_of(e.id);
  if (s == nullptr) return;
  switch (e.type) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      if (s->phase == Phase::kResolving && ::rdma_resolve_route(s->id, kRouteTimeout) != 0) {
        (void)finish(*s, EventType::kUnreachable, system_error("rdma_resolve_route").message);
      }
      break;
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
      if (s->phase == Phase::kResolving) on_route(*s);
      break;
    case RDMA_CM_EVENT_ADDR_ERROR:
      if (e.status == -ETIMEDOUT && resolve_again(*s)) break;
      (void)finish(*s, EventType::kUnreachable,
                   with_status("the peer's address cannot be resolved on this device", e.status));
      break;
    case RDMA_CM_EVENT_ROUTE_ERROR:
      (void)finish(*s, EventType::kUnreachable,
                   with_status("there is no route to the peer", e.status));
      break;
    case RDMA_CM_EVENT_CONNECT_ERROR:
      (void)finish(*s, EventType::kUnreachable, with_status("connection set-up failed", e.status));
      break;
    case RDMA_CM_EVENT_UNREACHABLE:
      (void)finish(*s, EventType::kUnreachable, with_status("the peer does not answer", e.status));
      break;
    case RDMA_CM_EVENT_REJECTED:
      if (CmNews* const news = finish(*s, EventType::kRejected, "")) {
        news->event.reject_reason = static_cast<std::uint16_t>(std::max(e.status, 0));
        news->event.private_data = std::move(e.private_data);
        if (e.status < 0) news->event.reason = with_status("rejected", e.status);
      }
      break;
    case RDMA_CM_EVENT_ESTABLISHED:
      if (s->phase == Phase::kConnecting || s->phase == Phase::kAccepted) established(*s, &e);
      break;
    case RDMA_CM_EVENT_DISCONNECTED:
    case RDMA_CM_EVENT_TIMEWAIT_EXIT:
      s->leaving = false;
      s->peer_left = true;
      if (s->phase == Phase::kLingering) {
        free_slot(*s);
      } else {
        (void)finish(*s, EventType::kDisconnected,
                     s->reason.empty() ? "the peer disconnected" : s->reason);
      }
      break;
    default:
      break;
  }
}

// ----- device events

void Adapter::read_device_events() {
  ibv_async_event news{};
  while (::ibv_get_async_event(device_->context(), &news) == 0) {
    // The device's objects cannot be destroyed before the event is acknowledged.
    const ibv_async_event copy = news;
    std::string reason;
    Slot* failed = nullptr;
    switch (copy.event_type) {
      case IBV_EVENT_QP_FATAL:
      case IBV_EVENT_QP_REQ_ERR:
      case IBV_EVENT_QP_ACCESS_ERR:
        // The queue pair may belong to another provider on the same device.
        for (const auto& slot : slots_) {
          if (slot->alive() && slot->has_qp() && slot->id->qp == copy.element.qp) {
            failed = slot.get();
          }
        }
        break;
      default:
        break;
    }
    ::ibv_ack_async_event(&news);
    if (failed != nullptr) {
      fail(*failed, fmt::format("the device reports: {}", ::ibv_event_type_str(copy.event_type)));
    }
    on_device_event(copy);
  }
}

void Adapter::on_device_event(const ibv_async_event& e) {
  std::string text;
  switch (e.event_type) {
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_LID_CHANGE:
    case IBV_EVENT_PKEY_CHANGE:
    case IBV_EVENT_SM_CHANGE:
    case IBV_EVENT_GID_CHANGE:
    case IBV_EVENT_CLIENT_REREGISTER:
      text = fmt::format("{} port {}: {}", device_->name(), e.element.port_num,
                         ::ibv_event_type_str(e.event_type));
      break;
    case IBV_EVENT_DEVICE_FATAL:
    case IBV_EVENT_CQ_ERR:
      text = fmt::format("{}: {}", device_->name(), ::ibv_event_type_str(e.event_type));
      break;
    default:
      return;
  }
  if (trace::on(tracer_)) {
    const trace::ConnectionTracer nobodys{tracer_, 0};
    nobodys.emit(base::monotonic_ns(), trace::Error{}, base::as_bytes(text));
  }
  if (e.event_type == IBV_EVENT_DEVICE_FATAL) lose(text);
}

}  // namespace rpcrdma::verbs
