// Clients and servers with the profile of RFC 5666, with each other and with those of RFC 8166.
#include "support/service_hosts.h"

#include <rpcrdma/service/rpc_message.h>
#include <rpcrdma/wire/rdmaconfig.h>

namespace rpcrdma::testing {
namespace {

using service::Profile;
using service::echo::Proc;

service::ServerOptions server_of(Profile profile, std::uint32_t threshold = 8192) {
  service::ServerOptions o;
  o.profile = profile;
  o.inline_threshold = threshold;
  o.private_data = false;
  o.version.versions = {1, 1};
  return o;
}
service::ClientOptions client_of(Profile profile, std::uint32_t threshold = 4096) {
  service::ClientOptions o = to_server();
  o.profile = profile;
  o.inline_threshold = threshold;
  o.private_data = false;
  return o;
}

void some_calls(EchoClient& echo) {
  for (std::uint32_t i = 0; i < 3; ++i) {
    echo.call({Proc::kNull, 0, 0, i, 0});
    echo.call({Proc::kEcho, 700 + i, 0, i, 0});
    echo.call({Proc::kEcho, 3000 + i, 0, i, 0});
    echo.call({Proc::kSink, 2001 + i, 0, i, 0});
    echo.call({Proc::kSink, 50'001 + i, 0, i, 0});
    echo.call({Proc::kSource, 60'001 + i, 0, i, 0});
    echo.call({Proc::kEchoBulk, 30'001 + i, 0, i, 0});
    echo.call({Proc::kList, 10, 300, i, 0});
  }
  ASSERT_TRUE(echo.finish_calls());
  EXPECT_TRUE(echo.all_right());
}

TEST(Rfc5666OverAConnection, TheFirstCallAgreesOnThresholds) {
  RunningServer server(server_of(Profile::k5666));
  ClientHost host;
  EchoClient echo(host, client_of(Profile::k5666));
  some_calls(echo);
  const service::ConnectionInfo& info = echo.client().info(0);
  ASSERT_TRUE(info.configured);
  EXPECT_EQ(info.configured->maxcall_sendsize, 8192U);
  EXPECT_EQ(info.configured->align, 64U);
  EXPECT_EQ(info.thresholds.send, 4096U);
  EXPECT_EQ(info.thresholds.receive, 4096U);
  // SINK's argument fits inline, and is padded to the server's alignment.
  EXPECT_EQ(echo.client().counters().requester.padded_calls, 3U);
  EXPECT_EQ(echo.client().counters().lost, 0U);
}

TEST(Rfc5666OverAConnection, RepliesAreReadWhereNothingIsOffered) {
  RunningServer server(server_of(Profile::k5666));
  ClientHost host;
  service::ClientOptions options = client_of(Profile::k5666);
  options.requester.offer_nothing = true;
  EchoClient echo(host, options);
  some_calls(echo);
  const protocol::RequesterCounters counted = echo.client().counters().requester;
  EXPECT_EQ(counted.write_chunks + counted.reply_chunks, 0U);
  EXPECT_EQ(counted.read_replies, 9U);  // SOURCE, ECHO_BULK, LIST
  EXPECT_EQ(server.stop().responder.done, 9U);
}

TEST(Rfc5666OverAConnection, UnderLossToo) {
  RunningServer server(server_of(Profile::k5666), "drop rate=0.02 seed=3");
  ClientHost host(1, "drop rate=0.02 seed=4");
  service::ClientOptions options = client_of(Profile::k5666);
  options.requester.offer_nothing = true;
  EchoClient echo(host, options);
  for (int i = 0; i < 5; ++i) some_calls(echo);
  EXPECT_EQ(server.stop().responder.done, 45U);
}

TEST(Rfc5666OverAConnection, AServerWithoutTheProtocolIsTakenAsItIs) {
  RunningServer server(server_of(Profile::k8166));
  ClientHost host;
  EchoClient echo(host, client_of(Profile::k5666));
  some_calls(echo);
  EXPECT_FALSE(echo.client().info(0).configured);
  EXPECT_EQ(echo.client().info(0).thresholds.send, 1024U);
  EXPECT_EQ(echo.client().counters().requester.padded_calls, 0U);
  EXPECT_EQ(server.stop().calls.prog_unavail, 1U);
}

TEST(Rfc5666OverAConnection, AnOrdinaryClientIsServed) {
  RunningServer server(server_of(Profile::k5666));
  ClientHost host;
  EchoClient echo(host, client_of(Profile::k8166));
  some_calls(echo);
  EXPECT_EQ(server.stop().responder.read_replies, 0U);
}

// maxrdmaread of 0: the client's Calls have no Read chunks.
TEST(Rfc5666OverAConnection, AServerThatReadsNothingIsAskedToReadNothing) {
  service::ServerOptions options = server_of(Profile::k5666);
  options.config.max_reads = 0;
  RunningServer server(options);
  ClientHost host;
  EchoClient echo(host, client_of(Profile::k5666));
  echo.call({Proc::kSink, 2000, 0, 1, 0});
  echo.call({Proc::kSink, 50'000, 0, 1, 0});
  ASSERT_TRUE(echo.finish_calls());
  EXPECT_EQ(echo.done[0].status, protocol::CallStatus::kCannotSend);  // the longer one
  EXPECT_EQ(echo.done[1].status, protocol::CallStatus::kReplied);
  EXPECT_EQ(server.stop().responder.bytes.read_chunks, 0U);
}

// What cannot be sent is known at once, and not only when the server has refused it.
TEST(Rfc5666OverAConnection, AClientThatPermitsNoReadSendsNoReadChunks) {
  RunningServer server(server_of(Profile::k5666));
  ClientHost host;
  service::ClientOptions options = client_of(Profile::k5666);
  options.config.max_reads = 0;
  EchoClient echo(host, options);
  for (int i = 0; i < 5; ++i) echo.call({Proc::kSink, 50'000, 0, 1, 0});
  echo.call({Proc::kSink, 2000, 0, 1, 0});
  echo.call({Proc::kSource, 50'000, 0, 1, 0});
  ASSERT_TRUE(echo.finish_calls());
  std::map<protocol::CallStatus, int> ends;
  for (const auto& d : echo.done) ++ends[d.status];
  EXPECT_EQ(ends[protocol::CallStatus::kCannotSend], 5);
  EXPECT_EQ(ends[protocol::CallStatus::kReplied], 2);
  EXPECT_EQ(server.stop().responder.error_chunk, 0U);
}

// A limit of 1 is obeyed: protocol's tests check the number in flight.
TEST(Rfc5666OverAConnection, AClientThatIsReadOneByOne) {
  RunningServer server(server_of(Profile::k5666));
  ClientHost host;
  service::ClientOptions options = client_of(Profile::k5666);
  options.config.max_reads = 1;
  options.max_segment = 7000;
  EchoClient echo(host, options);
  some_calls(echo);
  EXPECT_EQ(server.stop().responder.bytes.read_chunks, 3U * 80'002 + 2 * 3);
}

TEST(Rfc5666OverAConnection, EachConnectionIsConfiguredAgain) {
  auto server = std::make_unique<RunningServer>(server_of(Profile::k5666));
  ClientHost host;
  EchoClient echo(host, client_of(Profile::k5666));
  some_calls(echo);
  server->stop();
  server.reset();
  ASSERT_TRUE(host.until([&] { return echo.client().up() == 0; }));
  server = std::make_unique<RunningServer>(server_of(Profile::k5666, 2048));
  some_calls(echo);
  EXPECT_EQ(echo.client().info(0).thresholds.send, 2048U);
  EXPECT_EQ(server->stop().calls.calls, 1U + 24);
}

TEST(Rfc5666OverAConnection, NonsenseForConfRdmaIsGarbage) {
  RunningServer server(server_of(Profile::k5666));
  ClientHost host;
  struct Observer : service::ClientObserver {
    void on_outcome(const protocol::CallOutcome& o, std::uint32_t) override {
      status = service::ReplyReader(o).status();
    }
    std::optional<service::RpcStatus> status;
  } observer;
  const auto client =
      service::Client::create(*host.loop, client_of(Profile::k8166), observer).value();
  const service::CallHeader header(wire::kRdmaConfigProgram, 1, wire::kRdmaConfigProcConf);
  const std::array<std::uint8_t, 8> arguments{};
  const std::array<protocol::Piece, 2> message{header.piece(),
                                               protocol::Piece{arguments, nullptr, false}};
  protocol::CallSpec spec;
  spec.message = message;
  spec.max_reply = 64;
  ASSERT_TRUE(client->call(spec));
  ASSERT_TRUE(host.until([&] { return observer.status.has_value(); }));
  EXPECT_EQ(*observer.status, service::RpcStatus::kGarbageArgs);
}

}  // namespace
}  // namespace rpcrdma::testing
