// FPDUs to Sends, RDMA Writes and RDMA Reads. TCP has put them in order, and each byte comes once.
#include "state.h"

#include <algorithm>

#include <rpcrdma/wire/roce.h>

namespace rpcrdma::iwarp {

namespace {

Bytes payload_of(const Fpdu& f) {
  return f.ulpdu.subspan(std::min(f.ddp.header, f.ulpdu.size()));
}
std::size_t wire_payload_of(const Fpdu& f) {
  return f.wire_length - f.ddp.header;
}

}  // namespace

void Reader::Impl::fpdu(State& c, std::size_t side, const Fpdu& f) {
  Direction& d = c.flow->of_side(side);
  switch (f.crc) {
    case Crc::kGood:
      ++c.icrc_good;
      ++stats.crc_good;
      break;
    case Crc::kBad:
      ++c.icrc_bad;
      ++stats.crc_bad;
      break;
    case Crc::kUnchecked:
      ++stats.crc_unchecked;
      break;
  }
  const bool first = !std::exchange(d.any_fpdu, true);
  if (f.after_gap) {
    give_write(c, side, false);
  }
  // RFC 6581 section 7: the initiator's first message may only show that it is ready.
  const bool ready = first && side == 0 && c.flow->peer_to_peer &&
                     f.ddp.opcode != Rdmap::kReadRequest && wire_payload_of(f) == 0;
  if (ready) return;
  switch (f.ddp.opcode) {
    case Rdmap::kSend:
    case Rdmap::kSendInvalidate:
    case Rdmap::kSendSolicited:
    case Rdmap::kSendSolicitedInvalidate:
      return send(c, side, f);
    case Rdmap::kWrite:
      return write(c, side, f);
    case Rdmap::kReadRequest:
      return read_request(c, side, f);
    case Rdmap::kReadResponse:
      return read_response(c, side, f);
    case Rdmap::kTerminate:
      return terminate(c, side, f);
    // RPC-over-RDMA uses none of these.
    case Rdmap::kImmediate:
    case Rdmap::kImmediateSolicited:
    case Rdmap::kAtomicRequest:
    case Rdmap::kAtomicResponse:
      ++stats.other_service;
      return;
  }
}

void Reader::Impl::send(State& c, std::size_t side, const Fpdu& f) {
  Direction& d = c.flow->of_side(side);
  SendAssembly& a = d.send;
  const Bytes payload = payload_of(f);
  const std::size_t length = wire_payload_of(f);
  const bool begins = f.ddp.message_offset == 0;
  if (a.active &&
      (begins || a.sequence != f.ddp.sequence || f.ddp.message_offset < a.message.wire_length)) {
    give_send(c, side, false);
  }
  if (!a.active && !begins) {
    if (!a.skipping || a.sequence != f.ddp.sequence) ++c.side[side].counters.orphans;
    a.skipping = !f.ddp.last;
    a.sequence = f.ddp.sequence;
    return;
  }
  if (!a.active) {
    a.active = true;
    a.skipping = false;
    a.sequence = f.ddp.sequence;
    a.buffer.clear();
    a.message = {};
    a.message.sender = static_cast<std::uint8_t>(side);
    a.message.first_frame = f.first.frame;
    a.message.first_ns = f.first.time_ns;
    a.message.first_psn = d.order;
    a.message.psn_known = false;
  }
  roce::SendMessage& m = a.message;
  m.frame = f.last.frame;
  m.time_ns = f.last.time_ns;
  m.psn = d.order++ & wire::kPsnMask;
  m.suspect |= f.crc == Crc::kBad;
  if (f.ddp.opcode == Rdmap::kSendInvalidate || f.ddp.opcode == Rdmap::kSendSolicitedInvalidate) {
    m.has_invalidate = true;
    m.invalidate_handle = f.ddp.stag;
  }
  if (begins && f.ddp.last) {
    // No copy is needed.
    m.wire_length = length;
    m.data = payload;
    m.complete = payload.size() == length;
    a.active = false;
    listener.on_send(c, m);
    return;
  }
  // Bytes after a missing piece would be at a wrong offset.
  if (a.buffer.size() == f.ddp.message_offset &&
      a.buffer.size() + payload.size() <= kMaxSendBytes) {
    a.buffer.insert(a.buffer.end(), payload.begin(), payload.end());
  }
  m.wire_length = std::uint64_t{f.ddp.message_offset} + length;
  if (f.ddp.last) give_send(c, side, true);
}

// `ended`: its last segment was seen.
void Reader::Impl::give_send(State& c, std::size_t side, bool ended) {
  SendAssembly& a = c.flow->of_side(side).send;
  if (!a.active) return;
  a.active = false;
  a.message.data = a.buffer;
  a.message.complete = ended && a.buffer.size() == a.message.wire_length;
  listener.on_send(c, a.message);
  a.message.data = {};
}

void Reader::Impl::write(State& c, std::size_t side, const Fpdu& f) {
  Direction& d = c.flow->of_side(side);
  WriteAssembly& a = d.write;
  const Bytes payload = payload_of(f);
  const std::size_t length = wire_payload_of(f);
  const bool continues =
      a.active && a.op.handle == f.ddp.stag && a.op.offset + a.length == f.ddp.offset;
  const bool too_long = a.length + length > kMaxWriteBytes;
  if (a.active && (!continues || too_long)) give_write(c, side, continues);
  if (!a.active) {
    a.active = true;
    a.whole = true;
    a.length = 0;
    a.pieces.clear();
    a.buffer.clear();
    a.op = {};
    a.op.kind = roce::OpKind::kWrite;
    a.op.initiator = static_cast<std::uint8_t>(side);
    a.op.handle = f.ddp.stag;
    a.op.offset = f.ddp.offset;
    a.op.psn = d.order++ & wire::kPsnMask;
    a.op.first_frame = f.first.frame;
    a.op.first_ns = f.first.time_ns;
  }
  if (!payload.empty()) a.pieces.push_back({a.length, a.buffer.size(), payload.size()});
  a.buffer.insert(a.buffer.end(), payload.begin(), payload.end());
  a.length += length;
  a.op.bytes += payload.size();
  a.op.last_frame = f.last.frame;
  a.op.last_ns = f.last.time_ns;
  a.op.suspect |= f.crc == Crc::kBad;
  if (f.ddp.last) give_write(c, side, true);
}

// `ended`: its last segment was seen.
void Reader::Impl::give_write(State& c, std::size_t side, bool ended) {
  WriteAssembly& a = c.flow->of_side(side).write;
  if (!a.active) return;
  a.active = false;
  a.op.length = static_cast<std::uint32_t>(a.length);
  a.op.complete = ended && a.op.bytes == a.length;
  const std::uint64_t bytes = std::exchange(a.op.bytes, 0);
  listener.on_operation(c, a.op);
  if (a.op.want_data) {
    for (const WriteAssembly::Piece& p : a.pieces) {
      listener.on_data({c, a.op, p.offset, Bytes(a.buffer).subspan(p.begin, p.size)});
    }
  }
  a.op.bytes = bytes;
  listener.on_operation_end(c, a.op);
}

void Reader::Impl::read_request(State& c, std::size_t side, const Fpdu& f) {
  const Bytes payload = payload_of(f);
  if (payload.size() < kReadRequestBytes) {
    ++c.side[side].counters.orphans;
    return;
  }
  const ReadRequest r = decode_read_request(payload);
  Direction& d = c.flow->of_side(side);
  ReadInFlight read;
  read.sink_stag = r.sink_stag;
  read.sink_offset = r.sink_offset;
  read.op.kind = roce::OpKind::kRead;
  read.op.initiator = static_cast<std::uint8_t>(side);
  read.op.handle = r.source_stag;
  read.op.offset = r.source_offset;
  read.op.length = r.length;
  read.op.psn = d.order++ & wire::kPsnMask;
  read.op.first_frame = read.op.last_frame = f.first.frame;
  read.op.first_ns = read.op.last_ns = f.first.time_ns;
  read.op.suspect = f.crc == Crc::kBad;
  // A Read of no bytes may only show that the initiator is ready; no model needs it.
  if (d.reads.size() >= kMaxReads) end_read(c, side);
  d.reads.push_back(read);
  if (r.length != 0) listener.on_operation(c, d.reads.back().op);
}

// Responses come in the order of the requests.
void Reader::Impl::read_response(State& c, std::size_t side, const Fpdu& f) {
  std::deque<ReadInFlight>& reads = c.flow->of_side(1 - side).reads;
  const std::size_t length = wire_payload_of(f);
  const auto it = std::find_if(reads.begin(), reads.end(), [&](const ReadInFlight& r) {
    const std::uint64_t into = f.ddp.offset - r.sink_offset;
    return r.sink_stag == f.ddp.stag && into <= r.op.length && (length == 0 || into < r.op.length);
  });
  roce::SideCounters& counters = c.side[side].counters;
  if (it == reads.end()) {
    ++counters.orphans;
    return;
  }
  for (auto n = it - reads.begin(); n != 0; --n) {
    ++counters.reads_unseen;
    end_read(c, 1 - side);
  }
  ReadInFlight& read = reads.front();
  roce::Operation& op = read.op;
  const std::uint64_t into = f.ddp.offset - read.sink_offset;
  const Bytes payload = payload_of(f);
  const std::size_t fits =
      std::min<std::size_t>(payload.size(), static_cast<std::size_t>(op.length - into));
  if (length > op.length - into) ++counters.wrong_response;
  op.last_frame = f.last.frame;
  op.last_ns = f.last.time_ns;
  op.suspect |= f.crc == Crc::kBad;
  if (op.want_data && fits != 0) listener.on_data({c, op, into, payload.first(fits)});
  op.bytes = std::min<std::uint64_t>(op.length, op.bytes + fits);
  if (!f.ddp.last) return;
  op.answered = true;
  op.complete = op.bytes == op.length;
  end_read(c, 1 - side);
}

void Reader::Impl::end_read(State& c, std::size_t side) {
  std::deque<ReadInFlight>& reads = c.flow->of_side(side).reads;
  if (reads.front().op.length != 0) listener.on_operation_end(c, reads.front().op);
  reads.pop_front();
}

// The side that finds an error ends the connection.
void Reader::Impl::terminate(State& c, std::size_t side, const Fpdu& f) {
  if (!c.failure.empty()) return;
  c.failure = terminate_text(payload_of(f));
  if (c.closed_by < 0) {
    c.closed_by = static_cast<int>(side);
    c.closed_frame = f.last.frame;
  }
}

void Reader::Impl::end_messages(State& c, std::size_t side) {
  give_send(c, side, false);
  give_write(c, side, false);
  while (!c.flow->of_side(side).reads.empty()) end_read(c, side);
  Direction& d = c.flow->of_side(side);
  d.send = {};
  d.write = {};
}

}  // namespace rpcrdma::iwarp
