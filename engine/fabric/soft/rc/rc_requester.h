// The requester of a queue pair (IBA volume 1 section 9.7): sends posted work in order, and keeps
// it until it is acknowledged or, for Reads, answered.
//
// It goes back and retransmits everything from the oldest missing packet on if the peer reports a
// gap (NAK), if a response shows one (an ACK or a later Read response where a Read response is due:
// an implied NAK), or after a time-out. A receive buffer that overflows reports nothing, so the
// number of packets in flight is bounded; it is halved by each loss and grows again with
// acknowledgments. All queue pairs to the same peer share another bound (peer_path.h).
#pragma once

#include "memory_table.h"
#include "peer_path.h"
#include "qp_parameters.h"
#include "slices.h"

#include <cstdint>

#include <rpcrdma/fabric/error.h>
#include <rpcrdma/fabric/ring.h>
#include <rpcrdma/fabric/time.h>
#include <rpcrdma/fabric/work.h>
#include <rpcrdma/soft/packet.h>
#include <rpcrdma/soft/qp_counters.h>
#include <rpcrdma/trace/connection_tracer.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::soft {

struct SendWork {
  std::uint64_t id = 0;
  std::uint64_t remote_offset = 0;
  Slices local;
  std::uint32_t remote_handle = 0;
  std::uint32_t extra = 0;    // immediate, or the handle to invalidate
  std::uint32_t packets = 1;  // PSNs that it takes; for a Read those of its responses
  std::uint32_t ssn = 0;      // number of its last message
  fabric::Operation operation = fabric::Operation::kSend;
  bool signaled = true;
  bool solicited = false;
  bool fence = false;
};

class RcRequester {
 public:
  RcRequester(std::uint32_t depth, QpCounters& counters, const trace::ConnectionTracer& trace)
      : work_(depth), counters_(counters), trace_(trace) {}

  void start(const QpParameters& parameters);
  void set_depth(std::uint32_t depth) { work_.set_limit(depth); }

  [[nodiscard]] fabric::Expected<void> post(const fabric::SendRequest& request,
                                            const MemoryTable& memory);
  // `others_next`: other queue pairs send before the next packet of this one.
  [[nodiscard]] bool transmit(OutPacket& packet, fabric::Time now, bool others_next);
  // Whether the last transmit() had a packet that QpParameters::shared did not admit.
  [[nodiscard]] bool waits_for_path() const { return waits_for_path_; }
  [[nodiscard]] PathWaiter& waiter() { return waiter_; }

  // Processes an ACK, NAK or Read response. kSuccess: continue; otherwise the oldest request failed
  // with this status, and the queue pair with it. Calls `done(work, status)` for each finished
  // request.
  template <typename Done>
  [[nodiscard]] fabric::Status receive(const wire::RocePacket& packet, fabric::Time now,
                                       Done&& done) {
    const fabric::Status status = respond(packet, now);
    retire(done);
    return status;
  }

  [[nodiscard]] fabric::Time deadline() const;
  // As receive(). `all_received`: no acknowledgment waits to be received. Otherwise nothing is sent
  // again yet.
  [[nodiscard]] fabric::Status expire(fabric::Time now, bool all_received);

  // Completes the oldest request with `status`, all others as kFlushed.
  template <typename Done>
  void flush(fabric::Status status, Done&& done) {
    for (; !work_.empty(); work_.pop()) {
      done(work_.front(), status);
      status = fabric::Status::kFlushed;
    }
    reset();
  }

  [[nodiscard]] bool idle() const { return work_.empty(); }
  [[nodiscard]] std::size_t posted() const { return work_.size(); }

 private:
  static constexpr std::uint32_t kNoPsn = UINT32_MAX;  // invalid: PSNs have 24 bits
  static constexpr std::size_t kMaxReads = 256;

  template <typename Done>
  void retire(Done& done) {
    for (; work_.begin() != una_; work_.pop()) done(work_.front(), fabric::Status::kSuccess);
  }
  void reset();

  [[nodiscard]] bool may_send(const SendWork& work, std::uint32_t& packets);
  [[nodiscard]] fabric::Status respond(const wire::RocePacket& packet, fabric::Time now);
  [[nodiscard]] fabric::Status acknowledge(const wire::RocePacket& packet, fabric::Time now);
  [[nodiscard]] fabric::Status read_response(const wire::RocePacket& packet, fabric::Time now);
  [[nodiscard]] bool in_its_place(std::uint8_t opcode) const;
  [[nodiscard]] fabric::Status gap(fabric::Time now);
  void note_credits(const wire::Aeth& aeth);
  // Returns how many of the first `distance` packets (from the oldest) precede an unanswered Read;
  // `distance` if there is none.
  [[nodiscard]] std::uint32_t before_read(std::uint32_t distance) const;
  void advance(std::uint32_t packets, fabric::Time now);
  void note_in_flight();
  [[nodiscard]] fabric::Status go_back(fabric::Time now);
  void rewind();
  [[nodiscard]] fabric::Time ack_time() const;
  void arm(fabric::Time now);

  // Requests from begin to una_ are finished; una_ is the oldest unfinished one, next_ the one
  // being sent; the others wait.
  fabric::Ring<SendWork> work_;
  QpCounters& counters_;
  const trace::ConnectionTracer& trace_;
  QpParameters parameters_;
  std::uint64_t una_ = 0;
  std::uint32_t una_packet_ = 0;  // of una_: the oldest unacknowledged packet
  std::uint32_t una_psn_ = 0;     // its PSN
  std::uint64_t next_ = 0;
  std::uint32_t next_packet_ = 0;
  std::uint32_t next_psn_ = 0;
  std::uint32_t sent_psn_ = 0;   // one after the highest ever sent
  std::uint32_t in_flight_ = 0;  // as the shared path knows it
  PathWaiter waiter_;
  bool waits_for_path_ = false;
  // Where the rest of a part of a Read was last requested again: everything before it is answered.
  std::uint32_t asked_again_at_ = kNoPsn;
  std::uint32_t ssn_ = 0;                         // of the newest posted message
  std::uint32_t msn_limit_ = 0;                   // messages up to this one have a Receive
  bool limited_ = false;                          // the peer reports its Receives
  std::uint32_t window_ = 0;                      // packets
  fabric::Ring<std::uint32_t> reads_{kMaxReads};  // one after the last PSN of each unanswered Read
  // The peer has shown that the oldest packet is missing, and it was retransmitted. Copies of the
  // NAK, and further responses that show the gap, carry no new information. If the packet is lost
  // again, the timer expires.
  bool gap_known_ = false;
  std::uint8_t retries_ = 0;
  std::uint8_t rnr_retries_ = 0;
  unsigned timeouts_in_a_row_ = 0;
  fabric::Time ack_deadline_ = fabric::kNever;
  fabric::Time waits_since_ = 0;  // for the acknowledgment that is due at ack_deadline_
  // A packet whose round trip is measured; kNoPsn: none.
  std::uint32_t timed_psn_ = kNoPsn;
  fabric::Time timed_at_ = 0;
  fabric::Time rnr_until_ = fabric::kNever;  // kNever: it does not wait
};

}  // namespace rpcrdma::soft
