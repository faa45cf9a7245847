// The requests of one direction in the order of their PSNs, and the responses to them.
#include "state.h"

#include <algorithm>

#include <rpcrdma/roce/psn.h>

namespace rpcrdma::roce {

namespace {

using wire::Opcode;

// Bounds on what is kept while a gap is unexplained; past them the gap counts as the capture's.
constexpr std::size_t kMaxHeldPackets = 1024;         // of one stream
constexpr std::uint64_t kMaxHeldBytes = 16ULL << 20;  // of all streams together
// No inline threshold is over 256 KiB (RFC 8797); what is longer is no RPC-over-RDMA message.
constexpr std::size_t kMaxSendBytes = 512 * 1024;
constexpr std::size_t kMaxReads = 512;  // RDMA READs remembered of one stream
constexpr std::size_t kKeptDoneReads = 16;
constexpr std::int32_t kMaxCredibleLoss = 1 << 16;  // packets, at the end of a capture

constexpr bool is_mtu(std::uint32_t bytes) {
  return bytes == 256 || bytes == 512 || bytes == 1024 || bytes == 2048 || bytes == 4096;
}

constexpr std::uint32_t packets_for(std::uint32_t length, std::uint32_t mtu) {
  return length == 0 ? 1 : static_cast<std::uint32_t>((std::uint64_t{length} + mtu - 1) / mtu);
}

// Used until the first full packet tells the path MTU.
constexpr std::uint32_t kAssumedMtu = 1024;

std::uint32_t mtu_of(const Connection& c) {
  return c.path_mtu != 0 ? c.path_mtu : kAssumedMtu;
}

}  // namespace

void Tracker::Impl::learn_mtu(ConnectionState& c, const Packet& p) {
  const bool full = (p.info->send || p.info->write || p.info->read_response) && !p.info->last;
  if (full && is_mtu(p.wire_payload)) c.path_mtu = p.wire_payload;
}

// The length of a READ in PSNs was a guess; find the path MTU with which the PSN fits.
void Tracker::Impl::settle_uncertain_read(ConnectionState& c, Stream& s, std::uint32_t psn) {
  if (s.reads.empty()) return;
  ReadInProgress& read = s.reads.back();
  for (const std::uint32_t mtu : {1024U, 4096U, 2048U, 512U, 256U}) {
    const std::uint32_t n = packets_for(*s.uncertain_read, mtu);
    if (psn_add(read.op.psn, n) == psn) {
      c.path_mtu = mtu;
      read.packets = n;
      s.next = psn;
      break;
    }
  }
  s.uncertain_read.reset();
}

void Tracker::Impl::request(ConnectionState& c, int sender, const Packet& p,
                            const capture::TransportPacket& transport) {
  Stream& s = c.stream[static_cast<std::size_t>(sender)];
  const std::uint32_t psn = p.roce->bth.psn;
  if (c.path_mtu == 0) learn_mtu(c, p);
  if (!s.started) {
    if (p.suspect) return;
    s.started = true;
    s.next = psn;
    s.assembly = p.info->first ? Stream::Assembly::kIdle : Stream::Assembly::kSkip;
  }
  if (!s.seen && !p.suspect) {
    s.seen = true;
    // The CM named a first PSN that this side does not use: believe the packets.
    const std::int32_t off = psn_diff(psn, s.next);
    if (off < 0 || off > static_cast<std::int32_t>(kMaxHeldPackets)) s.next = psn;
  }
  if (s.uncertain_read && psn != s.next &&
      psn_diff(psn, s.reads.empty() ? psn : s.reads.back().op.psn) > 0) {
    settle_uncertain_read(c, s, psn);
  }
  const std::int32_t ahead = psn_diff(psn, s.next);
  if (ahead < 0) {
    if (!p.suspect) duplicate(c, sender, p);
    return;
  }
  if (p.suspect || ahead > 0) {
    // A PSN that a damaged packet names may be anything.
    if (p.suspect && ahead > static_cast<std::int32_t>(kMaxHeldPackets)) return;
    hold(c, sender, p, transport);
    drain(c, sender);
    return;
  }
  if (!s.held.empty()) {
    // The gap closes. Was the packet late, or sent again? A NAK tells, or that more of what is held
    // comes again behind it.
    if (s.nak_in_gap) {
      ++c.side[static_cast<std::size_t>(sender)].counters.retransmitted;
      ++c.side[static_cast<std::size_t>(sender)].counters.lost_network;
      ++stats.retransmitted;
      ++stats.lost_network;
    } else {
      ++c.side[static_cast<std::size_t>(sender)].counters.reordered;
      ++stats.reordered;
      s.maybe_reordered = true;
      s.filled_at = psn;
    }
  }
  in_order(c, sender, p);
  drain(c, sender);
}

void Tracker::Impl::duplicate(ConnectionState& c, int sender, const Packet& p) {
  Stream& s = c.stream[static_cast<std::size_t>(sender)];
  SideCounters& counters = c.side[static_cast<std::size_t>(sender)].counters;
  ++counters.retransmitted;
  ++stats.retransmitted;
  if (s.maybe_reordered && psn_diff(p.roce->bth.psn, s.filled_at) > 0) {
    // What came after the gap is sent again too: go-back-N, so the gap was a loss.
    --counters.reordered;
    ++counters.retransmitted;
    ++counters.lost_network;
    --stats.reordered;
    ++stats.retransmitted;
    ++stats.lost_network;
    s.maybe_reordered = false;
  }
}

void Tracker::Impl::hold(ConnectionState& c, int sender, const Packet& p,
                         const capture::TransportPacket& transport) {
  Stream& s = c.stream[static_cast<std::size_t>(sender)];
  const std::uint32_t psn = p.roce->bth.psn;
  const auto at =
      std::lower_bound(s.held.begin(), s.held.end(), psn,
                       [](const Held& h, std::uint32_t v) { return psn_diff(h.psn, v) < 0; });
  if (at != s.held.end() && at->psn == psn) {
    ++c.side[static_cast<std::size_t>(sender)].counters.retransmitted;
    ++stats.retransmitted;
    if (!at->suspect || p.suspect) return;
    held_bytes -= at->bytes.size();
    s.held.erase(at);
    hold(c, sender, p, transport);
    return;
  }
  const auto bytes = transport.transport();
  Held held{psn, p.meta, p.suspect, transport.wire_length, {bytes.begin(), bytes.end()}};
  held_bytes += held.bytes.size();
  s.held.insert(at, std::move(held));
  if (s.held.size() > kMaxHeldPackets || held_bytes > kMaxHeldBytes) {
    skip_to(c, sender, s.held.front().psn);
    use_held(c, sender);
  }
}

// Takes what has become next, and closes gaps that the peer has acknowledged.
void Tracker::Impl::drain(ConnectionState& c, int sender) {
  Stream& s = c.stream[static_cast<std::size_t>(sender)];
  while (!s.held.empty()) {
    const Held& front = s.held.front();
    const std::int32_t ahead = psn_diff(front.psn, s.next);
    if (ahead < 0) {
      // Another copy was taken in the meantime.
      held_bytes -= front.bytes.size();
      s.held.erase(s.held.begin());
      continue;
    }
    const bool acked = s.acked_known && psn_diff(s.acked, s.next) >= 0;
    if (ahead == 0 && (!front.suspect || acked)) {
      use_held(c, sender);
    } else if (ahead > 0 && acked) {
      const std::int32_t acked_ahead = psn_diff(s.acked, s.next) + 1;
      skip_to(c, sender, psn_add(s.next, static_cast<std::uint32_t>(std::min(ahead, acked_ahead))));
    } else {
      return;
    }
  }
  s.nak_in_gap = false;
}

void Tracker::Impl::use_held(ConnectionState& c, int sender) {
  Stream& s = c.stream[static_cast<std::size_t>(sender)];
  const Held held = std::move(s.held.front());
  s.held.erase(s.held.begin());
  held_bytes -= held.bytes.size();
  const auto decoded = wire::decode_roce(held.bytes, held.wire_length);
  if (!decoded) return;  // it decoded when it was held
  Packet p;
  p.roce = &*decoded;
  p.info = &wire::opcode_info(decoded->bth.opcode);
  p.meta = held.meta;
  p.wire_payload = wire_payload_length(held.bytes, *decoded, held.wire_length);
  p.suspect = held.suspect;
  in_order(c, sender, p);
}

// The capture does not have the packets from `next` up to `psn`.
void Tracker::Impl::skip_to(ConnectionState& c, int sender, std::uint32_t psn) {
  Stream& s = c.stream[static_cast<std::size_t>(sender)];
  const std::int32_t missing = psn_diff(psn, s.next);
  if (missing <= 0) return;
  c.side[static_cast<std::size_t>(sender)].counters.lost_capture +=
      static_cast<std::uint64_t>(missing);
  stats.lost_capture += static_cast<std::uint64_t>(missing);
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
    if (s.assembly == Stream::Assembly::kSend || s.assembly == Stream::Assembly::kWrite) {
      ++counters.illegal_sequence;
      if (s.assembly == Stream::Assembly::kWrite) end_write(c, sender);
    }
    s.send = SendMessage{};
    s.send.sender = static_cast<std::uint8_t>(sender);
    s.send.first_frame = p.meta.frame;
    s.send.first_ns = p.meta.time_ns;
    s.buffer.clear();
    s.assembly = Stream::Assembly::kSend;
  } else if (s.assembly != Stream::Assembly::kSend) {
    if (s.assembly == Stream::Assembly::kSkip) {
      ++counters.orphans;
    } else {
      ++counters.illegal_sequence;
    }
    if (p.info->last) s.assembly = Stream::Assembly::kIdle;
    return;
  }
  s.send.frame = p.meta.frame;
  s.send.time_ns = p.meta.time_ns;
  s.send.suspect |= p.suspect;
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
    // SEND Only: no copy.
    s.send.data = roce.payload;
    s.send.complete = roce.payload.size() == p.wire_payload;
    s.assembly = Stream::Assembly::kIdle;
    listener.on_send(c, s.send);
    return;
  }
  // Bytes behind a missing piece would stand at a wrong offset.
  if (s.buffer.size() + p.wire_payload == s.send.wire_length &&
      s.buffer.size() + roce.payload.size() <= kMaxSendBytes) {
    s.buffer.insert(s.buffer.end(), roce.payload.begin(), roce.payload.end());
  }
  if (p.info->last) end_send(c, sender, true);
}

void Tracker::Impl::end_send(ConnectionState& c, int sender, bool complete) {
  Stream& s = c.stream[static_cast<std::size_t>(sender)];
  s.send.data = s.buffer;
  s.send.complete = complete && s.buffer.size() == s.send.wire_length;
  s.assembly = Stream::Assembly::kIdle;
  listener.on_send(c, s.send);
}

void Tracker::Impl::write_packet(ConnectionState& c, int sender, const Packet& p) {
  Stream& s = c.stream[static_cast<std::size_t>(sender)];
  SideCounters& counters = c.side[static_cast<std::size_t>(sender)].counters;
  const wire::RocePacket& roce = *p.roce;
  Operation& op = s.write;
  if (p.info->first) {
    if (s.assembly == Stream::Assembly::kSend || s.assembly == Stream::Assembly::kWrite) {
      ++counters.illegal_sequence;
      if (s.assembly == Stream::Assembly::kWrite) end_write(c, sender);
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
    s.assembly = Stream::Assembly::kWrite;
    listener.on_operation(c, op);
  } else if (s.assembly != Stream::Assembly::kWrite) {
    if (s.assembly == Stream::Assembly::kSkip) {
      ++counters.orphans;
    } else {
      ++counters.illegal_sequence;
    }
    if (p.info->last) s.assembly = Stream::Assembly::kIdle;
    return;
  }
  op.last_frame = p.meta.frame;
  op.last_ns = p.meta.time_ns;
  op.suspect |= p.suspect;
  const std::uint64_t offset =
      static_cast<std::uint64_t>(psn_diff(roce.bth.psn, s.write_start)) * mtu_of(c);
  const std::uint64_t room = offset < op.length ? op.length - offset : 0;
  op.bytes += std::min<std::uint64_t>(p.wire_payload, room);
  if (op.want_data && !roce.payload.empty() && room != 0) {
    listener.on_data(c, op, offset,
                     roce.payload.first(static_cast<std::size_t>(
                         std::min<std::uint64_t>(roce.payload.size(), room))));
  }
  if (p.info->last) end_write(c, sender);
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
    if (!s.reads.front().done) listener.on_operation_end(c, s.reads.front().op);
    s.reads.erase(s.reads.begin());
  }
  ReadInProgress& read = s.reads.emplace_back();
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
  if (p.info->read_response) {
    if (c.path_mtu == 0) {
      learn_mtu(c, p);
      Stream& asker = c.stream[static_cast<std::size_t>(1 - sender)];
      if (c.path_mtu != 0 && asker.uncertain_read) {
        ReadInProgress& read = asker.reads.back();
        read.packets = packets_for(*asker.uncertain_read, c.path_mtu);
        asker.next = psn_add(read.op.psn, read.packets);
        asker.uncertain_read.reset();
      }
    }
    read_response(c, sender, p);
  }
  if (p.info->aeth && !p.suspect) acknowledge(c, sender, p);
}

void Tracker::Impl::read_response(ConnectionState& c, int sender, const Packet& p) {
  Stream& s = c.stream[static_cast<std::size_t>(1 - sender)];
  SideCounters& counters = c.side[static_cast<std::size_t>(sender)].counters;
  const std::uint32_t psn = p.roce->bth.psn;
  // Responses come in order, so the wanted READ is the first unfinished one, or close to it.
  const auto it = std::find_if(s.reads.begin(), s.reads.end(), [&](const ReadInProgress& r) {
    const std::int32_t d = psn_diff(psn, r.op.psn);
    return d >= 0 && static_cast<std::uint32_t>(d) < r.packets;
  });
  if (it == s.reads.end()) {
    if (!p.suspect) ++counters.orphans;
    return;
  }
  Operation& op = it->op;
  const std::uint64_t offset = static_cast<std::uint64_t>(psn_diff(psn, op.psn)) * mtu_of(c);
  const std::uint64_t room = offset < op.length ? op.length - offset : 0;
  const std::uint64_t length = std::min<std::uint64_t>(p.wire_payload, room);
  // A response without payload answers a READ of zero bytes.
  const bool fresh = !it->done && (op.length == 0 || it->arrived.add(offset, offset + length));
  if (!fresh && !(op.suspect && !p.suspect && !it->done)) {
    if (!p.suspect) {
      ++counters.retransmitted;
      ++stats.retransmitted;
    }
    return;
  }
  op.suspect |= p.suspect;
  op.last_frame = p.meta.frame;
  op.last_ns = p.meta.time_ns;
  op.bytes = it->arrived.covered();
  if (op.want_data && length != 0) {
    listener.on_data(c, op, offset,
                     p.roce->payload.first(static_cast<std::size_t>(
                         std::min<std::uint64_t>(p.roce->payload.size(), length))));
  }
  if (op.bytes == op.length) {
    op.complete = true;
    it->done = true;
    listener.on_operation_end(c, op);
    const auto done = static_cast<std::size_t>(
        std::count_if(s.reads.begin(), s.reads.end(), [](const auto& r) { return r.done; }));
    if (done > kKeptDoneReads) {
      s.reads.erase(
          std::find_if(s.reads.begin(), s.reads.end(), [](const auto& r) { return r.done; }));
    }
  }
}

void Tracker::Impl::acknowledge(ConnectionState& c, int sender, const Packet& p) {
  Stream& s = c.stream[static_cast<std::size_t>(1 - sender)];
  SideCounters& counters = c.side[static_cast<std::size_t>(sender)].counters;
  const wire::Aeth& aeth = p.roce->aeth;
  const std::uint32_t psn = p.roce->bth.psn;
  std::uint32_t last_acked = psn;
  if (aeth.is_nak()) {
    if (aeth.value() < counters.naks.size()) ++counters.naks[aeth.value()];
    ++stats.nak;
    if (aeth.value() == static_cast<std::uint8_t>(wire::NakCode::kPsnSequence)) {
      s.nak_in_gap = true;
    }
    last_acked = psn_add(psn, wire::kPsnMask);  // a NAK acknowledges what is before it
  } else if (aeth.is_rnr()) {
    ++counters.rnr;
    ++stats.rnr;
    last_acked = psn_add(psn, wire::kPsnMask);
  } else if (aeth.is_ack()) {
    ++counters.acks;
  }
  if (!p.info->read_response) listener.on_acknowledge(c, sender, aeth, psn, p.meta);
  if (!s.started) return;
  if (!s.acked_known || psn_diff(last_acked, s.acked) > 0) {
    s.acked = last_acked;
    s.acked_known = true;
    if (!s.held.empty()) drain(c, 1 - sender);
  }
}

// No more packets will come: what is held is taken, the rest ends incomplete.
void Tracker::Impl::flush(ConnectionState& c, int sender) {
  Stream& s = c.stream[static_cast<std::size_t>(sender)];
  while (!s.held.empty()) {
    if (psn_diff(s.held.front().psn, s.next) < 0) {
      held_bytes -= s.held.front().bytes.size();
      s.held.erase(s.held.begin());
      continue;
    }
    skip_to(c, sender, s.held.front().psn);
    use_held(c, sender);
  }
  // Further ahead than that is no loss but a peer that makes no sense.
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
}

}  // namespace rpcrdma::roce
