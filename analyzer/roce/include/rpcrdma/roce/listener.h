// What the tracker tells. Every hook is empty here: override those you need.
#pragma once

#include <cstdint>

#include <rpcrdma/roce/connection.h>
#include <rpcrdma/roce/operation.h>
#include <rpcrdma/wire/cm.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::roce {

struct PacketMeta {
  std::uint64_t frame = 0;
  std::int64_t time_ns = 0;
  // Where it was captured: one interface, of one of several files at a time. What is seen at a
  // second point is a copy, not sent again.
  std::uint64_t point = 0;
};

// What an RPC Call asks for.
struct Procedure {
  std::uint32_t program = 0;
  std::uint32_t version = 0;
  std::uint32_t number = 0;
};

class Listener {
 public:
  virtual ~Listener() = default;

  // A CM message, also one that belongs to no connection (`connection` is then null). `sender` is
  // the side of the connection.
  virtual void on_cm(const Connection* connection, int sender, const wire::CmMad& mad,
                     const PacketMeta& meta) {
    (void)connection, (void)sender, (void)mad, (void)meta;
  }

  // The QPs are known, or traffic without a set-up was seen.
  virtual void on_open(const Connection& connection) { (void)connection; }

  // `from` turned out to be the other direction of `into`: its side 0 is side 1 of `into`.
  virtual void on_merge(const Connection& into, const Connection& from) { (void)into, (void)from; }

  // Nothing more is outstanding: DREQ, REJ, a new REQ with the same QP, or the end of the capture.
  virtual void on_close(const Connection& connection) { (void)connection; }

  // Comes last: the connection is forgotten, its index is not used again. Unless it was merged
  // away, it has been closed before.
  virtual void on_evict(const Connection& connection) { (void)connection; }

  virtual void on_send(const Connection& connection, const SendMessage& message) {
    (void)connection, (void)message;
  }

  // An endpoint tells what a Call of `caller` asks for, whether its RPC message is seen or not:
  // after on_send() for its header. Packets do not tell that.
  virtual void on_call_recorded(const Connection& connection, int caller, std::uint32_t xid,
                                const Procedure& procedure) {
    (void)connection, (void)caller, (void)xid, (void)procedure;
  }

  // The RETH was seen. Data follows if op.want_data is set here; op.tag stays with the operation.
  virtual void on_operation(const Connection& connection, Operation& op) {
    (void)connection, (void)op;
  }
  // Bytes at `offset` within the operation. Each byte comes once, except again after a bad ICRC.
  virtual void on_data(const Connection& connection, const Operation& op, std::uint64_t offset,
                       std::span<const std::uint8_t> data) {
    (void)connection, (void)op, (void)offset, (void)data;
  }
  virtual void on_operation_end(const Connection& connection, const Operation& op) {
    (void)connection, (void)op;
  }

  // ACK, NAK and RNR NAK, from `sender` (the responder of the operations).
  virtual void on_acknowledge(const Connection& connection, int sender, const wire::Aeth& aeth,
                              std::uint32_t psn, const PacketMeta& meta) {
    (void)connection, (void)sender, (void)aeth, (void)psn, (void)meta;
  }

  // `count` packets of `sender` are known now to have been sent again: what SideCounters counts.
  virtual void on_retransmission(const Connection& connection, int sender, std::uint64_t count,
                                 const PacketMeta& meta) {
    (void)connection, (void)sender, (void)count, (void)meta;
  }

  // A request packet that `sender` had sent before. `idle_ns`: since its request before this one;
  // `begins`: that one was new.
  virtual void on_sent_again(const Connection& connection, int sender, std::uint32_t psn,
                             std::int64_t idle_ns, bool begins, const PacketMeta& meta) {
    (void)connection, (void)sender, (void)psn, (void)idle_ns, (void)begins, (void)meta;
  }

  // May a packet of an unknown flow be the answer to what side 0 of `connection` sent? Asked only
  // for connections of which one direction was seen: `first` are the first bytes of a SEND, or
  // empty when the packet is an RDMA READ or WRITE with this `handle`.
  [[nodiscard]] virtual bool answers(const Connection& connection,
                                     std::span<const std::uint8_t> first, std::uint32_t handle) {
    (void)connection, (void)first, (void)handle;
    return false;
  }

  // Asked behind on_send(): had the peer of its sender worked already on memory that only this
  // message offers? Then the capture shows the two directions out of order.
  [[nodiscard]] virtual bool had_early_operations(const Connection& connection) {
    (void)connection;
    return false;
  }
};

}  // namespace rpcrdma::roce
