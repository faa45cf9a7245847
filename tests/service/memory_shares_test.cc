// Hostile hosts take all the memory that their shares allow and answer the server's RDMA Reads in
// drips, on links that are as slow. Clients that arrive later are served as fast as before, and the
// hostile ones lose their places. In simulated time.
#include "bad_peer.h"
#include "support/sim_host.h"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <rpcrdma/soft/sim_network.h>

namespace rpcrdma::testing {
namespace {

using fabric::kMillisecond;
using fabric::kSecond;
using fabric::Time;
using protocol::testing::OpenHeader;
using protocol::testing::SimHost;
using service::echo::Proc;
using ::testing::HasSubstr;

constexpr std::uint32_t kChunk = 1U << 20;    // the longest that the server accepts
constexpr std::uint64_t kMemory = 48U << 20;  // of the server
constexpr std::uint32_t kConnections = 64;
constexpr std::uint8_t kAckTimeout = 20;           // 4.3 s: each drip comes in time for the fabric
constexpr std::uint64_t kDripsPerSecond = 80'000;  // bits: a packet of 4 KiB takes 0.4 s

struct Network {
  soft::SimNetwork net{1};
  Time clock = kSecond;
  std::vector<std::function<void()>> turns;

  Network() { net.run_for(kSecond); }
  // Returns false after two simulated minutes.
  [[nodiscard]] bool until(const std::function<bool()>& condition) {
    const Time end = clock + 120 * kSecond;
    while (!condition()) {
      if (clock > end) return false;
      for (const auto& turn : turns) turn();
      (void)net.run_until([&] { return net.now() > clock; }, clock + kMillisecond);
      clock = net.now();
    }
    return true;
  }
};

fabric::Address address(std::uint8_t last) {
  return fabric::make_ipv4(10, 0, 0, last);
}

std::unique_ptr<SimHost> host(Network& network, std::uint8_t last, const soft::SimLink& link = {}) {
  soft::AdapterOptions options;
  options.address = address(last);
  options.ack_timeout = kAckTimeout;
  return std::make_unique<SimHost>(network.net, options, last, link);
}

service::LoopOptions with_clock(Network& network, std::uint64_t memory = 1U << 30) {
  service::LoopOptions options;
  options.memory = {.slab_bytes = 256U << 10, .limit = memory};
  options.clock = &network.clock;
  return options;
}

struct Server {
  explicit Server(Network& network)
      : provider(host(network, 1)),
        loop(service::Loop::create(*provider, with_clock(network, kMemory)).value()),
        echo(service::echo::EchoProgram::create(loop->memory(), kChunk).value()),
        programs{echo.get()},
        server(service::Server::create(*loop, programs, options(), &emitted).value()) {
    network.turns.emplace_back([this] {
      ASSERT_TRUE(loop->run_once(0));
      provider->wake();
    });
  }
  static service::ServerOptions options() {
    service::ServerOptions o;
    o.max_connections = kConnections;
    o.responder.max_chunk_bytes = kChunk;
    return o;
  }

  std::unique_ptr<SimHost> provider;
  std::unique_ptr<service::Loop> loop;
  std::unique_ptr<service::echo::EchoProgram> echo;
  std::array<service::Program*, 1> programs;
  Recorded emitted;
  std::unique_ptr<service::Server> server;
};

// A client of one Call after the other, with a Read chunk of 8 KiB.
struct Honest {
  Honest(Network& network, std::uint8_t last)
      : provider(host(network, last)), parts(*provider, with_clock(network)), echo(parts, to()) {
    network.turns.emplace_back([this] {
      ASSERT_TRUE(parts.loop->run_once(0));
      provider->wake();
    });
  }
  static service::ClientOptions to() {
    service::ClientOptions o = to_server();
    o.server = address(1);
    return o;
  }
  // Returns the time of the slowest of `count` Calls.
  Time slowest(Network& network, std::size_t count) {
    const std::size_t before = echo.done.size();
    for (std::size_t i = 0; i < count; ++i) {
      const Time begun = network.clock;
      echo.call({Proc::kSink, 8192, 0, static_cast<std::uint32_t>(i), 0});
      EXPECT_TRUE(network.until([&] { return echo.done.size() == echo.made; }));
      if (::testing::Test::HasFailure()) break;
      worst_ = i == 0 ? network.clock - begun : std::max(worst_, network.clock - begun);
    }
    EXPECT_EQ(echo.done.size() - before, count);
    EXPECT_TRUE(echo.all_right());
    return worst_;
  }

  std::unique_ptr<SimHost> provider;
  LoopHost parts;
  EchoClient echo;

 private:
  Time worst_ = 0;
};

// Announces Read chunks and answers RDMA Reads in drips.
struct Hostile : ScriptedPeerOf<SimHost> {
  Hostile(Network& network, std::uint8_t last)
      : ScriptedPeerOf(host(network, last,
                            {.out = {.delay = 5 * fabric::kMicrosecond,
                                     .bits_per_second = kDripsPerSecond,
                                     .queue_bytes = 16U << 20}}),
                       kChunkArea + kChunk) {
    fabric::ConnectionOptions o;
    o.depths = {64, 64, 4};
    connection = provider->connect(address(1), service::kDefaultPort, o).value();
    post_receives(64);
    network.turns.emplace_back([this] {
      step();
      provider->wake();
    });
  }
  // The Reply to its first Call grants its credits.
  void greet() { send(0, null_call(0)); }
  void announce(std::uint32_t calls, std::uint32_t bytes) {
    const fabric::MemoryRegion e = advertise(kChunkArea, bytes);
    for (std::uint32_t i = 1; i <= calls; ++i) {
      OpenHeader h = open_header(i);
      h.reads = {{48, {e.handle, bytes, e.offset}}};
      send(i, h.encode(echo_call(i, Proc::kSink, 0, bytes)));
    }
  }
};

class MemoryShares : public ::testing::Test {
 protected:
  // Twelve hosts that want four long chunks each, and more for the rest that these leave.
  void attack() {
    for (std::uint8_t last = 100; last < 118; ++last) {
      hostile.push_back(std::make_unique<Hostile>(network, last));
    }
    ASSERT_TRUE(network.until([&] {
      return std::ranges::all_of(
          hostile, [](const auto& h) { return h->saw(fabric::EventType::kEstablished); });
    }));
    for (const auto& h : hostile) h->greet();
    ASSERT_TRUE(network.until([&] {
      return std::ranges::all_of(hostile, [](const auto& h) { return h->received() == 1; });
    }));
    for (std::size_t i = 0; i < 12; ++i) hostile[i]->announce(4, kChunk);
    std::uint32_t bytes = kChunk;
    for (std::size_t i = 12; i < hostile.size(); ++i, bytes /= 4) hostile[i]->announce(20, bytes);
    const Time end = network.clock + 2 * kSecond;
    ASSERT_TRUE(network.until([&] { return network.clock > end; }));
  }

  Network network;
  Server server{network};
  std::vector<std::unique_ptr<Hostile>> hostile;
};

TEST_F(MemoryShares, AnAttackOfManyHostsDelaysNoOther) {
  Honest early(network, 2);
  const Time usual = early.slowest(network, 20);
  ASSERT_GT(usual, 0);
  ASSERT_NO_FATAL_FAILURE(attack());
  // It takes what it can get.
  const std::uint64_t taken = server.loop->memory().in_use();
  EXPECT_GT(taken, kMemory / 2);
  EXPECT_LE(early.slowest(network, 20), 2 * usual);
  Honest late(network, 3);
  (void)late.slowest(network, 1);  // it connects
  EXPECT_LE(late.slowest(network, 20), 2 * usual);
  EXPECT_TRUE(server.emitted.closed.empty());
}

TEST_F(MemoryShares, WhoAnswersReadsInDripsLosesItsPlace) {
  ASSERT_NO_FATAL_FAILURE(attack());
  ASSERT_TRUE(network.until([&] { return server.server->counters().responder.slow_pulls >= 12; }));
  ASSERT_FALSE(server.emitted.closed.empty());
  EXPECT_EQ(server.emitted.closed[0].reason, service::CloseReason::kProtocol);
  EXPECT_THAT(server.emitted.closed[0].what, HasSubstr("arrived too slowly"));
  // What they held serves others, with the longest Calls, too.
  Honest late(network, 3);
  late.echo.call({Proc::kSink, kChunk, 0, 0, 0});
  ASSERT_TRUE(network.until([&] { return late.echo.done.size() == 1; }));
  EXPECT_TRUE(late.echo.all_right());
}

}  // namespace
}  // namespace rpcrdma::testing
