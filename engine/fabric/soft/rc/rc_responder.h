// The responder of a queue pair (IBA volume 1 section 9.7.5 and 9.9.3): executes the peer's
// requests in order, each once, and answers in the same order. Requests that come again are
// answered again; behind a gap nothing is executed, and one NAK asks for what is missing.
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

// What a packet did, beyond the answer that waits to be sent.
struct Served {
  enum class Outcome : std::uint8_t {
    kNothing,
    kMessage,  // a Receive is filled: its completion tells with what
    kFatal,    // refused for good: after the NAK has gone the queue pair is in error
  };
  Outcome outcome = Outcome::kNothing;
  // kFatal: the Receive at the front is to fail so; kSuccess: it is only flushed.
  fabric::Status receive_status = fabric::Status::kSuccess;
  const char* reason = "";  // kFatal: a clause for a person
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

  // A request packet of the peer's. `message` is filled if it is the last of one for a Receive.
  // Throws std::bad_alloc before anything has changed.
  [[nodiscard]] Served receive(const wire::RocePacket& packet, MemoryTable& memory,
                               HandleOwner& owner, fabric::Completion& message, fabric::Time now);

  // The next answer. `fatal`: it was the last one, see Outcome::kFatal.
  [[nodiscard]] bool transmit(OutPacket& packet, const MemoryTable& memory, std::uint32_t qpn,
                              bool& fatal, fabric::Time now);

  // Nothing waits to be answered but with an ACK.
  [[nodiscard]] bool only_ack() const {
    if (answers_.size() != 1) return false;
    const Answer& a = answers_[answers_.begin()];
    return !a.read && (a.syndrome >> 5U) == 0;
  }

  // What that ACK tells is the end of a few Sends, which the owner may be about to answer, and the
  // peer knows of enough Receives to go on without it.
  [[nodiscard]] bool ack_may_wait() const;

  // The Receive at the front ends as `status`, all others as kFlushed.
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
  // One that waits to be sent. At most one that is no Read stands between two Reads.
  struct Answer {
    bool read = false;
    bool repeated = false;  // a Read that has been answered, or begun to be, before
    bool fatal = false;     // a NAK after which nothing comes
    std::uint8_t syndrome = 0;
    std::uint32_t psn = 0;  // of the next packet
    std::uint32_t handle = 0;
    std::uint64_t offset = 0;  // of the next packet's data
    std::uint32_t length = 0;  // that is left, bytes
    bool begun = false;        // the first response packet was sent
  };

  void answer(std::uint8_t syndrome, std::uint32_t psn, bool fatal = false);
  void drop_back();
  void add_read(const wire::RocePacket& packet, bool repeated);
  [[nodiscard]] std::uint8_t trace_credits();
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
  // 255 Reads, 255 that are repeated, and what stands between them.
  fabric::Ring<Answer> answers_{1024};
  std::uint32_t reads_waiting_ = 0;    // of answers_, for the first time
  std::uint32_t repeats_waiting_ = 0;  // of answers_
  std::uint32_t expected_psn_ = 0;
  // Of the newest Send or Write packet that was executed. A Read is acknowledged by its response
  // alone: Linux's rxe takes an ACK that bears a Read's PSN for the Read's data.
  std::uint32_t newest_to_ack_ = 0;
  // For the trace: Reads that were told to begin, and not to end. As many as the peer may have
  // outstanding, which are its newest ones: a new one takes the place of the eldest.
  struct UnendedRead {
    std::uint32_t last_psn = kNoPsn;  // of its last response, which names it
    wire::Reth whole;
  };
  static constexpr std::uint32_t kNoPsn = ~std::uint32_t{0};
  std::vector<UnendedRead> unended_reads_;
  std::size_t next_unended_ = 0;
  std::uint32_t msn_ = 0;
  std::uint32_t msn_limit_ = 0;             // up to which the peer knows of Receives
  std::uint32_t sends_unacknowledged_ = 0;  // that ended since the last ACK was sent
  bool urgent_ = false;                     // an ACK is asked for by more than the end of a Send
  bool gap_reported_ = false;               // a NAK, of a gap or RNR, has asked for expected_psn_
  bool refused_ = false;                    // nothing more is executed
  Current current_ = Current::kNone;
  std::uint32_t filled_ = 0;        // kSend: bytes of the message so far
  std::uint32_t write_handle_ = 0;  // kWrite
  std::uint64_t write_offset_ = 0;  // of the next packet's data
  std::uint32_t write_left_ = 0;    // bytes
  std::uint32_t write_length_ = 0;  // of the whole message
};

}  // namespace rpcrdma::soft
