// A Reliable Connected queue pair (IBA volume 1 chapter 9): the posted work, the requester that
// sends it and retransmits it until it is acknowledged, and the responder that serves the peer.
// Sans-I/O: packets and time come in, packets and completions go out.
//
// Memory is allocated when work is posted and when a request packet arrives, before anything is
// done for it. So a packet without memory is as good as lost, and failing needs no memory.
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
  kError,  // all work in flight was flushed
};

class QueuePair {
 public:
  QueuePair(std::uint32_t qpn, std::uint64_t cookie, const fabric::QueueDepths& depths,
            MemoryTable& memory, fabric::Completions& completions);
  ~QueuePair();
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  // Error kBadArgument: more Receives are posted than the depths allow.
  [[nodiscard]] fabric::Expected<void> configure(std::uint64_t cookie,
                                                 const fabric::QueueDepths& depths);

  // Sets the tracer for all later events.
  void set_trace(const trace::ConnectionTracer& trace) { trace_ = trace; }
  [[nodiscard]] const trace::ConnectionTracer& trace() const { return trace_; }

  // Connects to the peer: from now on it is served, and posted work is sent.
  void connect(const Path& path, const QpParameters& parameters);

  // As in fabric::Connection, for one request.
  [[nodiscard]] fabric::Expected<void> post_send(const fabric::SendRequest& request);
  [[nodiscard]] fabric::Expected<void> post_receive(const fabric::ReceiveRequest& request);
  [[nodiscard]] fabric::Expected<fabric::MemoryRegion> advertise(const fabric::Memory& memory,
                                                                 std::uint8_t* data,
                                                                 std::uint32_t length,
                                                                 fabric::Access access);
  [[nodiscard]] fabric::Expected<void> invalidate(std::uint64_t id, std::uint32_t handle);

  // Accepts a packet from the peer; the caller has checked its address. Invalid packets are dropped
  // and counted. If it throws std::bad_alloc, the packet had no effect.
  void receive(const wire::RocePacket& packet, fabric::Time now);

  // Returns the next packet that may be sent now; false: none. `others_next`: other queue pairs
  // send before the next packet of this one.
  [[nodiscard]] bool transmit(OutPacket& packet, fabric::Time now, bool others_next = false);

  // The time of the next expire(), or fabric::kNever.
  [[nodiscard]] fabric::Time deadline() const;
  // `all_received`: everything that had arrived by now was passed to receive(). Otherwise time-outs
  // of acknowledgments are postponed. Returns false if one was.
  bool expire(fabric::Time now, bool all_received = true);

  // Flushes all work in flight and invalidates all handles. `reason`: a clause for the user, in
  // static storage.
  void fail(const char* reason);

  [[nodiscard]] QpState state() const { return state_; }
  [[nodiscard]] const char* reason() const { return reason_; }  // why it is in the error state
  [[nodiscard]] std::uint32_t qpn() const { return owner_.qpn; }
  [[nodiscard]] const Path& path() const { return path_; }
  [[nodiscard]] const QpCounters& counters() const { return counters_; }
  // Whether transmit() returned false because QpParameters::shared did not admit a packet, and the
  // place with which the queue pair waits there.
  [[nodiscard]] bool waits_for_path() const {
    return state_ == QpState::kReady && !refused_ && requester_.waits_for_path();
  }
  [[nodiscard]] PathWaiter& waiter() { return requester_.waiter(); }

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
  // Answers of a packet each, and own requests, alternate in runs, since the carrier joins packets
  // of equal size. The packets of a longer answer alternate with own requests one by one.
  unsigned answers_in_a_row_ = 0;
  unsigned own_turn_ = 0;  // own requests that go before the next answer
  static constexpr unsigned kBurst = 16;
  [[nodiscard]] bool ack_waits(fabric::Time now);
  void give_turn_after(const OutPacket& answer);
  unsigned packets_before_ack_ = 0;  // requests sent while an ACK waited
  fabric::Time ack_hold_ = 0;
  fabric::Time longest_hold_ = 0;
  const bool* owner_sleeps_ = nullptr;
  fabric::Time ack_began_ = fabric::kNever;  // when the oldest Send without an ACK arrived
  fabric::Time ack_due_ = fabric::kNever;    // when the wait ends; kNever: it does not wait
  bool ack_overdue_ = false;                 // it leaves with the next packet, or alone
  // A request of the peer was refused; the queue pair fails when the NAK has been sent.
  bool refused_ = false;
  fabric::Status refused_receive_ = fabric::Status::kFlushed;
  const char* refused_reason_ = "";
};

}  // namespace rpcrdma::soft
