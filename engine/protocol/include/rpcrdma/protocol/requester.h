// The requester of a connection (RFC 8166 sections 3.3, 3.5, 4): sends Calls within the credit
// limit, offers memory for their results, matches Replies to XIDs, and returns memory to its owner
// only when no peer can access it any more.
//
// It outlives its connection: when that is lost, sent Calls wait for the next one and are resent
// with the same XID, and credits start at one again (RFC 8166 section 3.3.3).
//
// Sans-I/O: work goes to the Channel that it is attached to; time is an argument.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include <rpcrdma/fabric/time.h>
#include <rpcrdma/protocol/message.h>
#include <rpcrdma/protocol/options.h>
#include <rpcrdma/protocol/padding.h>
#include <rpcrdma/protocol/stream_reader.h>
#include <rpcrdma/protocol/versions.h>

namespace rpcrdma::protocol {

class Channel;

struct CallSpec {
  // RPC header and arguments. The first word is reserved for the XID, which the requester fills in.
  // The pieces' bytes must not change until the outcome; the lists are copied.
  std::span<const Piece> message;
  std::span<const ResultSpace> results;  // for the DDP-eligible results, in order
  // Maximum length of the Reply in bytes, including the RPC header, without the content of
  // `results`.
  std::uint32_t max_reply = 0;
  fabric::Time timeout = fabric::kNever;  // from call() on
  std::uint64_t cookie = 0;               // comes back in the outcome
  bool first = false;                     // precedes all waiting Calls
  // There is no Reply, by agreement of the program (Procedure::one_way of the service library): the
  // Call ends as kSent. It must fit inline, since no Reply would end the use of chunks, and
  // `results` and `max_reply` are empty. It keeps its credit until a Reply to a later Call arrives:
  // that acknowledges it (RFC 5531 section 8.4.1, batching). If none is made before credits run
  // out, the requester calls procedure 0 of its program. `timeout` limits the time until it is
  // sent.
  bool one_way = false;
};

enum class CallStatus : std::uint8_t {
  kReplied,       // for the result see the RPC message in the Reply
  kTimedOut,      // if it was sent, the connection is abandoned: a Reply may still arrive
  kErrorVersion,  // RDMA_ERROR, ERR_VERS: the peer supports none of our versions
  // RDMA_ERROR, ERR_CHUNK: the peer could not read the header or place the Reply. Version 2,
  // RDMA2_ERR_BAD_XDR: it could not read the header.
  kErrorChunk,
  kBadReply,    // the Reply violates the protocol: see `reason`
  kCannotSend,  // does not fit the thresholds: see `reason`
  kClosed,      // the requester was closed
  // Version 2 only.
  kCantReply,  // RDMA2_ERR_CANT_REPLY: the Reply does not fit into the chunks that the Call offered
  kErrorProc,  // RDMA2_ERR_INVAL_PROC: the peer does not support the message type
  kErrorOption,  // RDMA2_ERR_INVAL_OPTION: the peer does not know the option
  kSent,         // CallSpec::one_way: the peer's fabric has it; whether the peer executed it is
                 // unknown
};
[[nodiscard]] const char* call_status_name(CallStatus status);

// Times of a Call's steps, by the caller's clock; 0: it did not get that far.
struct CallTimes {
  fabric::Time called = 0;
  fabric::Time sent = 0;     // had a credit and was passed to the fabric (the latest attempt)
  fabric::Time arrived = 0;  // its Send is known to have arrived, which may be after the Reply
  fabric::Time replied = 0;  // the Reply's Receive
  fabric::Time ended = 0;    // all its memory is fenced
};

struct CallOutcome {
  std::uint64_t cookie = 0;
  std::uint32_t xid = 0;
  CallStatus status = CallStatus::kReplied;
  const char* reason = "";  // for display
  // The Reply's stream without the content of Write chunks; valid during the callback.
  wire::Bytes reply;
  Padding padding{};              // of `reply`
  std::span<const Placed> items;  // RFC 5666: content of the Reply's Read chunks; valid as long as
                                  // `reply`
  // Bytes that the peer wrote to each result's memory; 0: the result is in `reply`, or absent.
  std::span<const std::uint32_t> result_bytes;
  // Of an option's answer: what follows its header; valid as long as `reply`.
  wire::Bytes payload;
  CallTimes times;
  std::uint32_t attempts = 0;  // how often it was sent
  bool lost = false;           // its last attempt was on a connection that ended
  // Why the last connection ended, if that matters; set by the owner of the connections. Valid as
  // long as `reply`.
  std::string_view lost_for;
  std::uint32_t vers_low = 0, vers_high = 0;  // kErrorVersion
  // kCantReply, as the peer reports it: whether the upper layer had processed the Call; which
  // segment of the Write list and Reply chunk is too short, counted from 1, or 0; and the length in
  // bytes that it would need.
  bool processed = false;
  std::uint32_t segment_index = 0, length_needed = 0;
};

// An RDMA2_OPTIONAL message. All, part or none of an RPC message follows its header, inline. In all
// other respects it is like a Call: it uses a credit, and ends with an outcome whose `reply` is the
// rdma_optinfo of the answer.
struct OptionSpec {
  std::uint32_t type = 0;                 // rdma_opttype
  wire::Bytes info;                       // rdma_optinfo, at most kMaxOptionInfo; is copied
  fabric::Time timeout = fabric::kNever;  // from option() on
  std::uint64_t cookie = 0;
  // What follows the header; valid until the outcome. A whole RPC message begins with room for the
  // XID, which is filled in; a part is sent as it is.
  std::span<const Piece> message{};
  bool is_part = false;
};

class RequesterOwner {
 public:
  virtual ~RequesterOwner() = default;
  // May call() again.
  virtual void on_outcome(const CallOutcome& outcome) = 0;
  // Called in version 2 when a result of `bytes` does not fit the space that its Call offered.
  // Return false to end the Call as kCantReply; return true to resend it under its XID with
  // `space`, which the owner has enlarged. The peer may have processed it already, and does so
  // again unless it keeps Replies.
  [[nodiscard]] virtual bool on_short_result(std::uint64_t /*cookie*/, std::size_t /*result*/,
                                             std::uint64_t /*bytes*/, ResultSpace& /*space*/) {
    return false;
  }
};

struct RequesterOptions {
  std::uint32_t credits = 32;  // maximum in flight, and requested
  // Least credits that are requested. The request follows the number of Calls in flight and
  // waiting.
  std::uint32_t least_credits = 32;
  std::uint32_t max_calls = 1024;  // maximum in flight and waiting
  std::uint32_t first_xid = 1;
  // No chunks: a Call that does not fit inline, or whose Reply may not, is not sent
  // (draft-cel-nfsv4-rpcrdma-bidirection-01 sections 2.4, 2.5).
  bool inline_only = false;
  // Version 2: if the peer finds a Reply chunk too short, the Call is resent with the length it
  // asks for, up to this many bytes. 0: never.
  std::uint32_t most_reply = 1U << 20;
  // Features of RFC 5666 that RFC 8166 removed: RDMA_MSGP is accepted, and sent once the peer has
  // stated how (Terms::padding); Replies may have Read chunks, which are read and acknowledged by
  // RDMA_DONE. A Call keeps its credit until its RDMA_DONE has arrived.
  bool rfc5666 = false;
  // With `rfc5666`: Calls offer neither Write chunks nor a Reply chunk, as by requesters that do
  // not know where results belong until they arrive (section 3.4).
  bool offer_nothing = false;
};

struct RequesterCounters {
  std::uint64_t calls = 0, replies = 0, timeouts = 0;
  std::uint64_t error_version = 0, error_chunk = 0;  // RDMA_ERRORs received for a Call
  std::uint64_t error_option = 0, cant_reply = 0;    // version 2 only
  std::uint64_t resent = 0;                          // on a new connection
  std::uint64_t renegotiated = 0;                    // resent in another version
  std::uint64_t enlarged = 0;                        // resent with more room for the Reply
  std::uint64_t unmatched = 0;    // Replies and errors whose XID no Call waits for
  std::uint64_t malformed = 0;    // messages that are no Reply
  std::uint64_t zero_grants = 0;  // counted as grants of one
  std::uint64_t invalidated = 0;  // Replies by Send With Invalidate
  std::uint64_t stalls = 0;       // Calls that waited for a credit
  std::uint64_t one_way = 0;      // Calls that ended as kSent
  std::uint64_t null_calls = 0;   // procedure 0, for the credits of these
  std::uint64_t padded_calls = 0,
                read_replies = 0;  // RFC 5666: RDMA_MSGP; Replies with Read chunks
  std::uint64_t inline_calls = 0, read_chunks = 0, write_chunks = 0, reply_chunks = 0,
                long_calls = 0;
  MessageBytes bytes;  // of Calls, once per attempt, and of Replies
};

class Requester {
 public:
  Requester(RequesterOwner& owner, const RequesterOptions& options);
  ~Requester();
  Requester(const Requester&) = delete;
  Requester& operator=(const Requester&) = delete;

  // Returns the XID. The outcome is reported later, never from within. Errors: kNoRoom if max_calls
  // wait; kBadArgument for too many pieces or results, or a first piece without room for the XID;
  // kNotConnected after close(). May be called without a connection.
  [[nodiscard]] fabric::Expected<std::uint32_t> call(const CallSpec& spec, fabric::Time now);
  // Like call(), but in version 2 only: if the peer does not support it, the outcome is
  // kCannotSend.
  [[nodiscard]] fabric::Expected<std::uint32_t> option(const OptionSpec& spec, fabric::Time now);
  // Ends all Calls as kClosed once their memory is fenced. Calls that were not sent end at once,
  // from within.
  void close(fabric::Time now);
  // Like close(), but all Calls end as kErrorVersion: see Channel::refused().
  void refuse(const Versions& spoken, fabric::Time now);

  // As those of Channel, to be used while it has none: Calls that wait for a connection time out
  // too.
  [[nodiscard]] fabric::Time deadline() const;
  void expire(fabric::Time now);

  // Returns whether there is no Call, and nothing of an earlier one is in flight.
  [[nodiscard]] bool idle() const;
  [[nodiscard]] std::uint32_t outstanding() const;  // sent and not ended
  [[nodiscard]] std::uint32_t waiting() const;      // for credit, or a connection
  // The grant in the latest Reply; 1 before the first Reply of a connection.
  [[nodiscard]] std::uint32_t granted() const;
  // Maximum number of Calls in flight: the grant, or its own credits if they are fewer.
  [[nodiscard]] std::uint32_t credit_limit() const;
  [[nodiscard]] std::uint32_t credits_in_use() const;  // Calls sent that have neither a Reply nor
                                                       // timed out
  [[nodiscard]] const RequesterCounters& counters() const;

 private:
  friend class Channel;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::protocol
