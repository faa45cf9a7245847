// The responder: executes the peer's Sends, Writes and Reads in PSN order, and queues ACKs, NAKs
// and Read responses.
#include "rc_responder.h"

#include "packet_fields.h"
#include "trace_hooks.h"

#include <algorithm>
#include <cstring>

namespace rpcrdma::soft {

using fabric::Access;
using fabric::Errc;
using fabric::Status;
using wire::NakCode;
using wire::Opcode;

namespace {

constexpr std::uint8_t kAckSyndrome = 0;  // the credits are filled in when it is sent
constexpr std::uint8_t kRnrSyndrome = 1U << 5;
constexpr std::uint8_t kNakSyndrome = 3U << 5;

constexpr bool is_ack(std::uint8_t syndrome) {
  return (syndrome >> 5U) == 0;
}
// Everything before this PSN is acknowledged: an ACK includes its own PSN, a NAK does not.
constexpr std::uint32_t acknowledged_by(std::uint8_t syndrome, std::uint32_t psn) {
  return is_ack(syndrome) ? psn_add(psn, 1) : psn;
}

// The start of the memory that the peer accesses, for the trace.
wire::Bytes front_of(const MemoryTable& memory, std::uint32_t qpn, const wire::Reth& reth,
                     Access access) {
  const std::size_t bytes = std::min<std::size_t>(reth.dma_length, trace::kOperationTail);
  const std::uint8_t* const from =
      bytes == 0 ? nullptr : memory.find(qpn, reth.rkey, reth.va, bytes, access);
  return from == nullptr ? wire::Bytes() : wire::Bytes(from, bytes);
}

}  // namespace

void RcResponder::start(const QpParameters& parameters) {
  parameters_ = parameters;
  expected_psn_ = parameters.receive_psn & wire::kPsnMask;
  newest_to_ack_ = psn_add(expected_psn_, wire::kPsnMask);  // one PSN before: nothing yet
  unended_reads_.assign(std::max<std::size_t>(parameters.responder_resources, 1), {});
}

fabric::Expected<void> RcResponder::post(const fabric::ReceiveRequest& request,
                                         const MemoryTable& memory) {
  if (receives_.full()) return fabric::fail(Errc::kNoRoom);
  ReceiveWork& w = receives_.next();
  w.id = request.id;
  auto done = memory.local(request.local, w.local);
  if (done) receives_.push();
  return done;
}

std::uint32_t RcResponder::packets_of(std::uint32_t length) const {
  return std::max(1U, (length + parameters_.mtu - 1) / parameters_.mtu);
}

// Returns the syndrome of an ACK that is sent now.
std::uint8_t RcResponder::ack_syndrome() {
  if (!parameters_.flow_control) return kNoCreditCount;
  const std::uint8_t code = credit_code(receives_.size());
  msn_limit_ = msn_ + kCredits[code];
  return code;
}

bool RcResponder::ack_may_wait() const {
  constexpr std::uint32_t kFewSends = 8;
  constexpr std::int32_t kEnoughReceives = 2;
  const bool peer_can_go_on =
      !parameters_.flow_control || psn_diff(msn_limit_ & wire::kPsnMask, msn_) >= kEnoughReceives;
  return !urgent_ && sends_unacknowledged_ < kFewSends && peer_can_go_on;
}

// Queues an answer without data. It replaces one that waits to be sent, unless there is a Read
// answer between them: ACKs coalesce. The one that acknowledges more remains; if both acknowledge
// the same, a NAK.
void RcResponder::answer(std::uint8_t syndrome, std::uint32_t psn, bool fatal) {
  const bool joins = !answers_.empty() && !answers_.back().read;
  if (!joins) {
    if (answers_.full()) return;
    answers_.next() = {};
    answers_.push();
  }
  Answer& waits = answers_.back();
  if (joins) {
    const std::int32_t more =
        psn_diff(acknowledged_by(syndrome, psn), acknowledged_by(waits.syndrome, waits.psn));
    if (waits.fatal || more < 0 || (more == 0 && is_ack(syndrome))) return;
  }
  waits.syndrome = syndrome;
  waits.psn = psn;
  waits.fatal = fatal;
}

Served RcResponder::refuse(NakCode code, const char* reason, Status receive_status) {
  refused_ = true;
  answer(static_cast<std::uint8_t>(kNakSyndrome | static_cast<std::uint8_t>(code)), expected_psn_,
         true);
  Served served;
  served.outcome = Served::Outcome::kFatal;
  served.reason = reason;
  served.receive_status = receive_status;
  return served;
}

bool RcResponder::in_sequence(const wire::OpcodeInfo& info) const {
  if (info.send) return current_ == (info.first ? Current::kNone : Current::kSend);
  if (info.write) return current_ == (info.first ? Current::kNone : Current::kWrite);
  return current_ == Current::kNone;  // a Read between messages
}

// Only the last packet of a message may be shorter than the path MTU, and it may be empty only if
// it is the whole message.
bool RcResponder::fits(const wire::OpcodeInfo& info, std::size_t payload) const {
  if (!info.last) return payload == parameters_.mtu;
  return payload <= parameters_.mtu && (info.first || payload > 0);
}

Served RcResponder::receive(const wire::RocePacket& packet, MemoryTable& memory, HandleOwner& owner,
                            fabric::Completion& message, fabric::Time now) {
  if (refused_) return {};
  answers_.reserve(answers_.size() + 1);  // no packet needs more
  const wire::OpcodeInfo& info = wire::opcode_info(packet.bth.opcode);
  const std::int32_t distance = psn_diff(packet.bth.psn, expected_psn_);
  if (distance > 0) {
    ++counters_.out_of_order;
    if (!gap_reported_) {
      gap_reported_ = true;
      answer(kNakSyndrome | static_cast<std::uint8_t>(NakCode::kPsnSequence), expected_psn_);
    }
    return {};
  }
  if (distance < 0) {
    ++counters_.duplicates;
    if (trace_.on()) trace_retransmission(trace_, trace::kPeer, packet.bth.psn, now);
    duplicate(packet, memory, owner.qpn);
    return {};
  }
  if (!in_sequence(info)) return refuse(NakCode::kInvalidRequest, "opcode out of sequence");
  const bool is_read = packet.bth.opcode == static_cast<std::uint8_t>(Opcode::kReadRequest);
  if (!is_read && !info.send && !info.write) {
    return refuse(NakCode::kInvalidRequest, "operation not supported");
  }
  gap_reported_ = false;
  if (is_read) return read(packet, memory, owner.qpn, now);
  if (!fits(info, packet.payload.size())) {
    return refuse(NakCode::kInvalidRequest, "packet length does not match the opcode and the MTU");
  }
  return info.send ? send(packet, info, memory, owner, message)
                   : write(packet, info, memory, owner.qpn, message, now);
}

void RcResponder::drop_back() {
  const Answer& a = answers_.back();
  if (a.read) --(a.repeated ? repeats_waiting_ : reads_waiting_);
  if (!a.read && !is_ack(a.syndrome)) gap_reported_ = false;
  answers_.pop_back();
}

void RcResponder::add_read(const wire::RocePacket& packet, bool repeated) {
  Answer a;
  a.read = true;
  a.repeated = repeated;
  a.psn = packet.bth.psn;
  a.handle = packet.reth.rkey;
  a.offset = packet.reth.va;
  a.length = packet.reth.dma_length;
  answers_.push(a);
  ++(repeated ? repeats_waiting_ : reads_waiting_);
}

// A duplicate Read is executed again (9.7.5.1.4 mentions resources kept for that; executing the
// request works as well, since its handle is checked again). All answers queued from there on will
// be requested again too.
void RcResponder::duplicate(const wire::RocePacket& packet, const MemoryTable& memory,
                            std::uint32_t qpn) {
  const std::uint32_t psn = packet.bth.psn;
  if (packet.bth.opcode != static_cast<std::uint8_t>(Opcode::kReadRequest)) {
    if (!wire::opcode_info(packet.bth.opcode).request) return;
    urgent_ = true;
    // While a Read is unanswered, the newest PSN would imply that its response was lost.
    const bool read_waits = reads_waiting_ + repeats_waiting_ != 0;
    answer(kAckSyndrome, read_waits ? psn : newest_to_ack_);
    return;
  }
  const wire::Reth& reth = packet.reth;
  const std::uint32_t end = psn_add(psn, packets_of(reth.dma_length));
  if (reth.dma_length > kMaxMessage || psn_diff(end, expected_psn_) > 0) {
    ++counters_.dropped;
    return;
  }
  for (std::uint64_t n = answers_.begin(); n != answers_.end(); ++n) {
    const Answer& a = answers_[n];
    if (a.read && !a.begun && a.psn == psn && a.length == reth.dma_length) return;  // still queued
  }
  if (reth.dma_length != 0 &&
      memory.find(qpn, reth.rkey, reth.va, reth.dma_length, Access::kRemoteRead) == nullptr) {
    // A delayed copy may name a handle that was invalidated after the Read was complete: no reason
    // to end the connection here. If the peer still waits for the Read, the NAK ends it.
    answer(kNakSyndrome | static_cast<std::uint8_t>(NakCode::kRemoteAccess), psn);
    return;
  }
  while (!answers_.empty() && psn_diff(answers_.back().psn, psn) >= 0) drop_back();
  // For an answer in progress, a.psn is its next packet. If the rest overlaps this request, drop
  // it: the duplicate Read repeats it.
  if (!answers_.empty() && answers_.back().read) {
    const Answer& a = answers_.back();
    if (psn_diff(psn_add(a.psn, packets_of(a.length)), psn) > 0) drop_back();
  }
  if (repeats_waiting_ >= parameters_.responder_resources) return;
  add_read(packet, true);
}

void RcResponder::executed(const wire::RocePacket& packet, bool message) {
  ++counters_.packets_in;
  counters_.bytes_in += packet.payload.size();
  if (message) msn_ = (msn_ + 1) & wire::kPsnMask;
  if (packet.bth.ack_req) {
    answer(kAckSyndrome, expected_psn_);
    if (message && wire::opcode_info(packet.bth.opcode).send) {
      ++sends_unacknowledged_;
    } else {
      urgent_ = true;
    }
  }
  newest_to_ack_ = expected_psn_;
  expected_psn_ = psn_add(expected_psn_, 1);
}

void RcResponder::receive_not_ready() {
  // Packets after it were sent before the peer knew, and are no gap (9.7.5.2.8).
  gap_reported_ = true;
  answer(static_cast<std::uint8_t>(kRnrSyndrome | parameters_.min_rnr_timer), expected_psn_);
}

void RcResponder::complete(const wire::RocePacket& packet, const wire::OpcodeInfo& info,
                           fabric::Completion& message) {
  message.id = receives_.front().id;
  receives_.pop();
  message.operation = fabric::Operation::kReceive;
  message.has_immediate = info.imm;
  message.immediate = packet.immediate;
}

Served RcResponder::send(const wire::RocePacket& packet, const wire::OpcodeInfo& info,
                         MemoryTable& memory, HandleOwner& owner, fabric::Completion& message) {
  if (receives_.empty()) {
    receive_not_ready();
    return {};
  }
  if (info.first) filled_ = 0;
  const ReceiveWork& into = receives_.front();
  if (packet.payload.size() > into.local.length - filled_) {
    return refuse(NakCode::kInvalidRequest, "a Send is longer than the Receive",
                  Status::kLocalLength);
  }
  if (info.ieth && !memory.invalidate(owner, packet.invalidate_key)) {
    return refuse(NakCode::kRemoteAccess, "the peer invalidated a handle that it does not have");
  }
  into.local.scatter(filled_, packet.payload);
  filled_ += static_cast<std::uint32_t>(packet.payload.size());
  current_ = info.last ? Current::kNone : Current::kSend;
  Served served;
  if (info.last) {
    served.outcome = Served::Outcome::kMessage;
    complete(packet, info, message);
    message.bytes = filled_;
    message.has_invalidated = info.ieth;
    message.invalidated = packet.invalidate_key;
  }
  executed(packet, info.last);
  return served;
}

Served RcResponder::write(const wire::RocePacket& packet, const wire::OpcodeInfo& info,
                          const MemoryTable& memory, std::uint32_t qpn, fabric::Completion& message,
                          fabric::Time now) {
  if (info.imm && receives_.empty()) {
    receive_not_ready();
    return {};
  }
  if (info.first) {
    if (packet.reth.dma_length > kMaxMessage) {
      return refuse(NakCode::kInvalidRequest, "a Write of more than 2 GiB");
    }
    write_handle_ = packet.reth.rkey;
    write_offset_ = packet.reth.va;
    write_left_ = write_length_ = packet.reth.dma_length;
    if (write_length_ != 0 && memory.find(qpn, write_handle_, write_offset_, write_length_,
                                          Access::kRemoteWrite) == nullptr) {
      return refuse(NakCode::kRemoteAccess, "a Write outside the memory advertised to it");
    }
  }
  const auto bytes = static_cast<std::uint32_t>(packet.payload.size());
  if (bytes > write_left_ || (info.last && bytes != write_left_)) {
    return refuse(NakCode::kInvalidRequest, "a Write's packets do not add up to its length");
  }
  if (bytes != 0) {
    // Checked for each packet: the handle may have been invalidated in the meantime.
    std::uint8_t* const to =
        memory.find(qpn, write_handle_, write_offset_, bytes, Access::kRemoteWrite);
    if (to == nullptr) {
      return refuse(NakCode::kRemoteAccess, "a Write into memory no longer advertised to it");
    }
    std::memcpy(to, packet.payload.data(), bytes);
  }
  write_offset_ += bytes;
  write_left_ -= bytes;
  current_ = info.last ? Current::kNone : Current::kWrite;
  if (info.last && trace_.on()) {
    const wire::Reth whole{write_offset_ - write_length_, write_handle_, write_length_};
    trace_peer_operation(trace_, trace::Transfer::kWrite, whole, packet.bth.psn,
                         front_of(memory, qpn, whole, Access::kRemoteWrite), now);
  }
  Served served;
  if (info.last && info.imm) {
    served.outcome = Served::Outcome::kMessage;
    complete(packet, info, message);
    message.bytes = write_length_;
  }
  executed(packet, info.last);
  return served;
}

Served RcResponder::read(const wire::RocePacket& packet, const MemoryTable& memory,
                         std::uint32_t qpn, fabric::Time now) {
  const wire::Reth& reth = packet.reth;
  if (reads_waiting_ >= parameters_.responder_resources) {
    return refuse(NakCode::kInvalidRequest, "more concurrent Reads than negotiated");
  }
  if (reth.dma_length > kMaxMessage || !packet.payload.empty()) {
    return refuse(NakCode::kInvalidRequest, "malformed Read request");
  }
  if (reth.dma_length != 0 &&
      memory.find(qpn, reth.rkey, reth.va, reth.dma_length, Access::kRemoteRead) == nullptr) {
    return refuse(NakCode::kRemoteAccess, "a Read outside the memory advertised to it");
  }
  add_read(packet, false);
  ++counters_.packets_in;
  msn_ = (msn_ + 1) & wire::kPsnMask;
  expected_psn_ = psn_add(expected_psn_, packets_of(reth.dma_length));
  if (trace_.on()) {
    const std::uint32_t last = psn_add(expected_psn_, wire::kPsnMask);
    unended_reads_[next_unended_++ % unended_reads_.size()] = {last, reth};
    trace_peer_operation(trace_, trace::Transfer::kRead, reth, last, {}, now);
  }
  return {};
}

// Each Read ends once and as a whole, even if the peer requested parts of it again.
void RcResponder::read_ended(std::uint32_t last_psn, Status status, const MemoryTable& memory,
                             std::uint32_t qpn, fabric::Time now) {
  if (!trace_.on()) return;
  const auto read = std::ranges::find(unended_reads_, last_psn, &UnendedRead::last_psn);
  if (read == unended_reads_.end()) return;
  read->last_psn = kNoPsn;
  const bool done = status == Status::kSuccess;
  trace_peer_read_end(
      trace_, last_psn, status, done ? read->whole.dma_length : 0,
      done ? front_of(memory, qpn, read->whole, Access::kRemoteRead) : wire::Bytes(), now);
}

bool RcResponder::transmit(OutPacket& out, const MemoryTable& memory, std::uint32_t qpn,
                           bool& fatal, fabric::Time now) {
  fatal = false;
  if (answers_.empty()) return false;
  Answer& a = answers_.front();
  wire::RocePacket headers;
  headers.bth.dest_qp = parameters_.remote_qpn;
  headers.bth.psn = a.psn;
  headers.aeth.msn = msn_;
  out.payload_bytes = 0;
  out.payload_parts = 0;
  std::uint8_t* from = nullptr;
  const std::uint32_t bytes = a.read ? std::min(a.length, parameters_.mtu) : 0;
  if (bytes != 0) {
    from = memory.find(qpn, a.handle, a.offset, bytes, Access::kRemoteRead);
    if (from == nullptr) {
      // Invalidated since the Read was requested. As in duplicate(), a repeated Read may already be
      // complete.
      --(a.repeated ? repeats_waiting_ : reads_waiting_);
      read_ended(psn_add(a.psn, packets_of(a.length) - 1), Status::kRemoteAccess, memory, qpn, now);
      a.fatal = !a.repeated;
      if (a.fatal) refused_ = true;
      a.read = false;
      a.syndrome = kNakSyndrome | static_cast<std::uint8_t>(NakCode::kRemoteAccess);
    }
  }
  ++counters_.packets_out;
  if (!a.read) {
    headers.bth.opcode = static_cast<std::uint8_t>(Opcode::kAck);
    const bool ack = is_ack(a.syndrome);
    headers.aeth.syndrome = ack ? ack_syndrome() : a.syndrome;
    const bool rnr = a.syndrome >> 5U == kRnrSyndrome >> 5U;
    ++(ack ? counters_.acks_out : rnr ? counters_.rnr_out : counters_.naks_out);
    if (!ack && trace_.on()) trace_nak(trace_, trace::kHere, headers.aeth, a.psn, now);
    sends_unacknowledged_ = 0;
    urgent_ = false;
    fatal = a.fatal;
    answers_.pop();
    put_headers(headers, out);
    return true;
  }
  const bool first = !a.begun;
  const bool last = a.length == bytes;
  const Opcode opcode = last ? (first ? Opcode::kReadRespOnly : Opcode::kReadRespLast)
                             : (first ? Opcode::kReadRespFirst : Opcode::kReadRespMiddle);
  headers.bth.opcode = static_cast<std::uint8_t>(opcode);
  headers.aeth.syndrome = ack_syndrome();
  if (bytes != 0) {
    out.payload[0] = wire::Bytes(from, bytes);
    out.payload_parts = 1;
    out.payload_bytes = bytes;
  }
  put_headers(headers, out);
  counters_.bytes_out += bytes;
  a.begun = true;
  a.psn = psn_add(a.psn, 1);
  a.offset += bytes;
  a.length -= bytes;
  if (last) {
    --(a.repeated ? repeats_waiting_ : reads_waiting_);
    read_ended(psn_add(a.psn, wire::kPsnMask), Status::kSuccess, memory, qpn, now);
    answers_.pop();
  }
  return true;
}

}  // namespace rpcrdma::soft
