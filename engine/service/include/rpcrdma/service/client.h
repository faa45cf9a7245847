// A client of RPC programs over RPC-over-RDMA: one or several connections to a server, which are
// re-established when they are lost. Calls that were sent are then resent under their XIDs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include <rpcrdma/protocol/durations.h>
#include <rpcrdma/protocol/requester.h>
#include <rpcrdma/service/connection_info.h>
#include <rpcrdma/service/dispatcher.h>
#include <rpcrdma/service/duplicate_cache.h>
#include <rpcrdma/service/loop.h>
#include <rpcrdma/service/profile.h>
#include <rpcrdma/service/rpc_message.h>
#include <rpcrdma/service/version_options.h>

namespace rpcrdma::service {

struct ClientOptions {
  fabric::Address server;
  std::uint16_t port = 20049;
  std::uint32_t connections = 1;
  // Maximum bytes sent and received inline, in KiB steps from 1 KiB to 256 KiB; 1024 unless both
  // peers send private data.
  std::uint32_t inline_threshold = 4096;
  bool private_data = true;  // send it, and accept the peer's (RFC 8797)
  VersionOptions version;
  // k5666: `requester.rfc5666`, and the first Call of each connection is CONF_RDMA of the
  // Connection Configuration Protocol; a server without that program is accepted.
  Profile profile = Profile::k8166;
  ConfigOptions config;
  // Replies may invalidate a handle of their Call if the device supports it: the flag R of private
  // data, and rdma_inv_handle of version 2.
  bool remote_invalidation = true;
  // Options of each connection. Its first XID is random: a server with a duplicate request cache
  // might mistake its Calls for those of another connection, or of an earlier client.
  protocol::RequesterOptions requester{.least_credits = 1};
  // Programs that the server may call over these connections (RFC 8167); none: reverse Calls are
  // answered with PROG_UNAVAIL. They outlive the client. The caller of finish() must know that no
  // more Calls of the server will arrive.
  std::span<Program* const> programs;
  protocol::ResponderOptions reverse{.credits = 16};
  DuplicateCacheOptions duplicates;      // of procedures of `programs` that are not idempotent
  std::uint32_t max_segment = 1U << 30;  // bytes of one advertised segment
  // Time limit for establishing a connection, and for closing one.
  fabric::Time connect_timeout = 10 * fabric::kSecond;
  // A connection with waiting Calls from which nothing was heard for this long is probed; if the
  // peer does not answer, it is lost. fabric::kNever: no probes.
  fabric::Time probe = 5 * fabric::kSecond;
  // Backoff before a connection is tried again. It doubles each time, up to backoff_most, and
  // starts over after a successful connection: one on which a Call was answered, or that lasted
  // backoff_most. Up to a quarter is subtracted at random, so that many clients do not connect at
  // once.
  fabric::Time backoff_first = 100 * fabric::kMillisecond;
  fabric::Time backoff_most = 10 * fabric::kSecond;
  // Failed attempts in a row after which a connection is closed for good and its Calls end as
  // kClosed; 0: unlimited. If the server supports none of our versions, the connection is closed at
  // once, and its Calls end as kErrorVersion.
  std::uint32_t max_attempts = 0;
};

enum class LinkState : std::uint8_t {
  kConnecting,
  kUp,
  kWaiting,  // before the next attempt
  kClosing,
  kClosed,  // for good: too many attempts, or closed
};
[[nodiscard]] const char* link_state_name(LinkState state);

// Durations of Calls with a Reply, whatever its result, and their parts: see protocol::CallTimes.
struct CallDurations {
  protocol::Durations whole;   // called until ended
  protocol::Durations credit;  // called until sent: waiting for a credit or a connection
  protocol::Durations reply;   // sent until replied: the network, the peer, and its RDMA operations
  protocol::Durations fence;   // replied until ended

  void add(const protocol::CallTimes& times);
};

struct ClientCounters {
  std::uint64_t attempts = 0, established = 0;
  std::uint64_t rejected = 0, unreachable = 0, timed_out = 0, lost = 0, given_up = 0;
  protocol::RequesterCounters requester;  // of all connections
  CallDurations durations;
  protocol::ResponderCounters reverse;  // Calls from the server
  DispatcherCounters reverse_calls;
  DuplicateCacheCounters duplicates;  // among them
};

class ClientObserver {
 public:
  virtual ~ClientObserver() = default;
  // Called with the outcome of call(); may call() again. `connection`: 0..connections - 1.
  virtual void on_outcome(const protocol::CallOutcome& outcome, std::uint32_t connection) = 0;
  virtual void on_connected(const ConnectionInfo& /*connection*/) {}
  // Profile::k5666: called when the server has answered CONF_RDMA, or refused it.
  virtual void on_configured(const ConnectionInfo& /*connection*/) {}
  // `what`: one clause for display. `retry`: time of the next attempt, by the loop's clock;
  // fabric::kNever: none.
  virtual void on_lost(std::uint32_t /*connection*/, std::string_view /*what*/,
                       fabric::Time /*retry*/) {}
};

class Client {
 public:
  // Starts to connect, from the provider's address. The loop and the observer outlive it. Error:
  // kBadArgument for invalid options.
  [[nodiscard]] static fabric::Expected<std::unique_ptr<Client>> create(
      Loop& loop, const ClientOptions& options, ClientObserver& observer);
  // Ends all connections at once; outcomes are no longer reported, and the Calls' memory returns to
  // its owner.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Makes a Call on the connection with the fewest Calls; one that waits for a connection is sent
  // as soon as it is up. Returns the XID. Errors: as protocol::Requester::call(); kNotConnected if
  // all are closed.
  [[nodiscard]] fabric::Expected<std::uint32_t> call(const protocol::CallSpec& spec);
  [[nodiscard]] fabric::Expected<std::uint32_t> call_on(std::uint32_t connection,
                                                        const protocol::CallSpec& spec);

  // As protocol::Requester::option(), on the connection with the fewest Calls.
  [[nodiscard]] fabric::Expected<std::uint32_t> option(const protocol::OptionSpec& spec);

  // Orderly shutdown: accepts no more Calls, and disconnects when the present ones have ended.
  void finish();
  // Immediate shutdown: all Calls end as kClosed. In both cases the loop must run until closed().
  void close();
  [[nodiscard]] bool closed() const;

  [[nodiscard]] const ClientOptions& options() const;
  [[nodiscard]] std::uint32_t connections() const;  // as in the options
  [[nodiscard]] std::uint32_t up() const;           // established now
  [[nodiscard]] LinkState state(std::uint32_t connection) const;
  // of the latest connection
  [[nodiscard]] const ConnectionInfo& info(std::uint32_t connection) const;
  [[nodiscard]] const protocol::Requester& requester(std::uint32_t connection) const;
  [[nodiscard]] std::uint32_t outstanding() const;  // sent and not ended
  [[nodiscard]] std::uint32_t waiting() const;      // for credit, or a connection
  [[nodiscard]] ClientCounters counters() const;

 private:
  struct Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::service
