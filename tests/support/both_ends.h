// A server with the echo and callback programs and a client that serves echo Calls itself, in one
// thread, on loopback addresses of this process.
#pragma once

#include "service_hosts.h"

#include <rpcrdma/service/callback.h>

namespace rpcrdma::testing {

struct CallbackServer {
  explicit CallbackServer(service::ServerOptions options = {},
                          const service::callback::ProgramOptions& callbacks = {},
                          std::string_view faults = {})
      : provider(open_provider(kServerHost, faults)),
        loop(service::Loop::create(*provider, {}).value()),
        echo(
            service::echo::EchoProgram::create(loop->memory(), kLongest, &service::Loop::read_clock)
                .value()),
        callback(
            service::callback::CallbackProgram::create(loop->memory(), loop->clock(), callbacks)
                .value()),
        programs{echo.get(), callback.get()},
        server(service::Server::create(*loop, programs, options, &emitted).value()) {}

  std::unique_ptr<soft::SoftProvider> provider;
  std::unique_ptr<service::Loop> loop;
  std::unique_ptr<service::echo::EchoProgram> echo;
  std::unique_ptr<service::callback::CallbackProgram> callback;
  std::vector<service::Program*> programs;
  Recorded emitted;
  std::unique_ptr<service::Server> server;
};

// One connection: calls the callback program, which calls its echo program.
class CallbackClient : public service::ClientObserver {
 public:
  CallbackClient(ClientHost& host, CallbackServer& server, service::ClientOptions options)
      : host_(host),
        server_(server),
        echo(service::echo::EchoProgram::create(host.loop->memory(), kLongest).value()),
        programs_{echo.get()} {
    options.programs = programs_;
    client_ = service::Client::create(*host.loop, options, *this).value();
  }

  bool until(const std::function<bool()>& condition) {
    return host_.until(
        [&] {
          EXPECT_TRUE(server_.loop->run_once(0));
          return condition();
        },
        fabric::kMillisecond);
  }

  // Makes one Call and waits for its end; returns nothing unless it succeeds.
  std::optional<service::callback::Result> start(const service::callback::Plan& plan) {
    return one(call_.start(plan), service::callback::Proc::kStart);
  }
  std::optional<service::callback::Result> wait(std::uint64_t session) {
    return one(call_.wait(session), service::callback::Proc::kWait);
  }
  std::optional<service::callback::Result> end(std::uint64_t session) {
    return one(call_.end(session), service::callback::Proc::kEnd);
  }

  void on_outcome(const protocol::CallOutcome& outcome, std::uint32_t) override {
    result_ = service::callback::CallbackCall::read(outcome, proc_);
    status = outcome.status;
    ended_ = true;
  }
  void on_connected(const service::ConnectionInfo&) override { ++connected; }
  void on_lost(std::uint32_t, std::string_view what, fabric::Time) override {
    lost.emplace_back(what);
  }

  service::Client& client() { return *client_; }

  std::uint32_t connected = 0;
  std::vector<std::string> lost;
  protocol::CallStatus status = protocol::CallStatus::kReplied;

 private:
  std::optional<service::callback::Result> one(const protocol::CallSpec& spec,
                                               service::callback::Proc proc) {
    proc_ = proc;
    ended_ = false;
    EXPECT_TRUE(client_->call(spec));
    EXPECT_TRUE(until([this] { return ended_; }));
    return ended_ ? result_ : std::nullopt;
  }

  ClientHost& host_;
  CallbackServer& server_;

 public:
  std::unique_ptr<service::echo::EchoProgram> echo;

 private:
  std::vector<service::Program*> programs_;
  service::callback::CallbackCall call_;
  service::callback::Proc proc_ = service::callback::Proc::kNull;
  bool ended_ = false;
  std::optional<service::callback::Result> result_;
  std::unique_ptr<service::Client> client_;
};

}  // namespace rpcrdma::testing
