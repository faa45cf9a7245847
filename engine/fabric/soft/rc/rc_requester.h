// The requester of a queue pair (IBA volume 1 section 9.7): sends what was posted, in order, and
// keeps it until it is acknowledged or, of Reads, answered.
//
// It goes back and sends everything again from the oldest packet that is missing, when the peer
// tells of a gap (NAK), when a response shows one (an ACK or a later Read response where a Read
// response is due: an implied NAK), or when nothing comes for a while. A receive buffer that
// overflows can tell nobody, so the number of packets under way is bounded, is halved by each loss
// and grows again with what is acknowledged.
#pragma once

#include "memory_table.h"
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
  std::uint32_t extra = 0;    // immediate, or the handle to be invalidated
  std::uint32_t packets = 1;  // PSNs that it takes; of a Read those of its responses
  std::uint32_t ssn = 0;      // number of its last message on the wire
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
  [[nodiscard]] bool transmit(OutPacket& packet, fabric::Time now);

  // An ACK, NAK or Read response. kSuccess: go on; else the oldest request has failed so, and with
  // it the queue pair. `done(work, status)` is called for each request that is over.
  template <typename Done>
  [[nodiscard]] fabric::Status receive(const wire::RocePacket& packet, fabric::Time now,
                                       Done&& done) {
    const fabric::Status status = respond(packet, now);
    retire(done);
    return status;
  }

  [[nodiscard]] fabric::Time deadline() const;
  // As receive().
  [[nodiscard]] fabric::Status expire(fabric::Time now);

  // The oldest request ends as `status`, all others as kFlushed.
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
  static constexpr std::uint32_t kNoPsn = UINT32_MAX;  // they have 24 bits
  static constexpr std::size_t kMaxReads = 256;

  template <typename Done>
  void retire(Done& done) {
    for (; work_.begin() != una_; work_.pop()) done(work_.front(), fabric::Status::kSuccess);
  }
  void reset();

  [[nodiscard]] bool may_send(const SendWork& work, std::uint32_t& packets) const;
  [[nodiscard]] fabric::Status respond(const wire::RocePacket& packet, fabric::Time now);
  [[nodiscard]] fabric::Status acknowledge(const wire::RocePacket& packet, fabric::Time now);
  [[nodiscard]] fabric::Status read_response(const wire::RocePacket& packet, fabric::Time now);
  [[nodiscard]] bool in_its_place(std::uint8_t opcode) const;
  [[nodiscard]] fabric::Status gap(fabric::Time now);
  void note_credits(const wire::Aeth& aeth);
  // How many of the packets before `distance` (from the oldest) come before a Read that is not
  // answered; `distance` if none is.
  [[nodiscard]] std::uint32_t before_read(std::uint32_t distance) const;
  void advance(std::uint32_t packets, fabric::Time now);
  [[nodiscard]] fabric::Status go_back(fabric::Time now);
  void rewind();
  [[nodiscard]] fabric::Time ack_time() const;
  void arm(fabric::Time now);

  // Requests from begin to una_ are over, una_ is the oldest that is not, next_ the one that is
  // being sent; then come those that are waiting.
  fabric::Ring<SendWork> work_;
  QpCounters& counters_;
  const trace::ConnectionTracer& trace_;
  QpParameters parameters_;
  std::uint64_t una_ = 0;
  std::uint32_t una_packet_ = 0;  // of una_: the oldest that is not acknowledged
  std::uint32_t una_psn_ = 0;     // its PSN
  std::uint64_t next_ = 0;
  std::uint32_t next_packet_ = 0;
  std::uint32_t next_psn_ = 0;
  std::uint32_t sent_psn_ = 0;  // behind the highest that was ever sent
  // Where the rest of a part of a Read was asked for again, last: all before it is answered.
  std::uint32_t asked_again_at_ = kNoPsn;
  std::uint32_t ssn_ = 0;        // of the newest message that was posted
  std::uint32_t msn_limit_ = 0;  // messages up to this one have a Receive
  bool limited_ = false;         // the peer counts its Receives
  std::uint32_t window_ = 0;     // packets
  fabric::Ring<std::uint32_t> reads_{
      kMaxReads};  // PSN behind each Read request that is not answered
  // The peer has shown that the oldest packet is missing, and it was sent again: a copy of the NAK,
  // or others of the responses that showed it, say nothing new. If it is lost again the timer
  // tells.
  bool gap_known_ = false;
  std::uint8_t retries_ = 0;
  std::uint8_t rnr_retries_ = 0;
  unsigned timeouts_in_a_row_ = 0;
  fabric::Time ack_deadline_ = fabric::kNever;
  fabric::Time rnr_until_ = fabric::kNever;  // kNever: does not wait
};

}  // namespace rpcrdma::soft
