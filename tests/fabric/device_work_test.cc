// What a Call asks of an RDMA device: doorbells, work requests, completions, notifications and
// registrations, on both sides. The numbers are the least that the protocol permits, so a change
// that adds to them must say why.
#include "fake_rdma_core.h"
#include "system_for_tests.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/service/client.h>
#include <rpcrdma/service/echo.h>
#include <rpcrdma/service/loop.h>
#include <rpcrdma/service/server.h>
#include <rpcrdma/verbs/provider.h>

namespace rpcrdma::testing {
namespace {

using service::echo::Proc;
using verbs::HandleKind;
using verbs::WorkCounters;

constexpr std::uint32_t kLongest = 64U << 10;
// A multiple of the Receives that are posted at once. Fewer than the unsignaled work requests after
// which one is signaled.
constexpr std::uint64_t kCalls = 64;
constexpr std::uint64_t kReceivesAtOnce = 8;

std::unique_ptr<verbs::VerbsProvider> open_fake(const FakeRoot& root, HandleKind handles) {
  verbs::VerbsOptions options;
  options.address = fabric::parse_address("10.77.0.1").value();
  options.handles = handles;
  options.root = root.path();
  auto opened = verbs::VerbsProvider::open(options);
  EXPECT_TRUE(opened) << (opened ? "" : opened.error().message);
  return opened ? std::move(*opened) : nullptr;
}

WorkCounters operator-(const WorkCounters& a, const WorkCounters& b) {
  return {a.send_posts - b.send_posts,
          a.send_requests - b.send_requests,
          a.signaled - b.signaled,
          a.binds - b.binds,
          a.invalidations - b.invalidations,
          a.receive_posts - b.receive_posts,
          a.receive_requests - b.receive_requests,
          a.completions - b.completions,
          a.notifications - b.notifications,
          a.registrations - b.registrations,
          a.pool_registrations - b.pool_registrations};
}

// What one side did for a number of Calls.
struct Expected {
  std::uint64_t posts = 0, requests = 0, signaled = 0;
  std::uint64_t registrations = 0, binds = 0, invalidations = 0;
};

class DeviceWork : public ::testing::TestWithParam<HandleKind>, private service::ClientObserver {
 protected:
  DeviceWork()
      : server_provider_(open_fake(root_, GetParam())),
        client_provider_(open_fake(root_, GetParam())),
        server_loop_(service::Loop::create(*server_provider_, {}).value()),
        client_loop_(service::Loop::create(*client_provider_, {}).value()),
        echo_(service::echo::EchoProgram::create(server_loop_->memory(), kLongest).value()),
        programs_{echo_.get()},
        pattern_(service::echo::Pattern::create(client_loop_->memory(), kLongest).value()) {
    server_ = service::Server::create(*server_loop_, programs_, {}).value();
    service::ClientOptions options;
    options.server = fabric::parse_address("10.77.0.1").value();
    client_ = service::Client::create(*client_loop_, options, *this).value();
  }

  // A loop that does not sleep looks at connection events now and then only.
  void SetUp() override {
    for (int turns = 0; client_->up() == 0; ++turns) {
      ASSERT_LT(turns, 10'000) << "no connection";
      turn();
      if (HasFatalFailure()) return;
    }
  }

  void turn() {
    ASSERT_TRUE(client_loop_->run_once(0));
    ASSERT_TRUE(server_loop_->run_once(0));
  }

  // Makes Calls, `depth` at a time.
  void make_calls(const service::echo::Request& request, std::uint64_t calls, std::size_t depth) {
    while (slots_.size() < depth) {
      slots_.push_back(
          service::echo::EchoCall::create(client_loop_->memory(), pattern_, kLongest).value());
    }
    for (std::uint64_t made = 0; made < calls; made += depth) {
      for (std::size_t i = 0; i < depth; ++i) {
        auto spec = slots_[i].begin(request).value();
        spec.cookie = i;
        ASSERT_TRUE(client_->call(spec));
      }
      const std::uint64_t until = ended_ + depth;
      for (int turns = 0; ended_ < until; ++turns) {
        ASSERT_LT(turns, 100) << "no Reply";
        turn();
        if (HasFatalFailure()) return;
      }
    }
    turn();
  }

  // Counts what both sides do for kCalls Calls, after some that set up the connection, the credits
  // and the memory, and checks it.
  void count(const service::echo::Request& request, std::size_t depth, const Expected& client,
             const Expected& server) {
    make_calls(request, kCalls, depth);
    const WorkCounters client_before = client_provider_->counters();
    const WorkCounters server_before = server_provider_->counters();
    const FakeCounts before = fake_counts();
    make_calls(request, kCalls, depth);
    const FakeCounts& after = fake_counts();
    const WorkCounters c = client_provider_->counters() - client_before;
    const WorkCounters s = server_provider_->counters() - server_before;
    check(c, client, "client");
    check(s, server, "server");
    // The device saw the same.
    EXPECT_EQ(after.send_posts - before.send_posts, c.send_posts + s.send_posts);
    EXPECT_EQ(after.send_requests - before.send_requests, c.send_requests + s.send_requests);
    EXPECT_EQ(after.signaled - before.signaled, c.signaled + s.signaled);
    EXPECT_EQ(after.receive_posts - before.receive_posts, c.receive_posts + s.receive_posts);
    EXPECT_EQ(after.completions - before.completions, c.completions + s.completions);
    EXPECT_EQ(after.binds - before.binds, c.binds + s.binds);
    EXPECT_EQ(after.invalidations - before.invalidations, c.invalidations + s.invalidations);
    EXPECT_EQ(after.registered - before.registered, c.registrations + s.registrations);
    // Each handle ended with its Call, and was valid until then.
    EXPECT_EQ(after.deregistered - before.deregistered, after.registered - before.registered);
    EXPECT_EQ(after.invalidations + after.remote_invalidations - before.invalidations -
                  before.remote_invalidations,
              after.binds - before.binds);
    EXPECT_EQ(after.refused, 0U);
    // A Receive was posted for each message.
    EXPECT_EQ(after.unready, 0U);
    EXPECT_EQ(wrong_, 0U);
  }

  static void check(const WorkCounters& counted, const Expected& expected, const char* side) {
    EXPECT_EQ(counted.send_posts, expected.posts) << side;
    EXPECT_EQ(counted.send_requests, expected.requests) << side;
    // Places in the send queue become free only with completions, so now and then one more.
    EXPECT_GE(counted.signaled, expected.signaled) << side;
    EXPECT_LE(counted.signaled, expected.signaled + 2) << side;
    // Receives are polled, and nothing else that is not signaled.
    EXPECT_EQ(counted.completions, kCalls + counted.signaled) << side;
    EXPECT_EQ(counted.receive_requests, kCalls) << side;
    EXPECT_EQ(counted.receive_posts, kCalls / kReceivesAtOnce) << side;
    // A loop that does not sleep arms nothing.
    EXPECT_EQ(counted.notifications, 0U) << side;
    EXPECT_EQ(counted.registrations, expected.registrations) << side;
    EXPECT_EQ(counted.binds, expected.binds) << side;
    EXPECT_EQ(counted.invalidations, expected.invalidations) << side;
    EXPECT_EQ(counted.pool_registrations, 0U) << side;
  }

  [[nodiscard]] static bool windows() { return GetParam() == HandleKind::kWindows; }

  FakeRoot root_;
  const bool has_device_ = (root_.put_rxe(), true);
  std::unique_ptr<verbs::VerbsProvider> server_provider_, client_provider_;
  std::unique_ptr<service::Loop> server_loop_, client_loop_;
  std::unique_ptr<service::echo::EchoProgram> echo_;
  std::vector<service::Program*> programs_;
  service::echo::Pattern pattern_;
  std::vector<service::echo::EchoCall> slots_;
  std::unique_ptr<service::Server> server_;
  std::unique_ptr<service::Client> client_;

 private:
  void on_outcome(const protocol::CallOutcome& outcome, std::uint32_t /*connection*/) override {
    ++ended_;
    if (slots_[outcome.cookie].check(outcome) != service::echo::Verdict::kRight) ++wrong_;
  }

  std::uint64_t ended_ = 0, wrong_ = 0;
};

// Receives that are posted before there is a queue pair go to it together.
TEST_P(DeviceWork, OfAConnection) {
  constexpr std::uint64_t kMostInAPost = 16;
  for (const auto* const provider : {client_provider_.get(), server_provider_.get()}) {
    const WorkCounters& c = provider->counters();
    EXPECT_GT(c.receive_requests, 2 * kReceivesAtOnce);
    EXPECT_EQ(c.receive_posts, (c.receive_requests + kMostInAPost - 1) / kMostInAPost);
    EXPECT_EQ(c.send_posts, 0U);
    EXPECT_EQ(c.registrations, 0U);
  }
}

// A Send on either side, which is copied and needs no completion.
TEST_P(DeviceWork, OfANullCall) {
  const Expected each{.posts = kCalls, .requests = kCalls};
  count({}, 1, each, each);
}

TEST_P(DeviceWork, OfNullCallsInFlightTogether) {
  constexpr std::uint64_t kDepth = 16;
  const Expected each{.posts = kCalls / kDepth, .requests = kCalls};
  count({}, kDepth, each, each);
}

// The Reply follows the completion of the Read, so it has a doorbell of its own.
TEST_P(DeviceWork, OfAReadChunk) {
  Expected client{.posts = kCalls, .requests = kCalls};
  (windows() ? client.binds : client.registrations) = kCalls;
  if (windows()) client.requests += kCalls;
  count({.proc = Proc::kSink, .length = kLongest}, 1, client,
        {.posts = 2 * kCalls, .requests = 2 * kCalls, .signaled = kCalls});
}

// The completion of the Reply's Send is also that of the Write before it.
TEST_P(DeviceWork, OfAWriteChunk) {
  Expected client{.posts = kCalls, .requests = kCalls};
  (windows() ? client.binds : client.registrations) = kCalls;
  if (windows()) client.requests += kCalls;
  count({.proc = Proc::kSource, .length = kLongest}, 1, client,
        {.posts = kCalls, .requests = 2 * kCalls, .signaled = kCalls});
}

// A Reply invalidates one window. The Call ends when the other one is invalidated.
TEST_P(DeviceWork, OfAReadChunkAndAWriteChunk) {
  Expected client{.posts = kCalls, .requests = kCalls, .registrations = 2 * kCalls};
  if (windows()) {
    client = {.posts = 2 * kCalls,
              .requests = 4 * kCalls,
              .signaled = kCalls,
              .binds = 2 * kCalls,
              .invalidations = kCalls};
  }
  count({.proc = Proc::kEchoBulk, .length = kLongest}, 1, client,
        {.posts = 2 * kCalls, .requests = 3 * kCalls, .signaled = 2 * kCalls});
}

// Armed once, and again only after the event has come, which takes one read of the channel.
TEST_P(DeviceWork, OfSleeping) {
  make_calls({}, 1, 1);
  ASSERT_TRUE(client_provider_->arm());
  EXPECT_TRUE(client_provider_->arm());
  auto spec = slots_[0].begin({}).value();
  ASSERT_TRUE(client_->call(spec));
  turn();
  const std::uint64_t reads = fake_counts().event_reads;
  const WorkCounters before = client_provider_->counters();
  // Its Reply is there.
  EXPECT_FALSE(client_provider_->arm());
  EXPECT_EQ(client_provider_->counters().notifications, before.notifications);
  turn();
  EXPECT_EQ(fake_counts().event_reads, reads + 1);
  EXPECT_TRUE(client_provider_->arm());
  EXPECT_EQ(client_provider_->counters().notifications, before.notifications + 1);
}

INSTANTIATE_TEST_SUITE_P(Handles, DeviceWork,
                         ::testing::Values(HandleKind::kRegistrations, HandleKind::kWindows),
                         [](const auto& kind) {
                           return kind.param == HandleKind::kWindows ? "Windows" : "Registrations";
                         });

}  // namespace
}  // namespace rpcrdma::testing
