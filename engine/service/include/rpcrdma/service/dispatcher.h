// Between a connection's responder and the programs: decodes RPC headers, finds the procedure, and
// answers Calls without a handler itself (RFC 5531 sections 8, 9).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include <rpcrdma/protocol/memory_share.h>
#include <rpcrdma/protocol/responder.h>
#include <rpcrdma/service/duplicate_cache.h>
#include <rpcrdma/service/program.h>
#include <rpcrdma/trace/connection_tracer.h>

namespace rpcrdma::service {

// Calls by how they ended; of one connection, or the sum of several.
struct DispatcherCounters {
  std::uint64_t calls = 0;
  std::uint64_t success = 0;
  std::uint64_t prog_unavail = 0, prog_mismatch = 0, proc_unavail = 0, garbage_args = 0,
                system_err = 0;
  std::uint64_t rpc_mismatch = 0, auth_error = 0;
  std::uint64_t not_calls = 0;      // not an RPC Call that could be answered; includes GARBAGE_ARGS
  std::uint64_t reply_refused = 0;  // the Call offered too little room for its Reply: ERR_CHUNK
  std::uint64_t deferred = 0;       // answered later, out of all Calls
  std::uint64_t cancelled = 0;      // the connection ended first
  std::uint64_t replayed = 0;       // duplicates that got the Reply of the first
  std::uint64_t duplicates_dropped = 0;  // duplicates that got none
  std::uint64_t one_way = 0;             // executed; their procedure has no Reply

  DispatcherCounters& operator+=(const DispatcherCounters& other);
};

// Credentials: AUTH_NONE and AUTH_SYS are decoded and passed on. An undecodable body is answered
// with AUTH_BADCRED, an unknown flavor with AUTH_REJECTEDCRED, a verifier other than AUTH_NONE's
// with AUTH_BADVERF. An RPC message whose header cannot be decoded is answered with GARBAGE_ARGS.
// In steady state nothing is allocated for a Call.
class Dispatcher : public protocol::ResponderOwner {
 public:
  // The programs, `clock` and `memory` outlive it; so does `duplicates`, which belongs to all
  // dispatchers of a server. Null: every Call is executed.
  Dispatcher(std::span<Program* const> programs, const fabric::Address& peer,
             protocol::MemoryPool& memory, const fabric::Time& clock,
             DuplicateCache* duplicates = nullptr);
  ~Dispatcher() override;  // after its responder; deferred Calls can no longer be answered then
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  // `reply_to` receives the Replies, as Responder::reply(). `answered_later` is called when a
  // deferred Call was answered, since its channel then has something to flush. Call attach() before
  // the first Call.
  using ReplyTo = std::function<fabric::Expected<void>(
      std::uint64_t id, std::span<const protocol::Piece> message, fabric::Time now)>;
  // `bind`: see Call::bind(); empty: not supported.
  using Bind = std::function<fabric::Expected<void>(std::shared_ptr<ReverseClient> client)>;
  // `configure`: see Call::configure(); empty: not supported.
  using Configure = std::function<fabric::Expected<wire::RdmaConfigReply>(
      const wire::RdmaConfigRequest& request)>;
  // `drop` ends a Call without a Reply, as Responder::drop().
  using Drop = std::function<void(std::uint64_t id, fabric::Time now)>;
  void attach(ReplyTo reply_to, std::function<void()> answered_later = {}, Bind bind = {},
              Configure configure = {}, Drop drop = {});
  // Emits events about duplicates from now on.
  void trace(const trace::ConnectionTracer& tracer);
  // Reads the clock at this moment, for Program::durations(). Null: `clock` is all there is.
  void measure_by(fabric::Time (*read_clock)());
  // Blocks of Calls count to the connection's share of the memory, which outlives this.
  void limit_by(protocol::MemoryShare& share);

  void on_call(const protocol::IncomingCall& call) override;
  void on_sent(std::uint64_t id) override;
  void on_cancelled(std::uint64_t id) override;

  [[nodiscard]] const DispatcherCounters& counters() const;

 private:
  std::shared_ptr<DispatcherState> state_;
};

}  // namespace rpcrdma::service
