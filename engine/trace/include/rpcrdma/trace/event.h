// What an endpoint tells of itself: the closed set of events, as they stand in the rings, on the
// live socket and in recordings.
//
// An event is an EventHeader and what follows it, one of the structs below, and for some a tail of
// bytes: all in little-endian order and in multiples of 8 bytes, so that a running endpoint only
// copies. The format grows without breaking old recordings: a type keeps its number and its
// meaning; fields are only appended to a struct, whose length the header tells, so a reader takes
// what it knows of it (see read()); types that a reader does not know are skipped, and counted.
//
// Times are CLOCK_MONOTONIC, nanoseconds. What came has the time at which its thread found it,
// before it worked on it; what goes has that at which it is handed to the fabric. In between a
// thread does not read the clock, so what it did with several things that came at once has the time
// at which it found them. Which side did something: 0 this endpoint, 1 its peer.
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
};
inline constexpr std::uint16_t kEventTypes = 18;

// Of a set of types.
[[nodiscard]] constexpr std::uint64_t type_bit(EventType type) {
  return std::uint64_t{1} << static_cast<unsigned>(type);
}

struct EventHeader {
  std::uint16_t type = 0;
  std::uint16_t fixed = 0;    // bytes of the struct that follows
  std::uint32_t payload = 0;  // bytes behind that, without what fills up to a multiple of 8
  // Unique while the endpoint runs; 0: of none. Those that never were, of which one event tells
  // all, may have the same one.
  std::uint32_t connection = 0;
  std::uint32_t ring = 0;  // whose thread told it; 0: of none
  std::int64_t time = 0;
};

// The first of a stream, and of each file of a recording: what it is that tells. What stood already
// follows it (Connection, Credits): in the header the time that it was told at first, which is
// before this event's; as a packet of the capture the time of this event, so that packets' times do
// not step back. Up to 0.1.0 that was the header's, too. Tail: the name that people gave it, then
// its role ("server on 10.0.0.1"), both UTF-8.
struct Endpoint {
  static constexpr EventType kType = EventType::kEndpoint;
  std::uint16_t format = kFormat;
  std::uint16_t name_bytes = 0;  // of the tail; the rest is the role
  std::uint32_t process = 0;     // its ID
  std::int64_t wall = 0;         // CLOCK_REALTIME at `time` of its header, ns
  std::int64_t since = 0;        // CLOCK_REALTIME when it began, ns
  // Of these types (type_bit()) none is in the stream, since who kept it did not want them: that
  // there is none tells nothing, and Loss events do not count them.
  std::uint64_t left_out = 0;
};

// A connection is established, or a reader came later than that: told anew to each. It is told
// whether anybody listens or not, and so is its end, but for those that the fabric refused by
// itself. Tail: the private data that this side sent, then the peer's.
struct Connection {
  static constexpr EventType kType = EventType::kConnection;
  std::array<std::uint8_t, 16> local{}, peer{};       // addresses; IPv4 mapped (::ffff:a.b.c.d)
  std::uint32_t local_qpn = 0, peer_qpn = 0;          // 0: not known
  std::uint16_t port = 0;                             // of the listener
  std::uint8_t active = 0;                            // 1: this side connected
  std::uint8_t version = 0;                           // of RPC-over-RDMA; 0: messages will tell
  std::uint32_t inline_send = 0, inline_receive = 0;  // bytes, as agreed on
  std::uint16_t sent_private_data = 0;                // bytes of the tail; the rest is the peer's
  std::uint8_t responder_resources = 0, initiator_depth = 0;
  std::uint8_t sees_peer_operations = 0;  // the provider tells the peer's RDMA Reads and Writes too
  std::uint8_t replayed = 0;  // 1: it was there before its reader, who lacks what came before
  std::array<std::uint8_t, 6> reserved{};
};

// Nothing follows of this connection. Tail: why, for a person; then the private data that came or
// went with a rejection, but for zeros that fill its message.
struct ConnectionEnd {
  static constexpr EventType kType = EventType::kConnectionEnd;
  std::uint8_t side = 0;         // who ended it, as far as that is known
  std::uint8_t established = 0;  // 0: it never was
  std::uint16_t reject_reason = 0;
  // 1: the fabric found that something failed, no acknowledgement for instance, and neither side
  // asked for the end.
  std::uint8_t failed = 0;
  std::uint8_t reserved = 0;
  std::uint16_t private_data = 0;  // bytes at the end of the tail
  // As of Connection, of one that never was established: no other event tells of it. Else 0.
  std::array<std::uint8_t, 16> peer{};
  std::uint16_t port = 0;  // 0: none was asked for, but another service
  std::uint8_t active = 0;
  std::array<std::uint8_t, 5> reserved2{};
};

// A Send went out (side 0: handed to the fabric), or came in (side 1). Tail: its first bytes.
struct Message {
  static constexpr EventType kType = EventType::kMessage;
  std::uint8_t side = 0;
  std::uint8_t has_invalidate = 0;
  std::uint16_t reserved = 0;
  std::uint32_t length = 0;      // bytes of the whole
  std::uint32_t invalidate = 0;  // the handle that Send With Invalidate names
  std::uint32_t reserved2 = 0;
};

enum class Transfer : std::uint8_t { kRead = 1, kWrite };

// An RDMA Read or Write began: `side` initiates it, the other's memory is meant. Tail of a Write:
// its first bytes.
struct Operation {
  static constexpr EventType kType = EventType::kOperation;
  Transfer kind = Transfer::kRead;
  std::uint8_t side = 0;
  std::uint16_t reserved = 0;
  std::uint32_t handle = 0;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;  // bytes
  std::uint32_t xid = 0;     // of the Call that it is done for; 0: not known
  std::uint64_t id = 0;      // names it until its end, among those of its side and connection
};

// It has ended. Tail of a Read: its first bytes. Of Writes that succeed none is told: they have
// ended when a later message of theirs has arrived.
struct OperationEnd {
  static constexpr EventType kType = EventType::kOperationEnd;
  Transfer kind = Transfer::kRead;
  std::uint8_t side = 0;
  std::uint8_t status = 0;  // fabric::Status
  std::uint8_t reserved = 0;
  std::uint32_t length = 0;  // bytes that were moved
  std::uint64_t id = 0;
};

// Memory is exposed to the peer.
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

// The peer can use a handle no longer.
struct Invalidate {
  static constexpr EventType kType = EventType::kInvalidate;
  std::uint32_t handle = 0;
  std::uint8_t side = 0;  // who invalidated it
  std::uint8_t reserved = 0;
  std::uint16_t reserved2 = 0;
};

// Receives were posted: `posted` now, `total` are there.
struct Receives {
  static constexpr EventType kType = EventType::kReceives;
  std::uint32_t posted = 0, total = 0;
};

// What a requester has, when any of it changed: once for all that its thread found at a time, when
// it has worked on that. `side`: whose Calls they limit.
struct Credits {
  static constexpr EventType kType = EventType::kCredits;
  std::uint8_t side = 0;
  std::uint8_t reserved = 0;
  std::uint16_t reserved2 = 0;
  std::uint32_t requested = 0;
  std::uint32_t granted = 0;  // see granted_credits()
  std::uint32_t in_use = 0;   // Calls outstanding
  std::uint32_t waiting = 0;  // Calls that wait for one
  // Calls that were outstanding at the same time since this was told last: those answered at once
  // are in no in_use. 0: not told.
  std::uint32_t in_use_most = 0;
  std::uint32_t limit = 0;  // see credit_limit()
  std::uint32_t reserved3 = 0;
};

// A requester knows the limit of its own Calls, which is never zero. Versions that did not have
// `limit` wrote it into `granted`, and their grants are in the Replies alone.
[[nodiscard]] constexpr bool has_limit_as_grant(const Credits& c) {
  return c.side == 0 && c.limit == 0;
}
// As the latest Reply says; 1 before the first (RFC 8166 section 3.3). Nothing: not known.
[[nodiscard]] constexpr std::optional<std::uint32_t> granted_credits(const Credits& c) {
  return has_limit_as_grant(c) ? std::nullopt : std::optional(c.granted);
}
// Calls that may be outstanding: as many as are granted, or fewer where the requester has fewer
// credits of its own. 0: not known, as of a peer's Calls.
[[nodiscard]] constexpr std::uint32_t credit_limit(const Credits& c) {
  return has_limit_as_grant(c) ? c.granted : c.limit;
}

// A Call begins to wait for a credit, or ends to.
struct CreditWait {
  static constexpr EventType kType = EventType::kCreditWait;
  std::uint32_t xid = 0;
  std::uint8_t begun = 0;
  std::uint8_t reserved = 0;
  std::uint16_t reserved2 = 0;
};

// A Call begins: its user made it (side 0), or it was handed to the program (side 1).
struct Call {
  static constexpr EventType kType = EventType::kCall;
  std::uint32_t xid = 0;
  std::uint32_t program = 0, version = 0, procedure = 0;  // 0 where they are not known yet
  std::uint8_t side = 0;
  std::uint8_t reserved = 0;
  std::uint16_t reserved2 = 0;
  std::uint32_t reserved3 = 0;
};

// A Call is over. Its parts of time, where they exist: else 0.
struct CallEnd {
  static constexpr EventType kType = EventType::kCallEnd;
  std::uint32_t xid = 0;
  std::uint8_t side = 0;
  std::uint8_t status = 0;  // side 0: protocol::CallStatus
  std::uint16_t attempts = 0;
  std::int64_t called = 0;   // side 1: its Send came
  std::int64_t sent = 0;     // side 1: its Read chunks were there
  std::int64_t replied = 0;  // side 1: its Reply was handed to the fabric
  std::int64_t ended = 0;    // and nothing of it is under way any more
};

// The endpoint found something wrong, and says what; RDMA_ERRORs themselves are messages.
// Tail: the reason, for a person.
struct Error {
  static constexpr EventType kType = EventType::kError;
  std::uint32_t xid = 0;  // 0: of no Call
  std::uint8_t side = 0;  // who did it
  std::uint8_t reserved = 0;
  std::uint16_t reserved2 = 0;
};

enum class FabricKind : std::uint8_t {
  kRetransmission = 1,  // `count` packets go out again from `psn` on
  kNak,                 // `code`: that of the AETH
  kRnr,
  kTimeout,
};

// The packets below, where the provider shows them. `side`: who sent it.
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

// A declared fault was done to a packet. Tail: the rule, as it was declared.
struct Fault {
  static constexpr EventType kType = EventType::kFault;
  std::uint8_t outgoing = 0;
  std::uint8_t action = 0;  // soft::FaultAction
  std::uint16_t reserved = 0;
  std::uint32_t packets = 0;
};

// What this reader has not got. Sums over one ring (header.ring) since the latest Endpoint event,
// which begins anew at zero: in every stream emitted = received + lost where this event stands.
// `received` are the ring's events of all types but Endpoint and Loss, those told anew included.
// It stands before the first event that came after those lost; also without loss now and then
// (each second in which the ring told something, and of one ring where none did: the endpoint
// runs), and at the end of a stream or file.
struct Loss {
  static constexpr EventType kType = EventType::kLoss;
  std::uint64_t emitted = 0;  // that there was to tell
  std::uint64_t lost = 0;     // of these
};

// Memory of the endpoint's own is registered with its fabric, or is so no longer: what its
// messages, and the memory that it exposes, are parts of. Of no connection.
struct Registration {
  static constexpr EventType kType = EventType::kRegistration;
  std::uint64_t address = 0;  // of the first byte, in the endpoint's process
  std::uint64_t length = 0;   // bytes
  std::uint8_t begun = 0;     // 1: registered, 0: no longer
  std::array<std::uint8_t, 7> reserved{};
};

[[nodiscard]] const char* event_type_name(EventType type);  // "connection", "message", ...

// Bytes of the whole event.
[[nodiscard]] constexpr std::uint64_t event_bytes(const EventHeader& header) {
  return sizeof(EventHeader) + header.fixed + ((std::uint64_t{header.payload} + 7U) & ~7ULL);
}

}  // namespace rpcrdma::trace
