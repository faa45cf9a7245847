// Metrics of running endpoints: collected by their loops on request, and served over HTTP.
#include "support/exposition.h"
#include "support/http_client.h"
#include "support/service_hosts.h"

#include <atomic>
#include <csignal>
#include <deque>
#include <stdexcept>

#include <gmock/gmock.h>

#include <rpcrdma/metrics/exposer.h>
#include <rpcrdma/metrics/source.h>

namespace rpcrdma::testing {
namespace {

using metrics::Exposer;
using metrics::Parts;
using metrics::Snapshot;
using metrics::Source;
using metrics::testing::ask;
using metrics::testing::Exposition;
using metrics::testing::HttpAnswer;
using metrics::testing::kOpenMetricsMedia;
using metrics::testing::kPlainText;
using metrics::testing::scrape;
using metrics::testing::Syntax;
using metrics::testing::TcpConnection;
using service::echo::Proc;
using std::chrono::steady_clock;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::uint16_t kHttpPort = 9464;

// A deadline; reaching it is a failure.
steady_clock::time_point long_enough() {
  return steady_clock::now() + std::chrono::seconds(20);
}

// Counts the snapshots, and records their thread.
struct Taken {
  std::atomic<int> times{0};
  std::thread::id by;

  Parts of(ServerParts& server) {
    return {server.loop.get(), server.provider.get(), server.server.get(), nullptr,
            [this](Snapshot&) {
              by = std::this_thread::get_id();
              ++times;
            }};
  }
};

TEST(Metrics, FiguresAreTakenByTheLoopAndOnlyWhenSomebodyAsks) {
  ServerParts parts;
  Taken taken;
  Source source(taken.of(parts));
  EXPECT_EQ(taken.times, 1);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(parts.loop->run_once(0));
  EXPECT_EQ(taken.times, 1);

  // Two requests before the loop's turn get the same snapshot.
  const std::uint64_t first = source.ask();
  const std::uint64_t second = source.ask();
  const fabric::Time before = parts.loop->now();
  EXPECT_LE(source.wait(first, steady_clock::now()).taken, before) << "what there was";
  EXPECT_EQ(taken.times, 1);
  ASSERT_TRUE(parts.loop->run_once(0));
  EXPECT_EQ(taken.times, 2);
  EXPECT_GT(source.wait(first, steady_clock::now()).taken, before);
  EXPECT_GT(source.wait(second, steady_clock::now()).taken, before);
  ASSERT_TRUE(parts.loop->run_once(0));
  EXPECT_EQ(taken.times, 2);
}

TEST(Metrics, ALoopThatSleepsIsWokenAndAnswers) {
  ServerParts parts;
  Taken taken;
  Source source(taken.of(parts));
  std::thread thread([&] { EXPECT_TRUE(parts.loop->run()); });
  const std::thread::id loop = thread.get_id();
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t question = source.ask();
    (void)source.wait(question, long_enough());
    ASSERT_EQ(taken.times, 2 + i);
  }
  parts.loop->stop();
  thread.join();
  EXPECT_EQ(taken.by, loop);
}

// Both sides in this thread.
struct BothSides {
  explicit BothSides(const service::ServerOptions& server_options,
                     const service::ClientOptions& client_options)
      : parts(server_options), echo(host, client_options) {}

  bool until(const std::function<bool()>& condition) {
    return host.until(
        [&] {
          EXPECT_TRUE(parts.loop->run_once(0));
          return condition();
        },
        fabric::kMillisecond);
  }
  Snapshot ask(Source& source, service::Loop& loop) {
    const std::uint64_t question = source.ask();
    EXPECT_TRUE(loop.run_once(0));
    return source.wait(question, steady_clock::now());
  }

  ServerParts parts;
  ClientHost host;
  EchoClient echo;
  Source of_server{Parts{parts.loop.get(), parts.provider.get(), parts.server.get(), nullptr, {}}};
  Source of_client{Parts{host.loop.get(), host.provider.get(), nullptr, &echo.client(), {}}};
};

TEST(Metrics, BothSidesShowTheSame) {
  service::ServerOptions server_options;
  server_options.max_calls = 8;
  service::ClientOptions options = to_server();
  options.connections = 4;
  options.requester.credits = 16;
  BothSides both(server_options, options);
  ASSERT_TRUE(both.until([&] { return both.echo.client().up() == 4; }));
  for (int i = 0; i < 40; ++i) both.echo.call({Proc::kNull, 0, 0, 0, 0});
  for (int i = 0; i < 4; ++i) both.echo.call({Proc::kEchoBulk, 65536, 0, 1, 0});
  const auto ended = [&] { return both.echo.done.size() == 44; };
  ASSERT_TRUE(both.until(ended));
  // A Call that the server keeps.
  both.echo.call({Proc::kSleep, 0, 0, 0, 60'000'000});
  ASSERT_TRUE(both.until([&] { return both.parts.server->outstanding() == 1; }));

  const Snapshot s = both.ask(both.of_server, *both.parts.loop);
  ASSERT_TRUE(s.server);
  EXPECT_FALSE(s.client);
  EXPECT_EQ(s.server->connections, 4U);
  EXPECT_EQ(s.server->counters.accepted, 4U);
  EXPECT_EQ(s.server->counters.responder.calls, 45U);
  EXPECT_EQ(s.server->counters.responder.replies, 44U);
  EXPECT_EQ(s.server->outstanding, 1U);
  EXPECT_EQ(s.server->granted, 2U);
  EXPECT_EQ(s.server->most_credits, 32U);

  const Snapshot c = both.ask(both.of_client, *both.host.loop);
  ASSERT_TRUE(c.client);
  EXPECT_FALSE(c.server);
  EXPECT_EQ(c.client->connections, 4U);
  EXPECT_EQ(c.client->counters.requester.calls, 45U);
  EXPECT_EQ(c.client->counters.requester.replies, 44U);
  EXPECT_EQ(c.client->counters.durations.whole.count(), 44U);
  EXPECT_EQ(c.client->outstanding, 1U);
  EXPECT_EQ(c.client->waiting, 0U);
  EXPECT_EQ(c.client->granted, 4U * 2);
  EXPECT_EQ(c.client->credits_in_use, 1U);
  EXPECT_EQ(c.client->most_credits, 16U);
  EXPECT_TRUE(c.client->counters.requester.bytes == s.server->counters.responder.bytes);

  for (const Snapshot* each : {&s, &c}) {
    EXPECT_GT(each->packets->udp.sent_packets, 44U);
    EXPECT_GT(each->packets->queue_pairs.packets_in, 44U);
    EXPECT_GT(each->memory.in_use, 0U);
    EXPECT_GE(each->memory.registered, each->memory.in_use);
    EXPECT_GE(each->memory.limit, each->memory.registered);
  }
}

TEST(Metrics, AClientIsGrantedMoreThanItAsksFor) {
  service::ClientOptions options = to_server();
  options.requester.credits = 4;
  BothSides both({}, options);
  ASSERT_TRUE(both.until([&] { return both.echo.client().up() == 1; }));
  both.echo.call({Proc::kNull, 0, 0, 0, 0});
  ASSERT_TRUE(both.until([&] { return both.echo.done.size() == 1; }));
  const Snapshot c = both.ask(both.of_client, *both.host.loop);
  ASSERT_TRUE(c.client);
  EXPECT_EQ(c.client->granted, 32U);
  EXPECT_EQ(c.client->most_credits, 4U);
}

std::string here() {
  return own_address(3).to_string();
}

// A server with a running loop, and its metrics at an address of this process.
class Served {
 public:
  explicit Served(std::function<metrics::TraceFigures()> trace = {})
      : source_(Parts{parts_.loop.get(),
                      parts_.provider.get(),
                      parts_.server.get(),
                      nullptr,
                      {},
                      std::move(trace)}),
        thread_([this] { EXPECT_TRUE(parts_.loop->run()); }) {
    const std::array<Source*, 1> sources{&source_};
    auto opened = Exposer::open(here(), kHttpPort, sources);
    EXPECT_TRUE(opened) << (opened ? "" : opened.error().message);
    if (opened) exposer_ = std::move(*opened);
  }
  ~Served() {
    close();
    stop();
  }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  void close() { exposer_.reset(); }
  void stop() {
    parts_.loop->stop();
    if (thread_.joinable()) thread_.join();
  }

 private:
  ServerParts parts_;
  Source source_;
  std::unique_ptr<Exposer> exposer_;
  std::thread thread_;
};

TEST(Metrics, SeveralScrapeAtATime) {
  Served served;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int n = 0; n < 25; ++n) {
        const std::string text = scrape(here(), kHttpPort);
        EXPECT_THAT(Exposition(text).problems(), IsEmpty()) << text;
        EXPECT_THAT(text, HasSubstr("rpcrdma_calls_total{role=\"server\"} 0\n"));
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

TEST(Metrics, WhoAsksForATextGetsIt) {
  Served served;
  for (const std::string accept : {"", "Accept: */*\r\n", "Accept: text/plain\r\n"}) {
    const std::string text = scrape(here(), kHttpPort, accept, kPlainText);
    EXPECT_THAT(Exposition(text, Syntax::kText).problems(), IsEmpty()) << text;
    EXPECT_THAT(text, HasSubstr("# TYPE rpcrdma_calls_total counter\n"));
  }
  for (const std::string accept :
       {"accept: application/openmetrics-text;version=1.0.0\r\n",
        // Header fields of the same name form one list.
        "Accept: text/plain\r\nAccept: application/openmetrics-text\r\n"}) {
    const std::string openmetrics = scrape(here(), kHttpPort, accept, kOpenMetricsMedia);
    EXPECT_THAT(Exposition(openmetrics).problems(), IsEmpty()) << openmetrics;
    EXPECT_THAT(openmetrics, HasSubstr("# TYPE rpcrdma_calls counter\n")) << accept;
  }
}

TEST(Metrics, NothingIsServedButToGetAndHeadOfMetrics) {
  Served served;
  const auto status = [](const std::string& what, const std::string& fields = {}) {
    return ask(here(), kHttpPort, what, fields).status;
  };
  const HttpAnswer get = ask(here(), kHttpPort, "GET /metrics?of=all");
  EXPECT_EQ(get.status, 200);
  const HttpAnswer head = ask(here(), kHttpPort, "HEAD /metrics");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.field("Content-Type"), kPlainText);
  EXPECT_GT(std::stoul(head.field("Content-Length")), 1000U);
  EXPECT_EQ(head.body, "");
  for (const std::string method : {"PUT", "DELETE", "OPTIONS", "PATCH"}) {
    EXPECT_EQ(status(method + " /metrics"), 405) << method;
    EXPECT_EQ(status(method + " /other"), 404) << method;
  }
  for (const std::string path : {"/", "/metrics/", "/metrics/x", "/other/%2e%2e/other"}) {
    EXPECT_EQ(status("GET " + path), 404) << path;
  }
  // A request body that never arrives is not waited for.
  EXPECT_EQ(status("POST /metrics", "Content-Length: 1000000000\r\n"), 405);
}

// For example, out of memory.
TEST(Metrics, WhatIsThrownEndsOneAnswerOnly) {
  std::atomic<bool> throws{true};
  Served served([&] {
    if (throws) throw std::runtime_error("out of luck");
    return metrics::TraceFigures{};
  });
  EXPECT_EQ(ask(here(), kHttpPort, "GET /metrics").status, 500);
  throws = false;
  EXPECT_EQ(ask(here(), kHttpPort, "GET /metrics").status, 200);
}

TEST(Metrics, WhoSaysNothingOrGoesAwayHarmsNobody) {
  struct sigaction before {};
  ::sigaction(SIGPIPE, nullptr, &before);
  sigset_t mask_before;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask_before);
  Served served;
  struct sigaction after {};
  ::sigaction(SIGPIPE, nullptr, &after);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
  sigset_t mask_after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask_after);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE}) {
    EXPECT_EQ(sigismember(&mask_after, signal), sigismember(&mask_before, signal));
  }

  for (int i = 0; i < 20; ++i) {
    TcpConnection gone(here(), kHttpPort);
    ASSERT_TRUE(gone.send("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"));
  }
  TcpConnection silent(here(), kHttpPort);
  TcpConnection slow(here(), kHttpPort);
  EXPECT_TRUE(slow.send("GET /met"));
  TcpConnection other(here(), kHttpPort);
  ASSERT_TRUE(other.send("GET /other HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  EXPECT_THAT(other.receive(), HasSubstr("404"));
  std::deque<TcpConnection> garbage;
  for (int i = 0; i < 8; ++i) garbage.emplace_back(here(), kHttpPort);
  for (TcpConnection& g : garbage) ASSERT_TRUE(g.send("\xff\xff\r\n\r\n"));
  // An answer, if the line can be one of HTTP; the connection ends in any case.
  const steady_clock::time_point until = long_enough();
  for (TcpConnection& g : garbage) {
    EXPECT_THAT(g.receive(), AnyOf(IsEmpty(), StartsWith("HTTP/1.1 400 ")));
  }
  EXPECT_LT(steady_clock::now(), until);
  EXPECT_THAT(scrape(here(), kHttpPort), HasSubstr("rpcrdma_connections{role=\"server\"} 0\n"));
}

TEST(Metrics, ALoopThatHasEndedIsEmittedAsItWas) {
  Served served;
  served.stop();
  const Exposition e(scrape(here(), kHttpPort));
  EXPECT_THAT(e.problems(), IsEmpty());
  // The scrape waited for it.
  EXPECT_GE(e["rpcrdma_snapshot_age_seconds"], 1);
  EXPECT_EQ(e["rpcrdma_calls_total{role=\"server\"}"], 0);
  // The exposer's destruction does not wait forever for a scrape, either.
  TcpConnection waiting(here(), kHttpPort);
  ASSERT_TRUE(waiting.send("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"));
  served.close();
}

TEST(Metrics, WhereNobodyCanListenIsEmittedInOneClause) {
  Served served;
  const auto refused = [](const std::string& host) {
    const auto opened = Exposer::open(host, kHttpPort, {});
    return opened ? std::string() : opened.error().message;
  };
  EXPECT_EQ(refused(here()), "Address already in use");
  EXPECT_EQ(refused("192.0.2.1"), "Cannot assign requested address");
  EXPECT_EQ(refused("no-such-host.invalid").substr(0, 1).empty(), false);
}

TEST(Metrics, AnyAddressOfTheMachineAndAnyFreePortCanBeListenedOn) {
  const auto where = [](const std::string& host) {
    const auto opened = Exposer::open(host, 0, {});
    return opened ? (*opened)->address() : opened.error().message;
  };
  EXPECT_THAT(where(here()), StartsWith(here() + ":"));
  EXPECT_THAT(where(here()), Not(HasSubstr(":0")));
  EXPECT_THAT(where("::1"), StartsWith("[::1]:"));
  EXPECT_THAT(where("localhost"), AnyOf(StartsWith("127.0.0.1:"), StartsWith("[::1]:")));
  EXPECT_THAT(where(""), AnyOf(StartsWith("[::]:"), StartsWith("0.0.0.0:")));
}

}  // namespace
}  // namespace rpcrdma::testing
