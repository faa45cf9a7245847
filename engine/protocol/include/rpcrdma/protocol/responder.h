// The responder of a connection (RFC 8166 sections 3.3, 3.5, 4): takes Calls, pulls their Read
// chunks, hands them to the upper layer whole, and sends Replies inline, through Write chunks and
// through the Reply chunk.
//
// What a peer says is checked before anything is allocated for it: chunk counts and lengths are
// bounded, and whoever breaks the header's rules gets ERR_CHUNK or ERR_VERS (section 4.5).
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <rpcrdma/fabric/time.h>
#include <rpcrdma/protocol/durations.h>
#include <rpcrdma/protocol/message.h>
#include <rpcrdma/protocol/options.h>
#include <rpcrdma/protocol/padding.h>
#include <rpcrdma/protocol/reduction.h>
#include <rpcrdma/protocol/stream_reader.h>

namespace rpcrdma::protocol {

class Channel;

// A Call that is the upper layer's until it is answered; `id` names it.
struct IncomingCall {
  std::uint64_t id = 0;
  std::uint32_t xid = 0;
  wire::Bytes stream;             // RPC header and arguments without what Read chunks brought
  std::span<const Placed> items;  // what they brought, in order of position
  Padding padding{};              // of the stream
  Offer offer;
  fabric::Time received = 0;  // its Send arrived
  fabric::Time pulled = 0;    // its Read chunks were all there; without any, as received
};

class ResponderOwner {
 public:
  virtual ~ResponderOwner() = default;
  // May reply() at once, or later. stream and items are valid until the Reply is sent.
  virtual void on_call(const IncomingCall& call) = 0;
  // The Reply has been sent, or the connection has ended since: its pieces are the owner's again.
  virtual void on_sent(std::uint64_t id) = 0;
  // The connection ended before it was answered: there is nobody to reply to any more.
  virtual void on_cancelled(std::uint64_t id) = 0;
};

struct ResponderOptions {
  std::uint32_t credits = 32;                 // granted, and Receives posted
  std::uint64_t max_chunk_bytes = 16U << 20;  // of all Read chunks of a Call together
  std::uint32_t max_segments = kMaxSegments;  // of all chunks of a Call together
  // False: Calls with chunks get ERR_CHUNK, as those in the reverse direction may (RFC 8167 section
  // 5.3).
  bool chunks = true;
  // What RFC 8166 took out of RFC 5666: RDMA_MSGP is taken; what a Reply has no room for elsewhere
  // is left to be read, until the peer's RDMA_DONE; and the lengths of Write chunks count the
  // roundup of what they hold (section 3.7).
  bool rfc5666 = false;
  // In which the RDMA_DONE for a Reply has to come, or the connection is given up; until then its
  // credit is not granted again. Of all Replies that wait for theirs, bytes that may be exposed;
  // others get ERR_CHUNK, but for one alone, which may have more.
  fabric::Time done_timeout = 30 * fabric::kSecond;
  std::uint64_t max_advertised_bytes = 64U << 20;
  // What is answered of RDMA2_OPTIONAL messages; null: nothing. It outlives the responder.
  const OptionRegistry* options = nullptr;
  // Of the Read chunks of all Calls that are being served, bytes: Calls beyond wait for others to
  // end. One alone may have max_chunk_bytes. They wait, too, while that would leave less than a
  // quarter of the pool for everything else.
  std::uint64_t max_pulled_bytes = 64U << 20;
  // When for so long neither the Read chunks of a Call nor a Reply got through, though some were
  // under way, the peer takes no part any more, and the connection is given up; a Call that has
  // waited so long for the pool is answered ERR_CHUNK. fabric::kNever: the peer may take its time.
  fabric::Time patience = 60 * fabric::kSecond;
};

struct ResponderCounters {
  std::uint64_t calls = 0, replies = 0;
  std::uint64_t error_version = 0, error_chunk = 0;                // RDMA_ERRORs sent
  std::uint64_t error_proc = 0, error_option = 0, cant_reply = 0;  // of version 2, too
  std::uint64_t options = 0;                                       // RDMA2_OPTIONAL answered
  std::uint64_t ignored = 0;      // errors and DONE messages of the peer's
  std::uint64_t over_credit = 0;  // Calls beyond what was granted; they end the connection
  std::uint64_t delayed = 0;      // Calls that waited for memory for their Read chunks
  MessageBytes bytes;             // of Calls that were handed up, and of Replies
  // Of Replies and of the bytes in their chunks, those of which it is not known whether they have
  // arrived: the connection ended before, and not by the peer's asking (Channel::peer_closes()).
  std::uint64_t unacknowledged = 0, unacknowledged_bytes = 0;
  // Of Calls that were replied to: from their Receives until reply(), by the clock given to both.
  Durations service;
  std::uint64_t invalidated = 0;  // Replies sent with Send With Invalidate
  // RFC 5666: Replies with Read chunks, and those that were acknowledged.
  std::uint64_t read_replies = 0, done = 0;
};

class Responder {
 public:
  Responder(ResponderOwner& owner, const ResponderOptions& options);
  ~Responder();
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;

  // The Reply: an RPC message whose first word is filled in. DDP-eligible pieces stand in the order
  // of the Call's Write chunks; one without bytes leaves its chunk unused. The bytes of a piece
  // with `memory` stay as they are until on_sent(id); others are copied at once. Errors: kNoRoom:
  // the Call offered too little, and the peer was answered ERR_CHUNK, or RDMA2_ERR_CANT_REPLY;
  // kNotConnected: the Call was
  // cancelled. Either way the Call has ended.
  [[nodiscard]] fabric::Expected<void> reply(std::uint64_t id, std::span<const Piece> message,
                                             fabric::Time now);
  // What Calls of this connection are granted from the next Reply on; at least 1.
  void grant(std::uint32_t credits);

  [[nodiscard]] std::uint32_t outstanding() const;  // Calls received and not answered
  [[nodiscard]] const ResponderCounters& counters() const;

 private:
  friend class Channel;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::protocol
