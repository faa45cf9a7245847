// A client of RPC programs over RPC-over-RDMA: one or several connections to a server,
// which come back by themselves when they are lost, with Calls that were sent sent again under
// their XIDs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include <rpcrdma/protocol/durations.h>
#include <rpcrdma/protocol/requester.h>
#include <rpcrdma/service/connection_info.h>
#include <rpcrdma/service/dispatcher.h>
#include <rpcrdma/service/loop.h>
#include <rpcrdma/service/profile.h>
#include <rpcrdma/service/rpc_message.h>
#include <rpcrdma/service/version_options.h>

namespace rpcrdma::service {

struct ClientOptions {
  fabric::Address server;
  std::uint16_t port = 20049;
  std::uint32_t connections = 1;
  // Bytes that are sent and received inline at most, in KiB steps from 1 KiB to 256 KiB; 1024
  // unless both peers send private data.
  std::uint32_t inline_threshold = 4096;
  bool private_data = true;  // send it, and take the peer's (RFC 8797)
  VersionOptions version;
  // k5666: `requester.rfc5666`, and the first Call of each connection is CONF_RDMA of the
  // Connection Configuration Protocol; a server without it is taken as it is.
  Profile profile = Profile::k8166;
  ConfigOptions config;
  // Replies may invalidate a handle of their Call where the device allows it: the flag R of private
  // data, and rdma_inv_handle of version 2.
  bool remote_invalidation = true;
  // Of each connection; its first XID is drawn at random, or a server that remembers what it has
  // answered might take its Calls for those of another connection, or of a client before this one.
  protocol::RequesterOptions requester;
  // What the server may call over these connections (RFC 8167); none: it may not. They outlive the
  // client. finish() leaves it to its caller to know that no more Calls of the server's will come.
  std::span<Program* const> programs;
  protocol::ResponderOptions reverse{.credits = 16};
  std::uint32_t max_segment = 1U << 30;  // bytes of one exposed segment
  // In which a connection must be established, and one that closes be gone.
  fabric::Time connect_timeout = 10 * fabric::kSecond;
  // A connection on which Calls wait and from which nothing was heard for so long is asked for a
  // sign of life; without one it is lost. fabric::kNever: it is not asked.
  fabric::Time probe = 5 * fabric::kSecond;
  // Before a connection is tried again: twice as long each time, up to backoff_most, and the first
  // again after one that was a success: on which a Call was answered, or that lasted backoff_most.
  // A quarter is taken off at random, so that many clients do not come at once.
  fabric::Time backoff_first = 100 * fabric::kMillisecond;
  fabric::Time backoff_most = 10 * fabric::kSecond;
  // Attempts in a row without success, after which a connection is given up and its Calls end as
  // kClosed; 0: never. A server that speaks none of our versions is given up at once, and its Calls
  // end as kErrorVersion.
  std::uint32_t max_attempts = 0;
};

enum class LinkState : std::uint8_t {
  kConnecting,
  kUp,
  kWaiting,  // to try again
  kClosing,
  kClosed,  // for good: given up, or closed
};
[[nodiscard]] const char* link_state_name(LinkState state);

// Of Calls that were replied to, whatever the Reply says, and its parts: see protocol::CallTimes.
struct CallDurations {
  protocol::Durations whole;   // called until ended
  protocol::Durations credit;  // called until sent, so waiting for a credit or a connection
  protocol::Durations
      reply;  // sent until replied: the network, the peer, and what it moves by RDMA
  protocol::Durations fence;  // replied until ended

  void add(const protocol::CallTimes& times);
};

struct ClientCounters {
  std::uint64_t attempts = 0, established = 0;
  std::uint64_t rejected = 0, unreachable = 0, timed_out = 0, lost = 0, given_up = 0;
  protocol::RequesterCounters requester;  // of all connections
  CallDurations durations;
  protocol::ResponderCounters reverse;  // Calls of the server's
  DispatcherCounters reverse_calls;
};

class ClientObserver {
 public:
  virtual ~ClientObserver() = default;
  // Of call(); may call() again. `connection`: 0..connections - 1.
  virtual void on_outcome(const protocol::CallOutcome& outcome, std::uint32_t connection) = 0;
  virtual void on_connected(const ConnectionInfo& /*connection*/) {}
  // Profile::k5666: the server has answered CONF_RDMA, or refused it.
  virtual void on_configured(const ConnectionInfo& /*connection*/) {}
  // `what`: one clause for a person. `retry`: when it is tried again, of the loop's clock;
  // fabric::kNever: not.
  virtual void on_lost(std::uint32_t /*connection*/, std::string_view /*what*/,
                       fabric::Time /*retry*/) {}
};

class Client {
 public:
  // Begins to connect, from the provider's address. The loop and the observer outlive it. Error:
  // kBadArgument for options that cannot be.
  [[nodiscard]] static fabric::Expected<std::unique_ptr<Client>> create(
      Loop& loop, const ClientOptions& options, ClientObserver& observer);
  // Ends all connections at once; outcomes are no longer told, and the Calls' memory is their
  // owner's again.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // On the connection with the fewest Calls; those that wait for a connection are sent as soon as
  // it is up. Returns the XID. Errors: as protocol::Requester::call(); kNotConnected when all are
  // closed.
  [[nodiscard]] fabric::Expected<std::uint32_t> call(const protocol::CallSpec& spec);
  [[nodiscard]] fabric::Expected<std::uint32_t> call_on(std::uint32_t connection,
                                                        const protocol::CallSpec& spec);

  // As protocol::Requester::option(), on the connection with the fewest Calls.
  [[nodiscard]] fabric::Expected<std::uint32_t> option(const protocol::OptionSpec& spec);

  // Orderly: takes no more Calls, and disconnects when those there are have ended.
  void finish();
  // At once: all Calls end as kClosed. Either way the loop has to go on until closed().
  void close();
  [[nodiscard]] bool closed() const;

  [[nodiscard]] const ClientOptions& options() const;
  [[nodiscard]] std::uint32_t connections() const;  // as in the options
  [[nodiscard]] std::uint32_t up() const;           // established now
  [[nodiscard]] LinkState state(std::uint32_t connection) const;
  [[nodiscard]] const ConnectionInfo& info(std::uint32_t connection) const;  // of the last one
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
