// What RDMA gives an endpoint: connections, memory, messages and one-sided operations. One narrow
// interface, two providers: engine/fabric/soft (RoCEv2 in user space) and rdma-core.
//
// Everything is asynchronous and happens in the thread that calls: an owner runs one loop that
// waits for fd(), calls progress(), and takes connection events and completions. Nothing here may
// be called by two threads at a time; whoever wants several threads makes a provider for each.
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
  std::size_t length = 0;  // bytes
  std::uint32_t local_key = 0;
};

// How a peer names memory that is exposed to it: what a segment of a chunk list holds.
struct Exposure {
  std::uint32_t handle = 0;
  std::uint64_t offset = 0;  // of the first byte
};

struct QueueDepths {
  std::uint32_t send = 64;     // work requests that are not complete, at most
  std::uint32_t receive = 64;  // Receives
  std::uint32_t handles = 64;  // handles that are valid, or becoming so, at the same time
};

// How a connection is to be set up, on either side; what the peer cannot do is lowered to what it
// can.
struct ConnectionOptions {
  std::uint64_t cookie = 0;  // comes back in events and completions
  QueueDepths depths;
  std::uint8_t responder_resources = 16;       // Reads of the peer's that are served at a time
  std::uint8_t initiator_depth = 16;           // own Reads outstanding at a time
  std::uint8_t retry_count = 6;                // 0..7, which is without end for Linux's rxe
  std::uint8_t rnr_retry_count = 7;            // 0..7; 7 is without end
  std::span<const std::uint8_t> private_data;  // at most max_private_data of its message
};

// Of RDMA_PS_TCP's messages, what is left of the CM's own field (annex A11).
inline constexpr std::size_t kMaxRequestPrivateData = 56;
inline constexpr std::size_t kMaxAcceptPrivateData = 196;
inline constexpr std::size_t kMaxRejectPrivateData = 148;

class Connection {
 public:
  virtual ~Connection() = default;  // ends it at once, without completions

  // Requests up to the first that is refused are posted, and their number returned; with none
  // posted the reason is: kNoRoom, kNotConnected, kBadArgument. The requests and their lists are
  // copied, what the slices point to is not.
  [[nodiscard]] virtual Expected<std::size_t> post_send(std::span<const SendRequest> requests) = 0;
  // The same; allowed before the connection is established, and advisable.
  [[nodiscard]] virtual Expected<std::size_t> post_receive(
      std::span<const ReceiveRequest> requests) = 0;

  // Lets the peer read or write `length` bytes from `data` on, which lie in `memory`, on this
  // connection only. Sends posted afterwards may tell the peer of it; a completion kExpose with
  // `id` comes only if it failed. `access`: Access bits. Errors: kBadArgument, kNoRoom,
  // kNotConnected.
  [[nodiscard]] virtual Expected<Exposure> expose(std::uint64_t id, const Memory& memory,
                                                  std::uint8_t* data, std::uint32_t length,
                                                  std::uint8_t access) = 0;
  // Takes it back. The memory belongs to its owner again with the completion kInvalidate; or when
  // a Receive tells that the peer invalidated it; or when the connection is down.
  [[nodiscard]] virtual Expected<void> invalidate(std::uint64_t id, std::uint32_t handle) = 0;

  // Answers a request. `options` must allow what the Receives posted so far need.
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
  kDisconnected,  // by either side, or because an operation failed; all completions were given
  kProviderLost,  // the device is gone; every connection ends
};
[[nodiscard]] const char* event_name(EventType type);

struct Event {
  EventType type = EventType::kEstablished;
  std::uint64_t cookie = 0;                // of the connection; of the listener for kRequest
  std::unique_ptr<Connection> request;     // kRequest
  Address peer;                            // kRequest
  std::vector<std::uint8_t> private_data;  // kRequest, kEstablished (of who connected), kRejected
  std::uint16_t reject_reason = 0;         // kRejected: see wire::cm_rej_reason()
  std::uint8_t responder_resources = 0;    // kRequest: what the peer serves at a time
  std::uint8_t initiator_depth = 0;        // kRequest, kEstablished: own Reads outstanding, agreed
  std::string reason;                      // kUnreachable, kDisconnected: one clause for a person
};

class Listener {
 public:
  virtual ~Listener() = default;  // no further requests; those that were told of live on
};

class Provider {
 public:
  virtual ~Provider() = default;  // after all its connections and listeners

  // Registers memory for local use; error kSystem, kNoRoom. It must be forgotten, after all work
  // that uses it is complete, before it is freed.
  [[nodiscard]] virtual Expected<Memory> remember(std::span<std::uint8_t> memory) = 0;
  virtual void forget(const Memory& memory) = 0;

  [[nodiscard]] virtual Expected<std::unique_ptr<Listener>> listen(std::uint16_t port,
                                                                   std::uint64_t cookie) = 0;
  [[nodiscard]] virtual Expected<std::unique_ptr<Connection>> connect(
      const Address& peer, std::uint16_t port, const ConnectionOptions& options) = 0;

  // Readable when progress() has something to do; it belongs to the provider. Only for an owner
  // that called may_sleep() since: one that polls instead is not to pay for it.
  [[nodiscard]] virtual int fd() const = 0;
  // To be called before the owner sleeps on fd(); false: there is something to do already.
  [[nodiscard]] virtual bool may_sleep() = 0;
  // Does what can be done without waiting. An error is the end of the provider.
  [[nodiscard]] virtual Expected<void> progress() = 0;

  // Takes what has happened; returns how many elements were filled.
  [[nodiscard]] virtual std::size_t take(std::span<Completion> completions) = 0;
  [[nodiscard]] virtual bool take(Event& event) = 0;
};

}  // namespace rpcrdma::fabric
