// The scripted peer is a client of our server.
#pragma once

#include "stage.h"

#include <rpcrdma/service/callback.h>

namespace rpcrdma::hostile {

class AgainstServer : public Stage {
 public:
  explicit AgainstServer(const service::ServerOptions& options);
  ~AgainstServer() override;

  // Opens another connection. By default it has no private data, so the thresholds are 1024 bytes.
  struct Connect {
    Bytes private_data = scenes::private_data(4096, 4096, true);
    std::size_t receives = kReceives;
  };
  void connect(const Connect& how);
  void connect() { connect(Connect()); }

  // Exchanges a plain Call and its Reply, of `version`.
  void exchange();
  std::uint32_t version = 1;

  // Makes our server send a reverse Call of the echo program; returns it, or does not wait for it.
  [[nodiscard]] Message ask_for_reverse_calls(service::echo::Proc proc, std::uint32_t bytes) {
    ask(proc, bytes);
    return next_reverse_call();
  }
  void ask(service::echo::Proc proc, std::uint32_t bytes);
  [[nodiscard]] Message next_reverse_call();
  // Queries the results of reverse Calls, for emitted().
  void wait_for_reverse_calls();
  std::string of_reverse_calls;

  // Describes what our server did since the scene began.
  [[nodiscard]] std::string emitted();
  // Describes on which connection it now answers.
  [[nodiscard]] std::string lives();
  // Ends all connections, and checks that their memory was released.
  void leave();

 private:
  std::unique_ptr<Host> host_;
  std::unique_ptr<service::Loop> loop_;
  std::unique_ptr<service::echo::EchoProgram> echo_;
  std::unique_ptr<service::callback::CallbackProgram> callback_;
  std::unique_ptr<service::Program> plain_, nfs_;
  std::vector<service::Program*> programs_;
  testing::Recorded observer_;
  std::uint64_t idle_ = 0;

 public:
  std::unique_ptr<service::Server> server;

 private:
  std::unique_ptr<Host> other_host_;
  testing::LoopHost other_loop_;

 public:
  std::unique_ptr<OtherClient> other;

 private:
  Connect last_;
  std::uint32_t next_xid_ = 0x1000;
};

}  // namespace rpcrdma::hostile
