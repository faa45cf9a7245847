// What RDMA gives an endpoint: connections, memory, messages and one-sided operations. One narrow
// interface, two providers: engine/fabric/soft (RoCEv2 in user space) and rdma-core.
//
// Everything is asynchronous and happens in the thread that calls: an owner runs one loop that
// waits for fd(), calls progress(), and takes connection events and completions. Nothing here may
// be called by two threads at a time; whoever wants several threads makes a provider for each.
//
// A provider has one local address, from which it connects and on which it listens, and which
// belongs to one device; its own options say which. So memory can be registered, and Receives be
// posted, before there is a connection.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <rpcrdma/fabric/address.h>
#include <rpcrdma/fabric/error.h>
#include <rpcrdma/fabric/time.h>
#include <rpcrdma/fabric/work.h>

namespace rpcrdma::fabric {

// Memory that a provider knows. Local work requests may use all of it; a peer nothing, until a part
// is exposed on one connection.
struct Memory {
  std::uint8_t* data = nullptr;
  std::size_t length = 0;       // bytes
  std::uint32_t local_key = 0;  // as this provider names it, on all of its connections
};

// How a peer names memory that is exposed to it: what a segment of a chunk list holds.
struct MemoryRegion {
  std::uint32_t handle = 0;
  std::uint64_t offset = 0;  // of the first byte
};

struct QueueDepths {
  std::uint32_t send = 64;     // work requests that are not complete, at most
  std::uint32_t receive = 64;  // Receives
  std::uint32_t handles = 64;  // handles that are valid, or becoming so, at the same time
};

// How a connection is to be set up, on either side; what the peer or the device cannot do is
// lowered to what it can.
struct ConnectionOptions {
  std::uint64_t cookie = 0;  // comes back in events and completions
  QueueDepths depths;
  std::uint8_t responder_resources = 16;  // Reads of the peer's that are served at a time
  std::uint8_t initiator_depth = 16;      // own Reads outstanding at a time
  // 0..7, of connect() only, for both sides; 7 is without end for Linux's rxe.
  std::uint8_t retry_count = 6;
  std::uint8_t rnr_retry_count = 7;            // 0..7, the peer's without a Receive here; 7: no end
  std::span<const std::uint8_t> private_data;  // at most what its message holds, below
  // How its owner names it to whom it tells of it (engine/trace), for what the provider tells.
  std::uint32_t trace_connection = 0;
};

// Of RDMA_PS_TCP's messages, what is left of the CM's own field (annex A11).
inline constexpr std::size_t kMaxRequestPrivateData = 56;
inline constexpr std::size_t kMaxAcceptPrivateData = 196;
inline constexpr std::size_t kMaxRejectPrivateData = 148;

class Connection {
 public:
  // Ends it at once, at any time: nothing more comes of it, neither events nor completions, also
  // not what waited to be taken; all its memory belongs to its owner again.
  virtual ~Connection() = default;

  // Requests up to the first that is refused are posted, and their number returned; with none
  // posted the reason is: kNoRoom, kNotConnected, kBadArgument. The requests and their lists are
  // copied, what the slices point to is not.
  [[nodiscard]] virtual Expected<std::size_t> post_send(std::span<const SendRequest> requests) = 0;
  // The same; allowed before the connection is established, and advisable.
  [[nodiscard]] virtual Expected<std::size_t> post_receive(
      std::span<const ReceiveRequest> requests) = 0;

  // Lets the peer read or write `length` bytes from `data` on, which lie in `memory`, on this
  // connection only, which is established. Sends posted afterwards may tell the peer of it; a
  // completion kAdvertise with `id` comes only if it failed. Errors: kBadArgument, kNoRoom,
  // kNotConnected.
  [[nodiscard]] virtual Expected<MemoryRegion> advertise(std::uint64_t id, const Memory& memory,
                                                         std::uint8_t* data, std::uint32_t length,
                                                         Access access) = 0;
  // Takes it back; not what the peer may be invalidating itself: who comes second may find that the
  // connection has ended. The memory belongs to its owner again with the completion kInvalidate; or
  // when a Receive tells that the peer invalidated it; or when the connection is down.
  [[nodiscard]] virtual Expected<void> invalidate(std::uint64_t id, std::uint32_t handle) = 0;

  // Answers a request. Its options name the connection and size its queues, so before this nothing
  // comes of it, whatever happens to it. `options` must allow the Receives posted so far, and its
  // retry_count is the peer's matter. Errors: kNotConnected when the peer has given up,
  // kBadArgument.
  [[nodiscard]] virtual Expected<void> accept(const ConnectionOptions& options) = 0;
  [[nodiscard]] virtual Expected<void> reject(std::span<const std::uint8_t> private_data) = 0;
  // All that is outstanding completes as kFlushed, then comes kDisconnected.
  virtual void disconnect() = 0;
};

enum class EventType : std::uint8_t {
  kRequest,  // a peer wants to connect: accept() or reject() it
  kEstablished,
  kRejected,      // by the peer; reason and its private data
  kUnreachable,   // no answer, or none that makes sense
  kDisconnected,  // by either side, or because an operation failed
  kProviderLost,  // the device is gone: the last event, after those of all connections
};
[[nodiscard]] const char* event_name(EventType type);

struct Event {
  EventType type = EventType::kEstablished;
  std::uint64_t cookie = 0;             // of the connection; of the listener for kRequest
  std::unique_ptr<Connection> request;  // kRequest
  Address peer;                         // kRequest, kEstablished
  Address local;                        // kEstablished
  // kEstablished: of the queue pairs; 0 where the provider does not know it.
  std::uint32_t local_qpn = 0;
  std::uint32_t peer_qpn = 0;
  // kRequest, kEstablished (of who connected), kRejected; zeros may follow what the peer gave.
  std::vector<std::uint8_t> private_data;
  std::uint16_t reject_reason = 0;  // kRejected: see wire::cm_rej_reason(); 0: not known
  // As ConnectionOptions has them, seen from here. kRequest: what the peer wants, and what it
  // serves; kEstablished: what was agreed.
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  // kDisconnected: something failed, here or at the peer, which the fabric found out; otherwise one
  // of the two disconnected.
  bool failed = false;
  std::string reason;  // of an end: one clause for a person
};

class Listener {
 public:
  virtual ~Listener() = default;  // no further requests; those that were taken live on
};

// What not every device can do. A request beyond it is kBadArgument.
struct Limits {
  std::uint32_t message = 0;     // bytes of one work request
  std::uint8_t read_slices = 0;  // of a Read; all others may have kMaxSlices (iWARP: 1)
  bool sends_invalidate = false;
  // A peer may send with Invalidate. Without, its doing so ends the connection: it must be told
  // that it may not (RFC 8797, the flag R).
  bool accepts_invalidate = false;
  // It tells a tracer of the peer's RDMA Reads and Writes, of which a device in general says
  // nothing.
  bool sees_peer_operations = false;
};

class Provider {
 public:
  virtual ~Provider() = default;  // after all its connections and listeners

  [[nodiscard]] virtual const Limits& limits() const = 0;

  // Registers memory for local use; error kSystem, kNoRoom. It must be forgotten, after all work
  // that uses it is complete and nothing of it is exposed, before it is freed.
  [[nodiscard]] virtual Expected<Memory> register_memory(std::span<std::uint8_t> memory) = 0;
  virtual void deregister_memory(const Memory& memory) = 0;

  // `port`: 1..65535, one listener each. Errors: kBadArgument; kSystem when somebody else has it.
  [[nodiscard]] virtual Expected<std::unique_ptr<Listener>> listen(std::uint16_t port,
                                                                   std::uint64_t cookie) = 0;
  // When kUnreachable comes is the provider's matter, and may be after minutes; who has less
  // patience destroys the connection.
  [[nodiscard]] virtual Expected<std::unique_ptr<Connection>> connect(
      const Address& peer, std::uint16_t port, const ConnectionOptions& options) = 0;

  // An epoll instance that is readable when progress() has something to do; it belongs to the
  // provider. Only for an owner that called arm() since: one that polls instead is not to pay
  // for it. An owner may wait for it as for any descriptor, or add descriptors of its own, with
  // data other than 0, and call epoll_wait() on it: that is woken sooner.
  [[nodiscard]] virtual int fd() const = 0;
  // To be called before the owner sleeps on fd(); false: there is something to do already.
  [[nodiscard]] virtual bool arm() = 0;
  // Does what can be done without waiting.
  virtual void progress() = 0;

  // Takes what has happened; returns how many elements were filled. The last event of a connection
  // (kRejected, kUnreachable, kDisconnected) is not given before all its completions were taken;
  // and who takes events before completions has its kEstablished before the first of them.
  [[nodiscard]] virtual std::size_t poll(std::span<Completion> completions) = 0;
  [[nodiscard]] virtual bool poll(Event& event) = 0;
};

}  // namespace rpcrdma::fabric
