// The software channel adapter: its slots hold the queue pairs and their CM connections. Routes
// packets to them, translates CM events into provider events, and schedules transmission and
// timers.
#include "qp_numbers.h"
#include "rc/packet_fields.h"
#include "rc/peer_path.h"
#include "rc/queue_pair.h"
#include "trace_hooks.h"

#include <algorithm>
#include <deque>
#include <map>
#include <new>
#include <unordered_map>
#include <utility>

#include <rpcrdma/fabric/out_of_memory.h>
#include <rpcrdma/fabric/time_heap.h>
#include <rpcrdma/soft/adapter.h>
#include <rpcrdma/soft/share.h>
#include <rpcrdma/wire/icrc.h>

namespace rpcrdma::soft {

using fabric::Errc;
using fabric::EventType;
using fabric::Time;

namespace {

// Packets that one connection may send before the next one's turn: a batch of the socket.
constexpr unsigned kBurst = 16;
// A connection's window is at most this part of what its peer receives at a time, and a part of a
// Read this part of the window; but no less than what fits into any socket buffer.
constexpr std::uint32_t kWindowsOfPath = 4;
constexpr std::uint32_t kReadsOfWindow = 4;
constexpr std::uint32_t kLeastOwnWindow = 48;
constexpr std::uint32_t kLeastReadPackets = 16;
constexpr std::uint32_t kCmQkey = 0x80010000;  // IBA 10.2.5
constexpr std::uint32_t kFirstQpn = 2;         // 0 and 1 are reserved for management
constexpr std::size_t kMaxSlots = QpNumbers::kLabels - kFirstQpn - 1;
// Packets that wait for the owners of new connections: a message of any of them.
constexpr std::size_t kMaxEarly = 1024;
constexpr std::uint8_t kMaxEarlyOfOne = 64;
constexpr std::uint32_t kNoSlot = UINT32_MAX;
constexpr std::uint16_t kConsumerReject = 28;

constexpr std::array<std::uint32_t, 6> kMtus{0, 256, 512, 1024, 2048, 4096};

std::uint8_t mtu_code(std::uint32_t bytes) {
  std::uint8_t code = 1;
  while (code + 1U < kMtus.size() && kMtus[code + 1U] <= bytes) ++code;
  return code;
}

Time timeout_of(std::uint8_t code) {
  constexpr Time kUnit = 4096;
  return code == 0 ? 0 : kUnit << (code & 0x1fU);
}

// Returns the shorter of two such time-out codes; 0 is none.
std::uint8_t sooner(std::uint8_t a, std::uint8_t b) {
  return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
}

// What the connections to one peer address share, while there are any.
struct SharedPath {
  explicit SharedPath(const std::uint32_t& most) : path(most) {}

  PeerPath path;
  std::uint32_t connections = 0;
};

enum class Phase : std::uint8_t { kRequested, kConnecting, kAccepted, kEstablished, kDown };

struct Slot {
  std::unique_ptr<QueuePair> qp;  // null: free
  CmId cm = 0;
  Phase phase = Phase::kDown;
  std::uint16_t port = 0;  // kRequested: the listener's
  // The peer has established it, and the owner has not polled that yet.
  bool owner_unaware = false;
  std::uint8_t early = 0;  // packets that wait for that
  bool active = false;     // in the list of slots that may have something to send
  std::uint64_t cookie = 0;
  Time known_deadline = fabric::kNever;  // its entry in the heap
  Path path;
  PeerPath* shared = nullptr;  // null until it is connected
  CmQueuePair local;
  CmQueuePair peer;
  std::uint8_t path_mtu = 0;
  std::uint8_t retry_count = 0;
  std::uint8_t ack_timeout = 0;
};

}  // namespace

struct Adapter::Impl {
  Impl(const AdapterOptions& o, const Secret& s)
      : options(o), secret(s), numbers(s, o.share), cm(o.cm, s) {
    options.max_connections = std::min(options.max_connections, kMaxSlots);
    share_window();
  }

  AdapterOptions options;
  Secret secret;
  std::uint64_t psns = 0;  // given out
  QpNumbers numbers;
  ConnectionManager cm;
  MemoryTable memory;
  fabric::Completions completions;
  // One place per slot: a connection has at most one waiting event.
  fabric::Ring<AdapterEvent> events{kMaxSlots + 1};
  // The last event of a connection, which waits until its completions were polled.
  struct End {
    AdapterEvent event;
    std::uint64_t after = 0;  // polled completions before the event
  };
  fabric::Ring<End> ends{kMaxSlots + 1};
  // A peer could choose colliding addresses, so it is a tree. Slots refer to its elements.
  std::map<fabric::Address, SharedPath> paths;
  std::uint32_t most_of_path = 0;  // see share_window()
  std::vector<Slot> slots;
  std::vector<std::uint32_t> free_slots;
  std::unordered_map<CmId, std::uint32_t> by_cm;  // slot index
  std::unordered_map<std::uint16_t, std::uint64_t> listeners;
  fabric::Ring<std::uint32_t> active{kMaxSlots + 1};
  unsigned burst = 0;  // consecutive packets sent by the front of `active`
  // By slot. A deadline that moves to a later time stays here until it is due: most timers are
  // reset with each packet, and hardly any expires.
  fabric::TimeHeap deadlines;
  AdapterCounters counters;
  QpCounters over;  // sum of destroyed queue pairs
  // Packets of connections whose owner is unaware, in order of arrival.
  struct Early {
    ConnectionId connection = 0;
    std::vector<std::uint8_t> packet;
  };
  std::deque<Early> early;
  bool early_due = false;  // some of their owners have polled
  std::uint32_t cm_psn = 0;
  bool owner_sleeps = false;
  CmEvent cm_event;

  [[nodiscard]] std::uint32_t index_of(ConnectionId id) const { return numbers.slot_of(id); }
  [[nodiscard]] Slot* find(ConnectionId id) {
    const std::uint32_t index = index_of(id);
    if (index >= slots.size()) return nullptr;
    Slot& s = slots[index];
    return s.qp != nullptr && s.qp->qpn() == id ? &s : nullptr;
  }

  [[nodiscard]] fabric::Expected<std::uint32_t> make_slot(std::uint64_t cookie,
                                                          const fabric::QueueDepths& depths) {
    if (free_slots.empty()) {
      if (slots.size() >= options.max_connections) {
        return fabric::fail(Errc::kNoRoom, "connection limit reached");
      }
      add_slot();
    }
    const std::uint32_t index = free_slots.back();
    Slot& s = slots[index];
    const std::uint32_t qpn = numbers.take(index);
    try {
      s.qp = std::make_unique<QueuePair>(qpn, cookie, depths, memory, completions);
    } catch (const std::bad_alloc&) {
      numbers.give_back(qpn);
      throw;
    }
    free_slots.pop_back();
    s.owner_unaware = false;
    s.early = 0;
    s.cookie = cookie;
    s.cm = 0;
    s.phase = Phase::kConnecting;
    s.local = CmQueuePair{};
    s.local.qpn = qpn;
    s.local.starting_psn =
        static_cast<std::uint32_t>(secret.hash(kForPsns, ++psns)) & wire::kPsnMask;
    s.local.flow_control = options.flow_control;
    return index;
  }

  // Adds a slot and reserves the memory that its connections may need.
  void add_slot() {
    const std::size_t count = slots.size() + 1;
    events.reserve(count);
    ends.reserve(count);
    active.reserve(count);
    deadlines.reserve(count);
    slots.reserve(std::bit_ceil(count));
    free_slots.reserve(slots.capacity());
    slots.emplace_back();
    free_slots.push_back(static_cast<std::uint32_t>(slots.size() - 1));
  }

  void free_slot(std::uint32_t index) {
    Slot& s = slots[index];
    if (s.cm != 0) by_cm.erase(s.cm);
    leave_path(s);
    completions.drop(s.qp->qpn());
    events.erase_if([&](const AdapterEvent& e) { return e.connection == s.qp->qpn(); });
    ends.erase_if([&](const End& e) { return e.event.connection == s.qp->qpn(); });
    over += s.qp->counters();
    if (s.early != 0) {
      std::erase_if(early, [&](const Early& e) { return e.connection == s.qp->qpn(); });
    }
    numbers.give_back(s.qp->qpn());
    s.qp.reset();
    s.phase = Phase::kDown;
    free_slots.push_back(index);
  }

  // The answers to what all connections have in flight arrive in the own socket buffer, and the
  // peers' packets too. Half of the buffer is for each, as if there were at least two peers. A
  // packet of the kernel occupies up to twice its bytes.
  void share_window() {
    constexpr std::size_t kPart = 4;
    const std::size_t packets = options.receive_buffer / kPart / options.mtu;
    most_of_path = static_cast<std::uint32_t>(packets / std::max<std::size_t>(1, paths.size() / 2));
  }

  // Throws std::bad_alloc.
  void join_path(Slot& s) {
    const auto [it, is_new] = paths.try_emplace(s.path.remote, most_of_path);
    if (is_new) share_window();
    ++it->second.connections;
    s.shared = &it->second.path;
    s.qp->waiter().slot = index_of(s.qp->qpn());
  }

  void leave_path(Slot& s) {
    if (s.shared == nullptr) return;
    s.qp->fail("the connection ended");  // what it had in flight no longer counts
    s.shared->leave(s.qp->waiter());
    next_turn(*std::exchange(s.shared, nullptr));
    const auto it = paths.find(s.path.remote);
    if (--it->second.connections != 0) return;
    paths.erase(it);
    share_window();
  }

  // Continues with the next connection that waits for room on the path, if there is room by now.
  void next_turn(PeerPath& path) {
    if (PathWaiter* const next = path.next_turn()) touch(next->slot);
  }

  void trace(Slot& s, const fabric::ConnectionOptions& o) const {
    if (o.trace_connection != 0) s.qp->set_trace({options.tracer, o.trace_connection});
  }

  // Call when the slot may have something to send or a new deadline.
  void touch(std::uint32_t index) {
    Slot& s = slots[index];
    if (!s.active) {
      s.active = true;
      active.push(index);
    }
    note_deadline(index);
  }

  void note_deadline(std::uint32_t index) {
    Slot& s = slots[index];
    const Time due = s.qp->deadline();
    if (due >= s.known_deadline) return;
    s.known_deadline = due;
    deadlines.set(index, due);
  }

  AdapterEvent& emit(EventType type, const Slot& s) {
    const bool more_will_come = type == EventType::kRequest || type == EventType::kEstablished;
    if (!more_will_come) ends.next().after = completions.pushed();
    AdapterEvent& e = more_will_come ? events.next() : ends.next().event;
    more_will_come ? events.push() : ends.push();
    e = {};
    e.type = type;
    e.connection = s.qp->qpn();
    e.cookie = s.cookie;
    e.peer = s.path.remote;
    return e;
  }

  // A connection request was rejected without asking its owner.
  void trace_refused(const CmRefusal& refusal, Time now) const {
    if (trace::on(options.tracer)) soft::trace_refused(*options.tracer, refusal, now);
  }

  // Ends a connection that was set up or in set-up. Returns null if there is nobody to inform: the
  // owner had not accepted it.
  AdapterEvent* end(Slot& s, EventType type, const char* reason) {
    if (s.phase == Phase::kDown) return nullptr;
    const bool accepted = s.phase != Phase::kRequested;
    s.phase = Phase::kDown;
    s.qp->fail("the connection ended");
    if (!accepted) {
      completions.drop(s.qp->qpn());
      return nullptr;
    }
    AdapterEvent& adapter_event = emit(type, s);
    adapter_event.reason = reason;
    return &adapter_event;
  }

  // Handles a queue pair that failed by itself.
  void check_failed(Slot& s, Time now) {
    if (s.qp->state() != QpState::kError || s.phase == Phase::kDown) return;
    s.phase = Phase::kDown;
    AdapterEvent& adapter_event = emit(EventType::kDisconnected, s);
    adapter_event.failed = true;
    adapter_event.reason = s.qp->reason();
    disconnect(s, now);
  }

  // The CM's events about this are handled at once: they carry no new information here, and their
  // places become free.
  void disconnect(const Slot& s, Time now) {
    cm.disconnect(s.cm, now);
    handle_cm(now);
  }

  void connect_qp(Slot& s) {
    QpParameters p;
    p.remote_qpn = s.peer.qpn;
    p.send_psn = s.peer.starting_psn;
    p.receive_psn = s.local.starting_psn;
    p.mtu = kMtus[s.path_mtu];
    p.responder_resources = s.local.responder_resources;
    p.initiator_depth = std::min(s.local.initiator_depth, s.peer.responder_resources);
    p.retry_count = s.retry_count;
    p.rnr_retry_count = s.peer.rnr_retry_count;
    p.flow_control = s.peer.flow_control && options.flow_control;
    p.ack_timeout = timeout_of(s.ack_timeout);
    p.min_rnr_timer = options.min_rnr_timer;
    p.ack_hold = options.ack_hold;
    p.owner_sleeps = &owner_sleeps;
    join_path(s);
    p.window = std::min(options.window, std::max(kLeastOwnWindow, most_of_path / kWindowsOfPath));
    p.read_packets =
        std::min(options.read_packets, std::max(kLeastReadPackets, p.window / kReadsOfWindow));
    p.shared = s.shared;
    s.qp->connect(s.path, p);
  }

  void handle_cm(Time now) {
    while (cm.next_event(cm_event)) on_cm(cm_event, now);
  }

  void on_request(CmEvent& e, Time now) {
    const auto listener = listeners.find(e.port);
    const auto refuse = [&](std::uint16_t reason, const char* why = "") {
      (void)cm.reject(e.id, reason, {}, now);
      trace_refused({e.path.remote, e.port, reason, why}, now);
    };
    constexpr std::uint16_t kNoResources = 3;
    constexpr std::uint16_t kInvalidServiceId = 8;
    constexpr std::uint16_t kInvalidMtu = 26;
    if (listener == listeners.end()) return refuse(kInvalidServiceId);
    if (e.path_mtu == 0 || e.path_mtu >= kMtus.size() || kMtus[e.path_mtu] > options.mtu) {
      return refuse(kInvalidMtu, "it is larger than the MTU here");
    }
    const auto made = fabric::or_out_of_memory([&] {
      by_cm.try_emplace(e.id, kNoSlot);
      return make_slot(0, options.max_depths);
    });
    if (!made) {
      by_cm.erase(e.id);
      return refuse(kNoResources, made.error().message.c_str());
    }
    by_cm[e.id] = *made;
    Slot& s = slots[*made];
    s.cm = e.id;
    s.phase = Phase::kRequested;
    s.port = e.port;
    s.path = e.path;
    s.path.udp_source_port = options.udp_source_port;
    s.peer = e.peer;
    s.path_mtu = e.path_mtu;
    s.retry_count = e.retry_count;
    // Linux proposes seconds, which every lost last packet of a message would cost.
    s.ack_timeout = sooner(e.local_ack_timeout, options.ack_timeout);
    AdapterEvent& adapter_event = emit(EventType::kRequest, s);
    adapter_event.cookie = listener->second;
    adapter_event.private_data = std::move(e.private_data);
    adapter_event.responder_resources = e.peer.initiator_depth;
    adapter_event.initiator_depth = e.peer.responder_resources;
  }

  void established(Slot& s, std::vector<std::uint8_t>&& private_data) {
    s.phase = Phase::kEstablished;
    AdapterEvent& adapter_event = emit(EventType::kEstablished, s);
    adapter_event.private_data = std::move(private_data);
    adapter_event.local = s.path.local;
    adapter_event.local_qpn = s.local.qpn;
    adapter_event.peer_qpn = s.peer.qpn;
    adapter_event.initiator_depth = std::min(s.local.initiator_depth, s.peer.responder_resources);
    adapter_event.responder_resources = s.local.responder_resources;
    adapter_event.path_mtu = static_cast<std::uint16_t>(kMtus[s.path_mtu]);
  }

  void on_cm(CmEvent& e, Time now) {
    if (e.type == CmEventType::kRequest) return on_request(e, now);
    const auto found = by_cm.find(e.id);
    if (found == by_cm.end()) {
      // The owner destroyed it while the answer was in flight.
      if (e.type == CmEventType::kReply) cm.disconnect(e.id, now);
      return;
    }
    Slot& s = slots[found->second];
    switch (e.type) {
      case CmEventType::kRequest:
        break;
      case CmEventType::kReply:
        s.peer = e.peer;
        s.local.responder_resources = std::min(s.local.responder_resources, e.peer.initiator_depth);
        try {
          connect_qp(s);
        } catch (const std::bad_alloc&) {
          s.qp->fail(fabric::kOutOfMemory);
          return check_failed(s, now);
        }
        cm.establish(e.id, now);
        established(s, std::move(e.private_data));
        break;
      case CmEventType::kEstablished:
        if (s.phase != Phase::kAccepted) break;
        established(s, {});
        s.owner_unaware = true;
        break;
      case CmEventType::kRejected:
        if (AdapterEvent* const adapter_event = end(s, EventType::kRejected, "")) {
          adapter_event->reject_reason = e.reason;
          adapter_event->private_data = std::move(e.private_data);
        }
        break;
      case CmEventType::kTimedOut:
        end(s, EventType::kUnreachable, "the peer does not answer");
        break;
      case CmEventType::kDisconnect:
        end(s, EventType::kDisconnected, "the peer disconnected");
        break;
    }
  }

  void receive(const Path& path, wire::Bytes packet, Time now);

  // Whether this packet to an accepted connection can only come from the receiver of our REP, which
  // names the QPN and the PSN.
  [[nodiscard]] static bool proves_address(const wire::RocePacket& p, const Slot& s) {
    const wire::OpcodeInfo& info = wire::opcode_info(p.bth.opcode);
    return !info.response && info.first && p.bth.psn == s.local.starting_psn && p.bth.tver == 0 &&
           of_our_partition(p.bth.pkey);
  }

  // The owner posts its Receives when it learns that the connection is established. Until then, the
  // peer's first message waits: often it comes together with the RTU.
  void keep_early(Slot& s, wire::Bytes packet) {
    if (early.size() >= kMaxEarly || s.early >= kMaxEarlyOfOne) {
      ++counters.no_memory;
      return;
    }
    early.push_back({s.qp->qpn(), {packet.begin(), packet.end()}});
    ++s.early;
  }

  void receive_early(Time now) {
    early_due = false;
    for (std::size_t n = early.size(); n > 0; --n) {
      Early e = std::move(early.front());
      early.pop_front();
      Slot* const s = find(e.connection);
      if (s == nullptr) continue;
      if (s->owner_unaware) {
        early.push_back(std::move(e));
        continue;
      }
      --s->early;
      wire::RocePacket p;
      if (wire::decode_roce(e.packet, e.packet.size() + wire::kIcrcBytes, p)) serve(*s, p, now);
    }
  }
  // Without memory, a packet is as good as lost.
  void receive_early_or_lose(Time now) {
    if (!early_due) return;
    try {
      receive_early(now);
    } catch (const std::bad_alloc&) {
      ++counters.no_memory;
      early_due = !early.empty();
    }
  }

  void serve(Slot& s, const wire::RocePacket& p, Time now) {
    s.qp->receive(p, now);
    touch(static_cast<std::uint32_t>(&s - slots.data()));
    if (s.shared != nullptr) next_turn(*s.shared);
    check_failed(s, now);
  }

  void on_mad(const Path& path, const wire::RocePacket& packet, Time now) {
    if (!of_our_partition(packet.bth.pkey)) return;  // IBA 9.6.1: drop silently
    if (packet.deth.qkey != kCmQkey) {
      ++counters.malformed;
      return;
    }
    cm.receive(path, packet.payload, now);
    if (const CmRefusal* const refusal = cm.refusal()) trace_refused(*refusal, now);
    handle_cm(now);
  }

  bool transmit_mad(OutPacket& out) {
    const Path* path = nullptr;
    wire::Bytes mad;
    if (!cm.transmit(path, mad)) return false;
    wire::RocePacket headers;
    headers.bth.opcode = static_cast<std::uint8_t>(wire::Opcode::kUdSendOnly);
    headers.bth.dest_qp = wire::kGsiQp;
    headers.bth.psn = cm_psn = (cm_psn + 1) & wire::kPsnMask;
    headers.deth.qkey = kCmQkey;
    headers.deth.src_qp = wire::kGsiQp;
    out.path = path;
    out.payload_stays = false;  // it lies in the connection manager
    out.payload[0] = mad;
    out.payload_parts = 1;
    out.payload_bytes = static_cast<std::uint32_t>(mad.size());
    put_headers(headers, out);
    return true;
  }

  bool transmit_active(OutPacket& out, Time now) {
    while (!active.empty()) {
      const std::uint32_t index = active.front();
      Slot& s = slots[index];
      if (s.qp != nullptr && s.qp->transmit(out, now, burst + 1 >= kBurst)) {
        touch(index);
        check_failed(s, now);
        if (++burst >= kBurst) {
          burst = 0;
          active.pop();
          active.push(index);
          end_turn(s);
        }
        return true;
      }
      burst = 0;
      s.active = false;
      active.pop();
      if (s.qp == nullptr) continue;
      note_deadline(index);  // of a waiting ACK
      end_turn(s);
      check_failed(s, now);
    }
    return false;
  }

  // The connection cannot send for now, or others are to send as well.
  void end_turn(Slot& s) {
    if (s.shared == nullptr) return;
    if (s.qp->waits_for_path()) {
      s.shared->wait(s.qp->waiter());
    } else {
      s.shared->end_turn(s.qp->waiter());
    }
    next_turn(*s.shared);
  }
};

Adapter::Adapter(const AdapterOptions& options, const Secret& secret)
    : impl_(std::make_unique<Impl>(options, secret)) {}
Adapter::~Adapter() = default;

fabric::Expected<fabric::Memory> Adapter::register_memory(std::span<std::uint8_t> memory) {
  return fabric::or_out_of_memory([&] { return impl_->memory.register_memory(memory); });
}
void Adapter::deregister_memory(const fabric::Memory& memory) {
  impl_->memory.deregister_memory(memory.local_key);
}

fabric::Expected<void> Adapter::listen(std::uint16_t port, std::uint64_t cookie) {
  if (port == 0) return fabric::fail(Errc::kBadArgument, "there is no port 0");
  return fabric::or_out_of_memory([&]() -> fabric::Expected<void> {
    if (!impl_->listeners.emplace(port, cookie).second) {
      return fabric::fail(Errc::kBadArgument, "this port already has a listener");
    }
    impl_->cm.listen(port);
    return {};
  });
}
void Adapter::unlisten(std::uint16_t port, Time now) {
  Impl& i = *impl_;
  i.listeners.erase(port);
  i.cm.unlisten(port);
  // destroy() removes an event from the queue, and the next one takes its place.
  for (std::uint64_t n = i.events.begin(); n != i.events.end();) {
    const AdapterEvent& e = i.events[n];
    const Slot* const s = e.type == EventType::kRequest ? i.find(e.connection) : nullptr;
    if (s == nullptr || s->port != port) {
      ++n;
      continue;
    }
    i.trace_refused({s->path.remote, port, kConsumerReject, "the listener is gone"}, now);
    destroy(e.connection, now);
  }
}

fabric::Expected<ConnectionId> Adapter::connect(const fabric::Address& peer, std::uint16_t port,
                                                const fabric::ConnectionOptions& options,
                                                Time now) {
  Impl& i = *impl_;
  if (peer.ipv6 != i.options.address.ipv6) {
    return fabric::fail(Errc::kBadArgument,
                        "the peer's address is of another IP version than the local one");
  }
  const auto made =
      fabric::or_out_of_memory([&] { return i.make_slot(options.cookie, options.depths); });
  if (!made) return tl::unexpected(made.error());
  Slot& s = i.slots[*made];
  i.trace(s, options);
  s.path = {i.options.address, peer, i.options.udp_source_port};
  s.local.responder_resources = options.responder_resources;
  s.local.initiator_depth = options.initiator_depth;
  s.local.rnr_retry_count = options.rnr_retry_count;
  s.path_mtu = mtu_code(i.options.mtu);
  s.retry_count = options.retry_count;
  s.ack_timeout = i.options.ack_timeout;
  CmConnect request;
  request.path = s.path;
  request.port = port;
  constexpr std::uint32_t kEphemeral = 0xc000;
  request.source_port = static_cast<std::uint16_t>(kEphemeral | (s.local.qpn & 0x3fffU));
  request.local = s.local;
  request.path_mtu = s.path_mtu;
  request.retry_count = s.retry_count;
  request.local_ack_timeout = s.ack_timeout;
  request.private_data = options.private_data;
  const auto id = fabric::or_out_of_memory([&]() -> fabric::Expected<CmId> {
    auto begun = i.cm.connect(request, now);
    if (begun) s.cm = *begun;
    if (begun) i.by_cm[*begun] = *made;
    return begun;
  });
  if (!id) {
    if (s.cm != 0) i.disconnect(s, now);
    i.free_slot(*made);
    return tl::unexpected(id.error());
  }
  return s.local.qpn;
}

fabric::Expected<void> Adapter::accept(ConnectionId id, const fabric::ConnectionOptions& options,
                                       Time now) {
  Impl& i = *impl_;
  Slot* const s = i.find(id);
  if (s == nullptr || s->phase != Phase::kRequested) return fabric::fail(Errc::kNotConnected);
  if (auto done = s->qp->configure(options.cookie, options.depths); !done) return done;
  s->cookie = options.cookie;
  i.trace(*s, options);
  s->local.responder_resources = std::min(options.responder_resources, s->peer.initiator_depth);
  s->local.initiator_depth = std::min(options.initiator_depth, s->peer.responder_resources);
  s->local.rnr_retry_count = options.rnr_retry_count;
  auto done = fabric::or_out_of_memory(
      [&] { return i.cm.accept(s->cm, s->local, options.private_data, now); });
  if (!done) return done;
  s->phase = Phase::kAccepted;
  done = fabric::or_out_of_memory([&]() -> fabric::Expected<void> {
    i.connect_qp(*s);
    return {};
  });
  if (!done) {
    s->phase = Phase::kDown;
    i.disconnect(*s, now);
  }
  return done;
}

fabric::Expected<void> Adapter::reject(ConnectionId id, std::span<const std::uint8_t> private_data,
                                       Time now) {
  Impl& i = *impl_;
  Slot* const s = i.find(id);
  if (s == nullptr || s->phase != Phase::kRequested) return fabric::fail(Errc::kNotConnected);
  const auto done = fabric::or_out_of_memory(
      [&] { return i.cm.reject(s->cm, kConsumerReject, private_data, now); });
  if (done) i.end(*s, EventType::kRejected, "");
  return done;
}

void Adapter::disconnect(ConnectionId id, Time now) {
  Impl& i = *impl_;
  Slot* const s = i.find(id);
  if (s == nullptr || s->phase == Phase::kDown) return;
  i.end(*s, EventType::kDisconnected, "disconnected here");
  i.disconnect(*s, now);
}

void Adapter::destroy(ConnectionId id, Time now) {
  Impl& i = *impl_;
  Slot* const s = i.find(id);
  if (s == nullptr) return;
  const bool was_up = s->phase != Phase::kDown;
  s->phase = Phase::kDown;
  if (was_up) i.disconnect(*s, now);
  i.free_slot(i.index_of(id));
}

fabric::Expected<std::size_t> Adapter::post_send(ConnectionId id,
                                                 std::span<const fabric::SendRequest> requests) {
  Impl& i = *impl_;
  Slot* const s = i.find(id);
  if (s == nullptr || s->phase != Phase::kEstablished) return fabric::fail(Errc::kNotConnected);
  std::size_t posted = 0;
  for (const fabric::SendRequest& r : requests) {
    const auto done = fabric::or_out_of_memory([&] { return s->qp->post_send(r); });
    if (!done && posted == 0) return tl::unexpected(done.error());
    if (!done) break;
    ++posted;
  }
  i.touch(i.index_of(id));
  return posted;
}

fabric::Expected<std::size_t> Adapter::post_receive(
    ConnectionId id, std::span<const fabric::ReceiveRequest> requests) {
  Slot* const s = impl_->find(id);
  if (s == nullptr) return fabric::fail(Errc::kNotConnected);
  std::size_t posted = 0;
  for (const fabric::ReceiveRequest& r : requests) {
    const auto done = fabric::or_out_of_memory([&] { return s->qp->post_receive(r); });
    if (!done && posted == 0) return tl::unexpected(done.error());
    if (!done) break;
    ++posted;
  }
  return posted;
}

fabric::Expected<fabric::MemoryRegion> Adapter::advertise(ConnectionId id,
                                                          const fabric::Memory& memory,
                                                          std::uint8_t* data, std::uint32_t length,
                                                          fabric::Access access) {
  Slot* const s = impl_->find(id);
  if (s == nullptr || s->phase != Phase::kEstablished) return fabric::fail(Errc::kNotConnected);
  return fabric::or_out_of_memory([&] { return s->qp->advertise(memory, data, length, access); });
}

fabric::Expected<void> Adapter::invalidate(ConnectionId id, std::uint64_t work,
                                           std::uint32_t handle) {
  Slot* const s = impl_->find(id);
  if (s == nullptr) return fabric::fail(Errc::kNotConnected);
  return fabric::or_out_of_memory([&] { return s->qp->invalidate(work, handle); });
}

std::size_t Adapter::poll(std::span<fabric::Completion> completions) {
  return impl_->completions.poll(completions);
}

bool Adapter::poll(AdapterEvent& event) {
  Impl& i = *impl_;
  if (!i.events.empty()) {
    event = std::move(i.events.front());
    i.events.pop();
    if (event.type != EventType::kEstablished) return true;
    if (Slot* const s = i.find(event.connection); s != nullptr && s->owner_unaware) {
      s->owner_unaware = false;
      i.early_due |= s->early != 0;
    }
    return true;
  }
  if (i.ends.empty() || i.ends.front().after > i.completions.taken()) return false;
  event = std::move(i.ends.front().event);
  i.ends.pop();
  return true;
}

bool Adapter::anything_to_poll() const {
  return !impl_->events.empty() || !impl_->ends.empty() || !impl_->completions.empty();
}

void Adapter::receive(const Path& path, wire::Bytes packet, Time now) {
  impl_->receive_early_or_lose(now);
  try {
    impl_->receive(path, packet, now);
  } catch (const std::bad_alloc&) {
    ++impl_->counters.no_memory;
  }
}

void Adapter::Impl::receive(const Path& path, wire::Bytes packet, Time now) {
  ++counters.packets_in;
  wire::RocePacket p;
  // The carrier has checked and removed the ICRC.
  if (!wire::decode_roce(packet, packet.size() + wire::kIcrcBytes, p)) {
    ++counters.malformed;
    return;
  }
  if (p.bth.dest_qp == wire::kGsiQp) {
    if (p.bth.opcode == static_cast<std::uint8_t>(wire::Opcode::kUdSendOnly)) {
      return on_mad(path, p, now);
    }
    ++counters.malformed;
    return;
  }
  Slot* const s = find(p.bth.dest_qp);
  constexpr std::uint8_t kServiceBits = 5;
  if (s == nullptr || s->path.remote != path.remote || (p.bth.opcode >> kServiceBits) != 0) {
    ++counters.strays;
    return;
  }
  if (s->phase == Phase::kAccepted) {
    if (!proves_address(p, *s)) {
      ++counters.unproven;
      return;
    }
    cm.data_came(s->cm, now);
    handle_cm(now);
  }
  if (s->owner_unaware) return keep_early(*s, packet);
  serve(*s, p, now);
}

bool Adapter::transmit(OutPacket& packet, Time now) {
  impl_->receive_early_or_lose(now);
  const bool any = impl_->transmit_mad(packet) || impl_->transmit_active(packet, now);
  if (any) ++impl_->counters.packets_out;
  return any;
}

Time Adapter::deadline() const {
  if (impl_->early_due) return 0;
  return std::min(impl_->deadlines.first_time(), impl_->cm.deadline());
}

void Adapter::update_deadlines(Time end) {
  Impl& i = *impl_;
  while (i.deadlines.first_time() < end) {
    const std::uint32_t index = i.deadlines.first();
    Slot& s = i.slots[index];
    const Time due = s.qp != nullptr ? s.qp->deadline() : fabric::kNever;
    if (due <= s.known_deadline) return;
    s.known_deadline = due;
    i.deadlines.set(index, due);
  }
}

bool Adapter::expire(Time now, bool all_received) {
  Impl& i = *impl_;
  i.receive_early_or_lose(now);
  while (all_received && i.cm.deadline() <= now) {
    i.cm.expire(now);
    i.handle_cm(now);
  }
  bool whole = i.cm.deadline() > now;
  while (i.deadlines.first_time() <= now) {
    const std::uint32_t index = i.deadlines.first();
    i.deadlines.remove(index);
    Slot& s = i.slots[index];
    s.known_deadline = fabric::kNever;
    if (s.qp == nullptr) continue;
    whole = s.qp->expire(now, all_received) && whole;
    i.touch(index);
    if (s.shared != nullptr) i.next_turn(*s.shared);
    i.check_failed(s, now);
  }
  return whole;
}

void Adapter::owner_sleeps(bool sleeps) {
  impl_->owner_sleeps = sleeps;
}

std::uint32_t Adapter::trace_connection(FaultDirection direction, const Path& path,
                                        std::uint32_t dest_qp) const {
  for (const Slot& s : impl_->slots) {
    if (s.qp == nullptr || s.path.remote != path.remote) continue;
    const std::uint32_t qpn = direction == FaultDirection::kIn ? s.local.qpn : s.peer.qpn;
    if (qpn == dest_qp) return s.qp->trace().connection;
  }
  return 0;
}

AdapterCounters Adapter::counters() const {
  AdapterCounters c = impl_->counters;
  const ConnectionManager::Counters& cm = impl_->cm.counters();
  c.requests_crowded = cm.crowded;
  c.half_open_evicted = cm.evicted;
  c.answers_withheld = cm.withheld;
  c.half_open = impl_->cm.half_open();
  return c;
}
QpCounters Adapter::queue_pairs() const {
  QpCounters sum = impl_->over;
  for (const Slot& s : impl_->slots) {
    if (s.qp != nullptr) sum += s.qp->counters();
  }
  return sum;
}
std::size_t Adapter::connections() const {
  return impl_->slots.size() - impl_->free_slots.size();
}

}  // namespace rpcrdma::soft
