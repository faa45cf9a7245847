// The requester's state machine. A Call is in one of three lists: it waits (for a credit, or a
// connection), is sent, or ends: its outcome is known, but a peer can still access its memory.
//
//   call() -> waiting -> sent -> ending -> on_outcome()
//                ^        |         |
//                +--------+---------+
//     the connection was lost, or the peer wants it in another version or with more room
//
// Its state on a connection is an InFlightCall. flush() posts invalidations, so that they leave
// with other work, and wait there for room.
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

// In-flight Calls of a requester with this many credits: those of Calls, and as many whose Calls
// have ended. The latter end with the ACK of their Send, which a peer may delay for several
// Replies. With few credits there must still be enough of them, or a Call with a credit would wait
// for that ACK.
inline constexpr std::uint32_t kLeastEnded = 16;
[[nodiscard]] constexpr std::uint32_t max_in_flight(std::uint32_t credits) {
  return credits + std::max(credits, kLeastEnded);
}

class RequesterCore : public WorkSource {
 public:
  RequesterCore(RequesterOwner& owner, const RequesterOptions& options);

  // As in Requester.
  [[nodiscard]] fabric::Expected<std::uint32_t> call(const CallSpec& spec, fabric::Time now);
  [[nodiscard]] fabric::Expected<std::uint32_t> option(const OptionSpec& spec, fabric::Time now);
  void close(fabric::Time now);
  void refuse(const Versions& spoken, fabric::Time now);
  [[nodiscard]] bool idle() const { return calls_.in_use() == 0 && in_flight_calls_.in_use() == 0; }
  [[nodiscard]] std::uint32_t outstanding() const { return sent_.size() + ending_.size(); }
  [[nodiscard]] std::uint32_t waiting() const { return waiting_.size(); }
  [[nodiscard]] std::uint32_t granted() const { return credits_.latest_grant(); }
  [[nodiscard]] std::uint32_t credit_limit() const { return credits_.limit(); }
  [[nodiscard]] std::uint32_t credits_in_use() const { return credits_.outstanding(); }
  [[nodiscard]] const RequesterCounters& counters() const { return counters_; }

  // As in Channel.
  void attach(Link& link);
  void established(fabric::Time now);
  // Called when nothing accesses memory through the connection any more.
  void detach(fabric::Time now);
  void flush(fabric::Time now);
  [[nodiscard]] fabric::Time deadline() const {
    return std::min(next_deadline_, negotiation_deadline());
  }
  void expire(fabric::Time now);
  [[nodiscard]] Keep receive(const Received& message);
  // A Send, or an invalidation, has succeeded.
  void completed(const WorkId& id, fabric::Time now);
  [[nodiscard]] bool next_work(std::uint32_t slot, WorkRequest& work) override;
  void posted(std::uint32_t slot) override;

  // Returns whether a posted Call with this XID waits for its Reply.
  [[nodiscard]] bool expects(std::uint32_t xid) const;
  // Replies can have Read lists.
  [[nodiscard]] bool reads_replies() const { return options_.rfc5666; }
  // In-flight Calls for its Receives and its work at the same time.
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
    bool wants_credit = false;  // kWaiting: there was none when it was created
    bool lost = false;          // it was sent on a connection that has ended
    bool again = false;         // kEnding: it is to be resent
    bool is_option = false;     // RDMA2_OPTIONAL, with the content of `info`
    bool is_part = false;       // an option's payload is no whole RPC message
    bool one_way = false;
    bool is_null = false;     // the requester's own, see NullCall
    bool offers_all = false;  // chunks for all of its Reply: the peer cannot send it inline
    std::uint8_t enlargements = 0;
    std::uint8_t info_bytes = 0;
    std::uint32_t option_type = 0;
    std::uint32_t xid = 0;
    std::uint64_t order = 0;  // of its Send on this connection
    std::uint32_t in_flight = kNoSlot;
    std::array<Piece, kMaxPieces> pieces;
    std::uint32_t piece_count = 0;
    std::array<ResultSpace, kMaxResults> results;
    std::uint32_t result_count = 0;
    std::uint32_t max_reply = 0;
    fabric::Time deadline = fabric::kNever;
    CallOutcome outcome;  // filled in as it becomes known
    std::array<std::uint32_t, kMaxResults> result_bytes;
    std::array<std::uint8_t, kMaxOptionInfo> info;

    // The front of its stream; an option without a whole RPC message has none.
    [[nodiscard]] wire::Bytes stream() const {
      return piece_count == 0 || is_part ? wire::Bytes() : pieces[0].bytes;
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

  // A Call of procedure 0 that the requester makes itself, since its Reply acknowledges the one-way
  // Calls before it. There is one at a time.
  struct NullCall {
    std::array<std::uint8_t, 40> message{};
    bool made = false;    // and not ended
    bool failed = false;  // the last one had no Reply
  };
  // For the front of the waiting Calls, which is one-way. kSent: it may be sent; kEnded: the front
  // has changed, to a NullCall or because it ended.
  [[nodiscard]] Try admit_one_way(fabric::Time now);
  [[nodiscard]] bool make_null_call(const Call& for_call, fabric::Time now);
  // One Call may be sent beyond a grant that has become lower than the number of one-way Calls: no
  // Reply is due, so nothing else would return a credit. The peer has received these Calls, or its
  // fabric holds this one back.
  [[nodiscard]] bool may_send() const {
    return credits_.may_send() ||
           (!unacknowledged_.empty() && unacknowledged_.size() == credits_.outstanding());
  }
  // A Reply has arrived for the Send with this order.
  void acknowledge(std::uint64_t order);
  void forget_order(std::uint64_t order);  // its Send was not posted

  // Events are emitted with this time, whether the channel or the user caused them.
  void note_time(fabric::Time now) {
    if (link_ != nullptr) link_->now = now;
  }
  // Returns a free Call with these fields set; kNoSlot: there is none.
  [[nodiscard]] std::uint32_t new_call(fabric::Time timeout, std::uint64_t cookie,
                                       fabric::Time now);
  void enqueue(std::uint32_t index, bool first, fabric::Time now);
  [[nodiscard]] Try try_send(std::uint32_t index, fabric::Time now);
  [[nodiscard]] fabric::Expected<CallPlan> plan(const Call& call) const;
  [[nodiscard]] fabric::Expected<void> build(const Call& call, const CallPlan& plan,
                                             std::uint64_t advertise_id, InFlightCall& in_flight);
  void post_fences();
  // Sets the outcome, which is reported once the Call's memory is fenced.
  void end(std::uint32_t index, CallStatus status, const char* reason, fabric::Time now);
  void fence(std::uint32_t index, fabric::Time now);
  // Takes back the Send of a Call in flight if it has not been posted. Returns false if it was
  // posted.
  [[nodiscard]] bool unsend(Call& call);
  // `pool`: of its blocks; not used if it was never sent.
  void finish(std::uint32_t index, MemoryPool* pool, fabric::Time now);
  // Like end(), but the Call is resent when its memory is fenced.
  void wait_again(std::uint32_t index, MemoryPool& pool);
  void end_again(std::uint32_t index, fabric::Time now);
  void judge(std::uint32_t index, const Received& message);
  // Accepts a Reply and starts to read its Read chunks.
  void pull(std::uint32_t index, const Received& message);
  void pull_completed(const WorkId& id, fabric::Time now);
  // Reports its outcome if nothing of it is in flight any more.
  void settle(std::uint32_t index, fabric::Time now);
  void judge_version_error(std::uint32_t index, fabric::Time now);
  void judge_error(std::uint32_t index, const wire::HeaderView& header, fabric::Time now);
  // Offers the room for a Reply that the peer asks for; returns false if that is not possible.
  [[nodiscard]] bool enlarge(Call& call, const wire::HeaderView& error);
  // When the first message of version 2 must have been answered.
  [[nodiscard]] fabric::Time negotiation_deadline() const;
  void release(std::uint32_t in_flight, MemoryPool& pool);
  void count(const CallPlan& plan, const Call& call);
  void count(const Received& message, const CheckedReply& reply);
  void begin_credit_wait(Call& call, fabric::Time now);
  void end_credit_wait(Call& call, fabric::Time now);
  // Returns whether there is a trace reader and an established connection.
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
  // The link's tracer once established; without a connection number between connections.
  trace::ConnectionTracer trace_;
  bool closed_ = false;
  std::uint32_t next_xid_;
  Credits credits_;
  CreditRequest request_;
  Slots<Call> calls_;
  Slots<InFlightCall> in_flight_calls_;
  SlotList<Call> waiting_{calls_};
  SlotList<Call> sent_{calls_};  // in the order in which they were sent
  SlotList<Call> ending_{calls_};
  XidTable by_xid_;
  ReplyPulls pulls_;
  std::uint64_t last_order_ = 0;
  FixedRing<std::uint64_t> unacknowledged_;  // orders of one-way Calls that hold a credit
  NullCall null_;
  FixedRing<std::uint32_t> to_fence_;            // in-flight Calls
  std::uint32_t handles_ = 0;                    // advertised and not fenced
  std::uint32_t credit_waiters_ = 0;             // of waiting_
  bool credits_changed_ = false;                 // and an event is to be emitted
  fabric::Time next_deadline_ = fabric::kNever;  // no Call is due before
};

struct Requester::Impl : RequesterCore {
  using RequesterCore::RequesterCore;
};

}  // namespace rpcrdma::protocol
