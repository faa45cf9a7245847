// The requester: segments posted work into packets, retransmits after gaps and time-outs, and
// matches acknowledgments and Read responses.
#include "rc_requester.h"

#include "packet_fields.h"
#include "trace_hooks.h"

#include <algorithm>
#include <limits>

namespace rpcrdma::soft {

using fabric::Errc;
using fabric::Operation;
using fabric::Status;
using wire::Opcode;

namespace {

constexpr std::uint32_t kLeastWindow = 4;

bool is_send(Operation o) {
  return o == Operation::kSend || o == Operation::kSendImmediate || o == Operation::kSendInvalidate;
}
bool takes_receive(Operation o) {
  return is_send(o) || o == Operation::kWriteImmediate;
}

Opcode send_opcode(Operation o, bool first, bool last) {
  if (!last) return first ? Opcode::kSendFirst : Opcode::kSendMiddle;
  switch (o) {
    case Operation::kSendImmediate:
      return first ? Opcode::kSendOnlyImm : Opcode::kSendLastImm;
    case Operation::kSendInvalidate:
      return first ? Opcode::kSendOnlyInv : Opcode::kSendLastInv;
    default:
      return first ? Opcode::kSendOnly : Opcode::kSendLast;
  }
}

Opcode write_opcode(Operation o, bool first, bool last) {
  if (!last) return first ? Opcode::kWriteFirst : Opcode::kWriteMiddle;
  if (o == Operation::kWriteImmediate) return first ? Opcode::kWriteOnlyImm : Opcode::kWriteLastImm;
  return first ? Opcode::kWriteOnly : Opcode::kWriteLast;
}

// Signed difference of 24-bit message numbers.
std::int32_t msn_diff(std::uint32_t a, std::uint32_t b) {
  return psn_diff(a & wire::kPsnMask, b & wire::kPsnMask);
}

Status status_of_nak(std::uint8_t code) {
  switch (static_cast<wire::NakCode>(code)) {
    case wire::NakCode::kInvalidRequest:
      return Status::kRemoteInvalid;
    case wire::NakCode::kRemoteAccess:
      return Status::kRemoteAccess;
    case wire::NakCode::kRemoteOperational:
      return Status::kRemoteOperation;
    default:
      return Status::kBadResponse;
  }
}

}  // namespace

void RcRequester::start(const QpParameters& parameters) {
  parameters_ = parameters;
  una_psn_ = next_psn_ = sent_psn_ = parameters.send_psn & wire::kPsnMask;
  window_ = parameters.window;
  retries_ = parameters.retry_count;
  rnr_retries_ = parameters.rnr_retry_count;
  reads_.reserve(std::min<std::size_t>(parameters.initiator_depth, kMaxReads));
}

fabric::Expected<void> RcRequester::post(const fabric::SendRequest& request,
                                         const MemoryTable& memory) {
  if (work_.full()) return fabric::fail(Errc::kNoRoom);
  SendWork& w = work_.next();
  if (auto done = memory.local(request.local, w.local); !done) return done;
  w.extra = 0;
  switch (request.operation) {
    case Operation::kSend:
    case Operation::kWrite:
      break;
    case Operation::kSendImmediate:
    case Operation::kWriteImmediate:
      w.extra = request.immediate;
      break;
    case Operation::kSendInvalidate:
      w.extra = request.invalidate;
      break;
    case Operation::kRead:
      if (parameters_.initiator_depth == 0) {
        return fabric::fail(Errc::kBadArgument, "the peer serves no Reads on this connection");
      }
      break;
    default:
      return fabric::fail(Errc::kBadArgument, "not an operation of the send queue");
  }
  w.id = request.id;
  w.operation = request.operation;
  w.remote_offset = request.remote_offset;
  w.remote_handle = request.remote_handle;
  w.signaled = request.signaled;
  w.solicited = request.solicited;
  w.fence = request.fence;
  w.packets = std::max(1U, (w.local.length + parameters_.mtu - 1) / parameters_.mtu);
  const std::uint32_t messages =
      w.operation == Operation::kRead
          ? (w.packets + parameters_.read_packets - 1) / parameters_.read_packets
          : 1;
  ssn_ += messages;
  w.ssn = ssn_;
  work_.push();
  return {};
}

// Returns whether the next packet of `work` may be sent; `packets` is the number of PSNs that it
// takes.
bool RcRequester::may_send(const SendWork& work, std::uint32_t& packets) {
  packets = 1;
  if (work.operation == Operation::kRead) {
    // In equal parts from the Read's start, even if the front of a part was already answered.
    const std::uint32_t in_part = next_packet_ % parameters_.read_packets;
    packets = std::min(parameters_.read_packets - in_part, work.packets - next_packet_);
    if (reads_.size() >= parameters_.initiator_depth) return false;
  }
  const auto in_flight = static_cast<std::uint32_t>(psn_diff(next_psn_, una_psn_));
  if (in_flight != 0 && in_flight + packets > window_) return false;
  if (next_packet_ == 0) {
    if (work.fence && !reads_.empty()) return false;
    // Without a Receive, a single message may be sent to probe whether there is one by now.
    if (limited_ && takes_receive(work.operation) && in_flight != 0 &&
        msn_diff(work.ssn, msn_limit_) > 0) {
      return false;
    }
  }
  waits_for_path_ = parameters_.shared != nullptr && !parameters_.shared->admits(waiter_);
  return !waits_for_path_;
}

void RcRequester::note_in_flight() {
  const auto now = static_cast<std::uint32_t>(psn_diff(next_psn_, una_psn_));
  if (parameters_.shared == nullptr || now == in_flight_) return;
  parameters_.shared->change(in_flight_, now);
  in_flight_ = now;
}

bool RcRequester::transmit(OutPacket& out, fabric::Time now, bool others_next) {
  waits_for_path_ = false;
  if (next_ == work_.end() || rnr_until_ != fabric::kNever) return false;
  const SendWork& w = work_[next_];
  std::uint32_t packets = 0;
  if (!may_send(w, packets)) return false;

  wire::RocePacket headers;
  headers.bth.dest_qp = parameters_.remote_qpn;
  headers.bth.psn = next_psn_;
  const bool first = next_packet_ == 0;
  const bool last = next_packet_ + packets == w.packets;
  const std::uint32_t offset = next_packet_ * parameters_.mtu;
  const std::uint32_t rest = w.local.length - offset;
  out.payload_bytes = 0;
  out.payload_parts = 0;
  if (w.operation == Operation::kRead) {
    headers.bth.opcode = static_cast<std::uint8_t>(Opcode::kReadRequest);
    headers.bth.ack_req = true;
    headers.reth.va = w.remote_offset + offset;
    headers.reth.rkey = w.remote_handle;
    headers.reth.dma_length = std::min(rest, packets * parameters_.mtu);
    reads_.push(psn_add(next_psn_, packets));
    if (next_packet_ % parameters_.read_packets != 0) asked_again_at_ = next_psn_;
  } else {
    w.local.gather(offset, std::min(rest, parameters_.mtu), out);
    headers.bth.opcode =
        static_cast<std::uint8_t>(is_send(w.operation) ? send_opcode(w.operation, first, last)
                                                       : write_opcode(w.operation, first, last));
    headers.bth.solicited = last && w.solicited && takes_receive(w.operation);
    if (!is_send(w.operation) && first) {
      headers.reth.va = w.remote_offset;
      headers.reth.rkey = w.remote_handle;
      headers.reth.dma_length = w.local.length;
    }
    headers.immediate = w.extra;
    headers.invalidate_key = w.extra;
    // Also request an ACK if the window is full or soon will be, so that it advances in time.
    const auto in_flight = static_cast<std::uint32_t>(psn_diff(next_psn_, una_psn_)) + 1;
    const std::uint32_t quarter = std::max(1U, window_ / 4);
    headers.bth.ack_req = last || in_flight >= window_ || next_psn_ % quarter == 0;
    // The rest of the message may have to wait. What was sent of it must not occupy the shared
    // window for so long, or appear to be lost.
    if (PeerPath* const shared = parameters_.shared) {
      headers.bth.ack_req = headers.bth.ack_req || others_next || shared->admits_one();
    }
  }
  put_headers(headers, out);

  ++counters_.packets_out;
  counters_.bytes_out += out.payload_bytes;
  if (psn_diff(next_psn_, sent_psn_) < 0) {
    ++counters_.retransmitted;
    if (trace_.on()) trace_retransmission(trace_, trace::kHere, next_psn_, now);
  } else if (timed_psn_ == kNoPsn && headers.bth.ack_req) {
    timed_psn_ = next_psn_;
    timed_at_ = now;
  }
  next_psn_ = psn_add(next_psn_, packets);
  note_in_flight();
  if (psn_diff(next_psn_, sent_psn_) > 0) sent_psn_ = next_psn_;
  next_packet_ += packets;
  if (last) {
    ++next_;
    next_packet_ = 0;
  }
  if (ack_deadline_ == fabric::kNever) arm(now);
  return true;
}

Status RcRequester::respond(const wire::RocePacket& packet, fabric::Time now) {
  if (wire::opcode_info(packet.bth.opcode).read_response) return read_response(packet, now);
  if (packet.bth.opcode == static_cast<std::uint8_t>(Opcode::kAck)) return acknowledge(packet, now);
  ++counters_.dropped;  // of an atomic operation, which is never requested
  return Status::kSuccess;
}

std::uint32_t RcRequester::before_read(std::uint32_t distance) const {
  std::uint64_t n = una_;
  std::uint32_t at = una_packet_;
  for (std::uint32_t passed = 0; passed < distance; ++n, at = 0) {
    if (work_[n].operation == Operation::kRead) return passed;
    passed += work_[n].packets - at;
  }
  return distance;
}

Status RcRequester::acknowledge(const wire::RocePacket& packet, fabric::Time now) {
  const std::int32_t distance = psn_diff(packet.bth.psn, una_psn_);
  if (distance < -1 || psn_diff(packet.bth.psn, sent_psn_) >= 0) {
    ++counters_.ghosts;
    return Status::kSuccess;
  }
  const wire::Aeth& aeth = packet.aeth;
  // A NAK acknowledges everything before its PSN, an ACK that PSN too.
  const std::int32_t through = aeth.is_ack() ? distance + 1 : distance;
  if (through < 0) {
    ++counters_.ghosts;
    return Status::kSuccess;
  }
  if (aeth.is_ack()) {
    ++counters_.acks_in;
  } else if (aeth.is_rnr()) {
    ++counters_.rnr_in;
  } else if (aeth.is_nak()) {
    ++counters_.naks_in;
  } else {
    ++counters_.dropped;
    return Status::kSuccess;
  }
  if (!aeth.is_ack() && trace_.on()) trace_nak(trace_, trace::kPeer, aeth, packet.bth.psn, now);
  const auto acknowledged = static_cast<std::uint32_t>(through);
  const std::uint32_t up_to = before_read(acknowledged);
  if (up_to != 0) advance(up_to, now);
  if (up_to != acknowledged) return gap(now);
  if (aeth.is_ack()) {
    note_credits(aeth);
    return Status::kSuccess;
  }
  if (aeth.is_rnr()) {
    if (rnr_until_ != fabric::kNever) return Status::kSuccess;  // a copy of the same NAK
    if (rnr_retries_ == 0) return Status::kRnrRetriesExceeded;
    constexpr std::uint8_t kWithoutEnd = 7;
    if (parameters_.rnr_retry_count != kWithoutEnd) --rnr_retries_;
    rewind();
    ack_deadline_ = fabric::kNever;
    rnr_until_ = now + static_cast<fabric::Time>(wire::rnr_timer_ns(aeth.value()));
    return Status::kSuccess;
  }
  if (aeth.value() != static_cast<std::uint8_t>(wire::NakCode::kPsnSequence)) {
    return status_of_nak(aeth.value());
  }
  return gap(now);
}

Status RcRequester::read_response(const wire::RocePacket& packet, fabric::Time now) {
  const std::int32_t distance = psn_diff(packet.bth.psn, una_psn_);
  if (distance < 0 || psn_diff(packet.bth.psn, sent_psn_) >= 0) {
    ++counters_.ghosts;
    return Status::kSuccess;
  }
  // A Read response acknowledges everything before the Read.
  const auto from_oldest = static_cast<std::uint32_t>(distance);
  const std::uint32_t up_to = before_read(from_oldest + 1);
  if (up_to > from_oldest) {  // there is no Read at this PSN
    ++counters_.ghosts;
    return Status::kSuccess;
  }
  if (up_to != 0) advance(up_to, now);
  if (up_to != from_oldest) return gap(now);
  const SendWork& w = work_[una_];
  const std::uint32_t offset = una_packet_ * parameters_.mtu;
  if (!in_its_place(packet.bth.opcode) ||
      packet.payload.size() != std::min(parameters_.mtu, w.local.length - offset)) {
    return Status::kBadResponse;
  }
  w.local.scatter(offset, packet.payload);
  ++counters_.packets_in;
  counters_.bytes_in += packet.payload.size();
  if (wire::opcode_info(packet.bth.opcode).aeth) note_credits(packet.aeth);
  advance(1, now);
  return Status::kSuccess;
}

// IBA 9.7.5.2.6: First, Middle, Last or Only, by the oldest packet's place in the Read request. If
// the Read was requested again from there, the peer may start over or continue.
bool RcRequester::in_its_place(std::uint8_t opcode) const {
  const std::uint32_t in_part = una_packet_ % parameters_.read_packets;
  const bool last =
      in_part + 1 == parameters_.read_packets || una_packet_ + 1 == work_[una_].packets;
  switch (static_cast<Opcode>(opcode)) {
    case Opcode::kReadRespFirst:
      return !last && (in_part == 0 || asked_again_at_ == una_psn_);
    case Opcode::kReadRespMiddle:
      return !last && in_part != 0;
    case Opcode::kReadRespLast:
      return last && in_part != 0;
    case Opcode::kReadRespOnly:
      return last && (in_part == 0 || asked_again_at_ == una_psn_);
    default:
      return false;
  }
}

void RcRequester::note_credits(const wire::Aeth& aeth) {
  if (!aeth.is_ack()) return;
  const bool counted = parameters_.flow_control && aeth.value() != kNoCreditCount;
  const std::uint32_t limit = counted ? aeth.msn + kCredits[aeth.value()] : 0;
  // If ACKs overtake each other the newer counts: Receives are never withdrawn.
  if (!limited_ || msn_diff(limit, msn_limit_) > 0) msn_limit_ = limit;
  limited_ = counted;
}

// The oldest packet is missing: a NAK says so, or the peer has sent a later packet than a Read
// response that did not arrive.
Status RcRequester::gap(fabric::Time now) {
  if (gap_known_) return Status::kSuccess;
  gap_known_ = true;
  return go_back(now);
}

// `packets` more packets, from the oldest on, are acknowledged.
void RcRequester::advance(std::uint32_t packets, fabric::Time now) {
  una_psn_ = psn_add(una_psn_, packets);
  una_packet_ += packets;
  while (una_ != work_.end() && una_packet_ >= work_[una_].packets) {
    una_packet_ -= work_[una_].packets;
    ++una_;
  }
  // After going back, the peer may acknowledge more than was retransmitted.
  if (psn_diff(una_psn_, next_psn_) > 0) {
    next_ = una_;
    next_packet_ = una_packet_;
    next_psn_ = una_psn_;
  }
  while (!reads_.empty() && psn_diff(reads_.front(), una_psn_) <= 0) reads_.pop();
  note_in_flight();
  if (PeerPath* const shared = parameters_.shared) {
    if (timed_psn_ != kNoPsn && psn_diff(una_psn_, timed_psn_) > 0) {
      shared->answered(timed_at_, now);
      timed_psn_ = kNoPsn;
    }
    shared->acknowledged(packets);
  }
  retries_ = parameters_.retry_count;
  rnr_retries_ = parameters_.rnr_retry_count;
  gap_known_ = false;
  timeouts_in_a_row_ = 0;
  rnr_until_ = fabric::kNever;
  window_ = std::min(parameters_.window, window_ + std::max(1U, packets / 4));
  arm(now);
}

void RcRequester::rewind() {
  next_ = una_;
  next_packet_ = una_packet_;
  next_psn_ = una_psn_;
  reads_.clear();
  timed_psn_ = kNoPsn;  // an answer could be to either transmission
  note_in_flight();
}

Status RcRequester::go_back(fabric::Time now) {
  if (rnr_until_ != fabric::kNever) return Status::kSuccess;  // deferred to the end of the RNR wait
  if (retries_ == 0) return Status::kRetriesExceeded;
  --retries_;
  if (parameters_.shared != nullptr) parameters_.shared->lost();
  window_ = std::min(parameters_.window, std::max(kLeastWindow, window_ / 2));
  rewind();
  arm(now);
  return Status::kSuccess;
}

// The time-out grows with each expiry, up to a second: a peer whose process is busy for a while is
// not declared dead, and a congested network gets no extra load.
fabric::Time RcRequester::ack_time() const {
  const fabric::Time longest = std::max(parameters_.ack_timeout, fabric::kSecond);
  const fabric::Time first = parameters_.shared == nullptr
                                 ? parameters_.ack_timeout
                                 : parameters_.shared->patience(parameters_.ack_timeout);
  return std::min(std::min(first, longest) << timeouts_in_a_row_, longest);
}

void RcRequester::arm(fabric::Time now) {
  waits_since_ = now;
  const bool waits = una_psn_ != sent_psn_ && parameters_.ack_timeout != 0;
  ack_deadline_ = waits ? now + ack_time() : fabric::kNever;
}

fabric::Time RcRequester::deadline() const {
  return std::min(ack_deadline_, rnr_until_);
}

Status RcRequester::expire(fabric::Time now, bool all_received) {
  if (rnr_until_ <= now) {
    rnr_until_ = fabric::kNever;
    gap_known_ = false;
  }
  if (ack_deadline_ > now) return Status::kSuccess;
  if (!all_received) {
    ack_deadline_ = now + fabric::kMillisecond;
    return Status::kSuccess;
  }
  constexpr unsigned kMostDoublings = 7;
  // Together a second with the usual time-out.
  constexpr unsigned kWaitsForQueue = 4;
  if (timeouts_in_a_row_ < kWaitsForQueue && parameters_.shared != nullptr &&
      parameters_.shared->may_be_queued(waits_since_)) {
    ++timeouts_in_a_row_;
    // A peer that is gone is noticed as soon as if something had been sent, but not without that.
    if (retries_ > 1) --retries_;
    ack_deadline_ = now + ack_time();
    return Status::kSuccess;
  }
  ++counters_.timeouts;
  if (trace_.on()) trace_timeout(trace_, una_psn_, now);
  gap_known_ = false;
  timeouts_in_a_row_ = std::min(timeouts_in_a_row_ + 1, kMostDoublings);
  return go_back(now);
}

void RcRequester::reset() {
  una_ = next_ = work_.begin();
  una_packet_ = next_packet_ = 0;
  next_psn_ = una_psn_;
  waits_for_path_ = false;
  note_in_flight();
  reads_.clear();
  ack_deadline_ = rnr_until_ = fabric::kNever;
}

}  // namespace rpcrdma::soft
