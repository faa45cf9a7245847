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
// marked as suspect. If the ICRCs of a sender are bad and the peers answer each other all the same,
// or none of its port was ever good, a bad ICRC says nothing: its packets are accepted as they are
// (icrc_trust.h).
//
// QPNs are reused. A new REQ ends the connection that had the QPN before; if the REQ was not
// captured, a PSN far from all that the connection sent does.
#include "state.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <rpcrdma/roce/coalesced.h>
#include <rpcrdma/roce/note_tunnels.h>
#include <rpcrdma/roce/psn.h>
#include <rpcrdma/roce/tracker.h>
#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/icrc.h>

namespace rpcrdma::roce {

namespace {

// The code point of ECN (RFC 3168): congestion experienced. 0: the sender does not use ECN.
constexpr std::uint8_t kCe = 3;
std::uint8_t ecn_of(const capture::TransportPacket& t) {
  return t.dscp_ecn & 3U;
}

bool coalesced(const capture::TransportPacket& t) {
  return t.wire_length > kLongestPacket;
}

// The ICRC covers the IP header as the sender saw it. A sender in user space does not see what its
// kernel makes of it. Its kernel may add a Fragment header to a packet that fits in one fragment.
[[gnu::cold]] bool icrc_without_fragment_header(const capture::TransportPacket& t,
                                                std::uint32_t icrc) {
  constexpr std::size_t kIpv6Bytes = 40, kUdpBytes = 8, kFragmentBytes = 8;
  constexpr std::uint8_t kFragmentHeader = 44;
  if (t.kind != wire::IcrcKind::kRoceV2Ipv6 || t.data[6] != kFragmentHeader ||
      t.bth != kIpv6Bytes + kFragmentBytes + kUdpBytes) {
    return false;
  }
  std::array<std::uint8_t, kIpv6Bytes + kUdpBytes> headers;
  std::copy_n(t.data.begin(), kIpv6Bytes, headers.begin());
  wire::store_be16(&headers[4],
                   static_cast<std::uint16_t>(wire::load_be16(&headers[4]) - kFragmentBytes));
  headers[6] = t.data[kIpv6Bytes];
  std::copy_n(t.data.begin() + kIpv6Bytes + kFragmentBytes, kUdpBytes,
              headers.begin() + kIpv6Bytes);
  const wire::Bytes rest = t.transport().first(t.transport().size() - wire::kIcrcBytes);
  return wire::icrc(t.kind, wire::Bytes(headers), rest) == icrc;
}

// The kernel that fragments a datagram clears Don't Fragment and chooses the Identification.
// `difference` is that of the ICRCs. It proves a sender that set Don't Fragment and assumed any one
// Identification: half of the word that it stands for.
bool icrc_before_fragmentation(const capture::TransportPacket& t, std::uint32_t difference) {
  constexpr std::size_t kIdentification = 4, kWord = 4;
  constexpr std::uint32_t kFlags = 0xffff, kDontFragment = 0x4000;
  if (t.kind != wire::IcrcKind::kRoceV2Ipv4) return false;
  const std::size_t behind = t.data.size() - wire::kIcrcBytes - kIdentification - kWord;
  return (wire::icrc_word_difference(difference, behind) & kFlags) == kDontFragment;
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
  const wire::Bytes bytes = t.transport();
  if (bytes.size() >= wire::kBthBytes + sizeof packet.behind_bth) [[likely]] {
    std::memcpy(&packet.behind_bth, bytes.data() + wire::kBthBytes, sizeof packet.behind_bth);
  } else {
    packet.behind_bth = 0;
  }
  packet.wire_payload =
      packet.decoded ? wire_payload_length(t.transport(), packet.roce, t.wire_length) : 0;
}

void prepare(PreparedPacket& packet, bool check_icrc) {
  decode(packet);
  if (!check_icrc) [[unlikely]] {
    packet.icrc = IcrcCheck::kOff;
    return;
  }
  const capture::TransportPacket& t = packet.transport;
  if (!packet.decoded || !t.complete() || t.data.size() < 4 || coalesced(t)) return;
  const auto covered = t.data.first(t.data.size() - 4);
  const bool good = wire::icrc(t.kind, covered, t.bth) == packet.roce.icrc ||
                    icrc_without_fragment_header(t, packet.roce.icrc);
  packet.icrc = good ? IcrcCheck::kGood : IcrcCheck::kBad;
}

void prepare_reassembled(PreparedPacket& packet, bool check_icrc) {
  prepare(packet, check_icrc);
  if (packet.icrc != IcrcCheck::kBad) return;
  const capture::TransportPacket& t = packet.transport;
  const auto covered = t.data.first(t.data.size() - wire::kIcrcBytes);
  const std::uint32_t difference = wire::icrc(t.kind, covered, t.bth) ^ packet.roce.icrc;
  if (icrc_before_fragmentation(t, difference)) packet.icrc = IcrcCheck::kGood;
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

static Packet packet_of(const PreparedPacket& prepared) {
  Packet p;
  p.roce = &prepared.roce;
  p.info = &wire::opcode_info(prepared.roce.bth.opcode);
  p.meta = prepared.meta;
  p.wire_payload = prepared.wire_payload;
  p.predecoded = prepared.predecoded;
  return p;
}

// Whether to believe a packet to an unknown QP whose bad ICRC may mean nothing. A single damaged
// packet may name any QP; a second one to the same QP, or one the other way, is no accident. The
// first one waits for it.
bool Tracker::Impl::believed(const PreparedPacket& prepared) {
  if (believing) return true;
  const capture::TransportPacket& t = prepared.transport;
  const FlowKey key{t.src, t.dst, prepared.roce.bth.dest_qp};
  const bool again =
      doubted.key == key || (doubted.key.src == key.dst && doubted.key.dst == key.src);
  if (!again || doubted.bytes.empty()) {
    doubted.key = key;
    doubted.bytes.assign(t.data.begin(), t.data.end());
    doubted.packet = prepared;
    doubted.packet.predecoded = nullptr;
    doubted.packet.transport.data = doubted.bytes;
    return false;
  }
  const std::vector<std::uint8_t> bytes = std::exchange(doubted.bytes, {});
  PreparedPacket first = doubted.packet;
  first.transport.data = bytes;
  first.decoded =
      wire::decode_roce(first.transport.transport(), first.transport.wire_length, first.roce);
  Packet p = packet_of(first);
  believing = true;
  in_connection(first, p);
  believing = false;
  return true;
}

// One packet of the Reliable Connected service. Part of packet(), which every packet passes.
[[gnu::always_inline]] inline void Tracker::Impl::in_connection(const PreparedPacket& prepared,
                                                                Packet& p) {
  const capture::TransportPacket& transport = prepared.transport;
  const PacketMeta& meta = p.meta;
  const wire::RocePacket& roce = *p.roce;
  const wire::OpcodeInfo& info = *p.info;
  const IcrcCheck icrc = p.headers_cut ? IcrcCheck::kUnchecked : prepared.icrc;
  const std::uint8_t ecn = ecn_of(transport);
  p.ce = ecn == kCe;
  FlowRef ref = find_flow(transport, roce.bth.dest_qp);
  if (icrc == IcrcCheck::kBad) [[unlikely]] {
    const IcrcTrust port = icrc_of_port(transport.src);
    if (ref.connection == nullptr && port.is_doubtful()) {
      if (!believed(prepared)) return;
      ref = find_flow(transport, roce.bth.dest_qp);
      p.suspect = ref.connection != nullptr && icrc_trust_of(ref).checked();
    } else {
      p.suspect = ref.connection != nullptr ? icrc_trust_of(ref).checked() : port.checked();
    }
  }
  const ByPsn place = by_psn(ref, p);
  if (place == ByPsn::kNew) [[likely]] {
    note_new(prepared, ref, p);
  } else {
    if (place == ByPsn::kUsed) add_sightings();
    const Copy copy = is_copy(prepared, ref, p);
    if (copy == Copy::kCopy && ref.connection != nullptr) {
      note_tunnels(ref.connection->side[ref.sender], transport.tunnels, meta.frame);
      copied(*ref.connection, ref.sender, p);
      return;
    }
    p.replaces_damaged = copy == Copy::kOfDamaged;
  }
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
  if (icrc == IcrcCheck::kGood) {
    ++c.icrc_good;
    IcrcTrust& trust = c.icrc_trust[ref.sender];
    if (!trust.is_full() && icrc_trust_of(ref).good())
      note_icrc_port(transport.src, IcrcTrust::trusted());
  } else if (icrc == IcrcCheck::kBad) {
    ++c.icrc_bad;
    if (p.suspect && is_answer(c, ref.sender, p)) {
      if (find_damaged(c.stream[1U - ref.sender], roce.bth.psn) != nullptr) {
        icrc_answered(c, 1 - ref.sender);
        drain(c, 1 - ref.sender);
      }
      icrc_answered(c, ref.sender);
      drain(c, ref.sender);
      p.suspect = icrc_trust_of(ref).checked();
    }
    if (!p.suspect) {
      ++c.icrc_accepted;
      ++stats.icrc_accepted;
      icrc_trust_of(ref).accepted();
    }
  }

  Side& sender = c.side[ref.sender];
  ++sender.counters.packets;
  sender.counters.payload_bytes += p.wire_payload;
  note_tunnels(sender, transport.tunnels, meta.frame);
  c.last_frame = meta.frame;
  c.clock_stepped_back |= steps_back(c.last_ns, meta.time_ns);
  c.last_ns = meta.time_ns;
  sender.counters.ecn_capable += ecn != 0 ? 1 : 0;
  if (c.state == State::kOpening) {
    c.state = State::kOpen;
    listener.on_open(c);
  }
  if (p.ce) [[unlikely]] {
    ++stats.ce;
    ++sender.counters.ce;
  }
  // Packets after the end (a last ACK, retries) are counted but not processed.
  if (c.state >= State::kRejected) return;
  if (p.ce) [[unlikely]]
    listener.on_congestion({c, ref.sender, false, meta});
  if (p.headers_cut) [[unlikely]] {
    if (info.request) opaque_request(c, ref.sender, p);
  } else if (info.response) {
    response(c, ref.sender, p);
  } else {
    request(c, ref.sender, p, transport);
    c.stream[ref.sender].last_ns = meta.time_ns;
  }
}

void Tracker::Impl::packet(const PreparedPacket& prepared) {
  ++stats.roce;
  now_ns = prepared.meta.time_ns;
  if (!prepared.decoded) [[unlikely]] {
    return undecoded(prepared);
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
    case IcrcCheck::kOff:
      ++stats.icrc_off;
      break;
  }

  const auto service = static_cast<wire::Service>(roce.bth.opcode >> 5);
  const wire::OpcodeInfo& info = wire::opcode_info(roce.bth.opcode);
  if (service == wire::Service::kUd && roce.bth.dest_qp == wire::kGsiQp) {
    if (icrc == IcrcCheck::kBad) {
      if (icrc_of_port(transport.src).checked()) return;
      ++stats.icrc_accepted;
    } else if (icrc == IcrcCheck::kGood && icrc_of_port(transport.src).fresh()) {
      note_icrc_port(transport.src, IcrcTrust::doubtful());
    }
    if (is_copy(prepared, {}, packet_of(prepared)) != Copy::kNone) {
      ++stats.captured_twice;
      copied_cm(transport, roce, meta);
      return;
    }
    cm(transport, roce, meta);
    return;
  }
  if (service == wire::Service::kCnp && is_copy(prepared, find_flow(transport, roce.bth.dest_qp),
                                                packet_of(prepared)) != Copy::kNone) {
    ++stats.captured_twice;
    return;
  }
  if (service != wire::Service::kRc || !info.known) {
    if (roce.bth.opcode == static_cast<std::uint8_t>(wire::Opcode::kCnp)) return cnp(prepared);
    ++stats.other_service;
    return;
  }

  Packet p = packet_of(prepared);
  in_connection(prepared, p);
}

// A packet that the capture cut behind its BTH still has a place in its connection.
void Tracker::Impl::undecoded(const PreparedPacket& prepared) {
  const capture::TransportPacket& t = prepared.transport;
  const auto decoded = wire::decode_roce(t.transport(), t.wire_length);
  if (t.complete() || decoded || decoded.error().code != wire::Errc::kTruncated) {
    ++stats.malformed;
    return;
  }
  ++stats.headers_cut;
  ++stats.icrc_unchecked;
  wire::RocePacket roce;
  roce.bth = *wire::decode_bth(prepared.transport.transport());
  const wire::OpcodeInfo& info = wire::opcode_info(roce.bth.opcode);
  if (static_cast<wire::Service>(roce.bth.opcode >> 5) == wire::Service::kUd) {
    if (roce.bth.dest_qp == wire::kGsiQp) ++stats.cm_cut;
    return;
  }
  if (!info.known || static_cast<wire::Service>(roce.bth.opcode >> 5) != wire::Service::kRc) {
    ++stats.other_service;
    return;
  }
  Packet p;
  p.roce = &roce;
  p.info = &info;
  p.meta = prepared.meta;
  p.headers_cut = true;
  in_connection(prepared, p);
}

// A CNP goes to the QP whose packets were marked, like an ACK. Many devices answer CNPs themselves
// and their hosts never see them.
void Tracker::Impl::cnp(const PreparedPacket& prepared) {
  const FlowRef ref = find_flow(prepared.transport, prepared.roce.bth.dest_qp);
  if (ref.connection == nullptr) {
    ++stats.cnp;
    return;
  }
  if (prepared.icrc == IcrcCheck::kBad && icrc_trust_of(ref).checked()) return;
  ++stats.cnp;
  ++ref.connection->side[ref.sender].counters.cnps;
  if (ref.connection->state < State::kRejected) {
    listener.on_congestion({*ref.connection, ref.sender, true, prepared.meta});
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

// Returns a fresh one for a port that is not known.
IcrcTrust Tracker::Impl::icrc_of_port(const capture::Address& port) const {
  const auto it = icrc_ports.find(port);
  return it == icrc_ports.end() ? IcrcTrust{} : it->second;
}

void Tracker::Impl::note_icrc_port(const capture::Address& port, IcrcTrust trust) {
  const auto it = icrc_ports.find(port);
  if (it != icrc_ports.end()) {
    it.value() = trust;
  } else if (icrc_ports.size() < kMaxIcrcPorts) {
    icrc_ports.emplace(port, trust);
  }
}

IcrcTrust& Tracker::Impl::icrc_trust_of(FlowRef ref) {
  ConnectionState& c = *ref.connection;
  IcrcTrust& trust = c.icrc_trust[ref.sender];
  if (trust.fresh()) [[unlikely]] {
    const IcrcTrust port = icrc_of_port(c.side[ref.sender].address);
    // Only packets with a known place can wait for evidence.
    const bool unknown = port.fresh() || (port.is_doubtful() && !c.stream[ref.sender].started);
    trust = unknown ? IcrcTrust::unknown() : port;
  }
  return trust;
}

// Does this response of `sender` answer a request that is on its way? A damaged PSN would fit none.
bool Tracker::Impl::is_answer(const ConnectionState& c, int sender, const Packet& p) {
  if (!p.info->response) return false;
  const Stream& s = c.stream[static_cast<std::size_t>(1 - sender)];
  const std::uint32_t psn = p.roce->bth.psn;
  if (s.seen && psn_diff(psn, s.next) == -1) return true;
  if (find_damaged(s, psn) != nullptr) return true;
  return p.info->read_response &&
         std::any_of(s.reads.begin(), s.reads.end(), [psn](const ReadInProgress& r) {
           const std::int32_t d = psn_diff(psn, r.op.psn);
           return !r.done && d >= 0 && static_cast<std::uint32_t>(d) < r.packets;
         });
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
