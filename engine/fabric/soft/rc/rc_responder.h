// The responder of a queue pair (IBA volume 1 section 9.7.5 and 9.9.3): executes the peer's
// requests in order, each once, and answers in the same order. Duplicate requests are answered
// again. After a gap nothing is executed, and one NAK requests the missing packet.
#pragma once

#include "memory_table.h"
#include "qp_parameters.h"
#include "slices.h"

#include <cstdint>
#include <vector>

#include <rpcrdma/fabric/error.h>
#include <rpcrdma/fabric/ring.h>
#include <rpcrdma/fabric/time.h>
#include <rpcrdma/fabric/work.h>
#include <rpcrdma/soft/packet.h>
#include <rpcrdma/soft/qp_counters.h>
#include <rpcrdma/trace/connection_tracer.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::soft {

struct ReceiveWork {
  std::uint64_t id = 0;
  Slices local;
};

// The effect of a packet, besides the answer to send.
struct Served {
  enum class Outcome : std::uint8_t {
    kNothing,
    kMessage,  // a Receive is filled; its completion describes how
    kFatal,    // refused for good: after the NAK was sent, the queue pair is in error
  };
  Outcome outcome = Outcome::kNothing;
  // kFatal: the status of the Receive at the front; kSuccess: it is only flushed.
  fabric::Status receive_status = fabric::Status::kSuccess;
  const char* reason = "";  // kFatal: a clause for the user
};

class RcResponder {
 public:
  RcResponder(std::uint32_t depth, QpCounters& counters, const trace::ConnectionTracer& trace)
      : receives_(depth), counters_(counters), trace_(trace) {}

  void start(const QpParameters& parameters);
  void set_depth(std::uint32_t depth) { receives_.set_limit(depth); }
  [[nodiscard]] std::size_t posted() const { return receives_.size(); }

  [[nodiscard]] fabric::Expected<void> post(const fabric::ReceiveRequest& request,
                                            const MemoryTable& memory);

  // Processes a request packet of the peer. Fills `message` if the packet is the last of a message
  // that consumes a Receive. Throws std::bad_alloc before anything has changed.
  [[nodiscard]] Served receive(const wire::RocePacket& packet, MemoryTable& memory,
                               HandleOwner& owner, fabric::Completion& message, fabric::Time now);

  // Returns the next answer. `fatal`: it was the last one, see Outcome::kFatal.
  [[nodiscard]] bool transmit(OutPacket& packet, const MemoryTable& memory, std::uint32_t qpn,
                              bool& fatal, fabric::Time now);

  // Returns whether the only answer to send is an ACK.
  [[nodiscard]] bool only_ack() const {
    if (answers_.size() != 1) return false;
    const Answer& a = answers_[answers_.begin()];
    return !a.read && (a.syndrome >> 5U) == 0;
  }

  // Returns whether the ACK may wait: it only acknowledges a few Sends, which the owner may be
  // about to answer, and the peer knows of enough Receives to continue without it.
  [[nodiscard]] bool ack_may_wait() const;

  // Completes the Receive at the front with `status`, all others as kFlushed.
  template <typename Done>
  void flush(fabric::Status status, Done&& done) {
    for (; !receives_.empty(); receives_.pop()) {
      done(receives_.front(), status);
      status = fabric::Status::kFlushed;
    }
    answers_.clear();
  }

 private:
  enum class Current : std::uint8_t { kNone, kSend, kWrite };
  // An answer that waits to be sent. Between two Reads there is at most one other answer.
  struct Answer {
    bool read = false;
    bool repeated = false;  // a Read whose answer was sent before, at least in part
    bool fatal = false;     // a NAK that ends the connection
    std::uint8_t syndrome = 0;
    std::uint32_t psn = 0;  // of the next packet
    std::uint32_t handle = 0;
    std::uint64_t offset = 0;  // of the next packet's data
    std::uint32_t length = 0;  // remaining bytes
    bool begun = false;        // the first response packet was sent
  };

  void answer(std::uint8_t syndrome, std::uint32_t psn, bool fatal = false);
  void drop_back();
  void add_read(const wire::RocePacket& packet, bool repeated);
  [[nodiscard]] std::uint8_t ack_syndrome();
  [[nodiscard]] Served refuse(wire::NakCode code, const char* reason,
                              fabric::Status receive_status = fabric::Status::kSuccess);
  void duplicate(const wire::RocePacket& packet, const MemoryTable& memory, std::uint32_t qpn);
  void read_ended(std::uint32_t last_psn, fabric::Status status, const MemoryTable& memory,
                  std::uint32_t qpn, fabric::Time now);
  [[nodiscard]] bool in_sequence(const wire::OpcodeInfo& info) const;
  [[nodiscard]] bool fits(const wire::OpcodeInfo& info, std::size_t payload) const;
  void receive_not_ready();
  [[nodiscard]] Served read(const wire::RocePacket& packet, const MemoryTable& memory,
                            std::uint32_t qpn, fabric::Time now);
  [[nodiscard]] Served send(const wire::RocePacket& packet, const wire::OpcodeInfo& info,
                            MemoryTable& memory, HandleOwner& owner, fabric::Completion& message);
  [[nodiscard]] Served write(const wire::RocePacket& packet, const wire::OpcodeInfo& info,
                             const MemoryTable& memory, std::uint32_t qpn,
                             fabric::Completion& message, fabric::Time now);
  void executed(const wire::RocePacket& packet, bool message);
  void complete(const wire::RocePacket& packet, const wire::OpcodeInfo& info,
                fabric::Completion& message);
  [[nodiscard]] std::uint32_t packets_of(std::uint32_t length) const;

  fabric::Ring<ReceiveWork> receives_;
  QpCounters& counters_;
  const trace::ConnectionTracer& trace_;
  QpParameters parameters_;
  // 255 Reads, 255 repeated Reads, and the answers between them.
  fabric::Ring<Answer> answers_{1024};
  std::uint32_t reads_waiting_ = 0;    // in answers_, first time
  std::uint32_t repeats_waiting_ = 0;  // in answers_, repeated
  std::uint32_t expected_psn_ = 0;
  // The PSN of the newest executed Send or Write packet. A Read is acknowledged by its response
  // only: Linux's rxe interprets an ACK with a Read's PSN as the Read's data.
  std::uint32_t newest_to_ack_ = 0;
  // For the trace: Reads whose begin was emitted and whose end was not. It holds as many as the
  // peer may have in flight; a new one replaces the oldest.
  struct UnendedRead {
    std::uint32_t last_psn = kNoPsn;  // of its last response, which identifies it
    wire::Reth whole;
  };
  static constexpr std::uint32_t kNoPsn = ~std::uint32_t{0};
  std::vector<UnendedRead> unended_reads_;
  std::size_t next_unended_ = 0;
  std::uint32_t msn_ = 0;
  std::uint32_t msn_limit_ = 0;             // the peer knows of Receives up to this message
  std::uint32_t sends_unacknowledged_ = 0;  // completed since the last ACK was sent
  bool urgent_ = false;                     // an ACK is needed for more than completed Sends
  bool gap_reported_ = false;               // a NAK (gap or RNR) has requested expected_psn_
  bool refused_ = false;                    // nothing more is executed
  Current current_ = Current::kNone;
  std::uint32_t filled_ = 0;        // kSend: bytes of the message so far
  std::uint32_t write_handle_ = 0;  // kWrite
  std::uint64_t write_offset_ = 0;  // of the next packet's data
  std::uint32_t write_left_ = 0;    // bytes
  std::uint32_t write_length_ = 0;  // of the whole message
};

}  // namespace rpcrdma::soft
