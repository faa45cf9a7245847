// A Reliable Connected queue pair: combines requester and responder, decides whose packet is next,
// and holds back ACKs.
#include "queue_pair.h"

#include "packet_fields.h"

#include <algorithm>

namespace rpcrdma::soft {

using fabric::Errc;
using fabric::Operation;
using fabric::Status;

namespace {

// Of the ACK to an owner that sleeps, in times of QpParameters::ack_hold.
constexpr fabric::Time kSleepersHold = 20;
// Each further Send postpones the ACK, but the oldest never waits for longer than the REP announces
// (cm/cm_messages.cc).
constexpr fabric::Time kLongestHold = 2 * fabric::kMillisecond;
// No ACK waits for longer than this part of the peer's time-out.
constexpr fabric::Time kPartOfTimeout = 4;

}  // namespace

QueuePair::QueuePair(std::uint32_t qpn, std::uint64_t cookie, const fabric::QueueDepths& depths,
                     MemoryTable& memory, fabric::Completions& completions)
    : cookie_(cookie),
      memory_(memory),
      completions_(completions),
      depths_(depths),
      requester_(depths.send, counters_, trace_),
      responder_(depths.receive, counters_, trace_) {
  owner_.qpn = qpn;
}

QueuePair::~QueuePair() {
  memory_.invalidate_all(owner_);
  completions_.redeem(requester_.posted() + responder_.posted());
}

fabric::Expected<void> QueuePair::configure(std::uint64_t cookie,
                                            const fabric::QueueDepths& depths) {
  if (responder_.posted() > depths.receive) {
    return fabric::fail(Errc::kBadArgument, "more Receives are posted than the queue can hold");
  }
  cookie_ = cookie;
  depths_ = depths;
  requester_.set_depth(depths.send);
  responder_.set_depth(depths.receive);
  return {};
}

void QueuePair::connect(const Path& path, const QpParameters& parameters) {
  path_ = path;
  requester_.start(parameters);
  responder_.start(parameters);
  ack_hold_ = parameters.ack_hold;
  longest_hold_ = kLongestHold;
  if (parameters.ack_timeout != 0) {
    longest_hold_ = std::min(longest_hold_, parameters.ack_timeout / kPartOfTimeout);
  }
  owner_sleeps_ = parameters.owner_sleeps;
  state_ = QpState::kReady;
}

fabric::Expected<void> QueuePair::post_send(const fabric::SendRequest& request) {
  if (state_ != QpState::kReady) return fabric::fail(Errc::kNotConnected);
  completions_.promise();
  auto posted = requester_.post(request, memory_);
  if (!posted) completions_.redeem();
  return posted;
}

fabric::Expected<void> QueuePair::post_receive(const fabric::ReceiveRequest& request) {
  if (state_ == QpState::kError) return fabric::fail(Errc::kNotConnected);
  completions_.promise();
  auto posted = responder_.post(request, memory_);
  if (!posted) completions_.redeem();
  return posted;
}

fabric::Expected<fabric::MemoryRegion> QueuePair::advertise(const fabric::Memory& memory,
                                                            std::uint8_t* data,
                                                            std::uint32_t length,
                                                            fabric::Access access) {
  if (state_ == QpState::kError) return fabric::fail(Errc::kNotConnected);
  if (owner_.count >= depths_.handles) return fabric::fail(Errc::kNoRoom);
  return memory_.advertise(owner_, memory, data, length, access);
}

fabric::Expected<void> QueuePair::invalidate(std::uint64_t id, std::uint32_t handle) {
  if (state_ == QpState::kError) return fabric::fail(Errc::kNotConnected);  // all are invalidated
  completions_.promise();
  const bool was_there = memory_.invalidate(owner_, handle);
  completions_.redeem();
  if (!was_there) {
    return fabric::fail(Errc::kBadArgument, "there is no such handle on this connection");
  }
  // No access is in progress in this thread, so the memory is fenced already.
  complete(id, Operation::kInvalidate, Status::kSuccess);
  return {};
}

fabric::Completion& QueuePair::complete(std::uint64_t id, Operation operation, Status status) {
  fabric::Completion& c = completions_.next(owner_.qpn);
  c.id = id;
  c.connection = cookie_;
  c.operation = operation;
  c.status = status;
  completions_.push();
  return c;
}

void QueuePair::complete(const SendWork& work, Status status) {
  completions_.redeem();
  if (status == Status::kSuccess && !work.signaled) return;
  fabric::Completion& c = complete(work.id, work.operation, status);
  if (work.operation == Operation::kRead && status == Status::kSuccess) c.bytes = work.local.length;
}

void QueuePair::receive(const wire::RocePacket& packet, fabric::Time now) {
  const bool rc = packet.bth.opcode >> 5U == static_cast<std::uint8_t>(wire::Service::kRc);
  if (state_ != QpState::kReady || !rc || packet.bth.tver != 0 ||
      !of_our_partition(packet.bth.pkey)) {  // IBA 9.6.1: drop silently
    ++counters_.dropped;
    return;
  }
  if (!wire::opcode_info(packet.bth.opcode).response) {
    serve(packet, now);
    return;
  }
  const Status status =
      requester_.receive(packet, now, [&](const SendWork& work, Status s) { complete(work, s); });
  if (status != Status::kSuccess) fail(status, Status::kFlushed, fabric::status_name(status));
}

void QueuePair::serve(const wire::RocePacket& packet, fabric::Time now) {
  fabric::Completion& message = completions_.next(owner_.qpn);
  const Served served = responder_.receive(packet, memory_, owner_, message, now);
  switch (served.outcome) {
    case Served::Outcome::kNothing:
      break;
    case Served::Outcome::kMessage:
      ack_due_ = fabric::kNever;  // a new wait for an answer begins
      message.connection = cookie_;
      completions_.redeem();
      completions_.push();
      break;
    case Served::Outcome::kFatal:
      refused_ = true;
      refused_reason_ = served.reason;
      if (served.receive_status != Status::kSuccess) refused_receive_ = served.receive_status;
      break;
  }
}

bool QueuePair::transmit(OutPacket& packet, fabric::Time now, bool others_next) {
  if (state_ != QpState::kReady) return false;
  packet.path = &path_;
  packet.payload_stays = true;
  // Alternate: a peer that always has something to read must not block our own requests.
  const bool before_answers = own_turn_ > 0;
  if (before_answers && !refused_) {
    if (requester_.transmit(packet, now, others_next)) {
      --own_turn_;
      return true;
    }
    own_turn_ = 0;
  }
  // An ACK may wait for a packet that is sent anyway, and leaves in the same batch.
  if (responder_.only_ack() && !refused_ && packets_before_ack_ < kBurst) {
    if (requester_.transmit(packet, now, others_next)) {
      ++packets_before_ack_;
      return true;
    }
    if (ack_waits(now)) return false;
  }
  packets_before_ack_ = 0;
  ack_began_ = ack_due_ = fabric::kNever;
  ack_overdue_ = false;
  bool fatal = false;
  if (responder_.transmit(packet, memory_, owner_.qpn, fatal, now)) {
    give_turn_after(packet);
    if (fatal) {
      fail(Status::kFlushed, refused_receive_,
           refused_ ? refused_reason_ : "a Read of memory no longer advertised to the peer");
    }
    return true;
  }
  answers_in_a_row_ = 0;
  return !before_answers && !refused_ && requester_.transmit(packet, now, others_next);
}

void QueuePair::give_turn_after(const OutPacket& answer) {
  const bool whole = answer.header[0] == static_cast<std::uint8_t>(wire::Opcode::kReadRespOnly);
  if (!whole) {
    answers_in_a_row_ = 0;
    own_turn_ = 1;
  } else if (++answers_in_a_row_ >= kBurst) {
    answers_in_a_row_ = 0;
    own_turn_ = kBurst;
  }
}

// Holds the ACK back, so that the owner can answer the Send that it acknowledges.
bool QueuePair::ack_waits(fabric::Time now) {
  if (ack_hold_ == 0 || ack_overdue_ || !responder_.ack_may_wait()) return false;
  if (ack_began_ == fabric::kNever) ack_began_ = now;
  if (ack_due_ == fabric::kNever) {
    const bool sleeps = owner_sleeps_ != nullptr && *owner_sleeps_;
    const fabric::Time hold = sleeps ? kSleepersHold * ack_hold_ : ack_hold_;
    ack_due_ = std::min(now + hold, ack_began_ + longest_hold_);
  }
  return now < ack_due_;
}

fabric::Time QueuePair::deadline() const {
  return state_ == QpState::kReady ? std::min(requester_.deadline(), ack_due_) : fabric::kNever;
}

bool QueuePair::expire(fabric::Time now, bool all_received) {
  if (deadline() > now) return true;
  if (ack_due_ <= now) {
    ack_due_ = fabric::kNever;
    ack_overdue_ = true;
  }
  const bool postpones = !all_received && requester_.deadline() <= now;
  const Status status = requester_.expire(now, all_received);
  if (status != Status::kSuccess) fail(status, Status::kFlushed, fabric::status_name(status));
  return !postpones;
}

void QueuePair::fail(const char* reason) {
  fail(Status::kFlushed, Status::kFlushed, reason);
}

void QueuePair::fail(Status send_status, Status receive_status, const char* reason) {
  if (state_ == QpState::kError) return;
  state_ = QpState::kError;
  reason_ = reason;
  memory_.invalidate_all(owner_);
  requester_.flush(send_status, [&](const SendWork& work, Status s) { complete(work, s); });
  responder_.flush(receive_status, [&](const ReceiveWork& work, Status s) {
    completions_.redeem();
    complete(work.id, Operation::kReceive, s);
  });
}

}  // namespace rpcrdma::soft
