// A server of RPC programs over RPC-over-RDMA: accepts connections, and answers their
// Calls from within the loop that it joined. A peer that breaks the protocol loses its own
// connection and nobody else's.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <rpcrdma/protocol/responder.h>
#include <rpcrdma/service/connection_info.h>
#include <rpcrdma/service/dispatcher.h>
#include <rpcrdma/service/loop.h>
#include <rpcrdma/service/profile.h>
#include <rpcrdma/service/version_options.h>

namespace rpcrdma::service {

inline constexpr std::uint16_t kDefaultPort = 20049;  // NFS/RDMA's (RFC 8267 section 9)

struct ServerOptions {
  std::uint16_t port = kDefaultPort;
  // Bytes that are sent and received inline at most, in KiB steps from 1 KiB to 256 KiB; 1024
  // without private data.
  std::uint32_t inline_threshold = 4096;
  bool private_data = true;  // send it, and take the peer's (RFC 8797)
  VersionOptions version{{protocol::kVersionOne, protocol::kVersionTwo}};
  // k5666: `responder.rfc5666`, and the Connection Configuration Protocol is answered.
  Profile profile = Profile::k8166;
  ConfigOptions config;
  // Replies invalidate one of their Call's handles (Send With Invalidate) where both peers and the
  // device can: in version 1 where both set the flag R, in version 2 if the Call says so.
  bool remote_invalidation = true;
  protocol::ResponderOptions responder;  // credits, bytes and segments of chunks
  // Calls that programs may have outstanding to the client of a connection (RFC 8167); 0: none.
  std::uint32_t reverse_credits = 0;
  std::uint32_t max_segment = 1U << 30;  // bytes of one exposed segment
  // More are rejected, but for an eighth more of peers that have none, so that no peer shuts out
  // all others; and so are those that come while seven eighths of the loop's memory are in use, as
  // Calls of the others need some too.
  std::uint32_t max_connections = 256;
  // Calls that may be outstanding on all connections together, as far as grants can see to it: a
  // connection is granted its share, and at least 1.
  std::uint32_t max_calls = 4096;
  fabric::Time idle = fabric::kNever;  // without Calls for so long a connection is closed
  // A connection from which nothing was heard for so long is asked for a sign of life, so that
  // those of clients that vanished do not take others' place. fabric::kNever: it is not asked.
  fabric::Time probe = 30 * fabric::kSecond;
  // From accepting to established, and from closing until it is gone.
  fabric::Time handshake = 10 * fabric::kSecond;
};

enum class CloseReason : std::uint8_t {
  kPeer,      // the peer disconnected, or the fabric gave up
  kProtocol,  // the peer broke the protocol
  kIdle,
  kHandshake,  // it was never established
  kStopped,    // the server closed it
  kMemory,     // there was no memory for what its peer wanted
};
[[nodiscard]] const char* close_reason_name(CloseReason reason);

struct ServerCounters {
  std::uint64_t accepted = 0;
  std::uint64_t rejected_full = 0;    // beyond max_connections
  std::uint64_t rejected_memory = 0;  // no memory or no queues for one more
  std::uint64_t closed_peer = 0, closed_protocol = 0, closed_idle = 0, closed_handshake = 0,
                closed_stopped = 0, closed_memory = 0;
  std::uint64_t unobserved = 0;  // what an observer had no memory to do something with
  // Of all connections that were and are.
  protocol::ResponderCounters responder;
  DispatcherCounters calls;
};

// Empty hooks; to be derived from.
class ServerObserver {
 public:
  virtual ~ServerObserver() = default;
  virtual void on_connected(const ConnectionInfo& /*connection*/) {}
  // Profile::k5666: by CONF_RDMA, which a client may send more than once.
  virtual void on_configured(const ConnectionInfo& /*connection*/) {}
  // `what`: one clause for a person.
  virtual void on_closed(const ConnectionInfo& /*connection*/, CloseReason /*reason*/,
                         std::string_view /*what*/) {}
  // It did not come so far that on_connected() was told.
  virtual void on_rejected(const fabric::Address& /*peer*/, std::string_view /*what*/) {}
};

class Server {
 public:
  // Listens on the provider's address. The loop, the programs and the observer outlive it. Errors:
  // as fabric::Provider::listen(); kBadArgument for options that cannot be.
  [[nodiscard]] static fabric::Expected<std::unique_ptr<Server>> create(
      Loop& loop, std::span<Program* const> programs, const ServerOptions& options = {},
      ServerObserver* observer = nullptr);
  ~Server();  // ends all connections at once
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Takes no more connections, and disconnects those there are; the loop has to go on until
  // connections() is 0.
  void close();

  // From now on a connection is granted so many credits at most: 1 to those of the options, for
  // which its Receives are posted.
  void grant(std::uint32_t most);

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
