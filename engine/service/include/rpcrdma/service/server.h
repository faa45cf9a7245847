// A server of RPC programs over RPC-over-RDMA: accepts connections, and answers their Calls from
// within the loop that it joined. A peer that violates the protocol loses its own connection, and
// no other is affected.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <rpcrdma/protocol/responder.h>
#include <rpcrdma/service/connection_info.h>
#include <rpcrdma/service/dispatcher.h>
#include <rpcrdma/service/duplicate_cache.h>
#include <rpcrdma/service/loop.h>
#include <rpcrdma/service/profile.h>
#include <rpcrdma/service/version_options.h>

namespace rpcrdma::service {

inline constexpr std::uint16_t kDefaultPort = 20049;  // NFS/RDMA's (RFC 8267 section 9)

struct ServerOptions {
  std::uint16_t port = kDefaultPort;
  // Maximum bytes sent and received inline, in KiB steps from 1 KiB to 256 KiB; 1024 without
  // private data.
  std::uint32_t inline_threshold = 4096;
  bool private_data = true;  // send it, and accept the peer's (RFC 8797)
  VersionOptions version{{protocol::kVersionOne, protocol::kVersionTwo}};
  // k5666: `responder.rfc5666`, and the Connection Configuration Protocol is answered.
  Profile profile = Profile::k8166;
  ConfigOptions config;
  // Replies invalidate one of their Call's handles (Send With Invalidate) if both peers and the
  // device support it: in version 1 if both set the flag R, in version 2 if the Call requests it.
  bool remote_invalidation = true;
  protocol::ResponderOptions responder;  // credits, bytes and segments of chunks
  DuplicateCacheOptions duplicates;      // of procedures that are not idempotent
  // Maximum Calls in flight from programs to the client of a connection (RFC 8167); 0: none.
  std::uint32_t reverse_credits = 0;
  std::uint32_t max_segment = 1U << 30;  // bytes of one advertised segment
  // Maximum of connections. One counts from when its peer has proved its address: on the soft
  // fabric, a request takes no place and no Receives before the answer to it was answered. Beyond
  // it, an eighth more are accepted from peers without a connection, so that no peer can exclude
  // all others; the rest are rejected. New connections are also rejected while seven eighths of the
  // loop's memory are in use, since Calls of the others need some, and while their address holds
  // too much of it: protocol::MemoryShares divides it.
  std::uint32_t max_connections = 256;
  // Target for Calls in flight on all connections together. It is enforced only through grants:
  // each connection is granted its share, and at least 1.
  std::uint32_t max_calls = 4096;
  fabric::Time idle = fabric::kNever;  // a connection without Calls for this long is closed
  // A connection from which nothing was heard for this long is probed, so that clients that
  // vanished do not keep others out. fabric::kNever: no probes.
  fabric::Time probe = 30 * fabric::kSecond;
  // Time limit from accepting to established, and for closing.
  fabric::Time handshake = 10 * fabric::kSecond;
};

// Connections that a server with this maximum accepts, with those for peers that have none.
[[nodiscard]] std::uint32_t accepted_connections(std::uint32_t max_connections);

enum class CloseReason : std::uint8_t {
  kPeer,      // the peer disconnected, or the fabric reported a failure
  kProtocol,  // the peer violated the protocol
  kIdle,
  kHandshake,  // it was never established
  kStopped,    // the server closed it
  kMemory,     // there was no memory for what its peer wanted
};
[[nodiscard]] const char* close_reason_name(CloseReason reason);

struct ServerCounters {
  std::uint64_t accepted = 0;         // connections that got a place
  std::uint64_t rejected_full = 0;    // beyond max_connections
  std::uint64_t rejected_memory = 0;  // no memory or no queues for one more
  std::uint64_t closed_peer = 0, closed_protocol = 0, closed_idle = 0, closed_handshake = 0,
                closed_stopped = 0, closed_memory = 0;
  std::uint64_t unobserved = 0;  // calls of an observer that failed for lack of memory
  // Sums over all past and present connections.
  protocol::ResponderCounters responder;
  // Calls with a Reply: see protocol::ResponderOptions::durations.
  protocol::Durations durations;
  DispatcherCounters calls;
  DuplicateCacheCounters duplicates;
};

// Empty hooks; derive from it.
class ServerObserver {
 public:
  virtual ~ServerObserver() = default;
  virtual void on_connected(const ConnectionInfo& /*connection*/) {}
  // Profile::k5666: called for CONF_RDMA, which a client may send more than once.
  virtual void on_configured(const ConnectionInfo& /*connection*/) {}
  // `what`: one clause for display.
  virtual void on_closed(const ConnectionInfo& /*connection*/, CloseReason /*reason*/,
                         std::string_view /*what*/) {}
  // Called for each Call that is refused by an RDMA_ERROR.
  virtual void on_refused(const ConnectionInfo& /*connection*/,
                          const protocol::RefusedCall& /*call*/) {}
  // Called instead of on_connected() and on_closed() for a connection that was never established.
  virtual void on_rejected(const fabric::Address& /*peer*/, std::string_view /*what*/) {}
};

class Server {
 public:
  // Listens on the provider's address. The loop, the programs and the observer outlive it. Errors:
  // as fabric::Provider::listen(); kBadArgument for invalid options.
  [[nodiscard]] static fabric::Expected<std::unique_ptr<Server>> create(
      Loop& loop, std::span<Program* const> programs, const ServerOptions& options = {},
      ServerObserver* observer = nullptr);
  ~Server();  // ends all connections at once
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Accepts no more connections, and disconnects the present ones; the loop must run until
  // connections() is 0.
  void close();

  // From now on each connection is granted at most this many credits: 1 to the number in the
  // options, for which Receives are posted.
  void grant(std::uint32_t most);

  // Replaces these limits from now on, as in the options. Connections beyond a lower limit stay.
  // Errors: kBadArgument for what create() refuses.
  [[nodiscard]] fabric::Expected<void> limit(std::uint32_t max_connections, std::uint32_t max_calls,
                                             fabric::Time idle);

  [[nodiscard]] const ServerOptions& options() const;
  [[nodiscard]] std::uint32_t connections() const;
  [[nodiscard]] std::uint32_t outstanding() const;  // Calls received and not answered
  [[nodiscard]] std::uint32_t granted() const;      // credits of each connection, from now on
  [[nodiscard]] ServerCounters counters() const;
  [[nodiscard]] std::vector<ConnectionInfo> list() const;

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::service
