// The metrics of `serve` and `load` match their activity, and scraping does not disturb them.
#include "support/background.h"
#include "support/exposition.h"
#include "support/http_client.h"
#include "support/own_address.h"

#include <gmock/gmock.h>

namespace rpcrdma::e2e {
namespace {

using metrics::testing::Exposition;
using metrics::testing::kOpenMetricsMedia;
using metrics::testing::kPlainText;
using metrics::testing::scrape;
using metrics::testing::Syntax;
using metrics::testing::TcpConnection;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint16_t kPort = 9464;

class Metrics : public ::testing::Test {
 protected:
  const std::string server_ = own_address(1);
  const std::string client_ = own_address(2);

  static std::vector<std::string> with_metrics(std::vector<std::string> command,
                                               const std::string& address) {
    command.insert(command.end(), {"--metrics", fmt::format("{}:{}", address, kPort)});
    return command;
  }
  std::vector<std::string> serving() const {
    return with_metrics({"serve", "--listen", server_}, server_);
  }
  std::vector<std::string> loading(const std::vector<std::string>& more) const {
    std::vector<std::string> all{"load", server_, "--from", client_, "--json"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  // Returns its report.
  json load(const std::vector<std::string>& more) const {
    Background client(loading(more));
    EXPECT_EQ(client.finish(), 0) << client.out;
    return try_parse_json(client.out);
  }
  static Exposition figures(const std::string& address) {
    const std::string text = scrape(address, kPort);
    Exposition e(text);
    EXPECT_THAT(e.problems(), IsEmpty()) << text;
    EXPECT_FALSE(e.samples().empty()) << text;
    return e;
  }
  // Counters no longer change when all client connections are closed.
  Exposition figures_without_connections() const {
    while (true) {
      Exposition e = figures(server_);
      if (e.samples().empty() || e[R"(rpcrdma_connections{role="server"})"] == 0) return e;
    }
  }
};

double bytes(const Exposition& e, const std::string& role, const std::string& message,
             const std::string& kind) {
  return e[fmt::format(R"(rpcrdma_message_bytes_total{{kind="{}",message="{}",role="{}"}})", kind,
                       message, role)];
}

// Sums the metrics of `role` that count errors.
double errors(const Exposition& e, const std::string& role) {
  double sum = 0;
  for (const auto& [series, value] : e.samples()) {
    if (series.starts_with("rpcrdma_errors_total{") && series.find(role) != std::string::npos) {
      sum += value;
    }
  }
  return sum;
}

TEST_F(Metrics, AServersFiguresAreThoseOfTheLoadsReport) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for(fmt::format("metrics at http://{}:{}/metrics\n", server_, kPort)))
      << server.out;
  const Exposition before = figures(server_);
  EXPECT_EQ(before[R"(rpcrdma_calls_total{role="server"})"], 0);
  EXPECT_TRUE(std::isnan(before[R"(rpcrdma_calls_total{role="client"})"]));

  const json r = load({"--procedure", "echo-bulk", "--size", "10000", "--count", "500", "--depth",
                       "4", "--connections", "2"});
  ASSERT_EQ(r["calls"], 500) << r;
  ASSERT_EQ(r["errors"], 0) << r;
  const Exposition e = figures_without_connections();
  const double calls = r["calls"];
  EXPECT_EQ(e[R"(rpcrdma_calls_total{role="server"})"], calls);
  EXPECT_EQ(e[R"(rpcrdma_replies_total{role="server"})"], calls);
  EXPECT_EQ(
      e[R"(rpcrdma_procedure_calls_total{procedure="ECHO_BULK",program="ECHO",role="server"})"],
      calls);
  EXPECT_EQ(bytes(e, "server", "call", "read_chunk") + bytes(e, "server", "reply", "write_chunk"),
            r["bytes"].get<double>());
  EXPECT_EQ(bytes(e, "server", "call", "long_call"), 0);
  EXPECT_EQ(bytes(e, "server", "reply", "reply_chunk"), 0);
  EXPECT_EQ(e[R"(rpcrdma_call_duration_seconds_count{role="server"})"], calls);
  EXPECT_GT(e[R"(rpcrdma_call_duration_seconds_sum{role="server"})"], 0);
  EXPECT_EQ(e[R"(rpcrdma_calls_outstanding{role="server"})"], 0);
  EXPECT_EQ(errors(e, "server"), 0);
  EXPECT_EQ(e[R"(rpcrdma_connections_opened_total{role="server"})"], 2);
  EXPECT_EQ(e[R"(rpcrdma_connections_closed_total{reason="peer",role="server"})"], 2);
  EXPECT_GT(e[R"(rpcrdma_packets_total{direction="in",role="server"})"], calls);
  EXPECT_GT(e[R"(rpcrdma_packet_bytes_total{direction="out",role="server"})"], 500 * 10'000);
  EXPECT_EQ(e[R"(rpcrdma_packets_dropped_total{direction="in",reason="bad_icrc",role="server"})"],
            0);
  EXPECT_GT(e["rpcrdma_registered_memory_in_use_bytes"], 0);
  // No server listens: each connection has a start and an end.
  EXPECT_EQ(e["rpcrdma_trace_events_total"], 4);
  for (const std::string where : {"ring", "recording", "readers"}) {
    EXPECT_EQ(e["rpcrdma_trace_events_lost_total{where=\"" + where + "\"}"], 0) << where;
  }

  server.signal(SIGINT);
  EXPECT_EQ(server.finish(), 0) << server.out;
}

// The request of a scraper that only knows the other format.
TEST_F(Metrics, BothTextsShowTheSame) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("metrics at"));
  ASSERT_EQ(load({"--procedure", "null", "--count", "20"})["calls"], 20);
  const Exposition e = figures_without_connections();
  const std::string text =
      scrape(server_, kPort, "Accept: text/plain;version=0.0.4\r\n", kPlainText);
  const Exposition of_text(text, Syntax::kText);
  EXPECT_THAT(of_text.problems(), IsEmpty()) << text;
  EXPECT_EQ(of_text[R"(rpcrdma_calls_total{role="server"})"], 20);
  EXPECT_EQ(of_text.types().at("rpcrdma_calls_total"), "counter");
  EXPECT_EQ(e.types().at("rpcrdma_calls"), "counter");
  EXPECT_EQ(of_text.samples().size(), e.samples().size());
  const std::string asked =
      scrape(server_, kPort, "Accept: application/openmetrics-text;version=1.0.0,*/*;q=0.1\r\n",
             kOpenMetricsMedia);
  EXPECT_EQ(Exposition(asked).types(), e.types());
}

TEST_F(Metrics, WhatIsRecordedIsCounted) {
  TemporaryFolder folder;
  std::vector<std::string> command = serving();
  command.insert(command.end(), {"--record", folder.file("r.pcapng")});
  Background server(command);
  ASSERT_TRUE(server.wait_for("metrics at"));
  ASSERT_EQ(load({"--procedure", "null", "--count", "300"})["calls"], 300);
  const Exposition e = figures_without_connections();
  // Each Call has four events: received, started, answered, ended.
  EXPECT_GT(e["rpcrdma_trace_events_total"], 4 * 300);
  EXPECT_EQ(e[R"(rpcrdma_trace_events_lost_total{where="recording"})"], 0);
  server.signal(SIGINT);
  EXPECT_EQ(server.finish(), 0) << server.out;
}

TEST_F(Metrics, WithoutATraceThereAreNoFiguresOfIt) {
  std::vector<std::string> command = serving();
  command.emplace_back("--no-live");
  Background server(command);
  ASSERT_TRUE(server.wait_for("metrics at"));
  EXPECT_TRUE(std::isnan(figures(server_)["rpcrdma_trace_events_total"]));
}

TEST_F(Metrics, LongMessagesAndErrorsAreReported) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("metrics at"));
  const json r = load({"--procedure", "echo", "--size", "20000", "--count", "50"});
  ASSERT_EQ(r["calls"], 50) << r;
  EXPECT_EQ(
      run("RPCRDMA ping " + server_ + " --from " + client_ + " -c 3 -i 1ms --program nfs").status,
      1);
  const Exposition e = figures_without_connections();
  // RPC headers and the lengths of echoed data come on top of it.
  EXPECT_GT(bytes(e, "server", "call", "long_call"), 50 * 20'000);
  EXPECT_GT(bytes(e, "server", "reply", "reply_chunk"), 50 * 20'000);
  EXPECT_EQ(e[R"(rpcrdma_errors_total{class="rpc_error",kind="PROG_UNAVAIL",role="server"})"], 3);
  EXPECT_EQ(errors(e, "server"), 3);
  EXPECT_EQ(e[R"(rpcrdma_call_duration_seconds_count{role="server"})"], 53);
}

TEST_F(Metrics, ALossyNetworkIsSeen) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("metrics at"));
  const json r = load({"--procedure", "sink", "--size", "40000", "--count", "60", "--fault",
                       "corrupt dir=out rate=0.02 seed=1; drop dir=out rate=0.02 seed=2"});
  ASSERT_EQ(r["calls"], 60) << r;
  ASSERT_EQ(r["errors"], 0) << r;
  const Exposition e = figures_without_connections();
  EXPECT_GT(e[R"(rpcrdma_packets_dropped_total{direction="in",reason="bad_icrc",role="server"})"],
            0);
  // READ requests, since their responses were lost.
  EXPECT_GT(e[R"(rpcrdma_packets_retransmitted_total{role="server"})"], 0);
}

TEST_F(Metrics, ScrapesUnderLoadDisturbNobody) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("metrics at"));
  // A client that connects to both and sends nothing.
  TcpConnection silent(server_, kPort);
  ASSERT_TRUE(silent.up());
  constexpr int kCalls = 4000;
  Background client(with_metrics(
      loading({"--procedure", "mix", "--size", "1-20000", "--depth", "4", "--connections", "4",
               "--threads", "2", "--count", std::to_string(kCalls)}),
      client_));
  ASSERT_TRUE(server.wait_for(own_address(3) + " connected")) << server.out;
  TcpConnection also_silent(client_, kPort);
  double calls = 0, replies = 0;
  while (calls < kCalls) {
    const Exposition s = figures(server_);
    ASSERT_FALSE(s.samples().empty()) << server.out;
    EXPECT_GE(s[R"(rpcrdma_calls_total{role="server"})"], calls);
    calls = s[R"(rpcrdma_calls_total{role="server"})"];
    // Scrapes the client while it runs.
    const std::string recorded = scrape(client_, kPort);
    if (recorded.empty()) continue;
    const Exposition c(recorded);
    EXPECT_THAT(c.problems(), IsEmpty());
    EXPECT_GE(c[R"(rpcrdma_replies_total{role="client"})"], replies);
    replies = c[R"(rpcrdma_replies_total{role="client"})"];
    EXPECT_GE(c[R"(rpcrdma_calls_total{role="client"})"], replies);
    EXPECT_LE(c[R"(rpcrdma_calls_total{role="client"})"], kCalls);
    EXPECT_LE(c[R"(rpcrdma_credits_in_use{role="client"})"], 4 * 4);
    EXPECT_LE(c[R"(rpcrdma_connections{role="client"})"], 4);
    EXPECT_EQ(errors(c, "client"), 0);
  }
  EXPECT_EQ(client.finish(), 0) << client.out;
  const json r = try_parse_json(client.out);
  EXPECT_EQ(r["calls"], kCalls) << r;
  EXPECT_EQ(r["errors"], 0) << r;
  EXPECT_EQ(r["mismatches"], 0) << r;
  EXPECT_EQ(r["connections_lost"], 0) << r;
  EXPECT_EQ(figures_without_connections()[R"(rpcrdma_call_duration_seconds_count{role="server"})"],
            kCalls);
  server.signal(SIGINT);
  EXPECT_EQ(server.finish(), 0) << server.out;
}

TEST_F(Metrics, AClientsFiguresAreThoseOfItsReport) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("metrics at"));
  // The first Call is due at once, and the second in more than a minute.
  Background client(with_metrics(
      loading({"--procedure", "source", "--size", "8000", "--rate", "0.01", "--count", "2"}),
      client_));
  ASSERT_TRUE(server.wait_for(client_ + " connected"));
  Exposition e("");
  do {
    e = figures(client_);
  } while (!e.samples().empty() && e[R"(rpcrdma_call_duration_seconds_count{role="client"})"] < 1);
  client.signal(SIGINT);
  EXPECT_EQ(client.finish(), 0) << client.out;
  const json r = try_parse_json(client.out);
  ASSERT_EQ(r["calls"], 1) << r;
  EXPECT_EQ(e[R"(rpcrdma_calls_total{role="client"})"], r["calls"].get<double>());
  EXPECT_EQ(bytes(e, "client", "reply", "write_chunk"), r["bytes"].get<double>());
  for (const std::string series :
       {R"(rpcrdma_call_duration_seconds_count{role="client"})",
        R"(rpcrdma_call_part_duration_seconds_count{part="credit",role="client"})",
        R"(rpcrdma_call_part_duration_seconds_count{part="reply",role="client"})",
        R"(rpcrdma_call_part_duration_seconds_count{part="fence",role="client"})",
        R"(rpcrdma_procedure_calls_total{procedure="SOURCE",program="ECHO",role="client"})"}) {
    EXPECT_EQ(e[series], 1) << series;
  }
}

TEST_F(Metrics, WhatCannotBeServedIsReportedInOneLine) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("metrics at"));
  const auto refused = [](const std::string& arguments, const std::string& part) {
    const Result r = run("RPCRDMA " + arguments);
    EXPECT_EQ(r.status, 2) << arguments;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << arguments << r.err;
    EXPECT_THAT(r.err, HasSubstr(part)) << arguments;
    EXPECT_EQ(r.out, "") << arguments;
  };
  const std::string taken = fmt::format("--metrics {}:{}", server_, kPort);
  refused("serve --listen " + client_ + " " + taken,
          "serve: " + taken + ": Address already in use");
  refused("load " + server_ + " --from " + client_ + " " + taken,
          "load: " + taken + ": Address already in use");
  refused("serve --listen " + client_ + " --metrics 192.0.2.1:9464", "Cannot assign requested");
  refused("serve --listen " + client_ + " --metrics no-such-host.invalid:9464",
          "serve: --metrics no-such-host.invalid:9464: ");
  for (const std::string wrong :
       {":", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:9464x", "::1:9464", "[::1]",
        "[]:9464", "[x y]:9464", "http://a:9464", "127.0.0.1:9464,127.0.0.1:9465"}) {
    refused("serve --listen " + client_ + " --metrics '" + wrong + "'",
            "serve: --metrics " + wrong + ": ");
  }
  // The existing server is not affected.
  EXPECT_EQ(figures(server_)[R"(rpcrdma_calls_total{role="server"})"], 0);
}

// Returns where the process that prints this line serves its metrics: "127.0.0.1:9464".
std::string address_in(const std::string& output) {
  constexpr std::string_view kBefore = "metrics at http://";
  const std::size_t at = output.find(kBefore);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + kBefore.size();
  return output.substr(begin, output.find("/metrics", begin) - begin);
}

TEST_F(Metrics, AreServedAtAnyAddressAndAnyFreePort) {
  for (const std::string where : {"localhost:0", "[::1]:0", ":0", "0"}) {
    Background server({"serve", "--listen", server_, "--metrics", where});
    ASSERT_TRUE(server.wait_for("/metrics\n")) << where << server.out;
    const std::string address = address_in(server.out);
    const Result r = run("curl -sS http://" + address + "/metrics");
    EXPECT_THAT(r.out, HasSubstr("\nrpcrdma_build_info{version=\"")) << address << r.err;
    server.signal(SIGINT);
    EXPECT_EQ(server.finish(), 0) << server.out;
  }
}

// As docs/metrics.md shows; promtool reads Prometheus's text format only.
TEST_F(Metrics, AreCleanForPromtoolWhateverTheClientAccepts) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("metrics at"));
  ASSERT_EQ(load({"--procedure", "mix", "--count", "50"})["calls"], 50);
  for (const std::string accept : {"", "-H 'Accept:' ", "-H 'Accept: text/plain' ",
                                   "-H 'Accept: application/json, text/html;q=0.5' "}) {
    const Result r = run(fmt::format("curl -sS {}http://{}:{}/metrics | promtool check metrics",
                                     accept, server_, kPort));
    EXPECT_EQ(r.status, 0) << accept << r.out << r.err;
    EXPECT_EQ(r.out + r.err, "") << accept;
  }
}

// A server works within one iteration of its loop, which takes time, too.
TEST_F(Metrics, AServersLatencyIsItsRealTime) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("metrics at"));
  ASSERT_EQ(load({"--procedure", "null", "--count", "200"})["calls"], 200);
  ASSERT_EQ(load({"--procedure", "sleep", "--sleep", "2ms", "--count", "3"})["calls"], 3);
  const Exposition e = figures_without_connections();
  const auto of = [&](const std::string& part, const std::string& procedure) {
    return e[fmt::format(
        R"(rpcrdma_procedure_duration_seconds_{}{{procedure="{}",program="ECHO",role="server"}})",
        part, procedure)];
  };
  EXPECT_EQ(of("count", "NULL"), 200);
  EXPECT_EQ(of("count", "SLEEP"), 3);
  // Not a single Call takes no time.
  EXPECT_GT(of("sum", "NULL"), 200 * 50e-9);
  EXPECT_GE(of("sum", "SLEEP"), 3 * 0.002);
  EXPECT_NEAR(e[R"(rpcrdma_call_duration_seconds_sum{role="server"})"],
              of("sum", "NULL") + of("sum", "SLEEP"), 0.005);
}

}  // namespace
}  // namespace rpcrdma::e2e
