// State that a dispatcher shares with the Calls that it has passed to handlers. It lives until the
// last of them is answered, which may be later than the connection and the server.
#pragma once

#include "duplicate_entry.h"

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include <rpcrdma/service/dispatcher.h>

namespace rpcrdma::service {

class DispatcherState : public std::enable_shared_from_this<DispatcherState> {
 public:
  DispatcherState(std::span<Program* const> programs, const fabric::Address& peer,
                  protocol::MemoryPool& memory, const fabric::Time& clock,
                  std::shared_ptr<DuplicateCache::Impl> duplicates);
  [[nodiscard]] static std::shared_ptr<DuplicateCache::Impl> impl_of(DuplicateCache* duplicates) {
    return duplicates != nullptr ? duplicates->impl_ : nullptr;
  }

  void attach(Dispatcher::ReplyTo reply_to, std::function<void()> answered_later,
              Dispatcher::Bind bind, Dispatcher::Configure configure, Dispatcher::Drop drop) {
    reply_to_ = std::move(reply_to);
    answered_later_ = std::move(answered_later);
    bind_ = std::move(bind);
    configure_ = std::move(configure);
    drop_ = std::move(drop);
  }
  void trace(const trace::ConnectionTracer& tracer) { trace_ = tracer; }
  void measure_by(fabric::Time (*read_clock)()) { read_clock_ = read_clock; }
  void limit_by(protocol::MemoryShare& share) { share_ = &share; }
  // Called when the dispatcher is destroyed: its memory must be back in the pool before that ends.
  void orphan();

  void on_call(const protocol::IncomingCall& incoming);
  void on_sent(std::uint64_t id) { end(id); }
  void on_cancelled(std::uint64_t id);

  [[nodiscard]] const DispatcherCounters& counters() const { return counters_; }

  // For Call and Deferred.
  fabric::Expected<void> bind(std::shared_ptr<ReverseClient> client);
  fabric::Expected<wire::RdmaConfigReply> configure(const wire::RdmaConfigRequest& request);
  fabric::Expected<protocol::Block> acquire(std::uint64_t id, std::uint32_t bytes);
  fabric::Expected<void> reply(std::uint64_t id, std::span<const protocol::Piece> results);
  fabric::Expected<void> fail(std::uint64_t id, CallError error);
  std::shared_ptr<DispatcherState> defer(std::uint64_t id);
  [[nodiscard]] bool waiting(std::uint64_t id) const;
  fabric::Expected<void> reply_deferred(std::uint64_t id, std::span<const protocol::Piece> results);
  fabric::Expected<void> fail_deferred(std::uint64_t id, CallError error);
  // Called when its token is destroyed: if the Call has ended, its state is removed.
  void drop_token(std::uint64_t id);

 private:
  // State of a Call that has blocks or is deferred; others need none.
  struct Slot {
    std::array<protocol::Block, protocol::kMaxResults> blocks;
    std::uint32_t block_count = 0;
    protocol::MemoryHeld held;   // for the blocks
    Program* program = nullptr;  // set for a deferred Call, like the two that follow
    const Procedure* procedure = nullptr;
    fabric::Time received = 0;
    bool token = false;
    bool ended = false;  // sent or cancelled
  };

  // A Call whose Reply is kept, or that has none.
  struct Special {
    std::uint64_t id = 0;
    std::shared_ptr<DuplicateEntry> entry;  // null: it is not kept
    bool one_way = false;
  };

  void serve(const protocol::IncomingCall& incoming);
  // Returns whether a Call of a procedure that is not idempotent is to be executed. Otherwise it is
  // a duplicate, and was answered or waits.
  [[nodiscard]] bool is_first(const protocol::IncomingCall& incoming, const wire::RpcCall& call,
                              bool one_way);
  void replay(const protocol::IncomingCall& incoming, DuplicateEntry& entry);
  // The entry's Reply for its waiting duplicate.
  void answer_waiter(DuplicateEntry& entry);
  void send_kept(std::uint64_t id, const DuplicateEntry& entry);
  // A later duplicate waits in the place of this one.
  void drop_duplicate(std::uint64_t id);
  void drop(std::uint64_t id);
  void trace_duplicate(const DuplicateKey& key, trace::DuplicateFate fate) const;
  [[nodiscard]] Special* special(std::uint64_t id);
  // Removes it from the list.
  [[nodiscard]] std::optional<Special> take_special(std::uint64_t id);
  void keep(const Special& special, std::span<const protocol::Piece> message) noexcept;

  void dispatch(const protocol::IncomingCall& incoming, const wire::RpcCall& call,
                std::uint32_t header_bytes);
  [[nodiscard]] bool check_credential(const wire::RpcCall& call, Credential& credential,
                                      std::uint32_t& auth_stat) const;
  // Answers with a header alone.
  fabric::Expected<void> answer(std::uint64_t id, const wire::RpcReply& reply);
  fabric::Expected<void> send(std::uint64_t id, std::span<const protocol::Piece> message);
  void end(std::uint64_t id);
  // The time in which a Call has been answered, by the clock at this moment.
  [[nodiscard]] fabric::Time since(fabric::Time received) const;
  void count_deferred(std::uint64_t id);

  [[nodiscard]] std::size_t find(std::uint64_t id) const;  // slots_.size(): none
  std::size_t find_or_add(std::uint64_t id);
  void remove(std::size_t slot);

  std::vector<Program*> programs_;
  fabric::Address peer_;
  protocol::MemoryPool* memory_;            // null: orphaned
  protocol::MemoryShare* share_ = nullptr;  // null: orphaned, or without
  const fabric::Time* clock_;
  Dispatcher::ReplyTo reply_to_;          // empty: no responder any more
  std::function<void()> answered_later_;  // may be empty
  Dispatcher::Bind bind_;                 // may be empty
  Dispatcher::Configure configure_;       // may be empty
  Dispatcher::Drop drop_;                 // may be empty
  std::weak_ptr<DuplicateCache::Impl> duplicates_;
  bool keeps_ = false;             // there is a cache
  std::vector<Special> specials_;  // mostly empty
  trace::ConnectionTracer trace_;
  std::vector<std::uint64_t> ids_;  // of slots_, separate for fast search
  std::vector<Slot> slots_;
  DispatcherCounters counters_;
  fabric::Time (*read_clock_)() = nullptr;  // null: *clock_ is all there is
};

}  // namespace rpcrdma::service
