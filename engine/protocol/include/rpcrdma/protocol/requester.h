// The requester of a connection (RFC 8166 sections 3.3, 3.5, 4): sends Calls as credits allow,
// offers memory for what comes back, matches Replies to XIDs, and gives memory back to its owner
// only when no peer can reach it any more.
//
// It outlives its connection: when that is lost, Calls that were sent wait for the next one and are
// sent again with the same XID, and credits begin anew at one (RFC 8166 section 3.3.3).
//
// Sans-I/O: what is to be done goes to the Channel that it is attached to; time is an argument.
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
  // RPC header and arguments. The first word is the XID's place and is filled in by the requester.
  // The pieces' bytes stay as they are until the outcome; the lists are copied.
  std::span<const Piece> message;
  std::span<const ResultSpace> results;  // for the DDP-eligible results, in order
  // The longest Reply, RPC header included and the content of `results` not, bytes.
  std::uint32_t max_reply = 0;
  fabric::Time timeout = fabric::kNever;  // from call() on
  std::uint64_t cookie = 0;               // comes back in the outcome
  bool first = false;                     // goes before all that wait
};

enum class CallStatus : std::uint8_t {
  kReplied,       // the RPC layer says what the Reply says
  kTimedOut,      // if it was sent, the connection is given up: a Reply may still come
  kErrorVersion,  // RDMA_ERROR, ERR_VERS: the peer speaks none of our versions
  // RDMA_ERROR, ERR_CHUNK: the peer could not read the header, or not place the Reply. Version 2,
  // RDMA2_ERR_BAD_XDR: it could not read the header.
  kErrorChunk,
  kBadReply,    // the Reply breaks the protocol: see `reason`
  kCannotSend,  // does not fit the thresholds: see `reason`
  kClosed,      // the requester was closed
  // Version 2 only.
  kCantReply,    // RDMA2_ERR_CANT_REPLY: the Reply is longer than what the Call offered for it
  kErrorProc,    // RDMA2_ERR_INVAL_PROC: the peer does not know the kind of message
  kErrorOption,  // RDMA2_ERR_INVAL_OPTION: the peer does not know the option
};
[[nodiscard]] const char* call_status_name(CallStatus status);

// When a Call went through what, of the caller's clock; 0: it did not come so far.
struct CallTimes {
  fabric::Time called = 0;
  fabric::Time sent = 0;     // had credit, and was handed to the fabric (of the last time)
  fabric::Time arrived = 0;  // its Send is known to have arrived, which may be after the Reply
  fabric::Time replied = 0;  // the Reply's Receive
  fabric::Time ended = 0;    // and all memory is fenced
};

struct CallOutcome {
  std::uint64_t cookie = 0;
  std::uint32_t xid = 0;
  CallStatus status = CallStatus::kReplied;
  const char* reason = "";  // for a person
  // The Reply's stream without what Write chunks hold; valid during the call that tells it.
  wire::Bytes reply;
  Padding padding{};              // of `reply`
  std::span<const Placed> items;  // RFC 5666: what Read chunks of the Reply brought; valid as long
  // Bytes that the peer wrote into each of the results' memory; 0: it is in `reply`, or absent.
  std::span<const std::uint32_t> result_bytes;
  CallTimes times;
  std::uint32_t attempts = 0;  // how often it was sent
  bool lost = false;           // on a connection that ended, last
  // Why the last connection ended, told by who has the connections, as far as it is of concern:
  // valid as long as `reply`.
  std::string_view lost_for;
  std::uint32_t vers_low = 0, vers_high = 0;  // kErrorVersion
  // kCantReply, as the peer says: whether the upper layer had processed the Call, which segment of
  // Write list and Reply chunk is too short, from 1 on, or 0, and what it would have to be, bytes.
  bool processed = false;
  std::uint32_t segment_index = 0, length_needed = 0;
};

// An RDMA2_OPTIONAL message without payload, which a Call is in all else: it takes a credit, and
// ends with an outcome, whose `reply` is the rdma_optinfo of the answer.
struct OptionSpec {
  std::uint32_t type = 0;                 // rdma_opttype
  wire::Bytes info;                       // rdma_optinfo, kMaxOptionInfo at most; is copied
  fabric::Time timeout = fabric::kNever;  // from option() on
  std::uint64_t cookie = 0;
};

class RequesterOwner {
 public:
  virtual ~RequesterOwner() = default;
  // May call() again.
  virtual void on_outcome(const CallOutcome& outcome) = 0;
  // Version 2: a result of `bytes` does not fit the space that its Call offered. False: the Call
  // ends as kCantReply; true: it is sent again with `space`, which the owner has made large enough,
  // under its XID. The peer may have processed it already, and will do so again.
  [[nodiscard]] virtual bool on_short_result(std::uint64_t /*cookie*/, std::size_t /*result*/,
                                             std::uint64_t /*bytes*/, ResultSpace& /*space*/) {
    return false;
  }
};

struct RequesterOptions {
  std::uint32_t credits = 32;      // asked for in each Call, at most so many outstanding
  std::uint32_t max_calls = 1024;  // outstanding and waiting
  std::uint32_t first_xid = 1;
  // No chunks: a Call that does not fit inline, or whose Reply may not, is not sent
  // (draft-cel-nfsv4-rpcrdma-bidirection-01 sections 2.4, 2.5).
  bool inline_only = false;
  // Version 2: a Reply chunk that a peer finds too short is offered again as long as it asks for,
  // up to so many bytes. 0: not.
  std::uint32_t most_reply = 1U << 20;
  // What RFC 8166 took out of RFC 5666: RDMA_MSGP is taken, and sent once the peer has said how it
  // wants it (Terms::padding); Replies may have Read chunks, which are read and acknowledged by
  // RDMA_DONE. A Call keeps its credit until that has arrived.
  bool rfc5666 = false;
  // With `rfc5666`: Calls offer neither Write chunks nor a Reply chunk, as by requesters that do
  // not know where results are to go until they come (section 3.4).
  bool offer_nothing = false;
};

struct RequesterCounters {
  std::uint64_t calls = 0, replies = 0, timeouts = 0;
  std::uint64_t error_version = 0, error_chunk = 0;  // RDMA_ERRORs received for a Call
  std::uint64_t error_option = 0, cant_reply = 0;    // of version 2, too
  std::uint64_t resent = 0;                          // on a new connection
  std::uint64_t renegotiated = 0;                    // sent again in another version
  std::uint64_t enlarged = 0;                        // sent again with more room for the Reply
  std::uint64_t unmatched = 0;    // Replies and errors whose XID nobody waits for
  std::uint64_t malformed = 0;    // messages that are no Reply
  std::uint64_t zero_grants = 0;  // taken as one
  std::uint64_t invalidated = 0;  // Replies by Send With Invalidate
  std::uint64_t stalls = 0;       // Calls that waited for a credit
  std::uint64_t padded_calls = 0,
                read_replies = 0;  // RFC 5666: RDMA_MSGP; Replies with Read chunks
  std::uint64_t inline_calls = 0, read_chunks = 0, write_chunks = 0, reply_chunks = 0,
                long_calls = 0;
  MessageBytes bytes;  // of Calls as often as they were sent, and of Replies
};

class Requester {
 public:
  Requester(RequesterOwner& owner, const RequesterOptions& options);
  ~Requester();
  Requester(const Requester&) = delete;
  Requester& operator=(const Requester&) = delete;

  // Returns the XID; the outcome is told later, never from within. Errors: kNoRoom when max_calls
  // wait; kBadArgument for too many pieces or results, or a first piece without the XID's place;
  // kNotConnected after close(). May be called without a connection.
  [[nodiscard]] fabric::Expected<std::uint32_t> call(const CallSpec& spec, fabric::Time now);
  // As call(); in version 2 alone, where the peer has that: else it ends as kCannotSend.
  [[nodiscard]] fabric::Expected<std::uint32_t> option(const OptionSpec& spec, fabric::Time now);
  // All that wait end as kClosed, once their memory is fenced: at once, from within, what was not
  // sent.
  void close(fabric::Time now);
  // As close(), but all end as kErrorVersion: see Channel::refused().
  void refuse(const Versions& spoken, fabric::Time now);

  // As of Channel, for the time that it has none: Calls that wait for a connection time out too.
  [[nodiscard]] fabric::Time deadline() const;
  void expire(fabric::Time now);

  // No Call is there, and nothing of an earlier one is under way.
  [[nodiscard]] bool idle() const;
  [[nodiscard]] std::uint32_t outstanding() const;  // sent and not ended
  [[nodiscard]] std::uint32_t waiting() const;      // for credit, or a connection
  // As the latest Reply says; 1 before the first of a connection.
  [[nodiscard]] std::uint32_t granted() const;
  // Calls that may be outstanding: as many as are granted, or its own credits where those are
  // fewer.
  [[nodiscard]] std::uint32_t credit_limit() const;
  [[nodiscard]] std::uint32_t credits_in_use() const;  // Calls sent, not replied to or given up
  [[nodiscard]] const RequesterCounters& counters() const;

 private:
  friend class Channel;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::protocol
