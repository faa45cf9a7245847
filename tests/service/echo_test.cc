// Server and client over the soft fabric: every procedure and size, with all thresholds.
#include "support/service_hosts.h"

#include <random>

namespace rpcrdma::testing {
namespace {

using service::echo::Proc;
using service::echo::Request;
using service::echo::Verdict;

constexpr std::array<std::uint32_t, 7> kSizes{0, 1, 3, 1000, 4096, 65536, kLongest};

std::vector<Request> every_request() {
  std::vector<Request> all{{Proc::kNull, 0, 0, 0, 0}, {Proc::kSleep, 0, 0, 0, 1}};
  std::uint32_t seed = 0;
  for (const std::uint32_t size : kSizes) {
    if (size <= service::echo::kMaxEcho) all.push_back({Proc::kEcho, size, 0, ++seed, 0});
    all.push_back({Proc::kSink, size, 0, ++seed, 0});
    all.push_back({Proc::kSource, size, 0, ++seed, 0});
    all.push_back({Proc::kEchoBulk, size, 0, ++seed, 0});
  }
  for (const std::uint32_t count : {0U, 1U, 100U, 10'000U}) {
    all.push_back({Proc::kList, 17, count, ++seed, 0});
  }
  return all;
}

struct Setting {
  std::uint32_t client, server;  // inline thresholds
  bool client_says, server_says;
  std::uint32_t agreed;
  std::uint32_t max_segment;
};

void PrintTo(const Setting& s, std::ostream* out) {
  *out << s.client << (s.client_says ? "" : " unsaid") << " to " << s.server
       << (s.server_says ? "" : " unsaid") << " in segments of " << s.max_segment;
}

class EchoOver : public ::testing::TestWithParam<Setting> {};

TEST_P(EchoOver, EveryProcedureAndSize) {
  const Setting& s = GetParam();
  service::ServerOptions server_options;
  server_options.inline_threshold = s.server;
  server_options.private_data = s.server_says;
  RunningServer server(server_options);
  ClientHost host;
  service::ClientOptions options = to_server();
  options.inline_threshold = s.client;
  options.private_data = s.client_says;
  options.max_segment = s.max_segment;
  EchoClient echo(host, options);
  // One after another, and then all at once.
  for (const Request& r : every_request()) {
    echo.call(r);
    ASSERT_TRUE(echo.finish_calls()) << proc_name(r.proc) << " " << r.length;
    ASSERT_EQ(echo.done.back().verdict, Verdict::kRight)
        << proc_name(r.proc) << " " << r.length << ": " << echo.done.back().text;
  }
  for (const Request& r : every_request()) echo.call(r);
  ASSERT_TRUE(echo.finish_calls());
  EXPECT_TRUE(echo.all_right());
  ASSERT_EQ(echo.connected.size(), 1U);
  EXPECT_EQ(echo.connected[0].thresholds.send, s.agreed);
  EXPECT_EQ(echo.connected[0].thresholds.receive, s.agreed);
  EXPECT_TRUE(echo.lost.empty());

  const service::ClientCounters c = echo.client().counters();
  EXPECT_GT(c.requester.read_chunks, 0U);
  EXPECT_GT(c.requester.write_chunks, 0U);
  EXPECT_GT(c.requester.reply_chunks, 0U);
  EXPECT_GT(c.requester.long_calls, 0U);
  const service::ServerCounters counters = server.stop();
  EXPECT_EQ(counters.accepted, 1U);
  EXPECT_EQ(counters.calls.calls, echo.made);
  EXPECT_EQ(counters.calls.success, echo.made);
  EXPECT_EQ(counters.responder.error_chunk + counters.responder.error_version, 0U);
}

INSTANTIATE_TEST_SUITE_P(Thresholds, EchoOver,
                         ::testing::Values(Setting{4096, 4096, true, true, 4096, 1U << 30},
                                           Setting{1024, 4096, true, true, 1024, 1U << 30},
                                           Setting{65536, 4096, true, true, 4096, 65536},
                                           Setting{4096, 4096, false, true, 1024, 1U << 30},
                                           Setting{4096, 4096, true, false, 1024, 1U << 30}));

// Both ends use the same clock, and the server has a Call after it was sent and before its Reply.
TEST(Echo, TheServersTimesLieWithinTheRoundTrip) {
  RunningServer server;
  ClientHost host;
  EchoClient echo(host);
  constexpr std::uint32_t kSleep = 2000;  // microseconds
  std::vector<Request> requests = every_request();
  requests.push_back({Proc::kSleep, 0, 0, 0, kSleep});
  for (const Request& r : requests) {
    echo.call(r);
    ASSERT_TRUE(echo.finish_calls());
    const Done& d = echo.done.back();
    ASSERT_EQ(d.server_times.has_value(), r.proc != Proc::kNull) << proc_name(r.proc);
    if (!d.server_times) continue;
    EXPECT_LE(d.server_times->reading + d.server_times->working,
              static_cast<std::uint64_t>(d.times.replied - d.times.sent))
        << proc_name(r.proc) << " " << r.length;
    const bool has_read_chunk =
        (r.proc == Proc::kSink || r.proc == Proc::kEchoBulk || r.proc == Proc::kEcho) &&
        r.length >= 4096;
    EXPECT_EQ(d.server_times->reading != 0, has_read_chunk) << proc_name(r.proc) << " " << r.length;
  }
  EXPECT_GE(echo.done.back().server_times->working, kSleep * 1000U);
}

TEST(Echo, SeveralConnectionsAndClientsShareALoop) {
  RunningServer server;
  ClientHost host;
  service::ClientOptions options = to_server();
  options.connections = 4;
  options.requester.credits = 8;
  EchoClient first(host, options);
  options.connections = 2;
  EchoClient second(host, options);
  std::mt19937 random(1);
  const std::vector<Request> requests = every_request();
  const auto more = [&](EchoClient& echo) {
    Request r = requests[random() % requests.size()];
    r.length = std::min(r.length, 65536U);
    if (echo.made < 1000) echo.call(r);
  };
  first.on_done = [&] { more(first); };
  second.on_done = [&] { more(second); };
  ASSERT_TRUE(host.until([&] { return first.client().up() == 4 && second.client().up() == 2; }));
  for (int i = 0; i < 64; ++i) more(first), more(second);
  EXPECT_TRUE(first.finish_calls());
  EXPECT_TRUE(second.finish_calls());
  EXPECT_TRUE(first.all_right());
  EXPECT_TRUE(second.all_right());
  std::array<int, 4> used{};
  for (const Done& d : first.done) ++used[d.connection];
  for (const int n : used) EXPECT_GT(n, 0);

  // Both sides have the same counters.
  const service::ServerCounters& counted = server.stop();
  EXPECT_EQ(counted.accepted, 6U);
  protocol::MessageBytes bytes;
  for (EchoClient* echo : {&first, &second}) {
    const service::ClientCounters c = echo->client().counters();
    bytes += c.requester.bytes;
    const service::CallDurations& d = c.durations;
    EXPECT_EQ(d.whole.count(), echo->done.size());
    for (const auto* part : {&d.credit, &d.reply, &d.fence}) {
      EXPECT_EQ(part->count(), d.whole.count());
    }
    EXPECT_EQ(d.credit.sum() + d.reply.sum() + d.fence.sum(), d.whole.sum());
  }
  EXPECT_TRUE(bytes == counted.responder.bytes);
}

TEST(Echo, ServerAndClientInOneLoop) {
  ServerParts parts;
  class Keep : public service::ClientObserver {
   public:
    void on_outcome(const protocol::CallOutcome& outcome, std::uint32_t) override {
      status = service::ReplyReader(outcome).status();
    }
    std::optional<service::RpcStatus> status;
  } keep;
  auto client = service::Client::create(*parts.loop, to_server(), keep).value();
  const service::CallHeader header(service::echo::kProgram, service::echo::kVersion, 0);
  const protocol::Piece piece = header.piece();
  protocol::CallSpec spec;
  spec.message = {&piece, 1};
  spec.max_reply = service::kReplyHeaderBytes;
  ASSERT_TRUE(client->call(spec));
  const fabric::Time end = parts.loop->now() + 20 * fabric::kSecond;
  while (!keep.status && parts.loop->now() < end) {
    ASSERT_TRUE(parts.loop->run_once(fabric::kSecond));
  }
  EXPECT_EQ(keep.status, service::RpcStatus::kSuccess);
}

TEST(Echo, RpcErrorsComeBack) {
  RunningServer server;
  ClientHost host;
  class Keep : public service::ClientObserver {
   public:
    void on_outcome(const protocol::CallOutcome& outcome, std::uint32_t) override {
      text.push_back(describe(outcome, service::ReplyReader(outcome)));
    }
    std::vector<std::string> text;
  } keep;
  auto client = service::Client::create(*host.loop, to_server(), keep).value();
  const auto call = [&](const service::CallHeader& header) {
    const protocol::Piece piece = header.piece();
    protocol::CallSpec spec;
    spec.message = {&piece, 1};
    spec.max_reply = service::kReplyHeaderBytes;
    keep.text.clear();
    EXPECT_TRUE(client->call(spec));
    EXPECT_TRUE(host.until([&] { return !keep.text.empty(); }));
    return keep.text.empty() ? std::string() : keep.text[0];
  };
  using service::echo::kProgram;
  EXPECT_EQ(call({100003, 4, 0}), "PROG_UNAVAIL");
  EXPECT_EQ(call({kProgram, 9, 0}), "PROG_MISMATCH: versions 1 to 1");
  EXPECT_EQ(call({kProgram, 1, service::echo::kProcedures}), "PROC_UNAVAIL");
  EXPECT_EQ(call({kProgram, 1, 3}), "GARBAGE_ARGS");
  EXPECT_EQ(call({kProgram, 1, 0, wire::Auth{6, {}}}),
            std::string("AUTH_ERROR: ") + wire::auth_stat_name(2));
  const auto sys = service::auth_sys_body("host", 1, 2);
  EXPECT_EQ(call({kProgram, 1, 0, wire::Auth{1, sys}}), "success");
}

}  // namespace
}  // namespace rpcrdma::testing
