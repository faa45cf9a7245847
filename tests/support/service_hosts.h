// A server in a thread of its own and clients in the test's thread, on loopback addresses of this
// process.
#pragma once

#include "two_peers.h"

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/service/client.h>
#include <rpcrdma/service/echo.h>
#include <rpcrdma/service/loop.h>
#include <rpcrdma/service/server.h>
#include <rpcrdma/soft/provider.h>

namespace rpcrdma::testing {

inline constexpr std::uint32_t kLongest = 1U << 20;
inline constexpr std::uint8_t kServerHost = 2;
// 4.096 us * 2^n. Each consecutive timeout is twice as long, up to a second: a dead peer is
// detected after 4 seconds by default, after one second with kShortAckTimeout, which the peer
// adopts with the connection.
inline const std::uint8_t kDefaultAckTimeout = soft::AdapterOptions{}.ack_timeout;
inline constexpr std::uint8_t kShortAckTimeout = 11;

inline std::unique_ptr<soft::SoftProvider> open_provider(
    std::uint8_t host, std::string_view faults = {}, const soft::CmLimits& cm = {},
    trace::Tracer* tracer = nullptr, std::uint8_t ack_timeout = kDefaultAckTimeout) {
  soft::ProviderOptions options;
  options.adapter.ack_timeout = ack_timeout;
  options.adapter.cm = cm;
  options.faults = soft::parse_faults(faults).value();
  options.adapter.address = own_address(host);
  options.adapter.tracer = tracer;
  auto opened = soft::SoftProvider::open(options);
  EXPECT_TRUE(opened) << (opened ? "" : opened.error().message);
  return opened ? std::move(*opened) : nullptr;
}

// Collects a server's notifications about its connections.
struct Recorded : service::ServerObserver {
  void on_connected(const service::ConnectionInfo& c) override { connected.push_back(c.number); }
  void on_closed(const service::ConnectionInfo& c, service::CloseReason reason,
                 std::string_view what) override {
    closed.push_back({c.number, reason, std::string(what)});
  }
  void on_rejected(const fabric::Address&, std::string_view what) override {
    rejected.emplace_back(what);
  }

  struct Closed {
    std::uint32_t number;
    service::CloseReason reason;
    std::string what;
  };
  std::vector<std::uint32_t> connected;
  std::vector<Closed> closed;
  std::vector<std::string> rejected;
};

// A server with the echo program; not running yet.
struct ServerParts {
  explicit ServerParts(const service::ServerOptions& options = {}, std::string_view faults = {},
                       const service::LoopOptions& loop_options = {}, const soft::CmLimits& cm = {})
      : provider(open_provider(kServerHost, faults, cm, loop_options.tracer)),
        loop(service::Loop::create(*provider, loop_options).value()),
        echo(
            service::echo::EchoProgram::create(loop->memory(), kLongest, &service::Loop::read_clock)
                .value()),
        programs{echo.get()},
        server(service::Server::create(*loop, programs, options, &emitted).value()) {}

  std::unique_ptr<soft::SoftProvider> provider;
  std::unique_ptr<service::Loop> loop;
  std::unique_ptr<service::echo::EchoProgram> echo;
  std::vector<service::Program*> programs;
  Recorded emitted;
  std::unique_ptr<service::Server> server;
};

// A server that runs until stop(), or destruction.
class RunningServer {
 public:
  explicit RunningServer(const service::ServerOptions& options = {}, std::string_view faults = {},
                         const service::LoopOptions& loop_options = {})
      : parts_(options, faults, loop_options),
        thread_([this] { EXPECT_TRUE(parts_.loop->run()); }) {}
  ~RunningServer() { stop(); }
  RunningServer(const RunningServer&) = delete;
  RunningServer& operator=(const RunningServer&) = delete;

  // Stops it and returns its counters.
  const service::ServerCounters& stop() {
    if (thread_.joinable()) {
      parts_.loop->stop();
      thread_.join();
      counters_ = parts_.server->counters();
    }
    return counters_;
  }
  // Notifications of a server that has ended.
  const Recorded& emitted() const { return parts_.emitted; }

 private:
  ServerParts parts_;
  std::thread thread_;
  service::ServerCounters counters_;
};

inline service::ClientOptions to_server() {
  service::ClientOptions options;
  options.server = own_address(kServerHost);
  options.backoff_first = fabric::kMillisecond;
  options.backoff_most = 20 * fabric::kMillisecond;
  return options;
}

// A loop, and the data that echo Calls need.
struct LoopHost {
  LoopHost(fabric::Provider& provider, const service::LoopOptions& options)
      : loop(service::Loop::create(provider, options).value()),
        pattern(service::echo::Pattern::create(loop->memory(), kLongest).value()) {}

  // Returns false after twenty seconds.
  // `wait`: the longest time in the loop at once, if others have to run, too.
  bool until(const std::function<bool()>& condition,
             fabric::Time wait = 100 * fabric::kMillisecond) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      const auto going = loop->run_once(wait);
      if (!going || !*going) return false;
    }
    return true;
  }

  std::unique_ptr<service::Loop> loop;
  service::echo::Pattern pattern;
};

struct OpenedProvider {
  std::unique_ptr<soft::SoftProvider> provider;
};

// A loop with a provider of its own.
struct ClientHost : OpenedProvider, LoopHost {
  explicit ClientHost(std::uint8_t host = 1, std::string_view faults = {},
                      trace::Tracer* tracer = nullptr,
                      std::uint8_t ack_timeout = kDefaultAckTimeout)
      : OpenedProvider{open_provider(host, faults, {}, tracer, ack_timeout)},
        LoopHost(*provider, {.memory = {}, .spin = 0, .tracer = tracer}) {}
};

struct Done {
  service::echo::Verdict verdict = service::echo::Verdict::kRpcError;
  protocol::CallStatus status = protocol::CallStatus::kReplied;
  std::string text;
  std::uint32_t xid = 0;
  std::uint32_t attempts = 0;
  std::uint32_t connection = 0;
  protocol::CallTimes times;
  std::optional<service::echo::ServerTimes> server_times;
};

// A client that makes echo Calls and records their ends.
class EchoClient : public service::ClientObserver {
 public:
  explicit EchoClient(LoopHost& host, const service::ClientOptions& options = to_server())
      : host_(host), client_(service::Client::create(*host.loop, options, *this).value()) {}

  // Returns the XID.
  std::uint32_t call(const service::echo::Request& request, fabric::Time timeout = fabric::kNever) {
    if (free_.empty()) {
      auto created = service::echo::EchoCall::create(host_.loop->memory(), host_.pattern, kLongest);
      EXPECT_TRUE(created);
      calls_.push_back(std::move(*created));
      free_.push_back(calls_.size() - 1);
    }
    const std::size_t slot = free_.back();
    free_.pop_back();
    auto spec = calls_[slot].begin(request).value();
    spec.cookie = slot;
    spec.timeout = timeout;
    const auto xid = client_->call(spec);
    EXPECT_TRUE(xid) << xid.error().message;
    ++made;
    return xid.value_or(0);
  }
  // Returns true when all Calls have ended.
  bool finish_calls() {
    return host_.until([&] { return done.size() == made; });
  }
  bool all_right() const {
    for (const Done& d : done) {
      if (d.verdict == service::echo::Verdict::kRight) continue;
      ADD_FAILURE() << service::echo::verdict_name(d.verdict) << ": " << d.text;
      return false;
    }
    return true;
  }

  void on_outcome(const protocol::CallOutcome& outcome, std::uint32_t connection) override {
    service::echo::EchoCall& call = calls_[outcome.cookie];
    Done& d = done.emplace_back();
    d.verdict = call.check(outcome);
    d.status = outcome.status;
    d.text = service::describe(outcome, service::ReplyReader(outcome));
    d.xid = outcome.xid;
    d.attempts = outcome.attempts;
    d.connection = connection;
    d.times = outcome.times;
    d.server_times = call.server_times();
    free_.push_back(outcome.cookie);
    if (on_done) on_done();
  }
  void on_connected(const service::ConnectionInfo& info) override { connected.push_back(info); }
  void on_lost(std::uint32_t, std::string_view what, fabric::Time) override {
    lost.emplace_back(what);
  }

  service::Client& client() { return *client_; }

  std::size_t made = 0;
  std::vector<Done> done;
  std::vector<service::ConnectionInfo> connected;
  std::vector<std::string> lost;
  std::function<void()> on_done;

 private:
  LoopHost& host_;
  std::deque<service::echo::EchoCall> calls_;
  std::vector<std::size_t> free_;
  std::unique_ptr<service::Client> client_;
};

// The same, with a server in this thread.
inline bool both_until(ClientHost& host, ServerParts& parts,
                       const std::function<bool()>& condition) {
  return host.until(
      [&] {
        EXPECT_TRUE(parts.loop->run_once(0));
        return condition();
      },
      fabric::kMillisecond);
}

}  // namespace rpcrdma::testing
