// Where outstanding Calls are at this moment: how many wait for a slot, for a credit, are posted,
// are at the server, have data moving. Derived from trace events of endpoints and of the kernel, of
// either end of a connection.
//
// A source sees only part of a Call's way. A state that it cannot see is unknown, not zero. That a
// Send has arrived is known once the server answers a Call that was sent later, or moves data of
// it: a Reliable Connected queue pair delivers in order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <rpcrdma/model/model.h>
#include <rpcrdma/trace_reader/event.h>

namespace rpcrdma::states {

// In the order of a Call's way.
enum class State : std::uint8_t {
  kSlot,       // the client waits for a request slot
  kCredit,     // the client waits for a credit
  kPreparing,  // the client encodes it and registers memory
  kPosted,     // its Send is posted, and not yet known to have arrived
  kAtServer,   // it has arrived: waits for a thread, or executes
  kMoving,     // RDMA Reads or Writes of it are in progress
  kAnswered,   // its Reply is sent or received, and not all of it has ended
};
inline constexpr std::size_t kStates = 7;

[[nodiscard]] const char* state_text(State state);   // "waiting for a credit"
[[nodiscard]] const char* state_label(State state);  // at most nine letters: "credit"
[[nodiscard]] const char* state_key(State state);    // of JSON: "credit"

// Calls of one direction of a connection, or of many connections.
struct Counts {
  std::array<std::uint32_t, kStates> calls{};  // by State
  std::uint8_t visible = 0;  // set of states that a source shows: bit i is State i
  std::uint8_t hidden = 0;   // those that a source does not show; of many connections also both
  // Outstanding since before the view began; their states are unknown.
  std::uint32_t earlier = 0;
  // Events were lost, or there were too many Calls to follow: the counts are estimates.
  bool uncertain = false;

  // Nothing: no source shows this state.
  [[nodiscard]] std::optional<std::uint32_t> of(State state) const;
  // Some source does not show this state, so there may be more Calls in it.
  [[nodiscard]] bool at_least(State state) const;
  // Calls in any visible state, and earlier ones.
  [[nodiscard]] std::uint64_t outstanding() const;
};
// Sums of several connections. Two ends of one connection both count its Calls.
void add(Counts& to, const Counts& from);

// An observer of one session: register it for events and after the rules, or among the model's
// observers. Keeps outstanding Calls only, at most kMostCalls.
class CallStates final : public trace_reader::Observer, public model::Observer {
 public:
  static constexpr std::size_t kMostCalls = 262144;

  CallStates();
  ~CallStates() override;
  CallStates(const CallStates&) = delete;
  CallStates& operator=(const CallStates&) = delete;

  // By roce::Connection::index. `reverse`: Calls of the RPC server. Nothing visible if the
  // connection is unknown or has ended.
  [[nodiscard]] Counts counts(std::uint32_t connection, bool reverse = false) const;
  // Over all open connections.
  [[nodiscard]] Counts all(bool reverse = false) const;

  void on_event(const trace_reader::Event& event) override;
  void on_message(const model::MessageSeen& event) override;
  void on_operation(const model::OperationSeen& event) override;
  void on_operation_end(const model::OperationSeen& event) override;
  void on_close(const roce::Connection& connection) override;
  void on_evict(const roce::Connection& connection) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::states
