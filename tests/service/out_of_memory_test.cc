// A server and a client run out of memory at each allocation in turn during a whole exchange:
// connections are opened, used by Calls of every kind, and closed. Only the affected Call or
// connection fails, no memory leaks, and later clients are served.
#include "support/counting_new.h"
#include "support/sim_host.h"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/service/callback.h>
#include <rpcrdma/service/client.h>
#include <rpcrdma/service/echo.h>
#include <rpcrdma/service/loop.h>
#include <rpcrdma/service/server.h>
#include <rpcrdma/soft/sim_network.h>
#include <rpcrdma/trace/tracer.h>

namespace rpcrdma::testing {
namespace {

using fabric::kMillisecond;
using fabric::kSecond;
using fabric::Time;
using service::echo::Proc;
using service::echo::Request;
using service::echo::Verdict;
using wire::testing::FailingNew;

constexpr std::uint32_t kLongest = 64 << 10;
constexpr std::uint32_t kTraceBytes = 1 << 20;

// A host whose own allocations fail, and not those of the simulated network.
class ScarceHost : public protocol::testing::SimHost {
 public:
  ScarceHost(soft::SimNetwork& net, const soft::AdapterOptions& options, FailingNew& failing)
      : SimHost(net, options, 1, {}),
        limits_{1U << 30, fabric::kMaxSlices, true, true, true},
        failing_(failing) {}

  const fabric::Limits& limits() const override { return limits_; }
  void receive(const soft::Path& path, wire::Bytes packet, Time now) override {
    failing_.in([&] { SimHost::receive(path, packet, now); });
  }
  bool transmit(soft::OutPacket& packet, Time now) override {
    return failing_.in([&] { return SimHost::transmit(packet, now); });
  }
  void expire(Time now) override {
    failing_.in([&] { SimHost::expire(now); });
  }

 private:
  const fabric::Limits limits_;
  FailingNew& failing_;
};

soft::AdapterOptions at(std::uint8_t host, trace::Tracer* tracer = nullptr) {
  soft::AdapterOptions options;
  options.address = fabric::make_ipv4(127, 0, 0, host);
  options.tracer = tracer;
  return options;
}

struct World {
  soft::SimNetwork net{1};
  Time clock = kSecond;
  std::vector<std::function<void()>> turns;

  World() { net.run_for(kSecond); }
  // Returns false after a simulated minute.
  [[nodiscard]] bool until(const std::function<bool()>& condition) {
    const Time end = clock + 60 * kSecond;
    Time idle = kMillisecond;
    while (!condition()) {
      if (clock > end) return false;
      for (const auto& turn : turns) turn();
      const bool happened = net.run_until([&] { return net.now() > clock; }, clock + idle);
      idle = happened ? kMillisecond : std::min(2 * idle, 200 * kMillisecond);
      clock = net.now();
    }
    return true;
  }
};

service::LoopOptions loop_options(World& world, trace::Tracer* tracer) {
  service::LoopOptions options;
  options.memory.slab_bytes = 64 << 10;  // so that more slabs are needed during the exchange
  options.clock = &world.clock;
  options.tracer = tracer;
  return options;
}

// Turns off features that the profile lacks (docs/rfc5666.md).
template <typename Options>
void apply(service::Profile profile, Options& options) {
  options.profile = profile;
  if (profile == service::Profile::k8166) return;
  options.private_data = options.remote_invalidation = false;
  options.version.versions = {1, 1};
}

service::ServerOptions server_options(service::Profile profile) {
  service::ServerOptions options;
  apply(profile, options);
  options.reverse_credits = 4;
  options.handshake = kSecond;
  return options;
}

struct Server {
  Server(World& w, service::Profile profile, FailingNew& failing)
      : world(w),
        host(w.net, at(2, &tracer), failing),
        loop(service::Loop::create(host, loop_options(w, &tracer)).value()),
        echo(service::echo::EchoProgram::create(loop->memory(), kLongest).value()),
        callback(service::callback::CallbackProgram::create(loop->memory(), loop->clock()).value()),
        programs{echo.get(), callback.get()},
        server(service::Server::create(*loop, programs, server_options(profile)).value()) {
    tracer.listen(true);
    at_rest = loop->memory().in_use();
    world.turns.emplace_back([this, &failing] {
      failing.in([&] { ASSERT_TRUE(loop->run_once(0)); });
      host.wake();
    });
  }

  World& world;
  trace::Tracer tracer{1, kTraceBytes};
  ScarceHost host;
  std::unique_ptr<service::Loop> loop;
  std::unique_ptr<service::echo::EchoProgram> echo;
  std::unique_ptr<service::callback::CallbackProgram> callback;
  std::array<service::Program*, 2> programs;
  std::unique_ptr<service::Server> server;
  std::uint64_t at_rest = 0;  // bytes in use without a connection
};

// Every way to carry a Call and its Reply.
constexpr std::array<Request, 9> kRequests{
    Request{Proc::kNull},
    Request{Proc::kEcho, 100},
    Request{Proc::kSink, 40000, 0, 1},      // Read chunk
    Request{Proc::kSource, 40000, 0, 2},    // Write chunk
    Request{Proc::kEchoBulk, 30000, 0, 3},  // both
    Request{Proc::kList, 16, 1000, 4},      // Reply chunk
    Request{Proc::kEcho, 20000, 0, 5},      // long Call and Reply
    Request{Proc::kSleep, 0, 0, 0, 2000},   // answered later
    Request{Proc::kCount},                  // not idempotent
};

struct Client : service::ClientObserver {
  Client(World& world, service::Profile profile, std::uint8_t at_host, FailingNew& failing)
      : host(world.net, at(at_host, &tracer), failing),
        loop(service::Loop::create(host, loop_options(world, &tracer)).value()),
        pattern(service::echo::Pattern::create(loop->memory(), kLongest).value()) {
    tracer.listen(true);
    for (std::size_t i = 0; i < kRequests.size(); ++i) {
      calls.push_back(service::echo::EchoCall::create(loop->memory(), pattern, kLongest).value());
    }
    at_rest = loop->memory().in_use();
    service::ClientOptions options;
    options.server = fabric::make_ipv4(127, 0, 0, 2);
    options.backoff_first = kMillisecond;
    options.backoff_most = 10 * kMillisecond;
    options.connect_timeout = kSecond;
    apply(profile, options);
    client = service::Client::create(*loop, options, *this).value();
    world.turns.emplace_back([this, &failing] {
      failing.in([&] { ASSERT_TRUE(loop->run_once(0)); });
      host.wake();
    });
  }

  // A Call that cannot be started has ended.
  void call_all() {
    for (std::size_t i = 0; i < kRequests.size(); ++i) {
      auto spec = calls[i].begin(kRequests[i]).value();
      spec.cookie = i;
      spec.timeout = 5 * kSecond;
      const auto called = client->call(spec);
      ASSERT_TRUE(called) << called.error().message;
    }
  }
  void on_outcome(const protocol::CallOutcome& outcome, std::uint32_t /*connection*/) override {
    ++ended;
    if (calls[outcome.cookie].check(outcome) == Verdict::kRight) ++right;
  }
  [[nodiscard]] bool done() const { return ended == kRequests.size(); }

  trace::Tracer tracer{1, kTraceBytes};
  ScarceHost host;
  std::unique_ptr<service::Loop> loop;
  service::echo::Pattern pattern;
  std::vector<service::echo::EchoCall> calls;
  std::unique_ptr<service::Client> client;
  std::uint64_t at_rest = 0;
  std::size_t ended = 0;
  std::size_t right = 0;
};

// Makes all of a client's Calls, and ends it.
void exchange(World& world, Client& client) {
  client.call_all();
  ASSERT_TRUE(world.until([&] { return client.done(); }));
  client.client->close();
  ASSERT_TRUE(world.until([&] { return client.client->closed(); }));
}

// Checks that nothing is left of the old client, and that another one is served.
void expect_all_well(World& world, service::Profile profile, Server& server) {
  FailingNew enough(0, 0);
  Client next(world, profile, 4, enough);
  exchange(world, next);
  EXPECT_EQ(next.right, kRequests.size());
  ASSERT_TRUE(world.until([&] { return server.server->connections() == 0; }));
  ASSERT_TRUE(world.until([&] { return server.host.adapter.connections() == 0; }));
  EXPECT_EQ(server.loop->memory().in_use(), server.at_rest);
}

// Returns true if there was an allocation to fail.
bool server_fails_at(service::Profile profile, std::size_t allocation, std::size_t failures) {
  World world;
  FailingNew failing(allocation, failures);
  FailingNew enough(0, 0);
  Server server(world, profile, failing);
  Client client(world, profile, 3, enough);
  exchange(world, client);
  failing.stop();
  expect_all_well(world, profile, server);
  return failing.hit();
}

class OutOfMemory : public ::testing::TestWithParam<service::Profile> {};
INSTANTIATE_TEST_SUITE_P(Profiles, OutOfMemory,
                         ::testing::Values(service::Profile::k8166, service::Profile::k5666),
                         [](const auto& of) {
                           return of.param == service::Profile::k8166 ? "Rfc8166" : "Rfc5666";
                         });

TEST_P(OutOfMemory, AServerLosesNoMoreThanWhatThereWasNoneFor) {
  std::size_t allocation = 0;
  while (server_fails_at(GetParam(), allocation, 1)) {
    ASSERT_FALSE(::testing::Test::HasFailure()) << "at allocation " << allocation;
    ++allocation;
  }
  EXPECT_GT(allocation, 50U) << "the exchange is to ask for memory in many places";
}

TEST_P(OutOfMemory, AServerWithoutAnyServesAgainWhenThereIsSome) {
  // Each place again, and from there on all allocations fail.
  for (std::size_t allocation = 0; server_fails_at(GetParam(), allocation, FailingNew::kAll);
       ++allocation) {
    ASSERT_FALSE(::testing::Test::HasFailure()) << "at allocation " << allocation;
  }
}

TEST_P(OutOfMemory, AClientLosesNoMoreThanWhatThereWasNoneFor) {
  for (std::size_t allocation = 0;; ++allocation) {
    World world;
    FailingNew failing(allocation);
    FailingNew enough(0, 0);
    Server server(world, GetParam(), enough);
    Client client(world, GetParam(), 3, failing);
    exchange(world, client);
    failing.stop();
    EXPECT_EQ(client.loop->memory().in_use(), client.at_rest);
    expect_all_well(world, GetParam(), server);
    ASSERT_FALSE(::testing::Test::HasFailure()) << "at allocation " << allocation;
    if (!failing.hit()) return;
  }
}

// Each turn ends, also if no connection can be made for want of memory, and the client closes once
// there is some.
TEST_P(OutOfMemory, AClientWithoutAnyEndsItsTurns) {
  bool hit = true;
  for (std::size_t allocation = 0; hit; ++allocation) {
    World world;
    FailingNew failing(allocation, FailingNew::kAll);
    FailingNew enough(0, 0);
    Server server(world, GetParam(), enough);
    Client client(world, GetParam(), 3, failing);
    client.call_all();
    const Time end = world.clock + 2 * kSecond;
    ASSERT_TRUE(world.until([&] { return client.done() || world.clock > end; }));
    failing.stop();
    hit = failing.hit();
    client.client->close();
    ASSERT_TRUE(world.until([&] { return client.client->closed(); })) << allocation;
    expect_all_well(world, GetParam(), server);
    ASSERT_FALSE(::testing::Test::HasFailure()) << "at allocation " << allocation;
  }
}

}  // namespace
}  // namespace rpcrdma::testing
