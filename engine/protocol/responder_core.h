// The responder's state machine. A Call uses a credit of the peer from its Receive until its Reply,
// or the RDMA_ERROR for it, is queued for sending; it keeps its slot until that Send is complete.
// The peer may have received the Reply and have sent the next Call before that, so there are twice
// as many slots as credits, and with RFC 5666 more for Replies that wait for their RDMA_DONE. Calls
// that arrive when all are in use wait in their Receives' blocks.
//
// Read chunks are pulled in the order of their Calls, as memory for them becomes available. The
// amount read from one peer is bounded, and never uses the quarter of the pool that is reserved for
// everything else. With a MemoryShare, that share bounds it, too.
#pragma once

#include "done_table.h"
#include "fixed_ring.h"
#include "link.h"
#include "received.h"
#include "reply_builder.h"
#include "served_call.h"
#include "slots.h"
#include "work_id.h"

#include <algorithm>

#include <rpcrdma/protocol/responder.h>

namespace rpcrdma::protocol {

class ResponderCore : public WorkSource {
 public:
  ResponderCore(ResponderOwner& owner, const ResponderOptions& options);

  // As in Responder.
  [[nodiscard]] fabric::Expected<void> reply(std::uint64_t id, std::span<const Piece> message,
                                             fabric::Time now);
  void drop(std::uint64_t id, fabric::Time now);
  void grant(std::uint32_t credits);
  [[nodiscard]] std::uint32_t outstanding() const { return outstanding_; }
  [[nodiscard]] const ResponderCounters& counters() const { return counters_; }

  // As in Channel.
  void attach(Link& link);
  void detach();
  [[nodiscard]] fabric::Time deadline() const;
  void expire(fabric::Time now);
  [[nodiscard]] Keep receive(const Received& message);
  // A Reply's Send, or the last Read of a Call, has succeeded.
  void completed(const WorkId& id, fabric::Time now);
  [[nodiscard]] bool next_work(std::uint32_t slot, WorkRequest& work) override;
  [[nodiscard]] bool next_write(std::uint32_t slot, WorkRequest& work) override;
  void posted(std::uint32_t slot) override;
  void flush();

  [[nodiscard]] std::uint32_t own_credits() const { return options_.credits; }
  // Replies that may wait for their RDMA_DONE. With few credits, a peer that sends its next Call
  // before the RDMA_DONE must not be refused.
  [[nodiscard]] std::uint32_t done_limit() const {
    return options_.rfc5666 ? std::max(options_.credits, kLeastDone) : 0;
  }
  // An RDMA_DONE can arrive while each credit is in use by a Call.
  [[nodiscard]] std::uint32_t receives() const { return options_.credits + done_limit(); }
  [[nodiscard]] bool replies_by_reads() const { return options_.rfc5666; }
  [[nodiscard]] std::uint32_t max_served() const { return 2 * options_.credits + done_limit(); }

 private:
  static constexpr std::uint32_t kLeastDone = 16;
  struct Deferred {
    Block block;
    std::uint32_t bytes = 0;
    fabric::Time at = 0;
  };

  [[nodiscard]] fabric::Expected<void> do_reply(std::uint64_t id, std::span<const Piece> message,
                                                fabric::Time now);
  [[nodiscard]] Keep begin(std::uint32_t index, const Received& message);
  [[nodiscard]] Keep serve(std::uint32_t index, const Received& message);
  // Starts to read the Read chunks of waiting Calls while there is memory.
  void pull(fabric::Time now);
  void deliver(std::uint32_t index, fabric::Time pulled);
  [[nodiscard]] Keep answer_option(std::uint32_t index, const Received& message);
  // Passes the Call in an option to the upper layer.
  [[nodiscard]] Keep serve_option(std::uint32_t index, const Received& message);
  [[nodiscard]] fabric::Expected<void> reply_to_option(std::uint32_t index,
                                                       std::span<const Piece> message,
                                                       fabric::Time now);
  // `verdict`: what is wrong with the Call; `side`: the side at fault; `details`: of
  // RDMA2_ERR_CANT_REPLY.
  void refuse(std::uint32_t index, const CallVerdict& verdict, std::uint8_t side, fabric::Time now,
              const wire::Header& details = {});
  // The Call offered too little, which was found before or after the upper layer processed it.
  void refuse_short(std::uint32_t index, const Shortage& shortage, const char* why, bool processed,
                    fabric::Time now);
  [[nodiscard]] fabric::Expected<ReplyPlan> plan(const CheckedCall& call,
                                                 std::span<const Piece> message,
                                                 Shortage& shortage) const;
  // Limits of the Reply to this Call, and whether parts without room may be left to be read.
  [[nodiscard]] Limits reply_limits(const CheckedCall& call, std::span<const Piece> message) const;
  [[nodiscard]] fabric::Expected<void> build(std::uint32_t index, const ReplyPlan& plan,
                                             std::span<const Piece> message);
  // A handle of a Reply's Read chunk is invalidated.
  void reads_ended(const WorkId& id, fabric::Time now);
  void receive_done(std::uint32_t xid);
  // Credits that Replies grant: without those of Replies whose RDMA_DONE is still expected, which
  // uses a credit (RFC 5666 section 11).
  [[nodiscard]] std::uint32_t grant_now() const;
  void count_service(const ServedCall& served, fabric::Time now);
  void note_refusal(const RefusedCall& refused);
  void choose_invalidation(ServedCall& served) const;
  void send(std::uint32_t index, ServedCall::State state, fabric::Time now);
  // The Send of a Reply or RDMA_ERROR needs its memory no more.
  void send_ended(std::uint32_t index, fabric::Time now);
  void release(std::uint32_t index);
  void give_blocks(ServedCall& served);
  // The block for the Read chunks of a Call.
  [[nodiscard]] fabric::Expected<Block> block_for(std::uint64_t bytes, ServedCall& served);
  void pull_begins(ServedCall& served, fabric::Time now);
  void pull_ends(const ServedCall& served);
  void end_slow_pull(fabric::Time now);
  // Reads or a Send; the last one is signaled.
  void transfer_begins(fabric::Time now);
  void transfer_ends(fabric::Time now);
  void over_credit(const Received& message);
  void one_more_outstanding();
  [[gnu::noinline]] void trace_peer_credits(fabric::Time now) const;
  [[nodiscard]] std::uint64_t id_of(std::uint32_t index) const;

  ResponderOwner& owner_;
  ResponderOptions options_;
  ResponderCounters counters_;
  Link* link_ = nullptr;
  MemoryPool* pool_ = nullptr;    // of the link, or of the last one
  MemoryShare* share_ = nullptr;  // the same; null: it has none
  Slots<ServedCall> served_;
  FixedRing<Deferred> deferred_;
  FixedRing<std::uint32_t> waiting_;  // slots
  FixedRing<std::uint32_t> dropped_;  // slots
  DoneTable done_;
  std::uint32_t reading_ = 0;              // slots whose Read chunks are being pulled
  std::uint64_t pulled_ = 0;               // bytes of the blocks for Read chunks
  std::uint64_t coming_ = 0;               // bytes of Read chunks that are being pulled
  fabric::Time slow_at_ = fabric::kNever;  // the earliest `pull_until`, or before it
  fabric::Time retry_at_ = fabric::kNever;
  std::uint32_t transfers_ = 0;  // in flight
  fabric::Time progress_ = 0;    // when one ended, or the first began
  std::uint32_t outstanding_ = 0;
  std::uint32_t most_outstanding_ = 0;  // since the last credit event
  bool credits_changed_ = false;        // and an event is to be emitted
  std::uint32_t grant_;
  // The credit request of the last Call, and the grant of this connection's last Reply.
  std::uint32_t asked_ = 0;
  std::uint32_t traced_grant_ = 1;
  // Highest grant of any Reply of this connection: the peer may use it, since a lower grant can
  // cross its Calls. One before the first (RFC 8166 section 3.3.3).
  std::uint32_t highest_grant_ = 1;
};

struct Responder::Impl : ResponderCore {
  using ResponderCore::ResponderCore;
};

}  // namespace rpcrdma::protocol
