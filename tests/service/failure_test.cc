// Failures: servers that stop and restart, Calls without Reply, and limits.
#include "support/service_hosts.h"

#include <algorithm>
#include <csignal>

namespace rpcrdma::testing {
namespace {

using protocol::CallStatus;
using service::LinkState;
using service::echo::Proc;
using service::echo::Request;
using service::echo::Verdict;

constexpr Request kSleepLong{Proc::kSleep, 0, 0, 0, 60'000'000};

// ----- servers stop and restart

TEST(Restart, CallsAreSentAgainUnderTheirXids) {
  auto server = std::make_unique<RunningServer>();
  ClientHost host;
  service::ClientOptions options = to_server();
  options.connections = 2;
  EchoClient echo(host, options);
  ASSERT_TRUE(host.until([&] { return echo.client().up() == 2; }));
  // With a grant of more than one, several Calls can be in flight.
  for (int i = 0; i < 4; ++i) echo.call({Proc::kNull, 0, 0, 0, 0});
  ASSERT_TRUE(echo.finish_calls());
  // These are not answered before the server stops.
  std::vector<std::uint32_t> xids;
  for (int i = 0; i < 4; ++i) xids.push_back(echo.call({Proc::kSleep, 0, 0, 0, 400'000}));
  ASSERT_TRUE(host.until([&] { return echo.client().outstanding() == 4; }));
  server.reset();
  ASSERT_TRUE(host.until([&] { return echo.client().up() == 0; }));
  EXPECT_EQ(echo.done.size(), 4U);
  // One more Call, which waits for a connection.
  echo.call({Proc::kEchoBulk, 65536, 0, 1, 0});

  server = std::make_unique<RunningServer>();
  ASSERT_TRUE(echo.finish_calls());
  EXPECT_TRUE(echo.all_right());
  std::vector<std::uint32_t> ended;
  for (std::size_t i = 4; i < echo.done.size(); ++i) {
    if (echo.done[i].attempts == 2) ended.push_back(echo.done[i].xid);
  }
  std::sort(xids.begin(), xids.end());
  std::sort(ended.begin(), ended.end());
  EXPECT_EQ(ended, xids);
  const service::ClientCounters counters = echo.client().counters();
  EXPECT_EQ(counters.lost, 2U);
  EXPECT_EQ(counters.established, 4U);
  EXPECT_EQ(counters.requester.resent, 4U);
  EXPECT_EQ(echo.lost.size() + 2, counters.attempts);
}

// The client gets no notice: it detects the loss by Calls that are not acknowledged.
TEST(Restart, AServerThatVanishesIsMissed) {
  auto server = std::make_unique<RunningServer>(service::ServerOptions{}, "drop op=cm-dreq");
  ClientHost host(1, {}, nullptr, kShortAckTimeout);
  EchoClient echo(host);
  echo.call({Proc::kNull, 0, 0, 0, 0});
  ASSERT_TRUE(echo.finish_calls());
  server.reset();
  for (int i = 0; i < 10; ++i) echo.call({Proc::kEchoBulk, 65536, 0, 1, 0});
  ASSERT_TRUE(host.until([&] { return echo.client().up() == 0; }));
  server = std::make_unique<RunningServer>();
  ASSERT_TRUE(echo.finish_calls());
  EXPECT_TRUE(echo.all_right());
  EXPECT_EQ(echo.client().counters().lost, 1U);
  EXPECT_GT(echo.client().counters().requester.resent, 0U);
}

// The server has received the Call, so no packet is unacknowledged.
TEST(Restart, AServerThatVanishesWhileACallWaitsIsMissed) {
  auto server = std::make_unique<RunningServer>(service::ServerOptions{}, "drop op=cm-dreq");
  ClientHost host;
  service::ClientOptions options = to_server();
  options.probe = 50 * fabric::kMillisecond;
  EchoClient echo(host, options);
  echo.call({Proc::kNull, 0, 0, 0, 0});
  ASSERT_TRUE(echo.finish_calls());
  echo.call({Proc::kSleep, 0, 0, 0, 60'000'000});
  echo.call({Proc::kNull, 0, 0, 0, 0});
  ASSERT_TRUE(host.until([&] { return echo.done.size() == 2; }));
  server.reset();
  ASSERT_TRUE(host.until([&] { return echo.client().up() == 0; }));
  EXPECT_EQ(echo.client().counters().lost, 1U);
}

TEST(Restart, AClientThatVanishesDoesNotKeepItsPlace) {
  service::ServerOptions options;
  options.probe = 50 * fabric::kMillisecond;
  ServerParts parts(options);
  {
    ClientHost host(1, "drop op=cm-dreq", nullptr, kShortAckTimeout);
    EchoClient echo(host);
    echo.call({Proc::kNull, 0, 0, 0, 0});
    ASSERT_TRUE(both_until(host, parts, [&] { return echo.done.size() == 1; }));
  }
  ASSERT_EQ(parts.server->connections(), 1U);
  const fabric::Time end = parts.loop->now() + 20 * fabric::kSecond;
  while (parts.server->connections() != 0 && parts.loop->now() < end) {
    ASSERT_TRUE(parts.loop->run_once(fabric::kSecond));
  }
  EXPECT_EQ(parts.server->connections(), 0U);
  EXPECT_EQ(parts.server->counters().closed_peer, 1U);
}

TEST(Restart, AServerThatClosesAnswersNoMoreAndLetsGo) {
  ServerParts parts;
  ClientHost host;
  service::ClientOptions options = to_server();
  options.max_attempts = 1;
  EchoClient echo(host, options);
  ASSERT_TRUE(both_until(host, parts, [&] { return echo.client().up() == 1; }));
  parts.server->close();
  ASSERT_TRUE(both_until(host, parts, [&] { return echo.client().closed(); }));
  ASSERT_TRUE(both_until(host, parts, [&] { return parts.server->connections() == 0; }));
  EXPECT_EQ(parts.server->counters().closed_stopped, 1U);
}

// ----- clients wait, time out, and end

TEST(Connecting, GivesUpAndEndsItsCalls) {
  ClientHost host;
  const auto nobody = open_provider(kServerHost);  // responds, and does not listen
  service::ClientOptions options = to_server();
  options.max_attempts = 3;
  EchoClient echo(host, options);
  echo.call({Proc::kNull, 0, 0, 0, 0});
  ASSERT_TRUE(host.until(
      [&] {
        nobody->progress();
        return echo.client().closed();
      },
      fabric::kMillisecond));
  ASSERT_EQ(echo.done.size(), 1U);
  EXPECT_EQ(echo.done[0].status, CallStatus::kClosed);
  EXPECT_EQ(echo.client().counters().attempts, 3U);
  EXPECT_EQ(echo.client().counters().rejected, 3U);
  EXPECT_EQ(echo.client().counters().given_up, 1U);
  const service::CallHeader header(1, 1, 0);
  const protocol::Piece piece = header.piece();
  protocol::CallSpec spec;
  spec.message = {&piece, 1};
  const auto late = echo.client().call(spec);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, fabric::Errc::kNotConnected);
}

TEST(Connecting, SilenceEndsInTimeAndIsTriedAgainLaterAndLater) {
  ClientHost host;
  const auto silent = open_provider(kServerHost);  // never driven
  service::ClientOptions options = to_server();
  options.connect_timeout = 5 * fabric::kMillisecond;
  options.max_attempts = 4;
  EchoClient echo(host, options);
  const fabric::Time begun = host.loop->now();
  ASSERT_TRUE(host.until([&] { return echo.client().closed(); }));
  EXPECT_EQ(echo.client().counters().timed_out, 4U);
  EXPECT_EQ(echo.lost.size(), 4U);
  EXPECT_EQ(echo.lost[0], "no answer in time");
  // Four times five, plus at least three quarters of one, two and four milliseconds.
  EXPECT_GE(host.loop->now() - begun, 25 * fabric::kMillisecond);
}

TEST(Connecting, ACallTimesOutWithoutAConnection) {
  ClientHost host;
  const auto silent = open_provider(kServerHost);
  EchoClient echo(host);
  echo.call({Proc::kNull, 0, 0, 0, 0}, 20 * fabric::kMillisecond);
  ASSERT_TRUE(echo.finish_calls());
  EXPECT_EQ(echo.done[0].status, CallStatus::kTimedOut);
  EXPECT_EQ(echo.done[0].attempts, 0U);
}

TEST(Calls, OneThatTimesOutCostsItsConnection) {
  RunningServer server;
  ClientHost host;
  EchoClient echo(host);
  // With a connection: without one, a Call that times out closes nothing.
  ASSERT_TRUE(host.until([&] { return echo.client().up() == 1; }));
  echo.call(kSleepLong, 200 * fabric::kMillisecond);
  ASSERT_TRUE(echo.finish_calls());
  EXPECT_EQ(echo.done[0].status, CallStatus::kTimedOut);
  echo.call({Proc::kEcho, 100, 0, 1, 0});
  ASSERT_TRUE(echo.finish_calls());
  EXPECT_EQ(echo.done[1].verdict, Verdict::kRight);
  EXPECT_EQ(echo.client().counters().established, 2U);
  // The other one's duration is unknown.
  EXPECT_EQ(echo.client().counters().durations.whole.count(), 1U);
  EXPECT_EQ(server.stop().calls.cancelled, 1U);
}

TEST(Ending, FinishWaitsForCalls) {
  ServerParts parts;
  ClientHost host;
  service::ClientOptions options = to_server();
  options.connections = 3;
  EchoClient echo(host, options);
  ASSERT_TRUE(both_until(host, parts, [&] { return echo.client().up() == 3; }));
  for (int i = 0; i < 20; ++i) echo.call({Proc::kEchoBulk, 65536, 0, 1, 0});
  echo.client().finish();
  EXPECT_FALSE(echo.client().closed());
  ASSERT_TRUE(both_until(host, parts, [&] { return echo.client().closed(); }));
  EXPECT_EQ(echo.done.size(), 20U);
  EXPECT_TRUE(echo.all_right());
  EXPECT_EQ(echo.client().state(0), LinkState::kClosed);
  ASSERT_TRUE(both_until(host, parts, [&] { return parts.server->connections() == 0; }));
  EXPECT_EQ(parts.server->counters().closed_peer, 3U);
  EXPECT_EQ(parts.server->counters().closed_protocol, 0U);
}

TEST(Ending, CloseEndsCallsAtOnce) {
  RunningServer server;
  ClientHost host;
  EchoClient echo(host);
  ASSERT_TRUE(host.until([&] { return echo.client().up() == 1; }));
  for (int i = 0; i < 3; ++i) echo.call(kSleepLong);
  ASSERT_TRUE(host.until([&] { return echo.client().outstanding() == 1; }));
  echo.client().close();
  ASSERT_TRUE(host.until([&] { return echo.client().closed(); }));
  ASSERT_EQ(echo.done.size(), 3U);
  for (const Done& d : echo.done) EXPECT_EQ(d.status, CallStatus::kClosed);
}

TEST(Ending, ALoopStopsFromAnotherThreadAndFromASignalHandler) {
  ClientHost host;
  std::thread other([&] { host.loop->stop(); });
  EXPECT_TRUE(host.loop->run());
  other.join();
  EXPECT_FALSE(host.loop->run_once().value());

  static service::Loop* in_handler = nullptr;
  ClientHost second(4);
  in_handler = second.loop.get();
  const auto before = std::signal(SIGUSR1, [](int) { in_handler->stop(); });
  const pthread_t self = ::pthread_self();
  std::thread sender([&] { ::pthread_kill(self, SIGUSR1); });
  EXPECT_TRUE(second.loop->run());
  sender.join();
  std::signal(SIGUSR1, before);
}

// ----- limits

TEST(Limits, ConnectionsBeyondAreRejectedWithAReason) {
  service::ServerOptions server_options;
  server_options.max_connections = 2;
  RunningServer server(server_options);
  ClientHost host;
  service::ClientOptions options = to_server();
  options.connections = 2;
  EchoClient first(host, options);
  ASSERT_TRUE(host.until([&] { return first.client().up() == 2; }));
  EchoClient second(host);
  ASSERT_TRUE(host.until([&] { return !second.lost.empty(); }));
  EXPECT_NE(second.lost[0].find("too many connections"), std::string::npos) << second.lost[0];
  // A slot is free again.
  first.client().finish();
  ASSERT_TRUE(host.until([&] { return second.client().up() == 1; }));
  EXPECT_GE(server.stop().rejected_full, 1U);
}

// A client that uses all slots does not shut out others.
TEST(Limits, AnEighthMoreConnectionsAreForPeersThatHaveNone) {
  service::ServerOptions server_options;
  server_options.max_connections = 8;
  RunningServer server(server_options);
  ClientHost host;
  service::ClientOptions options = to_server();
  options.connections = 9;
  options.max_attempts = 1;
  EchoClient greedy(host, options);
  ASSERT_TRUE(host.until([&] { return greedy.client().up() == 8 && greedy.lost.size() == 1; }));
  EXPECT_NE(greedy.lost[0].find("too many connections"), std::string::npos) << greedy.lost[0];
  // A connection has its place when its RTU has arrived: before the Call, which is sent after it.
  greedy.call({Proc::kNull, 0, 0, 0, 0});
  ASSERT_TRUE(greedy.finish_calls());
  ClientHost second(4);
  options.connections = 2;
  EchoClient other(second, options);
  ASSERT_TRUE(second.until([&] { return other.client().up() == 1 && other.lost.size() == 1; }))
      << other.client().up() << " up, lost: " << ::testing::PrintToString(other.lost);
  other.call({Proc::kNull, 0, 0, 0, 0});
  ASSERT_TRUE(other.finish_calls());
  ClientHost third(5);
  options.connections = 1;
  EchoClient late(third, options);
  ASSERT_TRUE(third.until([&] { return late.client().closed(); }));
  EXPECT_EQ(server.stop().rejected_full, 3U);
  EXPECT_EQ(server.emitted().rejected.size(), 3U);
}

TEST(Limits, ConnectionsThatThereIsNoMemoryForAreRejected) {
  // Two MiB belong to the echo program; the Receives of a connection need as much.
  service::LoopOptions loop_options;
  loop_options.memory.limit = 64U << 20;
  service::ServerOptions server_options;
  server_options.inline_threshold = 65536;
  RunningServer server(server_options, {}, loop_options);
  ClientHost host;
  service::ClientOptions options = to_server();
  options.inline_threshold = 65536;
  options.connections = 32;
  options.max_attempts = 1;
  EchoClient echo(host, options);
  ASSERT_TRUE(host.until([&] { return echo.client().up() + echo.lost.size() == 32; }));
  EXPECT_GT(echo.client().up(), 0U);
  ASSERT_GT(echo.lost.size(), 0U);
  EXPECT_NE(echo.lost[0].find("too little memory"), std::string::npos) << echo.lost[0];
  EXPECT_EQ(echo.client().counters().rejected, echo.lost.size());
  // Connections that were accepted are served.
  for (int i = 0; i < 20; ++i) echo.call({Proc::kSource, 65536, 0, 1, 0});
  ASSERT_TRUE(echo.finish_calls());
  EXPECT_TRUE(echo.all_right());
  EXPECT_EQ(server.stop().rejected_memory, echo.lost.size());
}

TEST(Limits, AConnectionWhoseReceivesDoNotFitIsRejected) {
  service::LoopOptions loop_options;
  loop_options.memory = {.slab_bytes = 65536, .limit = 4U << 20};
  service::ServerOptions server_options;
  server_options.inline_threshold = 65536;
  RunningServer server(server_options, {}, loop_options);
  ClientHost host;
  service::ClientOptions options = to_server();
  options.inline_threshold = 65536;
  options.max_attempts = 1;
  EchoClient echo(host, options);
  ASSERT_TRUE(host.until([&] { return echo.client().closed(); }));
  // A smaller inline threshold needs less memory.
  options.inline_threshold = 1024;
  EchoClient modest(host, options);
  modest.call({Proc::kEcho, 2000, 0, 1, 0});
  ASSERT_TRUE(modest.finish_calls());
  EXPECT_TRUE(modest.all_right());
  EXPECT_EQ(server.stop().rejected_memory, 1U);
  ASSERT_EQ(server.emitted().rejected.size(), 1U);
  EXPECT_EQ(server.emitted().rejected[0], "too little memory");
  EXPECT_EQ(echo.client().counters().rejected, 1U);
}

TEST(Limits, IdleConnectionsAreClosed) {
  service::ServerOptions server_options;
  server_options.idle = 400 * fabric::kMillisecond;
  RunningServer server(server_options);
  ClientHost host;
  service::ClientOptions options = to_server();
  options.max_attempts = 1;
  EchoClient echo(host, options);
  // A Call that takes longer than that is not idleness.
  echo.call({Proc::kSleep, 0, 0, 0, 600'000});
  ASSERT_TRUE(echo.finish_calls());
  EXPECT_EQ(echo.done[0].attempts, 1U);
  ASSERT_TRUE(host.until([&] { return echo.client().closed() || echo.lost.size() == 1; }));
  EXPECT_EQ(server.stop().closed_idle, 1U);
}

TEST(Limits, CreditsAreSharedByAllConnections) {
  service::ServerOptions server_options;
  server_options.max_calls = 8;
  RunningServer server(server_options);
  ClientHost host;
  service::ClientOptions options = to_server();
  options.connections = 4;
  EchoClient echo(host, options);
  ASSERT_TRUE(host.until([&] { return echo.client().up() == 4; }));
  for (int i = 0; i < 40; ++i) echo.call({Proc::kNull, 0, 0, 0, 0});
  ASSERT_TRUE(echo.finish_calls());
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(echo.client().requester(i).credit_limit(), 2U);
}

TEST(Limits, TheGrantChangesWhileAConnectionIsUp) {
  ServerParts server;
  ClientHost host;
  EchoClient echo(host);
  const auto granted_with_next_reply = [&] {
    echo.call({Proc::kNull, 0, 0, 0, 0});
    EXPECT_TRUE(host.until(
        [&] {
          EXPECT_TRUE(server.loop->run_once(0));
          return echo.done.size() == echo.made;
        },
        fabric::kMillisecond));
    return echo.client().requester(0).credit_limit();
  };
  EXPECT_EQ(granted_with_next_reply(), 32U);
  server.server->grant(3);
  EXPECT_EQ(granted_with_next_reply(), 3U);
  server.server->grant(0);
  EXPECT_EQ(granted_with_next_reply(), 1U);
  server.server->grant(1000);
  EXPECT_EQ(granted_with_next_reply(), 32U);
}

TEST(Limits, ChunksBeyondAreAnsweredErrChunk) {
  service::ServerOptions server_options;
  server_options.responder.max_chunk_bytes = 65536;
  RunningServer server(server_options);
  ClientHost host;
  EchoClient echo(host);
  echo.call({Proc::kSink, 65536, 0, 1, 0});
  echo.call({Proc::kSink, 65537, 0, 1, 0});
  echo.call({Proc::kSource, kLongest, 0, 1, 0});
  ASSERT_TRUE(echo.finish_calls());
  std::map<CallStatus, int> ends;
  for (const Done& d : echo.done) ++ends[d.status];
  EXPECT_EQ(ends[CallStatus::kReplied], 2);
  EXPECT_EQ(ends[CallStatus::kErrorChunk], 1);
  EXPECT_TRUE(echo.lost.empty());
  EXPECT_EQ(server.stop().responder.error_chunk, 1U);
}

TEST(Limits, OptionsThatCannotBeAreRefused) {
  ClientHost host;
  EchoClient echo(host);
  service::ClientOptions options = to_server();
  options.inline_threshold = 1500;
  EXPECT_FALSE(service::Client::create(*host.loop, options, echo));
  options = to_server();
  options.connections = 0;
  EXPECT_FALSE(service::Client::create(*host.loop, options, echo));
  service::ServerOptions server_options;
  server_options.inline_threshold = 512;
  EXPECT_FALSE(service::Server::create(*host.loop, {}, server_options));
  server_options = {};
  server_options.max_connections = 0;
  EXPECT_FALSE(service::Server::create(*host.loop, {}, server_options));
}

}  // namespace
}  // namespace rpcrdma::testing
