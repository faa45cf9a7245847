// The format of trace events: a closed set of types with fixed layouts, the same in rings, on the
// live socket and in recordings. Live socket and recordings are pcapng; upper_pdu.h has their
// framing.
//
// An event is a header, the struct of its type, and for some types a payload:
//
//   +-------------+--------------------+-----------------------+------------+
//   | EventHeader | struct of `type`   | payload               | zeros to a |
//   | 24 bytes    | header.fixed bytes | header.payload bytes  | multiple   |
//   |             |                    |                       | of 8 bytes |
//   +-------------+--------------------+-----------------------+------------+
//
// All integers are little-endian, so that a running endpoint only copies structs. The format grows
// without breaking old recordings. A type keeps its number and its meaning. Fields are only
// appended to a struct; the header states its length, and a reader uses the part that it knows (see
// read.h). Readers skip and count types that they do not know.
//
// Times are CLOCK_MONOTONIC in nanoseconds. A received item carries the time at which its thread
// polled it, before processing. A sent item carries the time at which it is passed to the fabric.
// In between the thread does not read the clock, so events caused by a batch of received items
// carry the time at which the batch was polled.
//
// `side` is the side that acted: 0 is this endpoint, 1 its peer.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace rpcrdma::trace {

static_assert(std::endian::native == std::endian::little, "events are written as they are");

inline constexpr std::uint16_t kFormat = 1;

enum class EventType : std::uint16_t {
  kEndpoint = 1,
  kConnection,
  kConnectionEnd,
  kMessage,
  kOperation,
  kOperationEnd,
  kAdvertise,
  kInvalidate,
  kReceives,
  kCredits,
  kCreditWait,
  kCall,
  kCallEnd,
  kError,
  kFabric,
  kFault,
  kLoss,
  kRegistration,
  kProcedureSums,
  kConnectionSums,
  kDuplicate,
};
inline constexpr std::uint16_t kEventTypes = 21;

// Returns the bit of a type in a set of types.
[[nodiscard]] constexpr std::uint64_t type_bit(EventType type) {
  return std::uint64_t{1} << static_cast<unsigned>(type);
}

struct EventHeader {
  std::uint16_t type = 0;
  std::uint16_t fixed = 0;    // bytes of the struct that follows
  std::uint32_t payload = 0;  // bytes of the payload, without the zeros after it
  // Number of the connection, unique while the endpoint runs; 0: none. Connections that were never
  // established have a single event and may share a number.
  std::uint32_t connection = 0;
  std::uint32_t ring = 0;  // number of the ring whose thread emitted it; 0: none
  std::int64_t time = 0;
};

// Where the events of a stream come from.
enum class EventSource : std::uint8_t {
  kEndpoint,           // an endpoint of this project emits them itself
  kKernelBpf,          // Linux: BPF programs on the tracepoints of its RPC-over-RDMA, with bytes
  kKernelTracepoints,  // Linux: the records of those tracepoints, which have fields but no bytes
  kKernelSums,         // Linux: BPF programs that count; sums and credits only
};

// First event of each stream and of each file of a recording: identifies the endpoint. A snapshot
// of the state follows: open connections (Connection) and their credits (Credits). The headers of
// snapshot events hold the time at which they were first emitted, which is before this event's
// time. Their packets in the capture carry this event's time, so that the times of packets do not
// step back. (Up to version 0.1.0 the headers carried that time, too.)
//
// Payload: the name that the user gave the endpoint, then its role ("server on 10.0.0.1"), both
// UTF-8.
struct Endpoint {
  static constexpr EventType kType = EventType::kEndpoint;
  std::uint16_t format = kFormat;
  std::uint16_t name_bytes = 0;  // of the name in the payload; the rest is the role
  std::uint32_t process = 0;     // process ID
  std::int64_t wall = 0;         // CLOCK_REALTIME at `time` of its header, ns
  std::int64_t since = 0;        // CLOCK_REALTIME at the endpoint's start, ns
  // Set of types (see type_bit()) that the stream excludes, because the user who recorded it did
  // not want them. Their absence is not evidence, and Loss events do not count them.
  std::uint64_t left_out = 0;
  EventSource source = EventSource::kEndpoint;
  std::array<std::uint8_t, 7> reserved{};
};

// A connection is established, or was established before the reader attached: the snapshot repeats
// the event for each reader, with `replayed` set. This event and ConnectionEnd are emitted with and
// without a reader, except for connections that the fabric itself rejects.
//
// Payload: the private data that this side sent, then that of the peer.
struct Connection {
  static constexpr EventType kType = EventType::kConnection;
  std::array<std::uint8_t, 16> local{}, peer{};  // addresses; IPv4 mapped (::ffff:a.b.c.d)
  std::uint32_t local_qpn = 0, peer_qpn = 0;     // 0: unknown
  std::uint16_t port = 0;                        // of the listener
  std::uint8_t active = 0;                       // 1: this side connected
  std::uint8_t version = 0;  // of RPC-over-RDMA; 0: not known before the first messages
  std::uint32_t inline_send = 0, inline_receive = 0;  // inline thresholds as agreed on, bytes
  std::uint16_t sent_private_data = 0;  // bytes of the payload; the rest is the peer's
  std::uint8_t responder_resources = 0, initiator_depth = 0;
  std::uint8_t sees_peer_operations = 0;  // 1: the peer's RDMA Reads and Writes are reported, too
  std::uint8_t replayed = 0;              // 1: from the snapshot; earlier events are missing
  // 1: the source cannot see private data; their absence from the payload is not evidence.
  std::uint8_t private_data_unknown = 0;
  // 1: of the connection's events only this one and ConnectionEnd are emitted, since a sample of
  // the connections is traced. The absence of the others is not evidence.
  std::uint8_t not_sampled = 0;
  std::uint16_t path_mtu = 0;  // payload bytes per packet: 256 to 4096; 0: unknown
  std::array<std::uint8_t, 2> reserved2{};
};

// Last event of a connection. Payload: the reason as text; then the private data that was sent or
// received with a rejection, without the zeros that fill its message.
struct ConnectionEnd {
  static constexpr EventType kType = EventType::kConnectionEnd;
  std::uint8_t side = 0;         // the side that ended it, if known
  std::uint8_t established = 0;  // 0: it was never established
  std::uint16_t reject_reason = 0;
  // 1: the fabric detected a failure, such as a missing acknowledgment, and neither side asked for
  // the end.
  std::uint8_t failed = 0;
  std::uint8_t reserved = 0;
  std::uint16_t private_data = 0;  // bytes of private data at the end of the payload
  // Address, port and role as in Connection, for a connection that was never established and so has
  // no other event. Otherwise 0.
  std::array<std::uint8_t, 16> peer{};
  std::uint16_t port = 0;  // 0: the request named another service, not a port
  std::uint8_t active = 0;
  std::array<std::uint8_t, 5> reserved2{};
};

// What a source cannot know about a message: bits of Message::unknown.
enum MessageUnknown : std::uint16_t {
  // The source reports fields, not bytes. The payload is a transport header that was encoded from
  // these fields, and the first words of the RPC message as far as they are known: XID and
  // direction; in a Call also RPC version, program, version and procedure. It is no evidence of how
  // the sender encoded the message.
  kBytesUnknown = 1,
  kCreditUnknown = 2,        // the credit value; encoded as 0
  kLengthUnknown = 4,        // `length` is the length of the payload
  kChunksUnknown = 8,        // chunk lists may be incomplete
  kInvalidationUnknown = 16  // whether the Send invalidates a handle
};

// A Send: passed to the fabric (side 0) or received (side 1). Payload: its first bytes.
struct Message {
  static constexpr EventType kType = EventType::kMessage;
  std::uint8_t side = 0;
  std::uint8_t has_invalidate = 0;
  std::uint16_t unknown = 0;     // MessageUnknown
  std::uint32_t length = 0;      // bytes of the whole message
  std::uint32_t invalidate = 0;  // the handle in Send With Invalidate
  std::uint32_t reserved2 = 0;
};

enum class Transfer : std::uint8_t { kRead = 1, kWrite };

// Start of an RDMA Read or Write. `side` is the initiator; handle and offset name memory of the
// other side. Payload of a Write: its first bytes.
struct Operation {
  static constexpr EventType kType = EventType::kOperation;
  Transfer kind = Transfer::kRead;
  std::uint8_t side = 0;
  std::uint16_t reserved = 0;
  std::uint32_t handle = 0;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;  // bytes
  std::uint32_t xid = 0;     // of the Call that it serves; 0: unknown
  std::uint64_t id = 0;      // identifies it among those of its side and connection until it ends
};

// End of an RDMA Read or Write. Payload of a Read: its first bytes. A Write that succeeds has no
// such event: it has ended when a later message from its initiator has arrived.
struct OperationEnd {
  static constexpr EventType kType = EventType::kOperationEnd;
  Transfer kind = Transfer::kRead;
  std::uint8_t side = 0;
  std::uint8_t status = 0;  // fabric::Status
  std::uint8_t reserved = 0;
  std::uint32_t length = 0;  // bytes that were transferred
  std::uint64_t id = 0;
};

// Memory is advertised to the peer.
struct Advertise {
  static constexpr EventType kType = EventType::kAdvertise;
  std::uint32_t handle = 0;
  std::uint32_t length = 0;  // bytes
  std::uint64_t offset = 0;
  std::uint32_t xid = 0;
  std::uint8_t access = 0;  // fabric::Access
  std::uint8_t reserved = 0;
  std::uint16_t reserved2 = 0;
};

// A handle is invalidated: the peer cannot use it any more.
struct Invalidate {
  static constexpr EventType kType = EventType::kInvalidate;
  std::uint32_t handle = 0;
  std::uint8_t side = 0;  // the side that invalidated it
  std::uint8_t reserved = 0;
  std::uint16_t reserved2 = 0;
};

// Receives were posted: `posted` by this action, `total` are posted now.
struct Receives {
  static constexpr EventType kType = EventType::kReceives;
  std::uint32_t posted = 0, total = 0;
};

// Credits of one direction after a change. A thread emits at most one such event per batch of
// received items, after it has processed the batch. `side`: the side whose Calls the credits limit.
struct Credits {
  static constexpr EventType kType = EventType::kCredits;
  std::uint8_t side = 0;
  std::uint8_t reserved = 0;
  std::uint16_t reserved2 = 0;
  std::uint32_t requested = 0;
  std::uint32_t granted = 0;  // see granted_credits()
  std::uint32_t in_use = 0;   // Calls in flight
  std::uint32_t waiting = 0;  // Calls that wait for a credit
  // Maximum of Calls in flight at the same time since the last such event, which includes Calls
  // that were answered within their batch. 0: not recorded.
  std::uint32_t in_use_most = 0;
  std::uint32_t limit = 0;  // see credit_limit()
  std::uint32_t reserved3 = 0;
};

// A requester knows the limit of its own Calls, which is never zero. Versions without `limit` wrote
// it to `granted`; the grants are then only in the Replies.
[[nodiscard]] constexpr bool has_limit_as_grant(const Credits& c) {
  return c.side == 0 && c.limit == 0;
}
// Returns the grant in the latest Reply; 1 before the first (RFC 8166 section 3.3). Nothing:
// unknown.
[[nodiscard]] constexpr std::optional<std::uint32_t> granted_credits(const Credits& c) {
  return has_limit_as_grant(c) ? std::nullopt : std::optional(c.granted);
}
// Returns how many Calls may be in flight: the grant, or the requester's own credits if they are
// fewer. 0: unknown, as for a peer's Calls.
[[nodiscard]] constexpr std::uint32_t credit_limit(const Credits& c) {
  return has_limit_as_grant(c) ? c.granted : c.limit;
}

// A Call starts to wait for a credit, or stops waiting.
struct CreditWait {
  static constexpr EventType kType = EventType::kCreditWait;
  std::uint32_t xid = 0;
  std::uint8_t begun = 0;
  std::uint8_t reserved = 0;
  std::uint16_t reserved2 = 0;
};

// Start of a Call: its user made it (side 0), or it was delivered to the program (side 1).
struct Call {
  static constexpr EventType kType = EventType::kCall;
  std::uint32_t xid = 0;
  std::uint32_t program = 0, version = 0, procedure = 0;  // 0 if not known yet
  std::uint8_t side = 0;
  std::uint8_t reserved = 0;
  std::uint16_t reserved2 = 0;
  std::uint32_t reserved3 = 0;
};

// End of a Call, with the times of its steps; 0 if a step did not happen.
struct CallEnd {
  static constexpr EventType kType = EventType::kCallEnd;
  std::uint32_t xid = 0;
  std::uint8_t side = 0;
  std::uint8_t status = 0;  // side 0: protocol::CallStatus
  std::uint16_t attempts = 0;
  std::int64_t called = 0;   // side 0: made by its user; side 1: its Send arrived
  std::int64_t sent = 0;     // side 0: its Send was posted; side 1: its Read chunks were complete
  std::int64_t replied = 0;  // side 0: its Reply arrived; side 1: its Reply was posted
  std::int64_t ended = 0;    // nothing of it is in flight any more
  // Linux only, side 0: the parts of the time from `called` to `sent`, in ns; -1 if not known.
  std::int64_t slot_wait = -1;    // for a request slot
  std::int64_t credit_wait = -1;  // for a credit
  std::int64_t marshal = -1;      // encoding, and registration of memory
  std::int64_t post = -1;         // from the encoded Call to the posted Send
};

enum class DuplicateFate : std::uint8_t {
  kReplayed = 1,  // it gets the Reply of the first
  kWaits,         // the first is still being executed
  kDropped,       // it gets no Reply, as the first
  kUnprotected,   // it may be a duplicate: there is no room to know, and it is executed
};

// A Call of a procedure that is not idempotent came again, over whatever connection, and is not
// executed a second time.
struct Duplicate {
  static constexpr EventType kType = EventType::kDuplicate;
  std::uint32_t xid = 0;
  std::uint32_t program = 0, version = 0, procedure = 0;
  DuplicateFate fate = DuplicateFate::kReplayed;
  std::uint8_t reserved = 0;
  std::uint16_t reserved2 = 0;
  std::uint32_t reserved3 = 0;
};

// The endpoint detected an error. An RDMA_ERROR is in addition a Message of its own. Payload: the
// reason as text.
struct Error {
  static constexpr EventType kType = EventType::kError;
  std::uint32_t xid = 0;  // 0: of no Call
  std::uint8_t side = 0;  // the side at fault
  std::uint8_t reserved = 0;
  std::uint16_t reserved2 = 0;
};

enum class FabricKind : std::uint8_t {
  kRetransmission = 1,  // `count` packets are retransmitted, starting at `psn`
  kNak,                 // `code`: of the AETH
  kRnr,
  kTimeout,
};

// A packet-level event, if the provider reports them: a retransmission, NAK or timeout. `side`: the
// sender.
struct Fabric {
  static constexpr EventType kType = EventType::kFabric;
  FabricKind kind = FabricKind::kRetransmission;
  std::uint8_t side = 0;
  std::uint8_t code = 0;
  std::uint8_t reserved = 0;
  std::uint32_t psn = 0;
  std::uint32_t count = 0;
  std::uint32_t reserved2 = 0;
};

// An injected fault was applied to a packet. Payload: the fault rule, as declared.
struct Fault {
  static constexpr EventType kType = EventType::kFault;
  std::uint8_t outgoing = 0;
  std::uint8_t action = 0;  // soft::FaultAction
  std::uint16_t reserved = 0;
  std::uint32_t packets = 0;
};

// Counters of one ring (header.ring) since the latest Endpoint event, where they start at zero. At
// each Loss event of a stream, emitted = received + lost, where `received` is the number of events
// of that ring in the stream: events of all types except Endpoint and Loss, including replayed
// ones.
//
// A Loss event precedes the first event after a loss. Without loss it is written once a second for
// each ring with new events; if no ring has any, for a single ring, to show that the endpoint is
// running. It is also written at the end of a stream or file.
struct Loss {
  static constexpr EventType kType = EventType::kLoss;
  std::uint64_t emitted = 0;  // events of the ring, received or lost
  std::uint64_t lost = 0;     // of these, missing from this stream
};

// The endpoint registered memory with its fabric, or deregistered it. Messages and advertised
// memory lie in such memory. The event belongs to no connection.
struct Registration {
  static constexpr EventType kType = EventType::kRegistration;
  std::uint64_t address = 0;  // of the first byte, in the endpoint's process
  std::uint64_t length = 0;   // bytes
  std::uint8_t begun = 0;     // 1: registered, 0: deregistered
  std::array<std::uint8_t, 7> reserved{};
};

// Sums of a procedure on a connection since the endpoint started, or since the kernel source was
// attached; repeated about once a second while they grow. `side`: the requester. Payload: latencies
// as SumBucket entries, in order of their numbers; none for an empty bucket.
struct ProcedureSums {
  static constexpr EventType kType = EventType::kProcedureSums;
  std::uint32_t program = 0, version = 0, procedure = 0;
  std::uint8_t side = 0;
  std::uint8_t reserved = 0;
  std::uint16_t reserved2 = 0;
  std::uint64_t calls = 0;
  std::uint64_t replies = 0;                      // their latencies are in the histogram
  std::uint64_t errors = 0;                       // RDMA_ERROR, or the RPC failed
  std::uint64_t call_bytes = 0, reply_bytes = 0;  // of Sends, header included
  std::uint64_t read_chunk_bytes = 0;             // advertised in Read chunks
  std::uint64_t write_chunk_bytes = 0;            // written, or advertised if that is not known
  std::uint64_t latency_ns = 0;                   // sum over all Replies
  std::uint64_t max_latency_ns = 0;
};
struct SumBucket {
  std::uint32_t bucket = 0;  // see sum_bucket()
  std::uint32_t reserved = 0;
  std::uint64_t count = 0;
};
// Buckets are at most a quarter of their value wide.
inline constexpr std::uint32_t kSumSubBits = 2;
inline constexpr std::uint32_t kSumBuckets = (48 - kSumSubBits + 1) << kSumSubBits;
[[nodiscard]] constexpr std::uint32_t sum_bucket(std::uint64_t ns) {
  constexpr std::uint64_t kMost = (std::uint64_t{1} << 48U) - 1;
  if (ns > kMost) ns = kMost;
  if (ns < (1U << kSumSubBits)) return static_cast<std::uint32_t>(ns);
  const auto shift = static_cast<std::uint32_t>(std::bit_width(ns)) - kSumSubBits - 1;
  return ((shift + 1) << kSumSubBits) +
         static_cast<std::uint32_t>((ns >> shift) - (1U << kSumSubBits));
}
// Returns the smallest value that counts in a bucket, in ns.
[[nodiscard]] constexpr std::uint64_t lowest_of_sum_bucket(std::uint32_t bucket) {
  if (bucket < (1U << kSumSubBits)) return bucket;
  const std::uint32_t shift = (bucket >> kSumSubBits) - 1;
  const std::uint64_t sub = bucket & ((1U << kSumSubBits) - 1);
  return (sub + (1U << kSumSubBits)) << shift;
}

// Sums of a connection since the endpoint started, or since the kernel source was attached;
// repeated about once a second while they grow.
struct ConnectionSums {
  static constexpr EventType kType = EventType::kConnectionSums;
  std::uint64_t sends = 0, receives = 0;
  std::uint64_t send_bytes = 0, receive_bytes = 0;
  std::uint64_t read_bytes = 0, written_bytes = 0;  // by RDMA operations of this side
  std::uint64_t credit_waits = 0;                   // of this side's Calls
  std::uint64_t credit_wait_ns = 0;
  std::uint64_t send_queue_full = 0;  // posts that waited for room in the send queue
  std::uint64_t resent_calls = 0;
  std::uint64_t flushed = 0;          // completions with an error
  std::uint64_t invalid_headers = 0;  // received headers that could not be decoded
};

[[nodiscard]] const char* event_type_name(EventType type);  // "connection", "message", ...

// Returns the length of the whole event in bytes.
[[nodiscard]] constexpr std::uint64_t event_bytes(const EventHeader& header) {
  return sizeof(EventHeader) + header.fixed + ((std::uint64_t{header.payload} + 7U) & ~7ULL);
}

}  // namespace rpcrdma::trace
