// Connections. A packet of the Reliable Connected service names only its destination QP, so a
// connection is two flows: A's port to B's QP and B's port to A's QP. If the CM's REQ and REP are
// in the capture, they name both QPs and the first PSNs. Otherwise a flow begins as a connection of
// its own with one known direction, and pairing.cc looks for the other: a flow in the opposite
// direction that acknowledges its PSNs, answers its READ requests, replies to its XIDs or uses its
// handles.
//
// Order. stream.cc processes the requests of each direction in PSN order, as the receiving QP does.
// A packet beyond the expected PSN is held until the gap before it is explained:
//   - the missing packet comes: retransmitted (the network had lost it) or merely late (reordered);
//   - the peer acknowledges it though it was never seen: the capture lost it.
// A packet with a bad ICRC counts as missing, since its receiver drops it, but is kept: if the peer
// acknowledges its PSN and no other copy came, the bytes were damaged in the capture and are used,
// marked as suspect. If no ICRC of a port is good, the capture point does not see its final ICRCs,
// and all its packets are accepted as they are.
//
// QPNs are reused. A new REQ ends the connection that had the QPN before; if the REQ was not
// captured, a PSN far from all that the connection sent does.
#include "state.h"

#include <algorithm>

#include <rpcrdma/roce/psn.h>
#include <rpcrdma/roce/tracker.h>
#include <rpcrdma/wire/icrc.h>

namespace rpcrdma::roce {

namespace {

// The largest path MTU, and more than all headers and the ICRC around such a payload need.
constexpr std::size_t kLongestPacket = 4096 + 128;

bool coalesced(const capture::TransportPacket& t) {
  return t.wire_length > kLongestPacket;
}

}  // namespace

Tracker::Tracker(Listener& listener, ConnectionNumbers* numbers)
    : impl_(std::make_unique<Impl>(listener, numbers)) {}
Tracker::~Tracker() = default;

void Tracker::packet(const PreparedPacket& packet) {
  impl_->packet(packet);
}
void Tracker::skip() {
  impl_->skip();
}
void Tracker::finish(std::int64_t end_ns) {
  impl_->finish(end_ns);
}
PacketStats Tracker::stats() const {
  return impl_->stats;
}
std::uint32_t Tracker::connection_count() const {
  return impl_->numbers.next;
}
const Connection* Tracker::find(std::uint32_t index) const {
  return impl_->connections.find(index);
}

void decode(PreparedPacket& packet) {
  const capture::TransportPacket& t = packet.transport;
  packet.decoded = wire::decode_roce(t.transport(), t.wire_length, packet.roce);
  packet.icrc = IcrcCheck::kUnchecked;
  packet.wire_payload =
      packet.decoded ? wire_payload_length(t.transport(), packet.roce, t.wire_length) : 0;
}

void prepare(PreparedPacket& packet) {
  decode(packet);
  const capture::TransportPacket& t = packet.transport;
  if (!packet.decoded || !t.complete() || t.data.size() < 4 || coalesced(t)) return;
  const auto covered = t.data.first(t.data.size() - 4);
  packet.icrc =
      wire::icrc(t.kind, covered, t.bth) == packet.roce.icrc ? IcrcCheck::kGood : IcrcCheck::kBad;
}

// All headers were decoded from captured bytes, so only the payload can be shorter than it was on
// the wire.
std::uint32_t wire_payload_length(wire::Bytes captured, const wire::RocePacket& roce,
                                  std::size_t wire_length) {
  if (roce.payload.data() == nullptr) return 0;
  const auto before = static_cast<std::size_t>(roce.payload.data() - captured.data());
  const std::size_t around = before + roce.bth.pad_count + 4;
  return wire_length > around ? static_cast<std::uint32_t>(wire_length - around) : 0;
}

void Tracker::Impl::packet(const PreparedPacket& prepared) {
  ++stats.roce;
  now_ns = prepared.meta.time_ns;
  if (!prepared.decoded) {
    ++stats.malformed;
    return;
  }
  const capture::TransportPacket& transport = prepared.transport;
  if (coalesced(transport)) [[unlikely]] {
    ++stats.coalesced;
    return;
  }
  const PacketMeta& meta = prepared.meta;
  const wire::RocePacket& roce = prepared.roce;
  const IcrcCheck icrc = prepared.icrc;
  switch (icrc) {
    case IcrcCheck::kGood:
      ++stats.icrc_good;
      break;
    case IcrcCheck::kBad:
      ++stats.icrc_bad;
      break;
    case IcrcCheck::kUnchecked:
      ++stats.icrc_unchecked;
      break;
  }

  const auto service = static_cast<wire::Service>(roce.bth.opcode >> 5);
  const wire::OpcodeInfo& info = wire::opcode_info(roce.bth.opcode);
  if (service == wire::Service::kUd && roce.bth.dest_qp == wire::kGsiQp) {
    if (icrc == IcrcCheck::kBad && icrc_trusted.contains(transport.src)) return;
    if (icrc == IcrcCheck::kGood) note_icrc_trusted(transport.src);
    cm(transport, roce, meta);
    return;
  }
  if (service != wire::Service::kRc || !info.known) {
    ++stats.other_service;
    return;
  }

  Packet p;
  p.roce = &roce;
  p.info = &info;
  p.meta = meta;
  p.wire_payload = prepared.wire_payload;
  p.predecoded = prepared.predecoded;
  p.suspect = icrc == IcrcCheck::kBad && icrc_trusted.contains(transport.src);

  FlowRef ref = find_flow(transport, roce.bth.dest_qp);
  if (ref.connection == nullptr) {
    // A damaged packet may name any QP; it begins no connection while ICRCs of its port are
    // trusted.
    if (p.suspect) return;
    ref = infer_flow(transport, p);
  } else if (ref.connection->state >= State::kRejected) {
    if (!p.suspect && !trails(*ref.connection, ref.sender, p)) {
      unbind(*ref.connection);
      ref = infer_flow(transport, p);
    }
  } else if (!p.suspect) {
    Stream& s = ref.connection->stream[ref.sender];
    if (info.request && s.seen && far_away(s, roce.bth.psn)) {
      if (ref.connection->setup == Setup::kCm) {
        flush(*ref.connection, ref.sender);
        s = Stream{};
      } else {
        forget_one_sided(*ref.connection);
        close(*ref.connection, State::kClosed);
        unbind(*ref.connection);
        ref = infer_flow(transport, p);
      }
    } else if (ref.connection->one_sided()) {
      try_merge(ref, transport, p);
    }
  }
  if (ref.connection == nullptr) return;
  ConnectionState& c = *ref.connection;
  if (icrc == IcrcCheck::kGood && !c.icrc_was_good[ref.sender]) {
    c.icrc_was_good[ref.sender] = true;
    note_icrc_trusted(transport.src);
  }
  c.icrc_good += icrc == IcrcCheck::kGood ? 1 : 0;
  c.icrc_bad += icrc == IcrcCheck::kBad ? 1 : 0;

  Side& sender = c.side[ref.sender];
  ++sender.counters.packets;
  sender.counters.payload_bytes += p.wire_payload;
  c.last_frame = meta.frame;
  c.clock_stepped_back |= meta.time_ns < c.last_ns;
  c.last_ns = meta.time_ns;
  if (c.state == State::kOpening) {
    c.state = State::kOpen;
    listener.on_open(c);
  }
  // Packets after the end (a last ACK, retries) are counted but not processed.
  if (c.state >= State::kRejected) return;
  if (info.response) {
    response(c, ref.sender, p);
  } else {
    request(c, ref.sender, p, transport);
    c.stream[ref.sender].last_ns = meta.time_ns;
  }
}

void Tracker::Impl::skip() {
  connections.for_each([](ConnectionState& c) {
    for (Stream& s : c.stream) {
      if (s.seen) continue;
      s.started = false;
      s.skipped = true;
    }
  });
}

void Tracker::Impl::finish(std::int64_t end_ns) {
  connections.for_each([&](ConnectionState& c) {
    if (!c.merged_away && c.state != State::kClosed && c.state != State::kRejected) {
      flush(c, 0);
      flush(c, 1);
      c.ended_ns = std::max(end_ns, c.last_ns);
      listener.on_close(c);
    }
  });
}

void Tracker::Impl::note_icrc_trusted(const capture::Address& port) {
  if (icrc_trusted.size() < kMaxIcrcTrusted) icrc_trusted.insert(port);
}

Tracker::Impl::CacheEntry& Tracker::Impl::cached(const capture::Address& dst, std::uint32_t qpn) {
  return cache[(qpn ^ (qpn >> 8) ^ dst.bytes[3]) % kCacheEntries];
}

FlowRef Tracker::Impl::find_flow(const capture::TransportPacket& t, std::uint32_t qpn) {
  CacheEntry& entry = cached(t.dst, qpn);
  if (entry.ref.connection != nullptr && entry.key.qpn == qpn && entry.key.src == t.src &&
      entry.key.dst == t.dst) {
    return entry.ref;
  }
  const FlowKey key{t.src, t.dst, qpn};
  const auto it = flows.find(key);
  if (it == flows.end()) return {};
  entry = {key, it->second};
  return it->second;
}

void Tracker::Impl::bind_flow(const FlowKey& key, FlowRef ref) {
  flows[key] = ref;
  CacheEntry& entry = cached(key.dst, key.qpn);
  if (entry.key == key) entry.ref = ref;
}

// Frees its QPNs for other connections.
void Tracker::Impl::unbind(const ConnectionState& c) {
  unbind(c, 0);
  unbind(c, 1);
}

void Tracker::Impl::unbind(const ConnectionState& c, std::size_t to) {
  const FlowKey key{c.side[1 - to].address, c.side[to].address, c.side[to].qpn};
  const auto it = flows.find(key);
  if (it == flows.end() || it->second.connection != &c) return;
  flows.erase(it);
  CacheEntry& entry = cached(key.dst, key.qpn);
  if (entry.key == key) entry.ref = {};
}

ConnectionState& Tracker::Impl::new_connection(Setup setup, const PacketMeta& meta) {
  make_room();
  ConnectionState& c = connections[numbers.next];
  c.index = numbers.next++;
  c.setup = setup;
  c.first_frame = c.last_frame = meta.frame;
  c.first_ns = c.last_ns = meta.time_ns;
  idle.add(c, c.idle);
  return c;
}

void Tracker::Impl::close(ConnectionState& c, State state) {
  if (c.state == State::kClosed || c.state == State::kRejected) return;
  flush(c, 0);
  flush(c, 1);
  c.state = state;
  c.ended_ns = now_ns;
  listener.on_close(c);
  for (Stream& s : c.stream) {
    Stream ended;
    ended.started = s.started;
    ended.next = s.next;
    s = std::move(ended);
  }
  idle.requeue(c, c.idle);
}

// Do packets of a closed connection still belong to it? Retries and their acknowledgements do, and
// a few requests that were in flight when the peer's DREQ came.
bool Tracker::Impl::trails(ConnectionState& c, int sender, const Packet& p) {
  constexpr std::uint32_t kOnTheirWay = 16;
  if (c.state == State::kRejected) return false;
  const Stream& s = c.stream[static_cast<std::size_t>(p.info->response ? 1 - sender : sender)];
  const std::uint32_t psn = p.roce->bth.psn;
  if (s.started && far_away(s, psn)) return false;
  if (s.started && (p.info->response || psn_diff(psn, s.next) < 0)) return true;
  return ++c.after_close <= kOnTheirWay;
}

}  // namespace rpcrdma::roce
