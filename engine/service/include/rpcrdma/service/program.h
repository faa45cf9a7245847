// RPC programs of a server: procedures with handlers, and their upper-layer binding (RFC 8166
// section 6). docs/service.md shows a program from end to end.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <rpcrdma/fabric/address.h>
#include <rpcrdma/fabric/error.h>
#include <rpcrdma/fabric/time.h>
#include <rpcrdma/protocol/durations.h>
#include <rpcrdma/protocol/memory_pool.h>
#include <rpcrdma/protocol/message.h>
#include <rpcrdma/protocol/reduction.h>
#include <rpcrdma/protocol/stream_reader.h>
#include <rpcrdma/wire/rdmaconfig.h>
#include <rpcrdma/wire/rpc.h>

namespace rpcrdma::service {

// Maximum pieces of results: the RPC header uses one of the message's.
inline constexpr std::size_t kMaxResultPieces = protocol::kMaxPieces - 1;

// The caller's identity as the Call states it, unverified.
struct Credential {
  wire::AuthFlavor flavor = wire::AuthFlavor::kNone;
  wire::AuthSys sys;  // kSys; its views are valid as long as the arguments
};

// Ways for a handler to end a Call without results (RFC 5531 section 9).
enum class CallError : std::uint8_t {
  kGarbageArgs,  // the arguments cannot be decoded
  kSystemError,  // lack of memory and the like
  kProcUnavail,  // the program's table has it, but it cannot be served
};

class DispatcherState;
class ReverseClient;

// A deferred Call: to be answered later, from within the same loop. It belongs to one handler, may
// be moved, and may outlive the connection and the server. If it is destroyed without an answer,
// the Call ends as SYSTEM_ERR.
class Deferred {
 public:
  Deferred() = default;
  Deferred(Deferred&& other) noexcept;
  Deferred& operator=(Deferred&& other) noexcept;
  ~Deferred();

  // False: it was answered, or moved from, or the connection has ended and no peer waits any more.
  [[nodiscard]] bool waiting() const;
  // As those of Call. kNotConnected: no peer waits any more. The Reply of a procedure that is not
  // idempotent is then kept for the peer's next attempt all the same.
  fabric::Expected<void> reply(std::span<const protocol::Piece> results);
  fabric::Expected<void> fail(CallError error);

 private:
  friend class DispatcherState;
  friend class Call;
  Deferred(std::shared_ptr<DispatcherState> state, std::uint64_t id)
      : state_(std::move(state)), id_(id) {}
  void drop();

  std::shared_ptr<DispatcherState> state_;
  std::uint64_t id_ = 0;
};

// A Call as its handler gets it. The handler ends it with reply(), fail() or defer(); without any
// of them it ends as SYSTEM_ERR.
class Call {
 public:
  // The bytes after the RPC header. They are valid until the Call is answered; those of a deferred
  // Call until it is answered or no longer waiting().
  [[nodiscard]] protocol::StreamReader& arguments() { return arguments_; }
  [[nodiscard]] const Credential& credential() const { return credential_; }
  [[nodiscard]] std::uint32_t xid() const { return xid_; }
  [[nodiscard]] const fabric::Address& peer() const { return peer_; }
  // Registered memory that holds an argument because a Read chunk was read into it, so that it can
  // be sent back from there; or null.
  [[nodiscard]] const fabric::Memory* memory_of(wire::Bytes argument) const;
  // Room that the Call offers: Write chunks for DDP-eligible results, a Reply chunk.
  [[nodiscard]] const protocol::Offer& offer() const { return offer_; }
  [[nodiscard]] fabric::Time now() const { return now_; }
  [[nodiscard]] fabric::Time received() const { return received_; }
  // When its Read chunks were complete; without any, equal to received().
  [[nodiscard]] fabric::Time pulled() const { return pulled_; }

  // Acquires registered memory for results. It is released when the Reply has been sent, or the
  // Call has ended without one; that of a deferred Call not before its token is destroyed. At most
  // kMaxResults per Call. Errors: as MemoryPool::acquire(); kNoRoom beyond kMaxResults.
  [[nodiscard]] fabric::Expected<protocol::Block> acquire(std::uint32_t bytes);

  // Sends the results, without RPC header. A procedure without a Reply (Procedure::one_way) ends
  // with reply() or fail() like any other, and nothing is sent. DDP-eligible pieces are in the
  // order of the Call's Write chunks. Bytes of a piece with `memory` must not change until the
  // Reply has been sent: use blocks of acquire(), or memory that lives longer; others are copied at
  // once. Errors: kBadArgument for too many pieces (the peer gets SYSTEM_ERR); kNoRoom: the Call
  // offered too little room (it gets ERR_CHUNK); kNotConnected. The Call has ended in any case, so
  // a handler may ignore the result.
  fabric::Expected<void> reply(std::span<const protocol::Piece> results);
  fabric::Expected<void> fail(CallError error);
  [[nodiscard]] Deferred defer();
  // From now on Calls of `client` use this Call's connection, in the reverse direction; the peer
  // must have stated that it accepts them. Errors: kBadArgument if that is not possible (a client's
  // program, a server without reverse credits), or another client was bound already.
  [[nodiscard]] fabric::Expected<void> bind(std::shared_ptr<ReverseClient> client);
  // RFC 5666 section 6.2: the peer requests parameters for this Call's connection. Returns the
  // answer. Error: kBadArgument for the connection of a server of another profile, or a client's.
  [[nodiscard]] fabric::Expected<wire::RdmaConfigReply> configure(
      const wire::RdmaConfigRequest& request);

 private:
  friend class DispatcherState;
  Call(DispatcherState& state, protocol::StreamReader arguments,
       std::span<const protocol::Placed> items, const fabric::Address& peer,
       const protocol::Offer& offer)
      : state_(state), arguments_(arguments), items_(items), peer_(peer), offer_(offer) {}

  DispatcherState& state_;
  protocol::StreamReader arguments_;
  std::span<const protocol::Placed> items_;
  const fabric::Address& peer_;
  const protocol::Offer& offer_;
  Credential credential_;
  std::uint64_t id_ = 0;
  std::uint32_t xid_ = 0;
  fabric::Time now_ = 0;
  fabric::Time received_ = 0;
  fabric::Time pulled_ = 0;
  bool ended_ = false;
};

// Upper-layer binding of a procedure. A Call with more Read chunks than `arguments` is answered
// with GARBAGE_ARGS without calling the handler.
struct Binding {
  std::uint32_t arguments = 0;  // maximum of DDP-eligible arguments
  std::uint32_t results = 0;    // maximum of DDP-eligible results
  // Maximum length of the results without RPC header and DDP-eligible content, in bytes, for which
  // a requester provides room (see kReplyHeaderBytes). 0: the length depends on the arguments.
  std::uint32_t max_results = 0;
};

// Maximum bytes of a Reply's RPC header with AUTH_NONE's verifier: errors have up to two words more
// than success.
inline constexpr std::uint32_t kReplyHeaderBytes = 32;

struct Procedure {
  std::uint32_t number = 0;
  std::string name;
  std::function<void(Call&)> handler;  // must not throw
  Binding binding;
  // A Call may be executed again if its client sends it again. Otherwise a server executes it once,
  // and answers from its duplicate request cache (duplicate_cache.h).
  bool idempotent = false;
  // There is no Reply, whatever happens to the Call: its client sends it with CallSpec::one_way.
  bool one_way = false;
};

// One version of a program. If the table has no procedure 0, it is answered with empty results.
// Programs with timers derive from it.
class Program {
 public:
  Program(std::uint32_t number, std::uint32_t version, std::string name,
          std::vector<Procedure> procedures);
  virtual ~Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Returns when expire() has something to do; fabric::kNever if never.
  [[nodiscard]] virtual fabric::Time deadline() const { return fabric::kNever; }
  virtual void expire(fabric::Time /*now*/) {}

  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] std::uint32_t version() const { return version_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::span<const Procedure> procedures() const { return procedures_; }
  [[nodiscard]] const Procedure* find(std::uint32_t procedure) const;  // null: PROC_UNAVAIL

  // Counts a Call of this procedure, one of procedures(), that its handler has ended: the time from
  // its Receive until then.
  void count(const Procedure& procedure, fabric::Time duration);
  // The sum of these, for procedures()[index].
  [[nodiscard]] const protocol::Durations& durations(std::size_t index) const {
    return durations_[index];
  }

 private:
  std::uint32_t number_;
  std::uint32_t version_;
  std::string name_;
  std::vector<Procedure> procedures_;  // sorted by number
  std::vector<protocol::Durations> durations_;
};

}  // namespace rpcrdma::service
