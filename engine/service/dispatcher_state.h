// State that a dispatcher shares with the Calls that it has passed to handlers. It lives until the
// last of them is answered, which may be later than the connection and the server.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include <rpcrdma/service/dispatcher.h>

namespace rpcrdma::service {

class DispatcherState : public std::enable_shared_from_this<DispatcherState> {
 public:
  DispatcherState(std::span<Program* const> programs, const fabric::Address& peer,
                  protocol::MemoryPool& memory, const fabric::Time& clock);

  void attach(Dispatcher::ReplyTo reply_to, std::function<void()> answered_later,
              Dispatcher::Bind bind, Dispatcher::Configure configure) {
    reply_to_ = std::move(reply_to);
    answered_later_ = std::move(answered_later);
    bind_ = std::move(bind);
    configure_ = std::move(configure);
  }
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
    bool token = false;
    bool ended = false;  // sent or cancelled
  };

  void serve(const protocol::IncomingCall& incoming);
  void dispatch(const protocol::IncomingCall& incoming, const wire::RpcCall& call,
                std::uint32_t header_bytes);
  [[nodiscard]] bool check_credential(const wire::RpcCall& call, Credential& credential,
                                      std::uint32_t& auth_stat) const;
  // Answers with a header alone.
  fabric::Expected<void> answer(std::uint64_t id, const wire::RpcReply& reply);
  fabric::Expected<void> send(std::uint64_t id, std::span<const protocol::Piece> message);
  void end(std::uint64_t id);

  [[nodiscard]] std::size_t find(std::uint64_t id) const;  // slots_.size(): none
  std::size_t find_or_add(std::uint64_t id);
  void remove(std::size_t slot);

  std::vector<Program*> programs_;
  fabric::Address peer_;
  protocol::MemoryPool* memory_;  // null: orphaned
  const fabric::Time* clock_;
  Dispatcher::ReplyTo reply_to_;          // empty: no responder any more
  std::function<void()> answered_later_;  // may be empty
  Dispatcher::Bind bind_;                 // may be empty
  Dispatcher::Configure configure_;       // may be empty
  std::vector<std::uint64_t> ids_;        // of slots_, separate for fast search
  std::vector<Slot> slots_;
  DispatcherCounters counters_;
};

}  // namespace rpcrdma::service
