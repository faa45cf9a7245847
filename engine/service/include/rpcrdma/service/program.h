// RPC programs as a server has them: procedures with handlers, and what their upper-layer binding
// says of them (RFC 8166 section 6). docs/service.md shows a program from end to end.
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
#include <rpcrdma/protocol/memory_pool.h>
#include <rpcrdma/protocol/message.h>
#include <rpcrdma/protocol/reduction.h>
#include <rpcrdma/protocol/stream_reader.h>
#include <rpcrdma/wire/rdmaconfig.h>
#include <rpcrdma/wire/rpc.h>

namespace rpcrdma::service {

// Pieces of results at most: the RPC header takes one of the message's.
inline constexpr std::size_t kMaxResultPieces = protocol::kMaxPieces - 1;

// Who calls, as the Call says; nobody has verified it.
struct Credential {
  wire::AuthFlavor flavor = wire::AuthFlavor::kNone;
  wire::AuthSys sys;  // kSys; its views are valid as long as the arguments
};

// A Call that its handler ends in other ways than with results (RFC 5531 section 9).
enum class CallError : std::uint8_t {
  kGarbageArgs,  // the arguments do not decode
  kSystemError,  // for want of memory and the like
  kProcUnavail,  // the program's table has it, and yet it cannot be served
};

class DispatcherState;
class ReverseClient;

// A Call that is to be answered later, from within the same loop. It belongs to one handler, may
// be moved, and outlive the connection and the server. Not answered: SYSTEM_ERR when it is
// destroyed.
class Deferred {
 public:
  Deferred() = default;
  Deferred(Deferred&& other) noexcept;
  Deferred& operator=(Deferred&& other) noexcept;
  ~Deferred();

  // False: it was answered, or moved from, or the connection has ended and nobody waits any more.
  [[nodiscard]] bool waiting() const;
  // As those of Call. kNotConnected: nobody waits any more.
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

// A Call in its handler's hands. The handler ends it with reply(), fail() or defer(); with none of
// them it ends as SYSTEM_ERR.
class Call {
 public:
  // Behind the RPC header. Its bytes are valid until the Call is answered; a deferred one's until
  // it is answered or no longer waiting().
  [[nodiscard]] protocol::StreamReader& arguments() { return arguments_; }
  [[nodiscard]] const Credential& credential() const { return credential_; }
  [[nodiscard]] std::uint32_t xid() const { return xid_; }
  [[nodiscard]] const fabric::Address& peer() const { return peer_; }
  // Registered memory that an argument lies in because a Read chunk brought it, so that it can be
  // sent back from there; or null.
  [[nodiscard]] const fabric::Memory* memory_of(wire::Bytes argument) const;
  // What the Call has room for: Write chunks of DDP-eligible results, a Reply chunk.
  [[nodiscard]] const protocol::Offer& offer() const { return offer_; }
  [[nodiscard]] fabric::Time now() const { return now_; }
  [[nodiscard]] fabric::Time received() const { return received_; }
  // When its Read chunks were all there; without any, received().
  [[nodiscard]] fabric::Time pulled() const { return pulled_; }

  // Registered memory for results. It is given back when the Reply has been sent, or the Call has
  // ended without one; a deferred one's not before its token is gone. At most kMaxResults for a
  // Call. Errors: as MemoryPool::acquire(); kNoRoom beyond kMaxResults.
  [[nodiscard]] fabric::Expected<protocol::Block> acquire(std::uint32_t bytes);

  // The results, without RPC header. DDP-eligible pieces stand in the order of the Call's Write
  // chunks. Bytes of a piece with `memory` stay as they are until the Reply has been sent: in
  // blocks of acquire(), or in memory that lives on; others are copied at once. Errors:
  // kBadArgument for too many pieces (the peer gets SYSTEM_ERR); kNoRoom: the Call offered too
  // little room (it gets ERR_CHUNK); kNotConnected. The Call has ended either way, and a handler
  // need not look.
  fabric::Expected<void> reply(std::span<const protocol::Piece> results);
  fabric::Expected<void> fail(CallError error);
  [[nodiscard]] Deferred defer();
  // From now on Calls of `client` go over this Call's connection, in the reverse direction; its
  // peer has said that it takes them. Errors: kBadArgument where there is none (a client's
  // program, a server without reverse credits), or another was bound already.
  [[nodiscard]] fabric::Expected<void> bind(std::shared_ptr<ReverseClient> client);
  // RFC 5666 section 6.2: the peer says what it wants of this Call's connection, and is answered
  // what it gets. Error: kBadArgument for the connection of a server of another profile, or a
  // client's.
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

// What the upper-layer binding says of a procedure. A Call with more Read chunks than `arguments`
// has is answered GARBAGE_ARGS without asking the handler.
struct Binding {
  std::uint32_t arguments = 0;  // DDP-eligible arguments at most
  std::uint32_t results = 0;    // DDP-eligible results at most
  // The longest results without RPC header and DDP-eligible content, bytes: what a requester
  // provides for (see kReplyHeaderBytes). 0: the length depends on the arguments.
  std::uint32_t max_results = 0;
};

// Of a Reply's RPC header with AUTH_NONE's verifier, bytes: at most, as errors have two words more
// than success.
inline constexpr std::uint32_t kReplyHeaderBytes = 32;

struct Procedure {
  std::uint32_t number = 0;
  std::string name;
  std::function<void(Call&)> handler;  // throws nothing
  Binding binding;
};

// One version of a program. Procedure 0 answers nothing with nothing, if the table has none. To be
// derived from by programs that have timers.
class Program {
 public:
  Program(std::uint32_t number, std::uint32_t version, std::string name,
          std::vector<Procedure> procedures);
  virtual ~Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // When expire() has something to do; fabric::kNever.
  [[nodiscard]] virtual fabric::Time deadline() const { return fabric::kNever; }
  virtual void expire(fabric::Time /*now*/) {}

  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] std::uint32_t version() const { return version_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::span<const Procedure> procedures() const { return procedures_; }
  [[nodiscard]] const Procedure* find(std::uint32_t procedure) const;  // null: PROC_UNAVAIL

 private:
  std::uint32_t number_;
  std::uint32_t version_;
  std::string name_;
  std::vector<Procedure> procedures_;  // sorted by number
};

}  // namespace rpcrdma::service
