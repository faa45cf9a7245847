// Negotiation of versions between clients and servers
// (draft-cel-nfsv4-rpcrdma-version-two-02 section 6).
#include "support/service_hosts.h"

namespace rpcrdma::testing {
namespace {

using protocol::Versions;
using service::echo::Proc;

service::ServerOptions server_of(Versions versions) {
  service::ServerOptions o;
  o.version.versions = versions;
  return o;
}
service::ClientOptions client_of(Versions versions) {
  service::ClientOptions o = to_server();
  o.version.versions = versions;
  return o;
}

void calls_of_all_sizes(EchoClient& echo) {
  for (std::uint32_t i = 0; i < 3; ++i) {
    echo.call({Proc::kEcho, 700 + i, 0, i, 0});
    echo.call({Proc::kEcho, 3000 + i, 0, i, 0});
    echo.call({Proc::kSink, 5001 + i, 0, i, 0});
    echo.call({Proc::kSource, 60'001 + i, 0, i, 0});
    echo.call({Proc::kEchoBulk, 30'001 + i, 0, i, 0});
    echo.call({Proc::kList, 10, 3000, i, 0});
  }
  ASSERT_TRUE(echo.finish_calls());
  EXPECT_TRUE(echo.all_right());
}

TEST(VersionsOverAConnection, TheHighestThatBothSpeak) {
  struct Row {
    Versions client, server;
    std::uint64_t renegotiated;
  };
  for (const Row& row : {Row{{1, 1}, {1, 2}, 0}, Row{{1, 2}, {1, 2}, 0}, Row{{2, 2}, {1, 2}, 0},
                         Row{{2, 2}, {2, 2}, 0}, Row{{1, 2}, {1, 1}, 1}}) {
    RunningServer server(server_of(row.server));
    ClientHost host;
    EchoClient echo(host, client_of(row.client));
    calls_of_all_sizes(echo);
    const service::ClientCounters counters = echo.client().counters();
    EXPECT_EQ(counters.requester.renegotiated, row.renegotiated);
    EXPECT_EQ(counters.lost, 0U);
    EXPECT_EQ(counters.established, 1U);
    EXPECT_EQ(server.stop().responder.error_version, row.renegotiated);
  }
}

// Any other message would be refused, too: the connection is closed, and all Calls end.
TEST(VersionsOverAConnection, NoneInCommonEndsTheConnection) {
  for (const Versions own : {Versions{1, 1}, Versions{2, 2}}) {
    const std::uint32_t other = 3 - own.low;
    RunningServer server(server_of({other, other}));
    ClientHost host;
    EchoClient echo(host, client_of(own));
    for (int i = 0; i < 5; ++i) echo.call({Proc::kNull, 0, 0, 0, 0});
    ASSERT_TRUE(echo.finish_calls());
    ASSERT_EQ(echo.done.size(), 5U);
    for (const auto& outcome : echo.done) {
      EXPECT_EQ(outcome.status, protocol::CallStatus::kErrorVersion);
    }
    ASSERT_TRUE(host.until([&] { return !echo.lost.empty(); }));
    EXPECT_EQ(echo.lost[0], "the peer supports RPC-over-RDMA version " + std::to_string(other) +
                                ", not " + std::to_string(own.low));
    EXPECT_EQ(echo.client().state(0), service::LinkState::kClosed);
    EXPECT_EQ(echo.client().info(0).refused, (Versions{other, other}));
    const service::ClientCounters counters = echo.client().counters();
    EXPECT_EQ(counters.established, 1U);
    EXPECT_EQ(counters.given_up, 1U);
    EXPECT_EQ(echo.lost.size(), 1U);
    // The first Call was sent before anything was granted.
    EXPECT_EQ(server.stop().responder.error_version, 1U);
  }
}

// A server that supports only version 1 does not get version 2 again.
TEST(VersionsOverAConnection, WhatAServerLacksIsRemembered) {
  auto server = std::make_unique<RunningServer>(server_of({1, 1}));
  ClientHost host;
  EchoClient echo(host, client_of({1, 2}));
  calls_of_all_sizes(echo);
  EXPECT_EQ(server->stop().responder.error_version, 1U);
  server.reset();
  ASSERT_TRUE(host.until([&] { return echo.client().up() == 0; }));
  server = std::make_unique<RunningServer>(server_of({1, 1}));
  calls_of_all_sizes(echo);
  EXPECT_EQ(server->stop().responder.error_version, 0U);
}

// A server that drops unknown versions gets version 1 on the next connection.
TEST(VersionsOverAConnection, ASilentServerIsTriedInVersionOne) {
  RunningServer server(server_of({1, 1}), "drop dir=out op=send msg=1 attempt=1-9");
  ClientHost host(1, {}, nullptr, kShortAckTimeout);
  service::ClientOptions options = client_of({1, 2});
  options.version.negotiation_timeout = 50 * fabric::kMillisecond;
  EchoClient echo(host, options);
  echo.call({Proc::kNull, 0, 0, 0, 0});
  ASSERT_TRUE(host.until([&] { return !echo.lost.empty(); }));
  EXPECT_NE(echo.lost[0].find("no answer to the first message of version 2"), std::string::npos)
      << echo.lost[0];
  // Its first Reply is lost again, although version 1 is correct now.
  ASSERT_TRUE(host.until([&] { return echo.client().outstanding() == 1; }));
  ASSERT_TRUE(host.until([&] { return echo.client().counters().requester.resent >= 1; }));
  while (echo.client().counters().established < 3)
    ASSERT_TRUE(host.loop->run_once(fabric::kMillisecond));
  const auto counters = server.stop().responder;
  EXPECT_EQ(counters.error_version, 1U);
  EXPECT_GE(counters.replies, 1U);
}

TEST(VersionsOverAConnection, PrivateDataChangesVersionTwoOnlyIfAsked) {
  for (const bool asked : {false, true}) {
    service::ServerOptions server_options = server_of({2, 2});
    service::ClientOptions client_options = client_of({2, 2});
    server_options.inline_threshold = client_options.inline_threshold = 16384;
    server_options.version.private_data_for_two = client_options.version.private_data_for_two =
        asked;
    RunningServer server(server_options);
    ClientHost host;
    EchoClient echo(host, client_options);
    for (int i = 0; i < 3; ++i) {
      echo.call({Proc::kEcho, 8000, 0, 0, 0});
      ASSERT_TRUE(echo.finish_calls());
    }
    EXPECT_TRUE(echo.all_right());
    // If the threshold is that of the private data, the third Call is short: the second one's Reply
    // has shown that the server uses it, too.
    EXPECT_EQ(echo.client().counters().requester.long_calls, asked ? 2U : 3U);
  }
}

TEST(VersionsOverAConnection, AClientAloneThatExpectsMoreInlineIsServedByChunks) {
  service::ServerOptions server_options = server_of({1, 2});
  server_options.inline_threshold = 256U << 10;
  service::ClientOptions client_options = client_of({2, 2});
  client_options.inline_threshold = 64U << 10;
  client_options.version.private_data_for_two = true;
  RunningServer server(server_options);
  ClientHost host;
  EchoClient echo(host, client_options);
  for (const Proc proc : {Proc::kSource, Proc::kSource, Proc::kEcho, Proc::kSink}) {
    echo.call({proc, 10'000, 0, 0, 0});
    ASSERT_TRUE(echo.finish_calls());
  }
  EXPECT_TRUE(echo.all_right());
  EXPECT_TRUE(echo.lost.empty());
  EXPECT_GE(echo.client().counters().requester.enlarged, 1U);
}

TEST(RemoteInvalidation, HandlesAreInvalidatedByTheServerInEitherVersion) {
  for (const Versions versions : {Versions{1, 1}, Versions{2, 2}}) {
    for (const bool server_does : {true, false}) {
      service::ServerOptions server_options = server_of(versions);
      server_options.remote_invalidation = server_does;
      RunningServer server(server_options);
      ClientHost host;
      EchoClient echo(host, client_of(versions));
      for (int i = 0; i < 10; ++i) echo.call({Proc::kEchoBulk, 60'000, 0, 0, 0});
      ASSERT_TRUE(echo.finish_calls());
      EXPECT_TRUE(echo.all_right());
      EXPECT_EQ(echo.client().counters().requester.invalidated, server_does ? 10U : 0U);
      EXPECT_EQ(server.stop().responder.invalidated, server_does ? 10U : 0U);
    }
  }
}

}  // namespace
}  // namespace rpcrdma::testing
