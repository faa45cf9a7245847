// The responder of a connection (RFC 8166 sections 3.3, 3.5, 4): receives Calls, pulls their Read
// chunks, delivers them to the upper layer whole, and sends Replies inline, through Write chunks
// and through the Reply chunk.
//
// Everything from the peer is checked before memory is allocated for it: chunk counts and lengths
// are bounded, and a peer that violates the header's rules gets ERR_CHUNK or ERR_VERS (section
// 4.5).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/fabric/time.h>
#include <rpcrdma/protocol/durations.h>
#include <rpcrdma/protocol/message.h>
#include <rpcrdma/protocol/options.h>
#include <rpcrdma/protocol/padding.h>
#include <rpcrdma/protocol/reduction.h>
#include <rpcrdma/protocol/stream_reader.h>

namespace rpcrdma::protocol {

class Channel;

// A Call that belongs to the upper layer until the Reply; `id` names it.
struct IncomingCall {
  std::uint64_t id = 0;
  std::uint32_t xid = 0;
  wire::Bytes stream;             // RPC header and arguments without the content of Read chunks
  std::span<const Placed> items;  // content of Read chunks, in order of position
  Padding padding{};              // of the stream
  Offer offer;
  fabric::Time received = 0;  // its Send arrived
  fabric::Time pulled = 0;    // its Read chunks were complete; without any, equal to `received`
};

class ResponderOwner {
 public:
  virtual ~ResponderOwner() = default;
  // May reply() at once, or later. stream and items are valid until the Reply is sent.
  virtual void on_call(const IncomingCall& call) = 0;
  // The Reply has been sent, or the connection has ended since: its pieces return to the owner.
  virtual void on_sent(std::uint64_t id) = 0;
  // The connection ended before the Reply, so there is no peer to reply to.
  virtual void on_cancelled(std::uint64_t id) = 0;
};

// A Call that was refused by an RDMA_ERROR; valid during the callback.
struct RefusedCall {
  std::uint32_t xid = 0;
  const char* error = "";  // "ERR_CHUNK", "RDMA2_ERR_CANT_REPLY"
  std::string_view why;    // one clause for display
};

struct ResponderOptions {
  std::uint32_t credits = 32;                             // granted, and Receives posted
  std::uint64_t max_chunk_bytes = 16U << 20;              // of all Read chunks of a Call together
  std::uint32_t max_segments = kAcceptedSegments;         // of all chunks of a Call together
  std::uint32_t max_write_chunks = kAcceptedWriteChunks;  // of a Call
  // False: Calls with chunks get ERR_CHUNK, as those in the reverse direction may (RFC 8167 section
  // 5.3).
  bool chunks = true;
  // Features of RFC 5666 that RFC 8166 removed: RDMA_MSGP is accepted; parts of a Reply without
  // room elsewhere are left for the requester to read, until its RDMA_DONE; and the lengths of
  // Write chunks count roundup (section 3.7).
  bool rfc5666 = false;
  // With `rfc5666`: how Replies are padded, which are then RDMA_MSGP; see Padding.
  Padding padding{};
  // Deadline for the RDMA_DONE of a Reply, after which the connection fails; until it arrives the
  // Reply's credit is not granted again. The second is the maximum of bytes advertised by all
  // Replies that wait for theirs. Beyond it Calls get ERR_CHUNK, but a single Reply may exceed it.
  fabric::Time done_timeout = 30 * fabric::kSecond;
  std::uint64_t max_advertised_bytes = 64U << 20;
  // Handlers for RDMA2_OPTIONAL messages; null: none. It outlives the responder.
  const OptionRegistry* options = nullptr;
  // Bytes of the Read chunks of all served Calls. Beyond it, Calls wait for others to end; a single
  // Call may have max_chunk_bytes. They also wait while less than a quarter of the pool would be
  // left for everything else.
  std::uint64_t max_pulled_bytes = 64U << 20;
  // If neither the Read chunks of a Call nor a Reply complete within this time although some are in
  // flight, the peer counts as dead and the connection fails. A Call that has waited this long for
  // the pool is answered with ERR_CHUNK. fabric::kNever: no limit.
  fabric::Time patience = 60 * fabric::kSecond;
  // The Read chunks of a Call must be complete this long after their pull began, plus the time that
  // all Read chunks being pulled on the connection take at the minimum rate, in bytes per second.
  // Otherwise the connection fails: a peer that answers in drips keeps no memory. kNever: no limit.
  fabric::Time pull_grace = 30 * fabric::kSecond;
  std::uint32_t least_pull_rate = 1U << 20;
  // Counts Calls with a Reply, from their Receives until reply(), by the clock passed to both, or
  // by `read_clock`. Several responders may share one; it outlives them. Null: not counted.
  Durations* durations = nullptr;
  // Reads the clock at this moment, for `durations`: work within one iteration of a loop takes
  // time, too. Null: the times that the owner passes are all there is.
  fabric::Time (*read_clock)() = nullptr;
  // Called for each Call that is refused; may be empty.
  std::function<void(const RefusedCall&)> on_refused{};
};

// Why Calls were refused, and how often. Their number is bounded; further reasons are counted
// together.
class Refusals {
 public:
  struct Reason {
    const char* error;  // "ERR_CHUNK", "RDMA2_ERR_CANT_REPLY"
    std::string why;    // one clause
    std::uint64_t count = 0;
  };

  void add(const char* error, std::string_view why, std::uint64_t count = 1);
  Refusals& operator+=(const Refusals& other);
  [[nodiscard]] const std::vector<Reason>& reasons() const { return reasons_; }

 private:
  std::vector<Reason> reasons_;
};

struct ResponderCounters {
  std::uint64_t calls = 0, replies = 0;
  std::uint64_t error_version = 0, error_chunk = 0;                // RDMA_ERRORs sent
  std::uint64_t error_proc = 0, error_option = 0, cant_reply = 0;  // version 2 only
  std::uint64_t options = 0;                                       // RDMA2_OPTIONAL answered
  std::uint64_t ignored = 0;      // errors and DONE messages from the peer
  std::uint64_t over_credit = 0;  // Calls beyond the grant; they end the connection
  std::uint64_t delayed = 0;      // Calls that waited for memory for their Read chunks
  std::uint64_t slow_pulls = 0;   // Read chunks below the minimum rate; they end the connection
  MessageBytes bytes;             // of delivered Calls, and of Replies
  // Replies, and bytes in their chunks, that may not have arrived: the connection ended before
  // their acknowledgment, and not by the peer's request (Channel::peer_closes()).
  std::uint64_t unacknowledged = 0, unacknowledged_bytes = 0;
  std::uint64_t invalidated = 0;  // Replies sent with Send With Invalidate
  std::uint64_t dropped = 0;      // Calls ended without a Reply
  // RFC 5666: Replies with Read chunks, and those that were acknowledged.
  std::uint64_t read_replies = 0, done = 0;
  std::uint64_t padded_replies = 0;    // RFC 5666: RDMA_MSGP
  Refusals refusals;                   // by RDMA_ERRORs
  std::uint64_t unnoted_refusals = 0;  // for which there was no memory in `refusals`
};

class Responder {
 public:
  Responder(ResponderOwner& owner, const ResponderOptions& options);
  ~Responder();
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;

  // Sends the Reply: an RPC message whose first word is filled in here. DDP-eligible pieces are in
  // the order of the Call's Write chunks; one without bytes leaves its chunk unused. The bytes of a
  // piece with `memory` must not change until on_sent(id); others are copied at once. Errors:
  // kNoRoom: the Call offered too little, and the peer got ERR_CHUNK, or RDMA2_ERR_CANT_REPLY;
  // kNotConnected: the Call was cancelled. Either way the Call has ended.
  [[nodiscard]] fabric::Expected<void> reply(std::uint64_t id, std::span<const Piece> message,
                                             fabric::Time now);
  // Ends a Call without a Reply: by agreement of its program, or because its requester does not
  // wait for it any more. Its credit can be used again; the requester learns that from the Reply to
  // a later Call.
  void drop(std::uint64_t id, fabric::Time now);
  // Credits that Replies of this connection grant from the next one on; at least 1.
  void grant(std::uint32_t credits);

  [[nodiscard]] std::uint32_t outstanding() const;  // Calls received and not answered
  [[nodiscard]] const ResponderCounters& counters() const;

 private:
  friend class Channel;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::protocol
