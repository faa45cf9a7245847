// The requester's state machine. A Call is in one of three lists: it waits (for a credit, or a
// connection), is sent, or ends: its outcome is known, but a peer can still reach its memory.
//
//   call() -> waiting -> sent -> ending -> on_outcome()
//                ^        |         |
//                +--------+---------+
//     the connection was lost, or the peer wants it in another version or with more room
//
// What it has on a connection is a Flight. Withdrawals are posted by flush(), so that they leave
// with what else is to be posted, and wait there for room.
#pragma once

#include "call_builder.h"
#include "credits.h"
#include "fixed_ring.h"
#include "in_flight_call.h"
#include "link.h"
#include "received.h"
#include "reply_pulls.h"
#include "slot_list.h"
#include "work_id.h"
#include "xid_table.h"

#include <algorithm>

#include <rpcrdma/protocol/requester.h>
#include <rpcrdma/protocol/versions.h>
#include <rpcrdma/trace/connection_tracer.h>

namespace rpcrdma::protocol {

// Of a requester with so many credits: those of Calls, and as many whose Calls have ended. They end
// with the ACK of their Send, which a peer may put off for some Replies, so that few credits must
// not mean few of them: a Call that has a credit would wait for that ACK.
inline constexpr std::uint32_t kLeastEnded = 16;
[[nodiscard]] constexpr std::uint32_t max_in_flight(std::uint32_t credits) {
  return credits + std::max(credits, kLeastEnded);
}

class RequesterCore : public WorkSource {
 public:
  RequesterCore(RequesterOwner& owner, const RequesterOptions& options);

  // As of Requester.
  [[nodiscard]] fabric::Expected<std::uint32_t> call(const CallSpec& spec, fabric::Time now);
  [[nodiscard]] fabric::Expected<std::uint32_t> option(const OptionSpec& spec, fabric::Time now);
  void close(fabric::Time now);
  void refuse(const Versions& spoken, fabric::Time now);
  [[nodiscard]] bool idle() const { return calls_.in_use() == 0 && in_flight_calls_.in_use() == 0; }
  [[nodiscard]] std::uint32_t outstanding() const { return sent_.size() + ending_.size(); }
  [[nodiscard]] std::uint32_t waiting() const { return waiting_.size(); }
  [[nodiscard]] std::uint32_t granted() const { return credits_.emitted(); }
  [[nodiscard]] std::uint32_t credit_limit() const { return credits_.limit(); }
  [[nodiscard]] std::uint32_t credits_in_use() const { return credits_.outstanding(); }
  [[nodiscard]] const RequesterCounters& counters() const { return counters_; }

  // As of Channel.
  void attach(Link& link);
  void established(fabric::Time now);
  // Nothing reaches memory through it any more.
  void detach(fabric::Time now);
  void flush(fabric::Time now);
  [[nodiscard]] fabric::Time deadline() const {
    return std::min(next_deadline_, negotiation_deadline());
  }
  void expire(fabric::Time now);
  [[nodiscard]] Keep receive(const Received& message);
  // A Send, or a withdrawal, has succeeded.
  void completed(const WorkId& id, fabric::Time now);
  [[nodiscard]] bool next_work(std::uint32_t slot, WorkRequest& work) override;

  // A Call with this XID waits for its Reply: it was posted.
  [[nodiscard]] bool expects(std::uint32_t xid) const;
  // Replies can have Read lists.
  [[nodiscard]] bool reads_replies() const { return options_.rfc5666; }
  // Of its Receives and its work at the same time.
  [[nodiscard]] std::uint32_t own_credits() const { return credits_.own(); }
  [[nodiscard]] std::uint32_t max_in_flight() const {
    return protocol::max_in_flight(credits_.own());
  }

 private:
  enum class State : std::uint8_t { kWaiting, kSent, kEnding };
  struct Call {
    std::uint32_t generation = 0;
    std::uint32_t previous = kNoSlot, next = kNoSlot;  // in its list
    State state = State::kWaiting;
    bool used = false;
    bool wants_credit = false;  // kWaiting: there was none when it was made
    bool lost = false;          // it was sent on a connection that is gone
    bool again = false;         // kEnding: it is to be sent again
    bool is_option = false;     // RDMA2_OPTIONAL, with what stands in `info`
    bool offers_all = false;    // chunks for all of its Reply: the peer cannot send it inline
    std::uint8_t enlargements = 0;
    std::uint8_t info_bytes = 0;
    std::uint32_t option_type = 0;
    std::uint32_t xid = 0;
    std::uint32_t in_flight = kNoSlot;
    std::array<Piece, kMaxPieces> pieces;
    std::uint32_t piece_count = 0;
    std::array<ResultSpace, kMaxResults> results;
    std::uint32_t result_count = 0;
    std::uint32_t max_reply = 0;
    fabric::Time deadline = fabric::kNever;
    CallOutcome outcome;  // as far as it is known
    std::array<std::uint32_t, kMaxResults> result_bytes;
    std::array<std::uint8_t, kMaxOptionInfo> info;

    // Its front, of which there is none for an option.
    [[nodiscard]] wire::Bytes stream() const {
      return piece_count == 0 ? wire::Bytes() : pieces[0].bytes;
    }
  };
  enum class Try : std::uint8_t { kSent, kEnded, kWait };
  // How all Calls end.
  struct Closing {
    CallStatus status;
    const char* reason;
    Versions spoken;
  };
  void close(const Closing& why, fabric::Time now);

  // Of what it does is told at this time, whether its channel or its user asks for it.
  void note_time(fabric::Time now) {
    if (link_ != nullptr) link_->now = now;
  }
  // A free one, to be filled in; kNoSlot: there is none.
  [[nodiscard]] std::uint32_t new_call(fabric::Time timeout, std::uint64_t cookie,
                                       fabric::Time now);
  void enqueue(std::uint32_t index, bool first, fabric::Time now);
  [[nodiscard]] Try try_send(std::uint32_t index, fabric::Time now);
  [[nodiscard]] fabric::Expected<CallPlan> plan(const Call& call) const;
  [[nodiscard]] fabric::Expected<void> build(const Call& call, const CallPlan& plan,
                                             std::uint64_t advertise_id, InFlightCall& in_flight);
  void post_fences();
  // Its outcome is known: when its memory is fenced it is told.
  void end(std::uint32_t index, CallStatus status, const char* reason, fabric::Time now);
  void fence(std::uint32_t index, fabric::Time now);
  // Of a Call in flight: its Send has not been posted, and will not be. False: it was posted.
  [[nodiscard]] bool unsend(Call& call);
  // `pool`: of its blocks; not looked at if it was never sent.
  void finish(std::uint32_t index, MemoryPool* pool, fabric::Time now);
  // As end(), but it is sent again when its memory is fenced.
  void wait_again(std::uint32_t index, MemoryPool& pool);
  void end_again(std::uint32_t index, fabric::Time now);
  void judge(std::uint32_t index, const Received& message);
  // A Reply is believed, and to be read as far as it has Read chunks.
  void pull(std::uint32_t index, const Received& message);
  void pull_completed(const WorkId& id, fabric::Time now);
  // Tells its outcome, if nothing of it is under way any more.
  void settle(std::uint32_t index, fabric::Time now);
  void judge_version_error(std::uint32_t index, fabric::Time now);
  void judge_error(std::uint32_t index, const wire::HeaderView& header, fabric::Time now);
  // Makes room for a Reply as the peer asks for it; false: it cannot be.
  [[nodiscard]] bool enlarge(Call& call, const wire::HeaderView& error);
  // When the first message of version 2 must have been answered.
  [[nodiscard]] fabric::Time negotiation_deadline() const;
  void release(std::uint32_t in_flight, MemoryPool& pool);
  void count(const CallPlan& plan, const Call& call);
  void count(const Received& message, const CheckedReply& reply);
  void begin_credit_wait(Call& call, fabric::Time now);
  void end_credit_wait(Call& call, fabric::Time now);
  // Somebody listens, and there is an established connection to be told of.
  [[nodiscard]] bool traces() const {
    return trace_.on() && trace_.connection != 0 && link_ != nullptr;
  }
  void trace_changed_credits(fabric::Time now);
  [[gnu::noinline]] void trace_own_credits(fabric::Time now) const;
  [[nodiscard]] SlotList<Call>& list_of(State state);
  void move(std::uint32_t index, State to);

  RequesterOwner& owner_;
  RequesterOptions options_;
  RequesterCounters counters_;
  Link* link_ = nullptr;
  MemoryPool* pool_ = nullptr;  // of the link, or of the last one
  // The link's since it is established; between connections, of none.
  trace::ConnectionTracer trace_;
  bool closed_ = false;
  std::uint32_t next_xid_;
  Credits credits_;
  Slots<Call> calls_;
  Slots<InFlightCall> in_flight_calls_;
  SlotList<Call> waiting_{calls_};
  SlotList<Call> sent_{calls_};  // in the order of their sending
  SlotList<Call> ending_{calls_};
  XidTable by_xid_;
  ReplyPulls pulls_;
  FixedRing<std::uint32_t> to_fence_;            // flights
  std::uint32_t handles_ = 0;                    // exposed and not fenced
  std::uint32_t credit_waiters_ = 0;             // of waiting_
  bool credits_changed_ = false;                 // and are to be told
  fabric::Time next_deadline_ = fabric::kNever;  // no Call is due before
};

struct Requester::Impl : RequesterCore {
  using RequesterCore::RequesterCore;
};

}  // namespace rpcrdma::protocol
