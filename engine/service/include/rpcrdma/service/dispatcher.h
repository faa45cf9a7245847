// Between a connection's responder and the programs: decodes RPC headers, finds the procedure, and
// answers by itself whatever has no handler (RFC 5531 sections 8, 9).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include <rpcrdma/protocol/responder.h>
#include <rpcrdma/service/program.h>

namespace rpcrdma::service {

// Calls by how they ended; of one connection, or the sum of several.
struct DispatcherCounters {
  std::uint64_t calls = 0;
  std::uint64_t success = 0;
  std::uint64_t prog_unavail = 0, prog_mismatch = 0, proc_unavail = 0, garbage_args = 0,
                system_err = 0;
  std::uint64_t rpc_mismatch = 0, auth_error = 0;
  std::uint64_t not_calls = 0;      // no RPC Call that could be answered: GARBAGE_ARGS as well
  std::uint64_t reply_refused = 0;  // the Call offered too little room for its Reply: ERR_CHUNK
  std::uint64_t deferred = 0;       // of all, answered later
  std::uint64_t cancelled = 0;      // the connection ended first

  DispatcherCounters& operator+=(const DispatcherCounters& other);
};

// Credentials: AUTH_NONE and AUTH_SYS are decoded and handed on. A body that does not decode is
// AUTH_BADCRED, a flavor that is not known AUTH_REJECTEDCRED, a verifier other than AUTH_NONE's
// AUTH_BADVERF. An RPC message whose header does not decode is answered GARBAGE_ARGS.
// In steady state nothing is allocated for a Call.
class Dispatcher : public protocol::ResponderOwner {
 public:
  // The programs, `clock` and `memory` outlive it.
  Dispatcher(std::span<Program* const> programs, const fabric::Address& peer,
             protocol::MemoryPool& memory, const fabric::Time& clock);
  ~Dispatcher()
      override;  // after its responder; to deferred Calls there is nobody to reply any more
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  // Who takes the Replies, as Responder::reply(); and what is called when a deferred Call was
  // answered, since its channel has something to flush then. Before the first Call.
  using ReplyTo = std::function<fabric::Expected<void>(
      std::uint64_t id, std::span<const protocol::Piece> message, fabric::Time now)>;
  // `bind`: see Call::bind(); empty: it cannot be.
  using Bind = std::function<fabric::Expected<void>(std::shared_ptr<ReverseClient> client)>;
  // `configure`: see Call::configure(); empty: it cannot be.
  using Configure = std::function<fabric::Expected<wire::RdmaConfigReply>(
      const wire::RdmaConfigRequest& request)>;
  void attach(ReplyTo reply_to, std::function<void()> answered_later = {}, Bind bind = {},
              Configure configure = {});

  void on_call(const protocol::IncomingCall& call) override;
  void on_sent(std::uint64_t id) override;
  void on_cancelled(std::uint64_t id) override;

  [[nodiscard]] const DispatcherCounters& counters() const;

 private:
  std::shared_ptr<DispatcherState> state_;
};

}  // namespace rpcrdma::service
