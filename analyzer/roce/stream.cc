// Orders the requests of one direction by PSN, and assigns the responses to them.
#include "state.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include <rpcrdma/roce/psn.h>

namespace rpcrdma::roce {

namespace {

using wire::Opcode;

// Limits on held packets while a gap is unexplained; beyond them the gap counts as a loss of the
// capture.
constexpr std::size_t kMaxHeldPackets = 1024;         // per stream
constexpr std::uint64_t kMaxHeldBytes = 16ULL << 20;  // over all streams
// No inline threshold is over 256 KiB (RFC 8797); a longer SEND is not an RPC-over-RDMA message.
constexpr std::size_t kMaxSendBytes = std::size_t{512} * 1024;
constexpr std::uint64_t kMaxPartialBytes = 32ULL << 20;  // over all incomplete SENDs
constexpr std::size_t kSpareBuffers = 16;
constexpr std::size_t kMaxReads = 512;  // RDMA READs kept per stream
constexpr std::size_t kKeptDoneReads = 16;

constexpr std::uint32_t kMaxMtu = 4096;

// Memory of a held packet, including the list node and allocator overhead.
std::uint64_t cost(const Held& held) {
  return held.bytes.size() + sizeof(Held) + 64;
}

constexpr bool is_mtu(std::uint32_t bytes) {
  return bytes == 256 || bytes == 512 || bytes == 1024 || bytes == 2048 || bytes == 4096;
}

// Counts a packet that breaks a packet-level rule, whatever its content.
void count_irregular(SideCounters& counters, std::uint64_t SideCounters::*kind, const Packet& p) {
  ++(counters.*kind);
  if (counters.first_irregular == 0) counters.first_irregular = p.meta.frame;
}

constexpr std::uint32_t packets_for(std::uint32_t length, std::uint32_t mtu) {
  return length == 0 ? 1 : static_cast<std::uint32_t>((std::uint64_t{length} + mtu - 1) / mtu);
}

// Used until the first full packet reveals the path MTU.
constexpr std::uint32_t kAssumedMtu = 1024;

std::uint32_t mtu_of(const ConnectionState& c) {
  return c.path_mtu != 0 ? c.path_mtu : std::max(kAssumedMtu, c.mtu_at_least);
}

// Returns the payload offset of the packet `n` PSNs after the operation's first packet.
std::uint64_t offset_in(const ConnectionState& c, const Operation& op, const Packet& p,
                        std::int32_t n) {
  if (c.path_mtu == 0 && p.info->last && p.wire_payload <= op.length) {
    return op.length - p.wire_payload;
  }
  return static_cast<std::uint64_t>(n) * mtu_of(c);
}

// Returns how many of the READ's bytes the response `n` PSNs after its request must carry; nothing
// if that is uncertain. It requires a path MTU that a packet has confirmed, or a READ for which the
// MTU does not matter.
std::optional<std::uint64_t> share_of(const ConnectionState& c, const ReadInProgress& read,
                                      const Packet& p, std::int32_t n) {
  const std::uint32_t length = read.op.length;
  const bool borne_out = length <= c.mtu_at_least || c.path_mtu == c.mtu_at_least;
  if (borne_out && packets_for(length, mtu_of(c)) == read.packets) {
    const std::uint64_t offset = static_cast<std::uint64_t>(n) * mtu_of(c);
    return std::min<std::uint64_t>(mtu_of(c), length - std::min<std::uint64_t>(offset, length));
  }
  if (n == 0 && p.info->first && p.info->last && !read.asked_again) return length;
  return std::nullopt;
}

// Returns whether a sender of which only packets with bad ICRCs were seen went on to the next ones
// again and again: it does not wait for a retransmission, so the receiver has them.
bool moves_on(const Stream& s) {
  constexpr std::size_t kPackets = 16;
  if (s.held.size() % kPackets != 0 || s.held.empty()) return false;
  const auto span = static_cast<std::int32_t>(s.held.size()) - 1;
  return s.held.front().psn == s.next && psn_diff(s.held.back().psn, s.next) == span &&
         std::all_of(s.held.begin(), s.held.end(), [](const Held& h) { return h.suspect; });
}

// Returns whether such a response has the wrong opcode for its place. A READ that is requested
// again from the middle on is answered there by a First or Only; that request may be missing in the
// capture, or come later in it.
bool out_of_place(const ReadInProgress& read, const Packet& p, std::int32_t n) {
  // The whole READ in one packet, however many a guessed path MTU would require.
  if (p.info->first && p.info->last && p.wire_payload == read.op.length) return false;
  const bool last = static_cast<std::uint32_t>(n) + 1 == read.packets;
  return p.info->last != last || (n == 0 && !p.info->first);
}

}  // namespace

// Every packet of a message except the last is as long as the path MTU. The packets take precedence
// over the REQ.
void Tracker::Impl::learn_mtu(ConnectionState& c, int sender, const Packet& p) {
  if (p.suspect || (p.info->last && p.wire_payload <= c.mtu_at_least)) return;
  if (!p.info->last && !is_mtu(p.wire_payload)) {
    count_irregular(c.side[static_cast<std::size_t>(sender)].counters, &SideCounters::wrong_payload,
                    p);
  }
  const bool larger = p.wire_payload > c.mtu_at_least;
  const bool full = !p.info->last && p.wire_payload != c.path_mtu && is_mtu(p.wire_payload);
  if (!larger && !full) return;
  if (larger) {
    c.mtu_at_least = std::bit_ceil(std::min(p.wire_payload, kMaxMtu));
    if (c.path_mtu < c.mtu_at_least) c.path_mtu = c.mtu_at_least == kMaxMtu ? kMaxMtu : 0;
  }
  if (full) c.path_mtu = p.wire_payload;
  // READs whose length in PSNs was guessed.
  for (int side = 0; side < 2; ++side) {
    Stream& s = c.stream[static_cast<std::size_t>(side)];
    if (!s.uncertain_read || s.reads.empty()) continue;
    ReadInProgress& read = s.reads.back();
    read.packets = packets_for(*s.uncertain_read, mtu_of(c));
    s.next = psn_add(read.op.psn, read.packets);
    if (c.path_mtu != 0) s.uncertain_read.reset();
    drain(c, side);
  }
}

// The length of a READ in PSNs was guessed, and a later request contradicts the guess.
bool Tracker::Impl::misfits_read(const Stream& s, std::uint32_t psn) {
  return s.uncertain_read && psn != s.next && !s.reads.empty() &&
         psn_diff(psn, s.reads.back().op.psn) > 0;
}

// `later` is that request: finds the path MTU that fits it.
void Tracker::Impl::settle_uncertain_read(ConnectionState& c, Stream& s,
                                          const wire::RocePacket& later) {
  ReadInProgress& read = s.reads.back();
  const std::uint32_t psn = later.bth.psn;
  const auto n = static_cast<std::uint32_t>(psn_diff(psn, read.op.psn));
  std::uint32_t fitting = 0;
  std::uint32_t mtu = 0;
  for (const std::uint32_t m : {256U, 512U, 1024U, 2048U, 4096U}) {
    if (m < c.mtu_at_least || packets_for(*s.uncertain_read, m) != n) continue;
    ++fitting;
    mtu = m;
  }
  const bool behind_guess = psn_diff(psn, s.next) < 0;
  // Is it inside the READ's own PSNs, a request for the rest of it after a lost response?
  const wire::OpcodeInfo& info = wire::opcode_info(later.bth.opcode);
  const bool again = !info.write && info.reth && later.reth.rkey == read.op.handle &&
                     later.reth.va - read.op.offset < read.op.length;
  if (fitting == 0 && (!behind_guess || again)) return;
  if (fitting == 1) c.path_mtu = mtu;
  read.packets = n;
  s.next = psn;
  s.uncertain_read.reset();
  // No MTU fits, because packets in between are missing too; still, the guess was too long.
  if (fitting == 0) s.assembly = Stream::Assembly::kSkip;
}

// The PSN cannot belong to this stream.
bool Tracker::Impl::far_away(const Stream& s, std::uint32_t psn) {
  const std::int32_t ahead = psn_diff(psn, s.next);
  return ahead <= -kMaxCredibleLoss || ahead >= kMaxCredibleLoss;
}

// Returns the first PSN of a side, given a PSN that it sent, or that was acknowledged, early on. A
// REQ or REP names the PSN that its sender expects first (IBA volume 1 section 12.7.32), with some
// stacks the one that it sends first. If neither is near, `psn` counts as the first.
std::uint32_t Tracker::Impl::first_psn(const ConnectionState& c, std::uint32_t psn) {
  auto missed = static_cast<std::int32_t>(kMaxHeldPackets) + 1;
  std::uint32_t first = psn;
  for (const Side& side : c.side) {
    const std::int32_t off = psn_diff(psn, side.cm.starting_psn);
    if (!side.cm.seen || off < 0 || off >= missed) continue;
    missed = off;
    first = side.cm.starting_psn;
  }
  return first;
}

// Returns whether this packet ends a gap: later packets are held, or a damaged copy of this one. A
// damaged packet further ahead proves no gap, since its PSN may be damaged.
bool Tracker::Impl::waits_behind(const Stream& s, std::uint32_t psn) {
  return std::any_of(s.held.begin(), s.held.end(),
                     [psn](const Held& h) { return !h.suspect || h.psn == psn; });
}

// Returns the held packet with a bad ICRC and this PSN, or null.
const Held* Tracker::Impl::find_damaged(const Stream& s, std::uint32_t psn) {
  // One ACK acknowledges a few packets. Further ones will come.
  constexpr int kSearched = 64;
  int searched = 0;
  for (const Held& h : s.held) {
    if (h.psn == psn) return h.suspect ? &h : nullptr;
    if (++searched == kSearched) break;
  }
  return nullptr;
}

// Packets of `sender` with bad ICRCs were accepted by their receiver. If that happens often, those
// that are held are used like any other.
void Tracker::Impl::icrc_answered(ConnectionState& c, int sender) {
  const auto side = static_cast<std::uint8_t>(sender);
  if (!icrc_trust_of({&c, side}).answered()) return;
  note_icrc_port(c.side[side].address, c.icrc_trust[side]);
  Stream& s = c.stream[side];
  for (Held& h : s.held) {
    if (!h.suspect) continue;
    h.suspect = false;
    ++c.icrc_accepted;
    ++stats.icrc_accepted;
  }
  if (s.seen || s.held.empty()) return;
  const Held& front = s.held.front();
  s.seen = true;
  s.first = front.psn;
  if (!s.skipped) s.next = first_psn(c, front.psn);
  if (s.next == front.psn) {
    s.assembly =
        wire::opcode_info(front.bytes[0]).first ? Stream::Assembly::kIdle : Stream::Assembly::kSkip;
  }
}

void Tracker::Impl::request(ConnectionState& c, int sender, const Packet& p,
                            const capture::TransportPacket& transport) {
  Stream& s = c.stream[static_cast<std::size_t>(sender)];
  const std::uint32_t psn = p.roce->bth.psn;
  learn_mtu(c, sender, p);
  if (!s.started) {
    if (p.suspect) return;
    s.started = true;
    s.next = psn;
    s.assembly = p.info->first ? Stream::Assembly::kIdle : Stream::Assembly::kSkip;
  }
  if (!s.seen && !p.suspect) {
    s.seen = true;
    s.first = psn;
    if (!s.skipped) s.next = first_psn(c, psn);
    if (s.next == psn) {
      s.assembly = p.info->first ? Stream::Assembly::kIdle : Stream::Assembly::kSkip;
    }
  }
  if (!s.seen && p.suspect && !s.skipped) {
    // It waits where the stream is to begin, if its PSN is credible.
    const std::uint32_t first = first_psn(c, psn);
    if (std::any_of(c.side.begin(), c.side.end(), [first](const Side& side) {
          return side.cm.seen && side.cm.starting_psn == first;
        })) {
      s.next = first;
    }
  }
  if (misfits_read(s, psn) && !p.suspect) settle_uncertain_read(c, s, *p.roce);
  if (s.open_ended && !p.suspect) [[unlikely]] {
    s.open_ended = false;
    if (psn_diff(psn, s.next) > 0) s.next = psn;
  }
  const std::int32_t ahead = psn_diff(psn, s.next);
  if (ahead < 0) {
    if (!p.suspect) duplicate(c, sender, p);
    return;
  }
  if (p.suspect || ahead > 0) {
    // The PSN of a damaged packet may be any number.
    if (p.suspect && ahead > static_cast<std::int32_t>(kMaxHeldPackets)) return;
    hold(c, sender, p, transport);
    if (p.suspect && moves_on(s) &&
        icrc_trust_of({&c, static_cast<std::uint8_t>(sender)}).is_doubtful()) {
      icrc_answered(c, sender);
    }
    drain(c, sender);
    return;
  }
  if (waits_behind(s, psn)) {
    // The gap closes. Was the packet late, or retransmitted? It was retransmitted if there was a
    // NAK, or if held packets are repeated after it.
    if (p.replaces_damaged) {
      captured_twice(c, sender);
    } else if (s.nak_in_gap) {
      retransmitted(c, sender, 1, p);
      ++c.side[static_cast<std::size_t>(sender)].counters.lost_network;
      ++stats.lost_network;
      sent_again(c, sender, p);
    } else {
      ++c.side[static_cast<std::size_t>(sender)].counters.reordered;
      ++stats.reordered;
      ++s.late_fills;
      s.filled_at = psn;
    }
  } else {
    // A new packet: no go-back-N is in progress.
    s.late_fills = 0;
    s.again = false;
  }
  in_order(c, sender, p);
  if (s.held.empty()) {
    s.nak_in_gap = false;
  } else {
    drain(c, sender);
  }
}

// A request whose headers behind the BTH were not captured: it takes its place in the order, and
// what it requested is unknown. Its PSN is the only evidence, so packets before it are not waited
// for.
void Tracker::Impl::opaque_request(ConnectionState& c, int sender, const Packet& p) {
  Stream& s = c.stream[static_cast<std::size_t>(sender)];
  const std::uint32_t psn = p.roce->bth.psn;
  if (!s.started) {
    s.started = true;
    s.next = psn;
  }
  if (!s.seen) {
    s.seen = true;
    s.first = psn;
    s.next = psn;
  }
  const std::int32_t ahead = psn_diff(psn, s.next);
  if (ahead < 0) return duplicate(c, sender, p);
  while (!s.held.empty() && psn_diff(s.held.front().psn, psn) < 0) {
    const Held& front = s.held.front();
    if (front.suspect || psn_diff(front.psn, s.next) < 0) {
      held_bytes -= cost(front);
      s.held.pop_front();
    } else {
      skip_to(c, sender, front.psn);
      use_held(c, sender);
    }
  }
  if (!s.open_ended) skip_to(c, sender, psn);
  if (s.assembly == Stream::Assembly::kWrite) end_write(c, sender);
  if (s.assembly == Stream::Assembly::kSend) end_send(c, sender, false);
  s.point = p.meta.point;
  s.uncertain_read.reset();
  s.next = psn_add(psn, 1);
  s.open_ended = !p.info->write && p.info->reth;
  // The rest of an RDMA Write belongs to it.
  s.assembly = p.info->write && !p.info->last ? Stream::Assembly::kSkip : Stream::Assembly::kIdle;
  drain(c, sender);
}

void Tracker::Impl::retransmitted(ConnectionState& c, int sender, std::uint64_t count,
                                  const Packet& p) {
  c.side[static_cast<std::size_t>(sender)].counters.retransmitted += count;
  stats.retransmitted += count;
  listener.on_retransmission({c, sender, count, p.meta});
}

void Tracker::Impl::captured_twice(ConnectionState& c, int sender) {
  ++c.side[static_cast<std::size_t>(sender)].counters.captured_twice;
  ++stats.captured_twice;
}

void Tracker::Impl::sent_again(ConnectionState& c, int sender, const Packet& p) {
  Stream& s = c.stream[static_cast<std::size_t>(sender)];
  listener.on_sent_again(
      {c, sender, p.roce->bth.psn, p.meta.time_ns - s.last_ns, !s.again, p.meta});
  s.again = true;
  s.again_ns = p.meta.time_ns;
}

void Tracker::Impl::duplicate(ConnectionState& c, int sender, const Packet& p) {
  Stream& s = c.stream[static_cast<std::size_t>(sender)];
  if (p.meta.point != s.point) return captured_twice(c, sender);
  SideCounters& counters = c.side[static_cast<std::size_t>(sender)].counters;
  retransmitted(c, sender, 1, p);
  sent_again(c, sender, p);
  if (p.info->reth && !p.info->write) {
    for (ReadInProgress& read : s.reads) {
      const std::int32_t n = psn_diff(p.roce->bth.psn, read.op.psn);
      read.asked_again |= n >= 0 && static_cast<std::uint32_t>(n) < read.packets;
    }
  }
  if (s.late_fills == 0) return;
  const std::int32_t behind_fill = psn_diff(p.roce->bth.psn, s.filled_at);
  if (behind_fill > 0) {
    // Packets after the gap are retransmitted too: go-back-N, so the gap was a loss.
    retransmitted(c, sender, s.late_fills, p);
    counters.reordered -= s.late_fills;
    counters.lost_network += s.late_fills;
    stats.reordered -= s.late_fills;
    stats.lost_network += s.late_fills;
  }
  // A second copy of the packet that filled the gap: the first one was merely late.
  s.late_fills = 0;
}

void Tracker::Impl::hold(ConnectionState& c, int sender, const Packet& p,
                         const capture::TransportPacket& transport) {
  Stream& s = c.stream[static_cast<std::size_t>(sender)];
  const std::uint32_t psn = p.roce->bth.psn;
  // The new packet is nearly always the last.
  auto at = s.held.end();
  while (at != s.held.begin() && psn_diff(std::prev(at)->psn, psn) >= 0) --at;
  if (at != s.held.end() && at->psn == psn) {
    if (at->meta.point == p.meta.point) {
      retransmitted(c, sender, 1, p);
    } else {
      captured_twice(c, sender);
    }
    if (!at->suspect || p.suspect) return;
    held_bytes -= cost(*at);
    s.held.erase(at);
    hold(c, sender, p, transport);
    return;
  }
  const auto bytes = transport.transport();
  Held held{psn, p.meta, p.ce, p.suspect, transport.wire_length, {bytes.begin(), bytes.end()}};
  held_bytes += cost(held);
  s.held.insert(at, std::move(held));
  if (s.held.size() <= kMaxHeldPackets && held_bytes <= kMaxHeldBytes) return;
  // A gap is never as long as the PSN of a damaged packet suggests.
  if (s.held.front().suspect) {
    held_bytes -= cost(s.held.front());
    s.held.pop_front();
    return;
  }
  skip_to(c, sender, s.held.front().psn);
  use_held(c, sender);
}

// Later requests were already held when the READ was processed.
void Tracker::Impl::settle_by_held(ConnectionState& c, Stream& s) {
  const Held& front = s.held.front();
  if (front.suspect || !misfits_read(s, front.psn)) return;
  const auto decoded = wire::decode_roce(front.bytes, front.wire_length);
  if (decoded) settle_uncertain_read(c, s, *decoded);
}

// Processes held packets that have become next, and closes gaps that the peer has acknowledged.
void Tracker::Impl::drain(ConnectionState& c, int sender) {
  Stream& s = c.stream[static_cast<std::size_t>(sender)];
  while (!s.held.empty()) {
    settle_by_held(c, s);
    const Held& front = s.held.front();
    const std::int32_t ahead = psn_diff(front.psn, s.next);
    if (ahead < 0) {
      // Another copy was processed in the meantime.
      held_bytes -= cost(front);
      s.held.pop_front();
      continue;
    }
    // A very old acknowledgement can seem to be ahead.
    const std::int32_t acked_by = psn_diff(s.acked, s.next);
    const bool acked = s.acked_known && acked_by >= 0 && acked_by < kMaxCredibleLoss;
    if (ahead == 0 && (!front.suspect || acked)) {
      if (front.suspect) {
        icrc_answered(c, sender);
        if (!front.suspect) continue;
      }
      use_held(c, sender);
    } else if (ahead > 0 && acked) {
      skip_to(c, sender,
              psn_add(s.next, static_cast<std::uint32_t>(std::min(ahead, acked_by + 1))));
    } else {
      return;
    }
  }
  s.nak_in_gap = false;
}

void Tracker::Impl::use_held(ConnectionState& c, int sender) {
  Stream& s = c.stream[static_cast<std::size_t>(sender)];
  const Held held = std::move(s.held.front());
  s.held.pop_front();
  held_bytes -= cost(held);
  const auto decoded = wire::decode_roce(held.bytes, held.wire_length);
  if (!decoded) return;  // cannot fail: it was decoded before it was held
  // A damaged READ length would misplace all later packets.
  if (held.suspect && decoded->bth.opcode == static_cast<std::uint8_t>(Opcode::kReadRequest)) {
    return skip_to(c, sender, psn_add(s.next, 1));
  }
  Packet p;
  p.roce = &*decoded;
  p.info = &wire::opcode_info(decoded->bth.opcode);
  p.meta = held.meta;
  p.wire_payload = wire_payload_length(held.bytes, *decoded, held.wire_length);
  p.suspect = held.suspect;
  p.ce = held.ce;
  in_order(c, sender, p);
}

// The capture misses the packets from `next` up to `psn`.
void Tracker::Impl::skip_to(ConnectionState& c, int sender, std::uint32_t psn) {
  Stream& s = c.stream[static_cast<std::size_t>(sender)];
  const std::int32_t missing = psn_diff(psn, s.next);
  if (missing <= 0) return;
  c.side[static_cast<std::size_t>(sender)].counters.lost_capture +=
      static_cast<std::uint64_t>(missing);
  stats.lost_capture += static_cast<std::uint64_t>(missing);
  c.gap_known_frame = c.last_frame;
  s.write_whole = false;
  if (s.assembly == Stream::Assembly::kWrite) {
    const std::uint32_t end = psn_add(s.write_start, packets_for(s.write.length, mtu_of(c)));
    if (psn_diff(psn, end) >= 0) {
      end_write(c, sender);
      s.assembly = Stream::Assembly::kSkip;
    }
  } else if (s.assembly == Stream::Assembly::kSend) {
    end_send(c, sender, false);
    s.assembly = Stream::Assembly::kSkip;
  } else {
    s.assembly = Stream::Assembly::kSkip;
  }
  s.next = psn;
}

void Tracker::Impl::in_order(ConnectionState& c, int sender, const Packet& p) {
  Stream& s = c.stream[static_cast<std::size_t>(sender)];
  s.uncertain_read.reset();
  s.point = p.meta.point;
  if (p.info->reth && p.info->request && !p.info->write) {
    read_request(c, sender, p);
    return;
  }
  s.next = psn_add(s.next, 1);
  if (p.info->send) {
    send_packet(c, sender, p);
  } else if (p.info->write) {
    write_packet(c, sender, p);
  }
}

void Tracker::Impl::send_packet(ConnectionState& c, int sender, const Packet& p) {
  Stream& s = c.stream[static_cast<std::size_t>(sender)];
  SideCounters& counters = c.side[static_cast<std::size_t>(sender)].counters;
  const wire::RocePacket& roce = *p.roce;
  if (p.info->first) {
    release_answered(c, 1 - sender, roce.payload);
    if (s.assembly == Stream::Assembly::kSend || s.assembly == Stream::Assembly::kWrite) {
      count_irregular(counters, &SideCounters::illegal_sequence, p);
      if (s.assembly == Stream::Assembly::kWrite) end_write(c, sender);
    }
    s.send = SendMessage{};
    s.send.sender = static_cast<std::uint8_t>(sender);
    s.send.first_frame = p.meta.frame;
    s.send.first_ns = p.meta.time_ns;
    s.send.first_psn = roce.bth.psn;
    give_back(s);
    s.assembly = Stream::Assembly::kSend;
  } else if (s.assembly != Stream::Assembly::kSend) {
    if (s.assembly == Stream::Assembly::kSkip) {
      ++counters.orphans;
    } else {
      count_irregular(counters, &SideCounters::illegal_sequence, p);
    }
    if (p.info->last) s.assembly = Stream::Assembly::kIdle;
    return;
  }
  s.send.frame = p.meta.frame;
  s.send.time_ns = p.meta.time_ns;
  s.send.psn = roce.bth.psn;
  s.send.suspect |= p.suspect;
  s.send.ce |= p.ce;
  s.send.ack_requested = roce.bth.ack_req;
  s.send.wire_length += p.wire_payload;
  if (p.info->imm) {
    s.send.has_immediate = true;
    s.send.immediate = roce.immediate;
  }
  if (p.info->ieth) {
    s.send.has_invalidate = true;
    s.send.invalidate_handle = roce.invalidate_key;
  }
  if (p.info->first && p.info->last) {
    // SEND Only: no copy needed.
    s.send.data = roce.payload;
    s.send.complete = roce.payload.size() == p.wire_payload;
    s.send.predecoded = p.predecoded;
    s.assembly = Stream::Assembly::kIdle;
    give_send(c, sender);
    return;
  }
  // Bytes after a missing piece would be at a wrong offset.
  if (s.buffer.size() + p.wire_payload == s.send.wire_length &&
      s.buffer.size() + roce.payload.size() <= kMaxSendBytes &&
      partial_bytes + roce.payload.size() <= kMaxPartialBytes) {
    if (s.buffer.capacity() == 0 && !spare_buffers.empty()) {
      s.buffer = std::move(spare_buffers.back());
      spare_buffers.pop_back();
    }
    partial_bytes += roce.payload.size();
    s.buffer.insert(s.buffer.end(), roce.payload.begin(), roce.payload.end());
  }
  if (p.info->last) end_send(c, sender, true);
}

// Uses held SENDs up to one that the peer answers: it has arrived there, whether or not its ACK was
// seen. The first word of both messages is the XID.
void Tracker::Impl::release_answered(ConnectionState& c, int sender, wire::Bytes answer) {
  Stream& s = c.stream[static_cast<std::size_t>(sender)];
  // A released SEND may seem to answer in its turn; that must wait, or a stream would overtake
  // itself.
  if (s.held.empty() || answer.size() < 4 || releasing) return;
  for (const Held& h : s.held) {
    // A damaged packet may have any PSN; the peer answers the copy that it received.
    if (h.suspect) continue;
    const auto opcode = static_cast<Opcode>(h.bytes[0]);
    if (opcode != Opcode::kSendFirst && opcode != Opcode::kSendOnly) continue;
    if (h.bytes.size() < wire::kBthBytes + 4 ||
        !std::equal(answer.begin(), answer.begin() + 4, h.bytes.begin() + wire::kBthBytes)) {
      continue;
    }
    releasing = true;
    note_acknowledged(c, sender, h.psn);
    releasing = false;
    return;
  }
}

// A stream has a buffer only while one of its SENDs is incomplete.
void Tracker::Impl::give_back(Stream& s) {
  if (s.buffer.capacity() == 0) return;
  partial_bytes -= s.buffer.size();
  s.buffer.clear();
  if (spare_buffers.size() < kSpareBuffers) spare_buffers.push_back(std::move(s.buffer));
  s.buffer = {};
}

void Tracker::Impl::end_send(ConnectionState& c, int sender, bool complete) {
  Stream& s = c.stream[static_cast<std::size_t>(sender)];
  s.send.data = s.buffer;
  s.send.complete = complete && s.buffer.size() == s.send.wire_length;
  s.assembly = Stream::Assembly::kIdle;
  give_send(c, sender);
  give_back(s);
}

void Tracker::Impl::give_send(ConnectionState& c, int sender) {
  const auto side = static_cast<std::size_t>(sender);
  listener.on_send(c, c.stream[side].send);
  if (listener.had_early_operations(c)) [[unlikely]] {
    ++c.side[side].counters.acknowledged_unseen;
  }
}

void Tracker::Impl::write_packet(ConnectionState& c, int sender, const Packet& p) {
  Stream& s = c.stream[static_cast<std::size_t>(sender)];
  SideCounters& counters = c.side[static_cast<std::size_t>(sender)].counters;
  const wire::RocePacket& roce = *p.roce;
  Operation& op = s.write;
  if (p.info->first) {
    if (s.assembly == Stream::Assembly::kSend || s.assembly == Stream::Assembly::kWrite) {
      count_irregular(counters, &SideCounters::illegal_sequence, p);
      if (s.assembly == Stream::Assembly::kWrite) end_write(c, sender);
      give_back(s);
    }
    op = Operation{};
    op.kind = OpKind::kWrite;
    op.initiator = static_cast<std::uint8_t>(sender);
    op.handle = roce.reth.rkey;
    op.offset = roce.reth.va;
    op.length = roce.reth.dma_length;
    op.psn = roce.bth.psn;
    op.first_frame = p.meta.frame;
    op.first_ns = p.meta.time_ns;
    s.write_start = roce.bth.psn;
    s.write_sent = 0;
    s.write_whole = true;
    s.assembly = Stream::Assembly::kWrite;
    listener.on_operation(c, op);
  } else if (s.assembly != Stream::Assembly::kWrite) {
    if (s.assembly == Stream::Assembly::kSkip) {
      ++counters.orphans;
    } else {
      count_irregular(counters, &SideCounters::illegal_sequence, p);
    }
    if (p.info->last) s.assembly = Stream::Assembly::kIdle;
    return;
  }
  op.last_frame = p.meta.frame;
  op.last_ns = p.meta.time_ns;
  op.suspect |= p.suspect;
  s.write_sent += p.wire_payload;
  s.write_whole &= !p.suspect;
  const std::uint64_t offset = offset_in(c, op, p, psn_diff(roce.bth.psn, s.write_start));
  const std::uint64_t room = offset < op.length ? op.length - offset : 0;
  op.bytes += std::min<std::uint64_t>(p.wire_payload, room);
  if (op.want_data && !roce.payload.empty() && room != 0) {
    listener.on_data({c, op, offset,
                      roce.payload.first(static_cast<std::size_t>(
                          std::min<std::uint64_t>(roce.payload.size(), room)))});
  }
  if (!p.info->last) return;
  if (s.write_whole && s.write_sent != op.length) {
    count_irregular(counters, &SideCounters::wrong_length, p);
  }
  end_write(c, sender);
}

void Tracker::Impl::end_write(ConnectionState& c, int sender) {
  Stream& s = c.stream[static_cast<std::size_t>(sender)];
  s.assembly = Stream::Assembly::kIdle;
  s.write.complete = s.write.bytes == s.write.length;
  listener.on_operation_end(c, s.write);
}

void Tracker::Impl::read_request(ConnectionState& c, int sender, const Packet& p) {
  Stream& s = c.stream[static_cast<std::size_t>(sender)];
  const wire::RocePacket& roce = *p.roce;
  if (s.assembly == Stream::Assembly::kSkip) s.assembly = Stream::Assembly::kIdle;
  if (s.reads.size() >= kMaxReads) {
    const ReadInProgress& oldest = s.reads.front();
    if (!oldest.done && !oldest.unseen) --s.open_reads;
    if (!oldest.done) listener.on_operation_end(c, oldest.op);
    s.reads.erase(s.reads.begin());
  }
  ReadInProgress& read = s.reads.emplace_back();
  ++s.open_reads;
  Operation& op = read.op;
  op.kind = OpKind::kRead;
  op.initiator = static_cast<std::uint8_t>(sender);
  op.handle = roce.reth.rkey;
  op.offset = roce.reth.va;
  op.length = roce.reth.dma_length;
  op.psn = roce.bth.psn;
  op.first_frame = op.last_frame = p.meta.frame;
  op.first_ns = op.last_ns = p.meta.time_ns;
  op.suspect = p.suspect;
  read.packets = std::min(packets_for(op.length, mtu_of(c)), 1U << 23);
  s.next = psn_add(s.next, read.packets);
  if (c.path_mtu == 0 && op.length > 256) s.uncertain_read = op.length;
  listener.on_operation(c, op);
}

void Tracker::Impl::response(ConnectionState& c, int sender, const Packet& p) {
  learn_mtu(c, sender, p);
  // Processes the acknowledgement first: the READ that it answers may be held behind a gap.
  if (!p.suspect) acknowledge(c, sender, p);
  // The place of a damaged READ response is unknown; the requester requests it again.
  if (p.info->read_response && !p.suspect) read_response(c, sender, p);
}

void Tracker::Impl::read_response(ConnectionState& c, int sender, const Packet& p) {
  Stream& s = c.stream[static_cast<std::size_t>(1 - sender)];
  SideCounters& counters = c.side[static_cast<std::size_t>(sender)].counters;
  const std::uint32_t psn = p.roce->bth.psn;
  // Responses come in order, so the READ is the first unfinished one, or close to it.
  const auto it = std::find_if(s.reads.begin(), s.reads.end(), [&](const ReadInProgress& r) {
    const std::int32_t d = psn_diff(psn, r.op.psn);
    return d >= 0 && static_cast<std::uint32_t>(d) < r.packets;
  });
  if (it == s.reads.end()) {
    ++counters.orphans;
    return;
  }
  Operation& op = it->op;
  const std::int32_t n = psn_diff(psn, op.psn);
  const std::optional<std::uint64_t> expected = share_of(c, *it, p, n);
  const std::uint64_t offset =
      expected ? static_cast<std::uint64_t>(n) * mtu_of(c) : offset_in(c, op, p, n);
  const std::uint64_t room = offset < op.length ? op.length - offset : 0;
  const std::uint64_t length = std::min<std::uint64_t>(p.wire_payload, room);
  // Bytes that a response should carry and does not are missing on the wire, not in the capture: no
  // other packet has them.
  const std::uint64_t share = expected.value_or(length);
  // A response without payload answers a READ of zero bytes.
  const bool fresh = !it->done && (op.length == 0 || it->arrived.add(offset, offset + share));
  if (!fresh) {
    if (p.meta.point == s.answered_at) {
      retransmitted(c, sender, 1, p);
    } else {
      captured_twice(c, sender);
    }
    return;
  }
  s.answered_at = p.meta.point;
  if (expected) judge_response(counters, *it, p, n, share);
  op.last_frame = p.meta.frame;
  op.last_ns = p.meta.time_ns;
  it->missing += share - std::min(length, share);
  op.bytes = it->arrived.covered() - it->missing;
  if (op.want_data && length != 0) {
    listener.on_data({c, op, offset,
                      p.roce->payload.first(static_cast<std::size_t>(
                          std::min<std::uint64_t>(p.roce->payload.size(), length)))});
  }
  if (op.bytes + it->missing == op.length) {
    op.complete = it->missing == 0;
    op.answered = true;
    it->done = true;
    if (it->unseen) {
      --counters.reads_unseen;
    } else {
      --s.open_reads;
    }
    listener.on_operation_end(c, op);
    const auto done = static_cast<std::size_t>(
        std::count_if(s.reads.begin(), s.reads.end(), [](const auto& r) { return r.done; }));
    if (done > kKeptDoneReads) {
      s.reads.erase(
          std::find_if(s.reads.begin(), s.reads.end(), [](const auto& r) { return r.done; }));
    }
  }
}

// Checks a new response, which should carry `share` bytes.
void Tracker::Impl::judge_response(SideCounters& counters, ReadInProgress& read, const Packet& p,
                                   std::int32_t n, std::uint64_t share) {
  if (out_of_place(read, p, n)) count_irregular(counters, &SideCounters::illegal_sequence, p);
  if (p.wire_payload == share || read.wrong_length) return;
  read.wrong_length = true;
  count_irregular(counters, &SideCounters::wrong_response, p);
}

void Tracker::Impl::acknowledge(ConnectionState& c, int sender, const Packet& p) {
  Stream& s = c.stream[static_cast<std::size_t>(1 - sender)];
  SideCounters& counters = c.side[static_cast<std::size_t>(sender)].counters;
  const wire::Aeth& aeth = p.roce->aeth;
  const std::uint32_t psn = p.roce->bth.psn;
  // A NAK acknowledges everything before it.
  const bool refuses = p.info->aeth && (aeth.is_nak() || aeth.is_rnr());
  if (refuses) s.nak_ns = p.meta.time_ns;
  const std::uint32_t last_acked = refuses ? psn_add(psn, wire::kPsnMask) : psn;
  if (!s.acked_known || psn_diff(last_acked, s.acked) > 0) {
    s.answered_at = p.meta.point;
  } else if (p.meta.point != s.answered_at) {
    // read_response() detects copies by itself.
    if (!p.info->read_response) captured_twice(c, sender);
    return;
  }
  if (!p.info->aeth) {
    // A Middle READ response: it shows only which requests were executed.
  } else if (aeth.is_nak()) {
    if (aeth.value() < counters.naks.size()) ++counters.naks[aeth.value()];
    ++stats.nak;
    if (aeth.value() == static_cast<std::uint8_t>(wire::NakCode::kPsnSequence)) {
      s.nak_in_gap = true;
    }
  } else if (aeth.is_rnr()) {
    ++counters.rnr;
    ++stats.rnr;
  } else if (aeth.is_ack()) {
    ++counters.acks;
  }
  if (!p.info->read_response) listener.on_acknowledge({c, sender, aeth, psn, p.meta});
  note_acknowledged(c, 1 - sender, last_acked);
  if (s.open_reads != 0) note_reads_answered(c, 1 - sender, last_acked);
}

// The peer answers in order: having reached `psn`, it has answered all earlier READs of `sender`.
// Unseen answers are missing in the capture, unless they are retransmitted later.
void Tracker::Impl::note_reads_answered(ConnectionState& c, int sender, std::uint32_t psn) {
  Stream& s = c.stream[static_cast<std::size_t>(sender)];
  for (ReadInProgress& read : s.reads) {
    if (psn_diff(psn, psn_add(read.op.psn, read.packets)) < 0) return;
    if (read.done || read.unseen) continue;
    read.unseen = true;
    --s.open_reads;
    ++c.side[static_cast<std::size_t>(1 - sender)].counters.reads_unseen;
  }
}

// The peer has executed the requests of `sender` up to `psn`.
void Tracker::Impl::note_acknowledged(ConnectionState& c, int sender, std::uint32_t psn) {
  Stream& s = c.stream[static_cast<std::size_t>(sender)];
  if (s.started && !s.seen && !s.skipped) s.next = first_psn(c, psn);
  // The responses to a READ of unknown length have its PSNs.
  if (s.open_ended) [[unlikely]] {
    const std::int32_t beyond = psn_diff(psn, s.next);
    if (beyond >= 0 && beyond < kMaxCredibleLoss) s.next = psn_add(psn, 1);
  }
  // A PSN that was never sent cannot be acknowledged, unless the loss is credible.
  if (!s.started || psn_diff(psn, s.next) >= kMaxCredibleLoss) return;
  const bool stale = psn_diff(s.acked, s.next) >= kMaxCredibleLoss;
  if (!s.acked_known || stale || psn_diff(psn, s.acked) > 0) {
    s.acked = psn;
    s.acked_known = true;
    Side& side = c.side[static_cast<std::size_t>(sender)];
    side.acked_known = true;
    side.acked_psn = psn;
    if (!s.held.empty()) drain(c, sender);
    if (s.seen && psn_diff(psn, s.next) >= 0) ++side.counters.acknowledged_unseen;
  }
}

// No more packets will come: uses the held packets and ends the rest as incomplete.
void Tracker::Impl::flush(ConnectionState& c, int sender) {
  Stream& s = c.stream[static_cast<std::size_t>(sender)];
  while (!s.held.empty()) {
    settle_by_held(c, s);
    const Held& front = s.held.front();
    // A damaged packet that was never acknowledged has not arrived.
    const bool arrived = !front.suspect || (s.acked_known && psn_diff(s.acked, front.psn) >= 0);
    if (psn_diff(front.psn, s.next) < 0 || !arrived) {
      held_bytes -= cost(front);
      s.held.pop_front();
      continue;
    }
    skip_to(c, sender, front.psn);
    use_held(c, sender);
  }
  // A larger distance is not a loss but a broken peer.
  if (s.acked_known && s.started && psn_diff(s.acked, s.next) >= 0 &&
      psn_diff(s.acked, s.next) < kMaxCredibleLoss) {
    skip_to(c, sender, psn_add(s.acked, 1));
  }
  if (s.assembly == Stream::Assembly::kWrite) end_write(c, sender);
  if (s.assembly == Stream::Assembly::kSend) end_send(c, sender, false);
  for (ReadInProgress& r : s.reads) {
    if (!r.done) listener.on_operation_end(c, r.op);
  }
  s.reads.clear();
  s.open_reads = 0;
}

}  // namespace rpcrdma::roce
