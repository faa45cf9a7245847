// Calls in the reverse direction (RFC 8167) from a server's program to its client.
#include "support/both_ends.h"

namespace rpcrdma::testing {
namespace {

using service::callback::Plan;
using service::echo::Proc;

constexpr std::uint64_t kSession = 0x1234567890;

service::ServerOptions with_reverse(protocol::Versions versions = {1, 2}) {
  service::ServerOptions o;
  o.reverse_credits = 8;
  o.version.versions = versions;
  return o;
}
service::ClientOptions speaking(protocol::Versions versions) {
  service::ClientOptions o = to_server();
  o.version.versions = versions;
  return o;
}
Plan plan_of(std::uint32_t count, Proc proc, std::uint32_t length, std::uint32_t items = 0,
             std::uint32_t depth = 4) {
  Plan plan;
  plan.session = kSession;
  plan.count = count;
  plan.request = {proc, length, items, 0, 0};
  plan.depth = depth;
  return plan;
}

TEST(Reverse, EveryKindOfCallInBothVersions) {
  for (const std::uint32_t version : {1U, 2U}) {
    CallbackServer server(with_reverse());
    ClientHost host;
    CallbackClient client(host, server, speaking({version, version}));
    std::uint32_t made = 0;
    for (const auto& [proc, length, items] :
         {std::tuple{Proc::kNull, 0U, 0U}, std::tuple{Proc::kEcho, 301U, 0U},
          std::tuple{Proc::kEcho, 9001U, 0U}, std::tuple{Proc::kSink, 50'001U, 0U},
          std::tuple{Proc::kSource, 70'002U, 0U}, std::tuple{Proc::kEchoBulk, 30'003U, 0U},
          std::tuple{Proc::kList, 10U, 5000U}}) {
      const auto started = client.start(plan_of(20, proc, length, items));
      ASSERT_TRUE(started);
      ASSERT_EQ(started->status, service::callback::Status::kOk);
      const auto result = client.wait(kSession);
      ASSERT_TRUE(result);
      made += 20;
      EXPECT_EQ(result->right, made) << static_cast<int>(proc) << " version " << version;
      EXPECT_EQ(result->wrong + result->failed + result->resent, 0U);
    }
    const service::ClientCounters counters = client.client().counters();
    EXPECT_EQ(counters.reverse.calls, made);
    EXPECT_EQ(counters.reverse_calls.success, made);
    EXPECT_EQ(counters.lost, 0U);
    ASSERT_TRUE(client.end(kSession));
    EXPECT_EQ(server.callback->sessions(), 0U);
  }
}

// 8167 section 5.4: they wait for the client to reconnect, and are resent with their XIDs.
TEST(Reverse, CallsSurviveAReconnect) {
  for (const std::uint32_t version : {1U, 2U}) {
    CallbackServer server(with_reverse());
    ClientHost host;
    CallbackClient client(host, server, speaking({version, version}));
    Plan plan = plan_of(4, Proc::kSleep, 0);
    plan.request.sleep = 300'000;
    ASSERT_TRUE(client.start(plan));
    ASSERT_TRUE(client.until([&] { return client.echo->counters().calls[6] >= 1; }));
    const auto before = client.connected;
    // The server loses the connection, and cannot reconnect by itself.
    server.server.reset();
    ASSERT_TRUE(client.until([&] { return client.client().up() == 0; }));
    server.server =
        service::Server::create(*server.loop, server.programs, with_reverse(), &server.emitted)
            .value();
    ASSERT_TRUE(client.until([&] { return client.connected > before; }));
    const auto seen = client.echo->counters().calls[6];
    plan.count = 0;  // waits for its end, and starts nothing
    ASSERT_TRUE(client.start(plan));
    const auto result = client.wait(kSession);
    ASSERT_TRUE(result);
    EXPECT_EQ(result->right, 4U);
    EXPECT_GE(result->resent, 1U);
    EXPECT_GT(client.echo->counters().calls[6], seen);
  }
}

TEST(Reverse, AClientThatComesBackUnseenTakesItsSessionAlong) {
  CallbackServer server(with_reverse());
  ClientHost host;
  Plan plan = plan_of(2, Proc::kSleep, 0);
  plan.request.sleep = 100'000;
  auto first = std::make_unique<CallbackClient>(host, server, speaking({1, 1}));
  ASSERT_TRUE(first->start(plan));
  // A second connection of the same client, while the first is still open.
  CallbackClient second(host, server, speaking({1, 1}));
  plan.count = 0;
  const auto started = second.start(plan);
  ASSERT_TRUE(started);
  EXPECT_EQ(started->status, service::callback::Status::kOk);
  const auto result = second.wait(kSession);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->right, 2U);
  EXPECT_EQ(server.emitted.closed.size(), 1U);
}

TEST(Reverse, AnotherClientHasNothingOfASessionWhoseNameItKnows) {
  CallbackServer server(with_reverse());
  ClientHost host;
  CallbackClient client(host, server, speaking({1, 1}));
  Plan plan = plan_of(2, Proc::kSleep, 0);
  plan.request.sleep = 100'000;
  ASSERT_TRUE(client.start(plan));
  ClientHost other_host(3);
  CallbackClient other(other_host, server, speaking({1, 1}));
  EXPECT_EQ(other.end(kSession)->status, service::callback::Status::kNoSession);
  EXPECT_EQ(other.wait(kSession)->status, service::callback::Status::kNoSession);
  EXPECT_EQ(client.wait(kSession)->right, 2U);
  EXPECT_TRUE(client.lost.empty());
}

TEST(Reverse, AServerWithoutReverseCreditsRefuses) {
  CallbackServer server;
  ClientHost host;
  CallbackClient client(host, server, speaking({1, 1}));
  const auto started = client.start(plan_of(1, Proc::kNull, 0));
  ASSERT_TRUE(started);
  EXPECT_EQ(started->status, service::callback::Status::kRefused);
  EXPECT_EQ(client.wait(kSession)->status, service::callback::Status::kNoSession);
}

// 8167 section 5.3: ERR_CHUNK, and the connection survives.
TEST(Reverse, ChunksThatAreSwitchedOffAreRefused) {
  CallbackServer server(with_reverse());
  ClientHost host;
  service::ClientOptions options = speaking({1, 1});
  options.reverse.chunks = false;
  CallbackClient client(host, server, options);
  ASSERT_TRUE(client.start(plan_of(3, Proc::kSink, 50'000)));
  EXPECT_EQ(client.wait(kSession)->failed, 3U);
  EXPECT_EQ(client.client().counters().reverse.error_chunk, 3U);
  ASSERT_TRUE(client.start(plan_of(3, Proc::kEcho, 100)));
  EXPECT_EQ(client.wait(kSession)->right, 3U);
  EXPECT_TRUE(client.lost.empty());
}

// draft-cel-nfsv4-rpcrdma-bidirection-01 sections 2.4, 2.5: Calls that need chunks are not sent.
TEST(Reverse, TheConservativeServerUsesNoChunks) {
  service::callback::ProgramOptions callbacks;
  callbacks.inline_only = true;
  CallbackServer server(with_reverse({1, 1}), callbacks);
  ClientHost host;
  CallbackClient client(host, server, speaking({1, 1}));
  ASSERT_TRUE(client.start(plan_of(2, Proc::kEchoBulk, 50'000)));
  EXPECT_EQ(client.wait(kSession)->failed, 2U);
  ASSERT_TRUE(client.start(plan_of(5, Proc::kEchoBulk, 900)));
  EXPECT_EQ(client.wait(kSession)->right, 5U);
  EXPECT_EQ(client.client().counters().reverse.calls, 5U);
  EXPECT_EQ(client.client().counters().reverse.bytes.read(), 0U);
}

TEST(Reverse, MoreCallsThanTheServerHasMemoryOrCreditsForEnd) {
  CallbackServer server(with_reverse());
  ClientHost host;
  CallbackClient client(host, server, speaking({2, 2}));
  // Longer than the server's data.
  ASSERT_TRUE(client.start(plan_of(UINT32_MAX, Proc::kSource, kLongest + 1)));
  EXPECT_EQ(client.wait(kSession)->failed, UINT32_MAX);
  // A depth above the credits is reduced to them.
  ASSERT_TRUE(client.start(plan_of(100, Proc::kEcho, 10, 0, UINT32_MAX)));
  EXPECT_EQ(client.wait(kSession)->right, 100U);
}

TEST(Reverse, ResultsTakeNoMoreMemoryThanThereIsForThem) {
  service::callback::ProgramOptions callbacks;
  callbacks.memory = 100'000;
  CallbackServer server(with_reverse(), callbacks);
  ClientHost host;
  CallbackClient client(host, server, speaking({2, 2}));
  // One at a time fits, and the others wait for it.
  ASSERT_TRUE(client.start(plan_of(20, Proc::kSource, 60'000, 0, 8)));
  EXPECT_EQ(client.wait(kSession)->right, 20U);
  ASSERT_TRUE(client.start(plan_of(20, Proc::kEcho, 500, 0, 8)));
  EXPECT_EQ(client.wait(kSession)->right, 40U);
  ASSERT_TRUE(client.start(plan_of(5, Proc::kSource, 200'000)));
  EXPECT_EQ(client.wait(kSession)->failed, 5U);
}

TEST(Reverse, SessionsAreBoundedAndForgotten) {
  service::callback::ProgramOptions callbacks;
  callbacks.sessions = 2;
  callbacks.forgotten = fabric::kMillisecond;
  CallbackServer server(with_reverse(), callbacks);
  ClientHost host;
  std::vector<std::unique_ptr<CallbackClient>> clients;
  for (std::uint64_t i = 0; i < 3; ++i) {
    clients.push_back(std::make_unique<CallbackClient>(host, server, speaking({1, 1})));
    Plan plan = plan_of(1, Proc::kNull, 0);
    plan.session = i;
    EXPECT_EQ(clients.back()->start(plan)->status,
              i < 2 ? service::callback::Status::kOk : service::callback::Status::kTooMany);
  }
  CallbackClient& last = *clients.back();
  clients.erase(clients.begin(), clients.end() - 1);
  EXPECT_TRUE(last.until([&] { return server.callback->sessions() == 0; }));
}

TEST(Reverse, OneClientDoesNotTakeTheSessionsOfAll) {
  service::callback::ProgramOptions callbacks;
  callbacks.sessions_of_client = 2;
  CallbackServer server(with_reverse(), callbacks);
  const auto start = [&](ClientHost& host, std::uint64_t session) {
    auto client = std::make_unique<CallbackClient>(host, server, speaking({1, 1}));
    Plan plan = plan_of(1, Proc::kNull, 0);
    plan.session = session;
    const auto started = client->start(plan);
    EXPECT_TRUE(started);
    return std::pair{std::move(client),
                     started ? started->status : service::callback::Status::kNoSession};
  };
  ClientHost host;
  ClientHost other(3);
  const auto first = start(host, 1);
  const auto second = start(host, 2);
  EXPECT_EQ(first.second, service::callback::Status::kOk);
  EXPECT_EQ(second.second, service::callback::Status::kOk);
  EXPECT_EQ(start(host, 3).second, service::callback::Status::kTooMany);
  EXPECT_EQ(start(other, 3).second, service::callback::Status::kOk);
  // The end of one frees a slot.
  EXPECT_EQ(second.first->end(2)->status, service::callback::Status::kOk);
  EXPECT_EQ(start(host, 3).second, service::callback::Status::kOk);
}

TEST(Reverse, WhatIsToGoOnHasToHaveBegun) {
  CallbackServer server(with_reverse());
  ClientHost host;
  CallbackClient client(host, server, speaking({1, 1}));
  EXPECT_EQ(client.start(plan_of(0, Proc::kNull, 0))->status,
            service::callback::Status::kNoSession);
  EXPECT_EQ(server.callback->sessions(), 0U);
}

// Each direction uses all of its credits, independently of the other (RFC 8167 section 4.1).
TEST(Reverse, BothDirectionsAtOnce) {
  CallbackServer server(with_reverse());
  ClientHost host;
  service::ClientOptions options = speaking({1, 2});
  CallbackClient client(host, server, options);
  ASSERT_TRUE(client.start(plan_of(500, Proc::kEchoBulk, 20'000, 0, 8)));
  std::uint32_t rounds = 0;
  do {
    ASSERT_TRUE(client.end(99));  // any forward Call
    ++rounds;
  } while (client.client().counters().reverse_calls.success < 500 && rounds < 100'000);
  EXPECT_EQ(client.wait(kSession)->right, 500U);
  EXPECT_GT(rounds, 10U);
}

}  // namespace
}  // namespace rpcrdma::testing
