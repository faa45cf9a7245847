// The RDMA services that an endpoint uses: connections, memory, messages and one-sided operations.
// One narrow interface with two providers: engine/fabric/soft (RoCEv2 in user space) and
// engine/fabric/verbs (rdma-core).
//
// Everything is asynchronous and happens in the calling thread: an owner runs one loop that waits
// for fd(), calls progress(), and polls connection events and completions. A provider must not be
// used by two threads at a time; a program with several threads creates a provider for each.
//
// A provider has one local address, set in its own options. It connects from and listens on this
// address, which belongs to one device. So memory can be registered, and Receives posted, before
// there is a connection.
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

// Memory registered with a provider. Local work requests may use all of it. A peer may use none of
// it until a part is advertised on one connection.
struct Memory {
  std::uint8_t* data = nullptr;
  std::size_t length = 0;       // bytes
  std::uint32_t local_key = 0;  // the provider's key, on all of its connections
};

// The peer's name for memory that is advertised to it: the contents of a chunk list's segment.
struct MemoryRegion {
  std::uint32_t handle = 0;
  std::uint64_t offset = 0;  // of the first byte
};

struct QueueDepths {
  std::uint32_t send = 64;     // incomplete work requests, at most
  std::uint32_t receive = 64;  // posted Receives, at most
  std::uint32_t handles = 64;  // handles that are valid or becoming valid at the same time
};

// How to set up a connection, on either side. Values that the peer or the device does not support
// are lowered.
struct ConnectionOptions {
  std::uint64_t cookie = 0;  // returned in events and completions
  QueueDepths depths;
  std::uint8_t responder_resources = 16;  // the peer's Reads that are served at a time
  std::uint8_t initiator_depth = 16;      // own Reads in flight at a time
  // 0..7, for connect() only, for both sides; Linux's rxe retries forever with 7.
  std::uint8_t retry_count = 6;
  std::uint8_t rnr_retry_count = 7;            // 0..7, for the peer without a Receive; 7: forever
  std::span<const std::uint8_t> private_data;  // at most what its message holds, below
  // The owner's number for the connection in its trace (engine/trace), used in the provider's
  // events.
  std::uint32_t trace_connection = 0;
};

// For RDMA_PS_TCP: the part of the CM's field that remains for the user (annex A11).
inline constexpr std::size_t kMaxRequestPrivateData = 56;
inline constexpr std::size_t kMaxAcceptPrivateData = 196;
inline constexpr std::size_t kMaxRejectPrivateData = 148;

class Connection {
 public:
  // Ends the connection at once, in any state. No more events or completions follow, not even those
  // not polled yet; all its memory belongs to the owner again.
  virtual ~Connection() = default;

  // Posts requests up to the first that is refused and returns their number. If none is posted,
  // returns the reason: kNoRoom, kNotConnected, kBadArgument. The requests and their slice lists
  // are copied, the memory of the slices is not.
  [[nodiscard]] virtual Expected<std::size_t> post_send(std::span<const SendRequest> requests) = 0;
  // Returns up to how many bytes post_send() copies the memory of a Send, which then belongs to its
  // owner again at once: such a Send needs no completion.
  [[nodiscard]] virtual std::uint32_t copied_send() const { return 0; }
  // The same for Receives; allowed, and recommended, before the connection is established.
  [[nodiscard]] virtual Expected<std::size_t> post_receive(
      std::span<const ReceiveRequest> requests) = 0;

  // Lets the peer read or write `length` bytes from `data` on, a part of `memory`, on this
  // connection only, which must be established. Sends posted afterwards may advertise the handle to
  // the peer. A completion kAdvertise with `id` comes only on failure. Errors: kBadArgument,
  // kNoRoom, kNotConnected.
  [[nodiscard]] virtual Expected<MemoryRegion> advertise(std::uint64_t id, const Memory& memory,
                                                         std::uint8_t* data, std::uint32_t length,
                                                         Access access) = 0;
  // Invalidates a handle. Not for a handle that the peer may invalidate itself: the second of the
  // two invalidations may end the connection. The memory belongs to its owner again with the
  // completion kInvalidate, with a Receive that reports the peer's invalidation, or when the
  // connection is down.
  [[nodiscard]] virtual Expected<void> invalidate(std::uint64_t id, std::uint32_t handle) = 0;

  // Accepts a connection request. The options set the connection's cookie and queue sizes, so no
  // event or completion of the connection comes before. `options` must allow the Receives posted so
  // far; its retry_count is ignored, since the connecting side sets it. Errors: kNotConnected if
  // the peer has abandoned the request, kBadArgument.
  [[nodiscard]] virtual Expected<void> accept(const ConnectionOptions& options) = 0;
  [[nodiscard]] virtual Expected<void> reject(std::span<const std::uint8_t> private_data) = 0;
  // Completes all work in flight as kFlushed; kDisconnected follows.
  virtual void disconnect() = 0;
};

enum class EventType : std::uint8_t {
  kRequest,  // a peer requests a connection: accept() or reject() it
  kEstablished,
  kRejected,      // by the peer; reason and its private data
  kUnreachable,   // no answer, or an invalid one
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
  // kEstablished: the queue pair numbers; 0 if the provider does not know them.
  std::uint32_t local_qpn = 0;
  std::uint32_t peer_qpn = 0;
  // kRequest, kEstablished (on the connecting side), kRejected; the peer's bytes may be followed by
  // zeros.
  std::vector<std::uint8_t> private_data;
  std::uint16_t reject_reason = 0;  // kRejected: see wire::cm_rej_reason(); 0: unknown
  // As in ConnectionOptions, from this side's view. kRequest: the peer's proposal; kEstablished:
  // the negotiated values.
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  std::uint16_t path_mtu = 0;  // kEstablished: payload bytes per packet; 0: unknown
  // kDisconnected: the fabric detected a failure, here or at the peer; otherwise one of the two
  // disconnected.
  bool failed = false;
  std::string reason;  // why a connection ended: one clause for the user
};

class Listener {
 public:
  virtual ~Listener() = default;  // no further requests; requests already polled stay valid
};

// Device limits. A request beyond them fails with kBadArgument.
struct Limits {
  std::uint32_t message = 0;     // bytes of one work request
  std::uint8_t read_slices = 0;  // of a Read; other operations may have kMaxSlices (iWARP: 1)
  bool sends_invalidate = false;
  // The peer may use Send With Invalidate. If it does so on a device without support, the
  // connection ends, so the peer must be informed that it may not (RFC 8797, flag R).
  bool accepts_invalidate = false;
  // How many Receives to post at a time, if the connection has that many to spare: each call of
  // post_receive() costs as much as several Receives.
  std::uint32_t receives_at_once = 1;
  // The provider traces the peer's RDMA Reads and Writes. Most devices do not report these.
  bool sees_peer_operations = false;
  // On the accepting side, what the peer sends before the owner has polled kEstablished waits for
  // that, so Receives may be posted then. A device would find no Receive, and may end the
  // connection.
  bool holds_first_message = false;
};

class Provider {
 public:
  virtual ~Provider() = default;  // destroy its connections and listeners first

  [[nodiscard]] virtual const Limits& limits() const = 0;

  // Registers memory for local use; errors kSystem, kNoRoom. Deregister it before freeing it, after
  // all work that uses it is complete and no part of it is advertised.
  [[nodiscard]] virtual Expected<Memory> register_memory(std::span<std::uint8_t> memory) = 0;
  virtual void deregister_memory(const Memory& memory) = 0;

  // `port`: 1..65535, one listener each. Errors: kBadArgument; kSystem if another process uses the
  // port.
  [[nodiscard]] virtual Expected<std::unique_ptr<Listener>> listen(std::uint16_t port,
                                                                   std::uint64_t cookie) = 0;
  // The provider decides when to report kUnreachable, possibly after minutes. To give up earlier,
  // destroy the connection.
  [[nodiscard]] virtual Expected<std::unique_ptr<Connection>> connect(
      const Address& peer, std::uint16_t port, const ConnectionOptions& options) = 0;

  // An epoll instance that is readable when progress() has something to do, but only after arm():
  // an owner that polls instead does not pay for it. It belongs to the provider. An owner may wait
  // for it like for any descriptor. Or it may add descriptors of its own, with data other than 0,
  // and call epoll_wait() on it, which wakes up sooner.
  [[nodiscard]] virtual int fd() const = 0;
  // Call it before sleeping on fd(). False: there is already something to do.
  [[nodiscard]] virtual bool arm() = 0;
  // Does all work that is possible without waiting.
  virtual void progress() = 0;

  // Polls what has happened; returns how many elements were filled. The last event of a connection
  // (kRejected, kUnreachable, kDisconnected) comes only after all its completions were polled. An
  // owner that polls events before completions sees kEstablished before the connection's first
  // completion.
  [[nodiscard]] virtual std::size_t poll(std::span<Completion> completions) = 0;
  [[nodiscard]] virtual bool poll(Event& event) = 0;
};

}  // namespace rpcrdma::fabric
