// Helpers of the engine's benchmarks: Calls of the echo program between two loops, a thread each,
// on two loopback addresses, over real sockets. Any failure ends the program.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <rpcrdma/service/client.h>
#include <rpcrdma/service/echo.h>
#include <rpcrdma/service/server.h>
#include <rpcrdma/soft/provider.h>
#include <rpcrdma/trace/tracer.h>

namespace rpcrdma::bench {

inline constexpr std::uint32_t kMiB = 1U << 20;

// The last bytes of the loopback addresses of both ends.
inline constexpr std::uint8_t kClient = 1, kServer = 2;

// What an end admits.
struct Bounds {
  std::uint32_t connections = 2048;
  std::uint32_t credits = 64;  // of a connection
};

[[noreturn]] void die(const std::string& what);

// Error: any type with a `message`.
template <typename Result>
auto must(Result result) {
  if (!result) die(result.error().message);
  if constexpr (!std::is_void_v<typename Result::value_type>) return std::move(*result);
}

// A provider at 127.0.0.`last` and its loop. `spin`: as in service::LoopOptions.
struct Host {
  Host(std::uint8_t last, fabric::Time spin, trace::Tracer* tracer, Bounds bounds);
  std::unique_ptr<soft::SoftProvider> provider;
  std::unique_ptr<service::Loop> loop;
};

// A server at 127.0.0.`last` that runs as long as the object lives.
class RunningServer {
 public:
  // On the given processor, or on any.
  RunningServer(fabric::Time spin, std::optional<unsigned> processor,
                trace::Tracer* tracer = nullptr, std::uint8_t last = kServer, Bounds bounds = {});
  ~RunningServer();
  RunningServer(const RunningServer&) = delete;
  RunningServer& operator=(const RunningServer&) = delete;

  // CPU time that its thread has used.
  [[nodiscard]] double cpu_seconds();
  // Ends it. Returns the packets that it has retransmitted.
  std::uint64_t stop();

 private:
  std::thread thread_;
  std::uint64_t retransmitted_ = 0;
  service::Loop* loop_ = nullptr;
};

// Keeps this many Calls of one kind in flight on each connection; runs in the calling thread.
class Calls : public service::ClientObserver {
 public:
  // `longest`: the size of the longest request. From 127.0.0.`last` to the server at
  // 127.0.0.`server`.
  Calls(fabric::Time spin, std::uint32_t connections, std::uint32_t depth, std::uint32_t longest,
        trace::Tracer* tracer = nullptr, std::uint8_t last = kClient, std::uint8_t server = kServer,
        Bounds bounds = {});
  ~Calls() override;
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  // Returns Calls per second.
  double run(const service::echo::Request& request, std::uint64_t count);

  // The packets that this end has retransmitted.
  [[nodiscard]] std::uint64_t retransmitted() const;

  std::vector<double> us;  // of each Call, if `timed`
  bool timed = false;

  void on_outcome(const protocol::CallOutcome& outcome, std::uint32_t connection) override;
  void on_lost(std::uint32_t connection, std::string_view what, fabric::Time again) override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Slot {
    service::echo::EchoCall call;
    std::uint32_t connection;
    Clock::time_point begun;
  };

  void turn();
  void next(std::uint32_t i);

  Host host_;
  service::echo::Pattern pattern_;
  std::deque<Slot> slots_;
  service::echo::Request request_;
  std::uint64_t left_ = 0, ended_ = 0;
  std::unique_ptr<service::Client> client_;
};

}  // namespace rpcrdma::bench
