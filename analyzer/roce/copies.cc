// Recognizes packets that the capture shows more than once though they were sent once: a mirror
// port that copies what enters and what leaves a switch, `any` on a bond, both sides of a router.
// Such a copy must not count as a retransmission, nor as a second acknowledgement or congestion
// notification.
//
// A packet is the same if its bytes are, with the Identification of its IPv4 header; routers change
// neither. Most often that decides: hosts that number their packets send nothing twice with the
// same number within milliseconds. Many devices have a constant Identification, though, and IPv6
// has none, so that a retransmission equals its original. Then the following counts:
//   - Each vantage sees a packet as often as it was sent. What one vantage has seen less often than
//     another is a copy. Vantages differ in the interface, the MAC addresses, the tunnel or the
//     TTL.
//   - From one vantage, copies show by what the protocol forbids. A requester repeats a request if
//   a
//     NAK asks for that, or after a timeout, which takes milliseconds at the least; never soon and
//     unasked. It does not repeat what it knows to be acknowledged. A responder repeats an answer
//     only if the request was repeated.
//   - A mirror copies nearly all packets of a side, after much the same time. Once it is known,
//   each
//     packet has one copy as often as it was sent. If a side's packets are known to come once, what
//     comes again was sent again.
#include "state.h"

#include <algorithm>
#include <cstring>

#include <rpcrdma/roce/psn.h>

namespace rpcrdma::roce {
namespace {

constexpr std::int64_t kMicrosecond = 1000, kMillisecond = 1'000'000;

// A sighting says nothing about a packet that comes later than this.
constexpr std::int64_t kForgotten = 1000 * kMillisecond;
// Identifications are used again; no mirror delays its copies by so long.
constexpr std::int64_t kSameId = 20 * kMillisecond;
// Counters of segmentation offload restart with each batch, which has fewer packets than this.
constexpr std::uint16_t kRestartingIds = 256;
constexpr std::uint8_t kSteady = 4;
constexpr std::int64_t kUnasked = 100 * kMicrosecond;
constexpr std::int64_t kAcknowledged = 5 * kMillisecond;
constexpr std::int64_t kCmRetry = 10 * kMillisecond;
constexpr std::int64_t kMirrorJitter = kMillisecond;
// A mirror may lose a few copies, but not so many in a row.
constexpr int kOnce = 8;
constexpr std::uint8_t kSurely = 4;
// Numbers wrap.
constexpr std::uint16_t kMostBehind = 8192;

constexpr std::uint64_t kFirst = 0x9e3779b97f4a7c15ULL, kSecond = 0xc2b2ae3d27d4eb4fULL,
                        kThird = 0xff51afd7ed558ccdULL;

// How many packets before `s` came once, since the latest that came again.
int came_once(const Mirror& m, const Sighting& s) {
  return static_cast<std::int16_t>(s.number - static_cast<std::uint16_t>(m.next_copy));
}

bool is_mirrored(const Mirror& m, const Sighting& s) {
  return m.in_a_row >= kSurely && came_once(m, s) < kOnce;
}

// A clock that was set back gives no lag; the copy is then as likely as at once.
std::int64_t time_between(std::int64_t from_ns, std::int64_t to_ns) {
  const auto apart = to_ns > from_ns
                         ? static_cast<std::uint64_t>(to_ns) - static_cast<std::uint64_t>(from_ns)
                         : static_cast<std::uint64_t>(from_ns) - static_cast<std::uint64_t>(to_ns);
  return apart > INT64_MAX ? INT64_MAX : static_cast<std::int64_t>(apart);
}

// Returns the packet's number.
std::uint16_t note_sent(Mirror& m, std::uint16_t ip_id) {
  if (ip_id == m.ip_id) {
    m.id_changes /= 2;
  } else if (m.id_changes != UINT8_MAX) {
    ++m.id_changes;
  }
  m.ip_id = ip_id;
  return static_cast<std::uint16_t>(m.sent++);
}

// The packets of the table have 16 bits of their numbers.
void limit_distance(Mirror& m) {
  // A copy of what the side sent before its connection was found may be ahead.
  if (m.sent > m.next_copy + kMostBehind) m.next_copy = m.sent - kMostBehind;
}

void note_again(Mirror& m, const Sighting& s) {
  if (came_once(m, s) >= kOnce) m.in_a_row = 0;
  const int ahead = came_once(m, s);
  if (ahead >= 0) m.next_copy += static_cast<std::uint64_t>(ahead) + 1;
}

void note_copy(Mirror& m, std::int64_t lag_ns) {
  m.lag_ns = m.in_a_row == 0 ? lag_ns : m.lag_ns + (lag_ns - m.lag_ns) / 8;
  if (m.in_a_row != UINT8_MAX) ++m.in_a_row;
}

// Where the packet was captured: PreparedPacket::vantage at its capture point.
std::uint32_t vantage_of(const PreparedPacket& packet) {
  return packet.vantage ^
         static_cast<std::uint32_t>((packet.meta.point * 0x9e3779b97f4a7c15ULL) >> 32);
}

std::uint64_t mixed(std::uint64_t word, std::uint64_t factor) {
  return (word ^ (word >> 29)) * factor;
}

[[gnu::always_inline]] inline SameBytes same_bytes(const PreparedPacket& packet,
                                                   const wire::Bth& bth) {
  const capture::TransportPacket& t = packet.transport;
  SameBytes same;
  if (t.src.kind == capture::AddressKind::kIpv4) [[likely]] {
    std::memcpy(&same.src, t.src.bytes.data(), sizeof same.src);
    std::memcpy(&same.dst, t.dst.bytes.data(), sizeof same.dst);
  } else {
    same.src = static_cast<std::uint32_t>(capture::hash_value(t.src));
    same.dst = static_cast<std::uint32_t>(capture::hash_value(t.dst));
  }
  same.psn = bth.psn;
  same.qp = bth.dest_qp;
  same.opcode = bth.opcode;
  same.ack_req = bth.ack_req;
  same.behind_bth = packet.behind_bth;
  same.length = static_cast<std::uint16_t>(t.wire_length);
  same.ip_id = t.ip_id;
  return same;
}

std::uint64_t fingerprint(const SameBytes& same) {
  const std::uint64_t addresses = std::uint64_t{same.src} << 32U | same.dst;
  const std::uint64_t bth = std::uint64_t{same.psn} << 40U | std::uint64_t{same.opcode} << 32U |
                            std::uint64_t{same.ack_req} << 31U | same.qp;
  const std::uint64_t rest = std::uint64_t{same.behind_bth} << 32U |
                             static_cast<std::uint32_t>(same.length << 16U) | same.ip_id;
  const std::uint64_t hash = mixed(addresses, kFirst) + mixed(bth, kSecond) + mixed(rest, kThird);
  return (hash ^ (hash >> 32)) * kFirst;
}

// CM messages have no PSN that counts: the whole message distinguishes them.
std::uint64_t fingerprint(const PreparedPacket& packet, const Packet& p) {
  std::uint64_t hash = fingerprint(same_bytes(packet, p.roce->bth));
  if (p.info->deth) {
    for (const std::uint8_t byte : packet.transport.transport().subspan(wire::kBthBytes)) {
      hash = (hash ^ byte) * kFirst;
    }
  }
  return hash ^ (hash >> 29);
}

// The place of a packet in its set, or else that of the older one, which makes room.
Sighting& place_for(std::uint64_t fingerprint, SightingSet& set) {
  if (set.of[0].fingerprint == fingerprint) return set.of[0];
  if (set.of[1].fingerprint == fingerprint) return set.of[1];
  return set.of[0].sent_ns < set.of[1].sent_ns ? set.of[0] : set.of[1];
}

void sight(Sighting& s, std::uint64_t fingerprint, std::int64_t sent_ns, std::uint32_t vantage) {
  s = {};
  s.fingerprint = fingerprint;
  s.sent_ns = sent_ns;
  s.vantage[0] = vantage;
  s.seen[0] = 1;
  s.sent = 1;
}

}  // namespace

// A packet with a new PSN is no copy: the first one would have moved the stream on. So most packets
// need no place in the table, unless a PSN comes again.
Tracker::Impl::ByPsn Tracker::Impl::by_psn(const FlowRef& ref, const Packet& p) {
  if (ref.connection == nullptr) return ByPsn::kOther;
  const ConnectionState& c = *ref.connection;
  const std::uint32_t psn = p.roce->bth.psn;
  bool is_new = false;
  if (p.info->request) {
    const Stream& s = c.stream[ref.sender];
    const std::int32_t ahead = psn_diff(psn, s.next);
    if (!s.seen) return ByPsn::kOther;
    if (ahead < 0) return ByPsn::kUsed;
    is_new = ahead == 0 && s.held.empty() && !s.uncertain_read;
  } else if (p.info->response) {
    const Stream& s = c.stream[1U - ref.sender];
    if (!s.acked_known) return ByPsn::kOther;
    if (psn_diff(psn, s.acked) <= 0) return ByPsn::kUsed;
    // A NAK does not acknowledge its own PSN.
    is_new = s.seen && psn_diff(psn, s.next) < 0 && (!p.info->aeth || p.roce->aeth.is_ack());
  }
  if (!is_new || p.suspect || p.headers_cut || c.state != State::kOpen) return ByPsn::kOther;
  return ByPsn::kNew;
}

void Tracker::Impl::note_new(const PreparedPacket& packet, const FlowRef& ref, const Packet& p) {
  NewPacket& n = new_packets[noted++ % kNewPackets];
  n.bytes = same_bytes(packet, p.roce->bth);
  n.sent_ns = packet.meta.time_ns;
  n.vantage = vantage_of(packet);
  n.number = note_sent(ref.connection->mirror[ref.sender], packet.transport.ip_id);
}

void Tracker::Impl::add_sightings() {
  sighted = std::max(sighted, noted - std::min<std::uint64_t>(noted, kNewPackets));
  for (; sighted != noted; ++sighted) {
    const NewPacket& n = new_packets[sighted % kNewPackets];
    std::uint64_t hash = fingerprint(n.bytes);
    hash ^= hash >> 29;
    Sighting& s = place_for(hash, sightings[hash % kSightingSets]);
    sight(s, hash, n.sent_ns, n.vantage);
    s.number = n.number;
  }
}

Tracker::Impl::Copy Tracker::Impl::is_copy(const PreparedPacket& packet, const FlowRef& ref,
                                           const Packet& p) {
  const wire::OpcodeInfo& info = *p.info;
  const bool suspect = p.suspect;
  Mirror* const mirror = ref.connection == nullptr ? nullptr : &ref.connection->mirror[ref.sender];
  const std::uint32_t vantage = vantage_of(packet);
  if (mirror != nullptr) limit_distance(*mirror);
  const std::uint64_t hash = fingerprint(packet, p);
  Sighting& s = place_for(hash, sightings[hash % kSightingSets]);
  if (s.fingerprint != hash || s.sent == 0 ||
      time_between(s.sent_ns, packet.meta.time_ns) > kForgotten) {
    sight(s, hash, packet.meta.time_ns, vantage);
    s.suspect = suspect;
    if (mirror != nullptr) s.number = note_sent(*mirror, packet.transport.ip_id);
    return Copy::kNone;
  }
  const std::int64_t lag = time_between(s.sent_ns, packet.meta.time_ns);
  const Copy copy = s.suspect && !suspect ? Copy::kOfDamaged : Copy::kCopy;
  s.suspect &= suspect;
  std::size_t from = s.vantage[0] == vantage ? 0 : 1;
  if (from == 1 && s.seen[1] == 0) s.vantage[1] = vantage;
  if (s.vantage[from] != vantage) return copy;  // a third vantage
  if (s.seen[from] < s.sent) {
    ++s.seen[from];
    return copy;
  }
  const Again again = again_from_same_vantage(packet, s, ref, info);
  if (mirror != nullptr && again != Again::kSent) note_again(*mirror, s);
  if (again == Again::kCopied) {
    s.copies = static_cast<std::uint8_t>(std::min(s.copies + 1, UINT8_MAX));
    if (mirror != nullptr) note_copy(*mirror, lag);
    if (info.deth) note_mirrored({packet.transport.src, packet.transport.dst});
    return copy;
  }
  s.sent_ns = packet.meta.time_ns;
  if (s.sent != UINT8_MAX) ++s.seen[from], ++s.sent;
  if (mirror != nullptr) s.number = note_sent(*mirror, packet.transport.ip_id);
  return Copy::kNone;
}

void Tracker::Impl::note_mirrored(const AddressPair& ports) {
  if (mirrored.size() == kMaxMirrored ||
      std::find(mirrored.begin(), mirrored.end(), ports) != mirrored.end()) {
    return;
  }
  mirrored.push_back(ports);
}

Tracker::Impl::Again Tracker::Impl::again_from_same_vantage(const PreparedPacket& packet,
                                                            const Sighting& sighting,
                                                            const FlowRef& ref,
                                                            const wire::OpcodeInfo& info) const {
  const auto copied_if = [](bool condition) { return condition ? Again::kCopied : Again::kSent; };
  const std::int64_t lag = time_between(sighting.sent_ns, packet.meta.time_ns);
  // A CM message is sent again after tenths of a second.
  if (info.deth) return copied_if(lag <= kCmRetry);
  if (ref.connection == nullptr) return Again::kSent;
  const ConnectionState& c = *ref.connection;
  const Mirror& mirror = c.mirror[ref.sender];
  const std::uint16_t id = packet.transport.ip_id;
  if (id >= kRestartingIds && mirror.id_changes >= kSteady && lag <= kSameId) return Again::kCopied;

  // The event that makes the sender send it again.
  const Stream& requests = c.stream[info.response ? 1U - ref.sender : ref.sender];
  const std::int64_t reason_ns = info.response ? requests.again_ns : requests.nak_ns;
  const bool asked = reason_ns >= sighting.sent_ns;
  if (is_mirrored(mirror, sighting)) {
    if (sighting.copies >= sighting.sent) return Again::kSent;
    return copied_if(asked
                         ? time_between(mirror.lag_ns, lag) <= mirror.lag_ns / 4 + 5 * kMicrosecond
                         : lag <= 2 * mirror.lag_ns + kMirrorJitter);
  }
  // Congestion notifications have no PSN: the next one has the same bytes.
  if (!info.request && !info.response) return Again::kSent;
  const bool by_set_up =
      std::find(mirrored.begin(), mirrored.end(),
                AddressPair{packet.transport.src, packet.transport.dst}) != mirrored.end();
  if (asked || lag > kAcknowledged) return Again::kSent;
  const bool acknowledged =
      info.response || by_set_up ||
      (requests.acked_known && psn_diff(requests.acked, packet.roce.bth.psn) >= 0);
  if (lag > kUnasked && !acknowledged) return Again::kSent;
  // If the packets of this side come once, one that comes again was sent again, or the network
  // doubled it. If it is the first of many, a mirror was switched on.
  return by_set_up || came_once(mirror, sighting) < kOnce ? Again::kCopied : Again::kPerhaps;
}

void Tracker::Impl::copied(ConnectionState& c, int sender, const Packet& p) {
  SideCounters& counters = c.side[static_cast<std::size_t>(sender)].counters;
  ++counters.packets;
  counters.payload_bytes += p.wire_payload;
  c.last_frame = p.meta.frame;
  c.last_ns = std::max(c.last_ns, p.meta.time_ns);
  captured_twice(c, sender);
}

}  // namespace rpcrdma::roce
