// The scripted peer is the server of our client, which has another server, too.
#pragma once

#include "stage.h"

#include <deque>

namespace rpcrdma::hostile {

class AgainstClient : public Stage, private service::ClientObserver {
 public:
  // `serves`: Calls of the echo program in the reverse direction.
  AgainstClient(service::ClientOptions options, bool serves);
  ~AgainstClient() override;

  // Accepts the client's next connection.
  struct Accept {
    Bytes private_data = scenes::private_data(4096, 4096, true);
    std::size_t receives = kReceives;
    std::uint8_t initiator_depth = 16;
  };
  void accept(const Accept& how);
  void accept() { accept(Accept()); }

  // Our client sends a Call, which is returned as it arrives: any RPC message, with a Write chunk
  // for a result of `result` bytes and a Reply of up to `max_reply` bytes. `data`: the DDP-eligible
  // argument at its end.
  struct Call {
    Bytes rpc;
    std::uint32_t data = 0;
    std::uint32_t result = 0;
    std::size_t results = 1;  // number of such results
    std::uint32_t max_reply = 400;
    fabric::Time timeout = fabric::kNever;
  };
  void make(const Call& call);
  [[nodiscard]] Message call(const Call& call);
  [[nodiscard]] Message call();  // of the program without a binding; each one differs
  [[nodiscard]] Message read(std::uint32_t count);
  // The same, on a connection that was accepted and has its credits.
  [[nodiscard]] Message begin_with_read(std::uint32_t count) {
    accept();
    exchange();
    return read(count);
  }
  [[nodiscard]] Message write(std::uint32_t count);
  [[nodiscard]] Message readdir(std::uint32_t count);
  using Stage::read;
  using Stage::write;
  // Returns a valid Reply to any of these, with the Write list unused.
  [[nodiscard]] static Message reply_to(const Message& call);
  [[nodiscard]] static Message reply_to(const Message& call, Bytes rpc);
  // Exchanges one of these and its Reply.
  void exchange();

  // Our endpoint becomes a server as well, and the scripted peer connects to it.
  void listen();
  void connect();

  [[nodiscard]] Host& ours() { return *host_; }
  [[nodiscard]] std::size_t ended() const { return ends_.size(); }

  [[nodiscard]] std::string emitted();
  [[nodiscard]] std::string lives();
  void leave();

 private:
  struct End {
    protocol::CallStatus status;
    std::string reason;
  };
  void on_outcome(const protocol::CallOutcome& outcome, std::uint32_t connection) override;
  void on_lost(std::uint32_t connection, std::string_view what, fabric::Time retry) override;

  std::unique_ptr<Host> host_;
  testing::LoopHost loop_;
  std::unique_ptr<service::echo::EchoProgram> echo_;
  std::unique_ptr<service::Program> plain_;
  std::vector<service::Program*> programs_;
  std::uint64_t idle_ = 0;
  protocol::Block block_;
  std::deque<Bytes> bodies_;
  std::uint8_t plain_calls_ = 0;
  std::vector<End> ends_;
  std::vector<std::string> lost_;
  Accept last_;
  std::unique_ptr<fabric::Listener> listener_;

 public:
  std::unique_ptr<service::Client> client;

 private:
  std::unique_ptr<service::Server> server_;
  std::unique_ptr<Host> other_host_;
  std::unique_ptr<service::Loop> other_loop_;
  std::unique_ptr<service::echo::EchoProgram> other_echo_;
  std::vector<service::Program*> other_programs_;
  std::unique_ptr<service::Server> other_server_;

 public:
  std::unique_ptr<OtherClient> other;
};

}  // namespace rpcrdma::hostile
