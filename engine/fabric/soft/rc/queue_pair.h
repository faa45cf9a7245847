// A Reliable Connected queue pair (IBA volume 1 chapter 9): what was posted, the requester that
// sends it and sends it again until it is acknowledged, and the responder that serves the peer.
// Sans-I/O: packets and time come in, packets and completions go out.
//
// Memory is taken where work is posted and where a request packet comes, before anything is done
// for it: so a packet for which there is none is as good as lost, and to fail needs none.
#pragma once

#include "memory_table.h"
#include "rc_requester.h"
#include "rc_responder.h"

#include <cstdint>

#include <rpcrdma/fabric/completions.h>
#include <rpcrdma/fabric/provider.h>
#include <rpcrdma/fabric/time.h>
#include <rpcrdma/fabric/work.h>
#include <rpcrdma/soft/packet.h>
#include <rpcrdma/trace/connection_tracer.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::soft {

enum class QpState : std::uint8_t {
  kInit,   // Receives may be posted
  kReady,  // connected
  kError,  // everything outstanding was flushed
};

class QueuePair {
 public:
  QueuePair(std::uint32_t qpn, std::uint64_t cookie, const fabric::QueueDepths& depths,
            MemoryTable& memory, fabric::Completions& completions);
  ~QueuePair();
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  // Error kBadArgument: more Receives are posted than it is to hold.
  [[nodiscard]] fabric::Expected<void> configure(std::uint64_t cookie,
                                                 const fabric::QueueDepths& depths);

  // Who is told what happens from now on.
  void set_trace(const trace::ConnectionTracer& trace) { trace_ = trace; }
  [[nodiscard]] const trace::ConnectionTracer& trace() const { return trace_; }

  // The peer is known: from now on it is served, and what is posted is sent.
  void connect(const Path& path, const QpParameters& parameters);

  // As of fabric::Connection; one request at a time.
  [[nodiscard]] fabric::Expected<void> post_send(const fabric::SendRequest& request);
  [[nodiscard]] fabric::Expected<void> post_receive(const fabric::ReceiveRequest& request);
  [[nodiscard]] fabric::Expected<fabric::MemoryRegion> advertise(const fabric::Memory& memory,
                                                                 std::uint8_t* data,
                                                                 std::uint32_t length,
                                                                 fabric::Access access);
  [[nodiscard]] fabric::Expected<void> invalidate(std::uint64_t id, std::uint32_t handle);

  // A packet of the peer's, from the right address. What does not fit is dropped and counted.
  // Throws std::bad_alloc, and then nothing of the packet was taken.
  void receive(const wire::RocePacket& packet, fabric::Time now);

  // The next packet that may go out now; false: none.
  [[nodiscard]] bool transmit(OutPacket& packet, fabric::Time now);

  // When expire() has something to do; fabric::kNever.
  [[nodiscard]] fabric::Time deadline() const;
  void expire(fabric::Time now);

  // Flushes all that is outstanding, withdraws all handles. `reason`: a clause for a person, of
  // static storage.
  void fail(const char* reason);

  [[nodiscard]] QpState state() const { return state_; }
  [[nodiscard]] const char* reason() const { return reason_; }  // why it is in error
  [[nodiscard]] std::uint32_t qpn() const { return owner_.qpn; }
  [[nodiscard]] const Path& path() const { return path_; }
  [[nodiscard]] const QpCounters& counters() const { return counters_; }

 private:
  void fail(fabric::Status send_status, fabric::Status receive_status, const char* reason);
  fabric::Completion& complete(std::uint64_t id, fabric::Operation operation,
                               fabric::Status status);
  void complete(const SendWork& work, fabric::Status status);
  void serve(const wire::RocePacket& packet, fabric::Time now);

  std::uint64_t cookie_;
  MemoryTable& memory_;
  fabric::Completions& completions_;
  HandleOwner owner_;
  QpState state_ = QpState::kInit;
  const char* reason_ = "";
  Path path_;
  QpCounters counters_;
  trace::ConnectionTracer trace_;
  fabric::QueueDepths depths_;
  RcRequester requester_;
  RcResponder responder_;
  bool own_turn_ = false;  // the last packet was an answer
  static constexpr unsigned kBurst = 16;
  [[nodiscard]] bool ack_waits(fabric::Time now);
  unsigned packets_before_ack_ = 0;  // requests that went while an ACK waited
  fabric::Time ack_hold_ = 0;
  static constexpr fabric::Time kSleepersHold = 20;
  const bool* owner_sleeps_ = nullptr;
  fabric::Time ack_due_ = fabric::kNever;  // when it waits no longer; kNever: it does not wait
  bool ack_overdue_ = false;               // it goes with the next packet, or alone
  // The peer was refused; it ends when it has been told.
  bool refused_ = false;
  fabric::Status refused_receive_ = fabric::Status::kFlushed;
  const char* refused_reason_ = "";
};

}  // namespace rpcrdma::soft
