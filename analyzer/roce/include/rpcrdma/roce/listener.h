// The events of the tracker, and the interface that receives them. Every hook is empty here:
// override the ones you need.
#pragma once

#include <cstdint>
#include <span>

#include <rpcrdma/roce/connection.h>
#include <rpcrdma/roce/operation.h>
#include <rpcrdma/wire/cm.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::roce {

struct PacketMeta {
  std::uint64_t frame = 0;
  std::int64_t time_ns = 0;
  // The capture point: one interface of one file, of those open at a time. The same packet at a
  // second point is a copy, not a retransmission.
  std::uint64_t point = 0;
};

// The procedure that an RPC Call names.
struct Procedure {
  std::uint32_t program = 0;
  std::uint32_t version = 0;
  std::uint32_t number = 0;
};

struct CmMessage {
  const Connection* connection;  // null: it belongs to no connection
  int sender;                    // side of the connection
  const wire::CmMad& mad;
  const PacketMeta& meta;
};

// MPA's Request (by side 0) or Reply, in place of a CM message.
struct MpaMessage {
  const Connection& connection;
  int sender;
  const PacketMeta& meta;
};

// `from` is the other direction of `into`: its side 0 is side 1 of `into`.
struct Merge {
  const Connection& into;
  const Connection& from;
};

// The procedure of the Call with this XID.
struct IdentifiedCall {
  const Connection& connection;
  int caller;
  std::uint32_t xid;
  const Procedure& procedure;
};

// Bytes at `offset` within the operation.
struct OperationData {
  const Connection& connection;
  const Operation& op;
  std::uint64_t offset;
  std::span<const std::uint8_t> data;
};

// An ACK, NAK or RNR NAK from `sender`, the responder of the operations.
struct Acknowledgement {
  const Connection& connection;
  int sender;
  const wire::Aeth& aeth;
  std::uint32_t psn;
  const PacketMeta& meta;
};

// `count` more retransmissions by `sender`, as counted in SideCounters.
struct Retransmission {
  const Connection& connection;
  int sender;
  std::uint64_t count;
  const PacketMeta& meta;
};

// A request packet that `sender` had already sent.
struct RepeatedRequest {
  const Connection& connection;
  int sender;
  std::uint32_t psn;
  std::int64_t idle_ns;  // since its previous request
  bool begins;           // its previous request was new
  const PacketMeta& meta;
};

// The network signals congestion: a packet of `sender` was marked CE on its way, or `sender` sent a
// CNP because packets to it were marked.
struct CongestionSignal {
  const Connection& connection;
  int sender;
  bool cnp;
  const PacketMeta& meta;
};

// The connection as which another one is shown. `turned`: its side 0 is side 1 of the other one.
struct SeenAs {
  const Connection* connection;
  bool turned;
};

class Listener {
 public:
  virtual ~Listener() = default;

  // Called for each CM message.
  virtual void on_cm(const CmMessage& event) { (void)event; }
  // Called for each MPA Request and Reply.
  virtual void on_mpa(const MpaMessage& event) { (void)event; }
  // Called when the QPs are known, or when traffic without a set-up is seen.
  virtual void on_open(const Connection& connection) { (void)connection; }
  // Called when two connections turn out to be the two directions of one.
  virtual void on_merge(const Merge& event) { (void)event; }
  // Called when nothing more can be in flight: after a DREQ, a REJ, a new REQ with the same QP, or
  // at the end of the capture.
  virtual void on_close(const Connection& connection) { (void)connection; }
  // Called last: the connection is evicted and its index is not reused. Unless it was merged into
  // another one, it was closed before.
  virtual void on_evict(const Connection& connection) { (void)connection; }

  // Called when the last packet of a Send has arrived.
  virtual void on_send(const Connection& connection, const SendMessage& message) {
    (void)connection, (void)message;
  }
  // Called after on_send() for the header of a Call, when an endpoint reports the procedure,
  // whether the RPC message is in the recording or not. Packets never do.
  virtual void on_call_recorded(const IdentifiedCall& event) { (void)event; }

  // Called when the RETH of an RDMA operation is seen. on_data() follows if op.want_data is set
  // here; op.tag stays with the operation.
  virtual void on_operation(const Connection& connection, Operation& op) {
    (void)connection, (void)op;
  }
  // Called with the data of an operation, each byte once; a byte from a packet with a bad ICRC may
  // come again.
  virtual void on_data(const OperationData& event) { (void)event; }
  // Called when an operation is complete, or can no longer be.
  virtual void on_operation_end(const Connection& connection, const Operation& op) {
    (void)connection, (void)op;
  }

  // Called for each ACK, NAK and RNR NAK.
  virtual void on_acknowledge(const Acknowledgement& event) { (void)event; }
  // Called when packets are known to be retransmissions.
  virtual void on_retransmission(const Retransmission& event) { (void)event; }
  // Called for each retransmitted request packet.
  virtual void on_sent_again(const RepeatedRequest& event) { (void)event; }

  // Called for each signal of congestion, before what its packet carries.
  virtual void on_congestion(const CongestionSignal& event) { (void)event; }
  // Several sources may show one connection, of which the listener follows one view.
  [[nodiscard]] virtual SeenAs seen_as(const Connection& connection) const {
    return {&connection, false};
  }

  // Called for a packet of an unknown flow if only one direction of `connection` was seen: can the
  // packet be an answer to side 0? `first` holds the first bytes of a SEND, or is empty if the
  // packet is an RDMA READ or WRITE with this `handle`.
  [[nodiscard]] virtual bool answers(const Connection& connection,
                                     std::span<const std::uint8_t> first, std::uint32_t handle) {
    (void)connection, (void)first, (void)handle;
    return false;
  }

  // Called after on_send(): did the peer of its sender access memory that only this message
  // advertises, before the message arrived? Then the capture shows the two directions out of order.
  [[nodiscard]] virtual bool had_early_operations(const Connection& connection) {
    (void)connection;
    return false;
  }
};

}  // namespace rpcrdma::roce
