// `serve`, `ping` and `load` between two loopback addresses of the test's own.
#include "support/background.h"
#include "support/own_address.h"

#include <chrono>

#include <gmock/gmock.h>

namespace rpcrdma::e2e {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Endpoint : public ::testing::Test {
 protected:
  const std::string server_ = own_address(1);
  const std::string client_ = own_address(2);
  TemporaryFolder folder_;

  std::vector<std::string> serving(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all{"serve", "--listen", server_};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  // The end of a command line that addresses this server.
  std::string to_server() const { return server_ + " --from " + client_ + " "; }
  std::vector<std::string> calling(const char* command,
                                   const std::vector<std::string>& more) const {
    std::vector<std::string> all{command, server_, "--from", client_};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  json load(const std::string& options, int status = 0) const {
    const Result r = run("RPCRDMA load " + to_server() + "--json " + options);
    EXPECT_EQ(r.status, status) << options << r.err << r.out;
    return try_parse_json(r.out);
  }
  void stop(Background& server) const {
    server.signal(SIGINT);
    EXPECT_EQ(server.finish(), 0) << server.out;
  }
};

TEST_F(Endpoint, PingIsAnswered) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening on " + server_ + " port 20049: ")) << server.out;
  const Result r = run("RPCRDMA ping " + to_server() + "-c 3 -i 10ms");
  EXPECT_EQ(r.status, 0) << r.err << r.out;
  EXPECT_THAT(r.out, StartsWith("PING " + server_ + " port 20049, program 0x"));
  EXPECT_THAT(r.out, HasSubstr("answer from " + server_ + ": seq=3 xid=0x"));
  EXPECT_THAT(r.out, HasSubstr("3 sent, 3 answered, 0 % lost, time "));
  // An RPC error is an answer of the server, which does not have the program.
  const Result other = run("RPCRDMA ping " + to_server() + "-c 1 --program nfs");
  EXPECT_EQ(other.status, 1) << other.err;
  EXPECT_THAT(other.out, HasSubstr("1 sent, 1 answered, 1 refused (PROG_UNAVAIL), 0 % lost"));
  stop(server);
  EXPECT_THAT(server.out, HasSubstr("2 connections, 4 Calls: 3 answered with success, 1 with an"));
}

TEST_F(Endpoint, OfOtherProgramsTheirNullIsServedIfAskedFor) {
  Background server(serving({"--null-program", "nfs:3,nfs:4", "--null-program", "100227:3"}));
  ASSERT_TRUE(server.wait_for("NULL of NFSACL (program 0x18783 version 3)")) << server.out;
  const auto answer = [&](const std::string& program, int status = 0) {
    const Result r = run("RPCRDMA ping " + to_server() + "-c 1 --program " + program);
    EXPECT_EQ(r.status, status) << r.err;
    return r.out;
  };
  for (const char* served : {"nfs --version 3", "nfs --version 4", "100227 --version 3", "echo"}) {
    const std::string text = answer(served);
    EXPECT_THAT(text, HasSubstr("1 sent, 1 answered")) << served;
    EXPECT_THAT(text, Not(HasSubstr("PROG_"))) << served;
  }
  EXPECT_THAT(answer("nfs --version 2", 1), HasSubstr("PROG_MISMATCH"));
  EXPECT_THAT(answer("100005", 1), HasSubstr("PROG_UNAVAIL"));
  // One more connection is rejected at once.
  const Result probe =
      run("RPCRDMA nfs-probe " + server_ + ":/ --from " + client_ + " --handle 0102030405060708");
  EXPECT_EQ(probe.status, 1) << probe.err;
  EXPECT_THAT(probe.out, HasSubstr("PROC_UNAVAIL"));
  stop(server);
}

TEST_F(Endpoint, PingWithoutAServerSaysSoInOneLine) {
  Background server(serving({"--port", "20050"}));
  ASSERT_TRUE(server.wait_for("listening"));
  for (const std::string command : {"ping -c 1 ", "load --count 1 "}) {
    const Result r = run("RPCRDMA " + command + to_server());
    const bool ping = command.starts_with("ping");
    EXPECT_EQ(r.status, ping ? 1 : 2);
    if (ping) {
      EXPECT_THAT(r.out, HasSubstr("\n0 sent, 0 answered, never connected, time "));
    } else {
      EXPECT_EQ(r.out, "");
    }
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    EXPECT_THAT(r.err, HasSubstr(server_ + " port 20049: "));
  }
}

TEST_F(Endpoint, WhoWaitsForAnAnswerWaitsNoLongerForAConnection) {
  // No server listens: without a limit of its own, connecting would take 10 seconds.
  struct Case {
    std::string command;
    int status;
    std::string what;
  };
  for (const auto& [command, status, what] :
       {Case{"ping -c 1 -W 50ms ", 1, "no answer in time"},
        Case{"load --count 1 --timeout 50ms ", 2, "no answer in time"},
        Case{"call --timeout 50ms ", 2, "in time"}}) {
    const auto begin = std::chrono::steady_clock::now();
    const Result r = run("RPCRDMA " + command + to_server());
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(8)) << command;
    EXPECT_EQ(r.status, status) << command << r.out << r.err;
    EXPECT_THAT(r.err, HasSubstr(server_ + " port 20049: ")) << command;
    EXPECT_THAT(r.err, HasSubstr(what)) << command;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  }
}

TEST_F(Endpoint, CtrlCEndsAPingThatNeverConnectedWithItsStatistics) {
  Background client(calling("ping", {"-W", "10s"}));
  ASSERT_TRUE(client.wait_for("PING " + server_ + " port 20049, program 0x")) << client.out;
  ASSERT_TRUE(client.wait_for(": connecting\n")) << client.out;
  client.signal(SIGINT);
  EXPECT_EQ(client.finish(), 1);
  EXPECT_THAT(client.out, HasSubstr("0 sent, 0 answered, never connected, time ")) << client.out;
}

TEST_F(Endpoint, CtrlCEndsACallAsInterrupted) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  Background client(calling("call", {"--procedure", "sleep", "--sleep", "60s", "--timeout", "5m"}));
  ASSERT_TRUE(server.wait_for(client_ + " connected"));
  client.signal(SIGINT);
  EXPECT_EQ(client.finish(), 1);
  EXPECT_THAT(client.out, ::testing::EndsWith("\ninterrupted\n"));
  stop(server);
}

TEST_F(Endpoint, EveryProcedureIsAnsweredRight) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  for (const std::string procedure :
       {"null", "echo", "sink", "source", "echo-bulk", "list", "sleep", "mix", "echo:3,sink"}) {
    const json r = load("--procedure " + procedure +
                        " --size 0,1,100,5000,60000 --count 60 --depth 4 --connections 2");
    EXPECT_EQ(r["calls"], 60) << procedure;
    EXPECT_EQ(r["errors"], 0) << procedure << r["reasons"];
    EXPECT_EQ(r["mismatches"], 0) << procedure;
    EXPECT_GT(r["latency_us"]["p50"], 0) << procedure;
  }
  const json large = load("--procedure echo-bulk --size 1M --count 8 --depth 2");
  EXPECT_EQ(large["bytes"], 16'000'000);
  stop(server);
}

TEST_F(Endpoint, JsonHasItsKeys) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  const json r = load("--count 20 --procedure echo --seed 9");
  for (const char* key : {"calls", "errors", "mismatches", "seconds", "calls_per_second",
                          "bytes_per_second", "latency_us", "parts_us", "cpu_us_per_call",
                          "procedures", "connections", "depth", "interrupted", "failed"}) {
    EXPECT_TRUE(r.contains(key)) << key;
  }
  for (const char* key : {"p50", "p90", "p95", "p99", "p999", "p9999", "max"}) {
    EXPECT_GT(r["latency_us"][key], 0) << key;
  }
  for (const char* key : {"packets_retransmitted", "naks", "rnr_naks"}) {
    EXPECT_TRUE(r[key].is_number_unsigned()) << key;
  }
  // All documented keys are present, and no others.
  const std::string docs = read_file(RPCRDMA_TEST_DOCS "/load.md");
  const std::string table = docs.substr(docs.find("## JSON"));
  for (const auto& [key, value] : r.items()) {
    EXPECT_THAT(table, HasSubstr("`" + key + "`")) << value;
  }
  EXPECT_EQ(r["procedures"][0]["name"], "echo");
  EXPECT_EQ(r["seed"], 9);
  stop(server);
}

// Mean multiplied by calls, microseconds.
double total(const json& part) {
  if (part["calls"] == 0) return 0;
  return part["mean"].get<double>() * part["calls"].get<double>();
}

TEST_F(Endpoint, TheTimeOfACallIsSplit) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  for (const std::string procedure : {"null", "sleep", "mix"}) {
    const json r = load("--count 50 --size 1-64Ki --sleep 2ms --procedure " + procedure);
    EXPECT_EQ(r["implausible"], 0) << procedure;
    const json& parts = r["parts_us"];
    const int recorded = parts["peer"]["calls"];
    EXPECT_EQ(parts["read"]["calls"], recorded) << procedure;
    EXPECT_EQ(parts["network"]["calls"], recorded) << procedure;
    EXPECT_EQ(parts["peer_and_network"]["calls"], 50 - recorded) << procedure;
    if (procedure == "null") {
      EXPECT_EQ(recorded, 0);
    } else {
      EXPECT_GT(recorded, 0) << procedure;
    }
    double sum = 0;
    for (const char* part : {"send", "read", "peer", "network", "peer_and_network"}) {
      sum += total(parts[part]);
    }
    EXPECT_NEAR(sum, total(parts["reply"]), 0.1) << procedure;
    // The server sleeps at least this long, and reports it.
    if (procedure == "sleep") {
      EXPECT_GE(parts["peer"]["min"], 2000);
    }
  }
  stop(server);
}

TEST_F(Endpoint, LimitsDecideTheExitStatus) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  load("--count 20 --fail-above p99=1h,errors=0 --fail-above mismatches=0", 0);
  const Result r = run("RPCRDMA load " + to_server() + "--count 20 --fail-above p50=1ns,errors=0");
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err, HasSubstr("rpcrdma: load: p50 is "));
  EXPECT_THAT(r.err, HasSubstr(", above 1 ns\n"));
  EXPECT_THAT(r.out, HasSubstr("20 Calls in "));
  stop(server);
}

// The server accepts less data per Call than the load sends.
TEST_F(Endpoint, RefusedCallsAreAFailure) {
  Background server(serving({"--max-bulk", "64Ki"}));
  ASSERT_TRUE(server.wait_for("listening"));
  const std::string refused = "--procedure sink --size 128Ki --count 5 ";
  const Result r = run("RPCRDMA load " + to_server() + "--procedure sink:1,null:9 --size 128Ki " +
                       "--seed 1 --count 50");
  EXPECT_EQ(r.status, 1) << r.out;
  EXPECT_THAT(r.err, HasSubstr("rpcrdma: load: errors are "));
  EXPECT_THAT(r.err, HasSubstr(", above 0\n"));
  // Its own recording agrees.
  const std::string packets = folder_.file("load.pcapng"), events = folder_.file("load.rec");
  run("RPCRDMA load " + to_server() + refused + "--pcapng " + packets + " --record " + events);
  for (const std::string& file : {packets, events}) {
    const Result analyzed = run("RPCRDMA analyze --no-plots " + file);
    EXPECT_EQ(analyzed.status, 1) << analyzed.out;
    EXPECT_THAT(analyzed.out, StartsWith("5 errors (CALL-REFUSED). 5 of 5 ECHO v1 SINK Calls "
                                         "refused with ERR_CHUNK"));
  }
  const Result allowed =
      run("RPCRDMA load " + to_server() + "--procedure sink:1,null:9 --size 128Ki " +
          "--seed 1 --count 50 --fail-above errors=50");
  EXPECT_EQ(allowed.status, 0) << allowed.out << allowed.err;
  // None of them gets a correct Reply.
  EXPECT_EQ(run("RPCRDMA load " + to_server() + refused + "--fail-above errors=5").status, 1);
  stop(server);
}

// The server's log and its summary state why.
TEST_F(Endpoint, LimitsOfChunksAreOptions) {
  const auto refused = [&](const char* option, const char* number, const std::string& procedure,
                           const char* why) {
    Background server(serving({option, number}));
    ASSERT_TRUE(server.wait_for("listening"));
    load("--procedure sink --size 64Ki --count 2");  // one Read chunk
    load("--procedure " + procedure + " --size 64Ki --count 2", 1);
    stop(server);
    EXPECT_THAT(server.out, HasSubstr(std::string("refused, ERR_CHUNK: ") + why));
    EXPECT_THAT(server.out, HasSubstr("2 RDMA_ERRORs sent"));
  };
  refused("--max-segments", "1", "echo-bulk", "the chunks have more segments than are accepted");
  refused("--max-write-chunks", "0", "source", "the Write list has more chunks than are accepted");
}

TEST_F(Endpoint, AServerThatDiesKeepsNoLimit) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  Background client(calling("load", {"--procedure", "null", "--depth", "4", "--rate", "500",
                                     "--duration", "3s", "--timeout", "500ms", "--json",
                                     "--fail-above", "p99=1h,max=1h,errors=1000000,not_begun=0"}));
  ASSERT_TRUE(server.wait_for(client_ + " connected"));
  server.signal(SIGKILL);
  server.finish();
  EXPECT_EQ(client.finish(), 1) << client.out;
  // Calls answered before, if any, were fast.
  EXPECT_THAT(client.out, HasSubstr("load: p99 is "));
  EXPECT_THAT(client.out, HasSubstr("load: max is "));
  EXPECT_THAT(client.out, HasSubstr("load: not_begun are "));
  EXPECT_THAT(client.out, Not(HasSubstr("load: errors")));
}

// The timeout of a Call is longer than the test: only the duration can end it.
TEST_F(Endpoint, TheDurationIsABoundAlsoWhenTheServerHangs) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  for (const std::string rate : {"", "--rate 100 "}) {
    const auto begin = std::chrono::steady_clock::now();
    const Result r = run("RPCRDMA load " + to_server() + rate +
                         "--procedure sleep --sleep 60s --timeout 10m --duration 300ms --json");
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30)) << rate;
    EXPECT_EQ(r.status, 1) << r.out;
    EXPECT_THAT(r.err, HasSubstr("load: 1 Call was without an answer when the time was over\n"));
    const json report = try_parse_json(r.out);
    EXPECT_EQ(report["abandoned"], 1) << rate;
    EXPECT_GE(report["seconds"], 0.3) << rate;
  }
  stop(server);
}

TEST_F(Endpoint, WhatLimitsTheRateIsNamed) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  const std::string slow = "--procedure sleep --sleep 50ms --rate 1000 --duration 500ms ";
  const json r = load(slow);
  EXPECT_GT(r["not_begun"], 0);
  EXPECT_EQ(r["limited_by"], "depth");
  const Result text = run("RPCRDMA load " + to_server() + slow);
  EXPECT_THAT(text.out, HasSubstr("the depth limits the rate: 1 Call in flight makes at most "));
  EXPECT_THAT(text.out, HasSubstr("; raise --depth or --connections\n"));
  EXPECT_TRUE(load("--rate 10 --count 2 --procedure null")["limited_by"].is_null());
  stop(server);
}

TEST_F(Endpoint, PacketsThatWereSentAgainAreReported) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  const std::string lossy =
      "--count 100 --depth 4 --fault 'drop dir=out op=send attempt=1 nth=5-9' ";
  const json r = load(lossy);
  EXPECT_EQ(r["errors"], 0) << r["reasons"];
  EXPECT_GE(r["packets_retransmitted"], 5);
  const Result text = run("RPCRDMA load " + to_server() + lossy);
  EXPECT_THAT(text.out, ::testing::ContainsRegex("[1-9][0-9]* packets retransmitted; "));
  stop(server);
}

TEST_F(Endpoint, WhereNoCallWasAnsweredThereIsNoLatency) {
  Background server(serving({"--max-bulk", "4Ki"}));
  ASSERT_TRUE(server.wait_for("listening"));
  const json r = load("--procedure source --size 64Ki --count 3", 1);
  EXPECT_EQ(r["calls"], 3);
  EXPECT_TRUE(r["latency_us"]["p50"].is_null());
  EXPECT_TRUE(r["parts_us"]["reply"]["max"].is_null());
  stop(server);
}

TEST_F(Endpoint, ARateIsKept) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  const json r = load("--rate 200 --duration 500ms --procedure null");
  // 100 Calls are due; how many start depends on the machine, and the others are reported.
  EXPECT_EQ(r["calls"].get<int>() + r["not_begun"].get<int>(), 100);
  EXPECT_EQ(r["errors"], 0);
  stop(server);
}

TEST_F(Endpoint, SeveralThreadsHaveAnAddressEach) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  const json r = load("--threads 2 --connections 3 --count 101 --depth 2");
  EXPECT_EQ(r["calls"], 101);
  EXPECT_EQ(r["errors"], 0) << r["reasons"];
  EXPECT_THAT(server.wait_for(own_address(3) + " connected"), true);
  stop(server);
}

TEST_F(Endpoint, FaultsOnBothSidesChangeNoData) {
  Background server(serving({"--fault", "drop dir=out rate=0.01 seed=7", "--fault",
                             "duplicate dir=out rate=0.01 seed=8"}));
  ASSERT_TRUE(server.wait_for("listening"));
  const json r = load(
      "--procedure mix --size 1-60000 --count 150 --depth 4 --connections 2 --fault 'drop "
      "rate=0.01 seed=1; corrupt dir=in rate=0.005 seed=2; reorder rate=0.005 by=3 seed=3'");
  EXPECT_EQ(r["calls"], 150);
  EXPECT_EQ(r["errors"], 0) << r["reasons"];
  EXPECT_EQ(r["mismatches"], 0);
  stop(server);
}

TEST_F(Endpoint, CtrlCEndsALoadWithItsReport) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  Background client(calling("load", {"--duration", "1h", "--json"}));
  ASSERT_TRUE(server.wait_for(client_ + " connected")) << server.out;
  client.signal(SIGINT);
  const int status = client.finish();
  const json r = try_parse_json(client.out);
  ASSERT_FALSE(r.is_discarded()) << client.out;
  EXPECT_EQ(r["interrupted"], true);
  EXPECT_EQ(r["errors"], 0) << r["reasons"];
  // If the signal came at once, no Call was answered.
  EXPECT_EQ(status, r["calls"] == 0 ? 1 : 0);
  stop(server);
}

TEST_F(Endpoint, CtrlCEndsAServerUnderLoad) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  Background client(calling("load", {"--duration", "1h", "--json"}));
  ASSERT_TRUE(server.wait_for(client_ + " connected"));
  server.signal(SIGTERM);
  EXPECT_EQ(server.finish(), 0) << server.out;
  EXPECT_THAT(server.out, HasSubstr("1 connection, "));
  client.signal(SIGINT);
  EXPECT_EQ(client.finish(), 1) << client.out;
  EXPECT_THAT(client.out,
              HasSubstr("a connection to the server was lost and not re-established: "));
  const json r = try_parse_json(client.out.substr(client.out.find('{')));
  ASSERT_FALSE(r.is_discarded()) << client.out;
  EXPECT_EQ(r["mismatches"], 0);
  EXPECT_EQ(r["connections_down"], 1);
}

TEST_F(Endpoint, AServerThatIsKilledAndComesBackIsCalledAgain) {
  auto server = std::make_unique<Background>(serving());
  ASSERT_TRUE(server->wait_for("listening"));
  Background client(calling("load", {"--count", "3000", "--rate", "1500", "--depth", "8",
                                     "--timeout", "5s", "--json", "--fail-above", "errors=8"}));
  ASSERT_TRUE(server->wait_for(client_ + " connected"));
  server->signal(SIGKILL);
  EXPECT_EQ(server->finish(), 128 + SIGKILL);
  server = std::make_unique<Background>(serving());
  ASSERT_TRUE(server->wait_for(client_ + " connected")) << server->out;
  EXPECT_EQ(client.finish(), 0) << client.out;
  const json r = try_parse_json(client.out);
  ASSERT_FALSE(r.is_discarded()) << client.out;
  EXPECT_EQ(r["calls"], 3000);
  EXPECT_EQ(r["mismatches"], 0);
  // Calls in flight are resent, unless the server had acknowledged all of them before it was
  // killed: then no packet is in flight whose loss could be detected before the Calls time out.
  EXPECT_LE(r["errors"], 8) << r["reasons"];
  EXPECT_GE(r["connections_lost"], 1);
  EXPECT_GE(r["sent_again"].get<int>() + r["errors"].get<int>(), 1);
  stop(*server);
}

TEST_F(Endpoint, AClientThatIsKilledUnderLoadIsNobodysTroubleButItsOwn) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  const std::string other = own_address(9);
  Background victim({"load", server_, "--from", other, "--procedure", "mix", "--size", "1-60000",
                     "--depth", "8", "--connections", "4", "--duration", "1h"});
  ASSERT_TRUE(server.wait_for(other + " connected"));
  Background client(calling("load", {"--procedure", "mix", "--size", "1-60000", "--depth", "4",
                                     "--count", "3000", "--rate", "3000", "--json"}));
  ASSERT_TRUE(server.wait_for(client_ + " connected")) << server.out;
  victim.signal(SIGKILL);
  EXPECT_EQ(victim.finish(), 128 + SIGKILL);
  EXPECT_EQ(client.finish(), 0) << client.out;
  const json r = try_parse_json(client.out);
  ASSERT_FALSE(r.is_discarded()) << client.out;
  EXPECT_EQ(r["calls"], 3000);
  EXPECT_EQ(r["errors"], 0) << r["reasons"];
  EXPECT_EQ(r["mismatches"], 0);
  EXPECT_EQ(r["connections_lost"], 0);
  // Its slots are freed when the client has not received Replies for a while.
  EXPECT_TRUE(server.wait_for(other + " closed (peer): ")) << server.out;
  stop(server);
}

// The server's Replies are lost from the fifth on, until the client connects again and sends the
// Call again. What the server has added shows whether it executed the Call again.
TEST_F(Endpoint, ACallThatIsNotIdempotentIsExecutedOnce) {
  for (const bool keeps : {true, false}) {
    Background server(serving(
        {"--fault", "drop dir=out conn=1 op=send msg=5-", "--drc-entries", keeps ? "100" : "0"}));
    ASSERT_TRUE(server.wait_for("listening"));
    const json r = load("--procedure count --count 20 --depth 1 --timeout 1m");
    EXPECT_EQ(r["errors"], 0) << r["reasons"];
    EXPECT_EQ(r["connections_lost"], 1);
    const Result one = run("RPCRDMA call " + to_server() + "--procedure count");
    EXPECT_EQ(one.status, 0) << one.err;
    EXPECT_THAT(one.out, HasSubstr(keeps ? "; the count is 21\n" : "; the count is 22\n"));
    stop(server);
    EXPECT_EQ(
        server.out.find("1 of the Calls had been sent before: 1 answered with the kept Reply") !=
            std::string::npos,
        keeps)
        << server.out;
  }
}

TEST_F(Endpoint, ALongBulkIsServedWithTheMemoryThatItNeeds) {
  Background server(serving({"--max-bulk", "256Mi"}));
  ASSERT_TRUE(server.wait_for("listening"));
  const json r = load("--procedure echo-bulk --size 100Mi --count 2 --depth 2");
  EXPECT_EQ(r["calls"], 2);
  EXPECT_EQ(r["errors"], 0) << r["reasons"];
  stop(server);
}

TEST_F(Endpoint, WithTheLeastMemoryTheLongestCallsAreServed) {
  Background server(serving({"--max-memory", "153Mi"}));
  ASSERT_TRUE(server.wait_for("listening"));
  const json r = load("--procedure echo-bulk --size 16Mi --count 8 --depth 4");
  EXPECT_EQ(r["calls"], 8);
  EXPECT_EQ(r["errors"], 0) << r["reasons"];
  stop(server);
}

TEST_F(Endpoint, PacketsThatWereWrittenAreAnalyzedWithoutErrors) {
  const std::string theirs = folder_.file("server.pcapng");
  const std::string ours = folder_.file("client.pcapng");
  Background server(serving({"--pcapng", theirs}));
  ASSERT_TRUE(server.wait_for("listening"));
  load("--procedure mix --size 1-60000 --count 60 --depth 4 --pcapng " + ours);
  stop(server);
  for (const std::string& file : {ours, theirs}) {
    const Result r = run("RPCRDMA analyze --json " + file);
    EXPECT_EQ(r.status, 0) << r.err << run("RPCRDMA analyze " + file).out;
    const json report = try_parse_json(r.out);
    ASSERT_FALSE(report.is_discarded());
    ASSERT_EQ(report["connections"].size(), 1U);
    EXPECT_EQ(report["connections"][0]["client"]["address"], client_);
    EXPECT_EQ(report["connections"][0]["icrc"]["bad"], 0) << report["connections"][0];
    EXPECT_GT(report["connections"][0]["icrc"]["good"], 100);
    std::vector<std::string> names;
    for (const json& procedure : report["procedures"]) names.push_back(procedure["name"]);
    EXPECT_THAT(names,
                ::testing::IsSupersetOf({"ECHO v1 NULL", "ECHO v1 ECHO", "ECHO v1 SINK",
                                         "ECHO v1 SOURCE", "ECHO v1 ECHO_BULK", "ECHO v1 LIST"}));
  }
}

// A file size limit simulates a full disk; it must not end the program either.
TEST_F(Endpoint, AFileOfPacketsThatBecomesFullIsReportedAndAnalyzedAsSuch) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  const std::string file = folder_.file("full.pcapng");
  for (const std::string& command :
       {"load " + to_server() + "--count 500", "ping " + to_server() + "-c 100 -i 1ms"}) {
    const Result r = run("ulimit -f 32; RPCRDMA " + command + " --pcapng " + file);
    EXPECT_EQ(r.status, 2) << command << r.out;
    const std::string recorded = "--pcapng: " + file + ": cannot write: File too large\n";
    const std::size_t at = r.err.find(recorded);
    ASSERT_NE(at, std::string::npos) << r.err;
    EXPECT_EQ(r.err.find(recorded, at + 1), std::string::npos) << r.err;
    EXPECT_THAT(r.err, HasSubstr(" packets were not written to " + file));
    const Result analysis = run("RPCRDMA analyze " + file);
    EXPECT_EQ(analysis.status, 0) << analysis.err;
    EXPECT_THAT(analysis.out, Not(HasSubstr("Healthy"))) << analysis.out;
    EXPECT_THAT(analysis.out, HasSubstr(" packets were dropped while capturing"));
    EXPECT_THAT(analysis.out, Not(HasSubstr("ends within"))) << analysis.out;
  }
  stop(server);
}

// The file as SIGKILL leaves it.
TEST_F(Endpoint, AFileOfPacketsThatWasNotClosedIsAnalyzedAsSuch) {
  const std::string file = folder_.file("killed.pcapng");
  Background server(serving({"--pcapng", file}));
  ASSERT_TRUE(server.wait_for("listening"));
  load("--count 2000 --procedure echo --size 1000");
  server.signal(SIGKILL);
  server.finish();
  const Result r = run("RPCRDMA analyze " + file);
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("the recording was not closed")) << r.out;
  EXPECT_THAT(r.out, Not(HasSubstr("Healthy"))) << r.out;
}

TEST_F(Endpoint, BothVersionsAndDirectionsAreAnalyzedWithoutErrors) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  for (const std::string version : {"1", "2", "1-2"}) {
    for (const std::string direction : {"", "--reverse", "--both"}) {
      const std::string packets = folder_.file(version + direction + ".packets.pcapng");
      const std::string recording = folder_.file(version + direction + ".recording.pcapng");
      const json r = load("--rdma-version " + version + " " + direction +
                          " --procedure mix --size 1-60000 --count 40 --depth 4 --pcapng " +
                          packets + " --record " + recording);
      const std::uint64_t forward = direction == "--reverse" ? 0 : 40;
      EXPECT_EQ(r["calls"], forward);
      EXPECT_EQ(r["errors"], 0) << r["reasons"];
      EXPECT_EQ(r["connections_lost"], 0);
      if (!direction.empty()) {
        EXPECT_EQ(r["reverse"]["right"], 40) << r["reverse"];
      }
      for (const std::string& file : {packets, recording}) {
        const Result analysis = run("RPCRDMA analyze --json " + file);
        EXPECT_EQ(analysis.status, 0) << run("RPCRDMA analyze " + file).out;
        const json report = try_parse_json(analysis.out);
        for (const json& finding : report["findings"]) EXPECT_NE(finding["severity"], "error");
        ASSERT_EQ(report["connections"].size(), 1U);
      }
    }
  }
  stop(server);
}

TEST_F(Endpoint, BothDirectionsGoOnWithOneCallOutstanding) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  const json r = load("--both --count 20 --depth 1");
  EXPECT_EQ(r["calls"], 20);
  EXPECT_EQ(r["errors"], 0) << r["reasons"];
  EXPECT_EQ(r["reverse"]["right"], 20) << r["reverse"];
  stop(server);
}

TEST_F(Endpoint, AReverseLoadEndsWithItsTimeWhateverItsDepth) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  const json r = load("--reverse --duration 200ms --depth 1");
  EXPECT_GT(r["reverse"]["right"], 0) << r["reverse"];
  stop(server);
}

// The packets, and the events of each end, with the features that only RFC 5666 has.
TEST_F(Endpoint, TheProfileOfRfc5666IsAnalyzedWithoutErrors) {
  for (const std::string offer : {"", "--no-offer "}) {
    const std::string name = offer.empty() ? "offer" : "no-offer";
    const std::string packets = folder_.file(name + ".packets.pcapng");
    const std::string events = folder_.file(name + ".events.pcapng");
    Background server(serving({"--profile", "rfc5666", "--inline", "8Ki", "--pcapng", packets}));
    ASSERT_TRUE(server.wait_for("listening"));
    const Result r = run("RPCRDMA load " + to_server() +
                         "--profile rfc5666 --procedure mix --size 0-20k --count 200 --depth 4 " +
                         offer + "--json --record " + events);
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_TRUE(server.wait_for("configured, 8192 bytes inline from it, 4096 to it"));
    stop(server);
    for (const std::string& file : {packets, events}) {
      const json report = parse_json(run("RPCRDMA analyze --profile 5666 --json " + file).out);
      EXPECT_EQ(report["connections"][0]["thresholds"]["call"], 8192);
      for (const json& f : report["findings"]) {
        EXPECT_NE(f["severity"], "error") << f;
        EXPECT_NE(f["severity"], "warning") << f;
      }
      const std::string lines = run("RPCRDMA decode --profile 5666 " + file).out;
      EXPECT_THAT(lines, HasSubstr("RDMA_MSGP"));
      EXPECT_EQ(lines.find("RDMA_DONE") == std::string::npos, offer.empty());
    }
  }
}

TEST_F(Endpoint, AClientFallsBackToTheVersionOfTheServer) {
  Background server(serving({"--rdma-version", "1"}));
  ASSERT_TRUE(server.wait_for("listening"));
  const json r = load("--rdma-version 1-2 --procedure mix --count 30 --depth 4");
  EXPECT_EQ(r["errors"], 0) << r["reasons"];
  EXPECT_EQ(r["connections_lost"], 0);
  stop(server);
}

// The client reports the error once, with advice; it sends nothing more in a refused version.
TEST_F(Endpoint, AClientGivesUpAServerThatSpeaksNoneOfItsVersions) {
  for (const auto& [own, other] : {std::pair{"2", "1"}, std::pair{"1", "2"}}) {
    Background server(serving({"--rdma-version", other}));
    ASSERT_TRUE(server.wait_for("listening"));
    const std::string version = std::string("--rdma-version ") + own;
    const std::string hint = std::string("; give --rdma-version ") + other + "\n";
    const std::string why =
        std::string("the peer supports RPC-over-RDMA version ") + other + ", not " + own + hint;
    const Result load = run("RPCRDMA load " + to_server() + version + " --count 50");
    EXPECT_EQ(load.status, 2) << load.out;
    EXPECT_EQ(load.err, "rpcrdma: load: " + why);
    const Result ping = run("RPCRDMA ping " + to_server() + version + " -c 3 -i 10ms");
    EXPECT_EQ(ping.status, 1) << ping.out;
    EXPECT_EQ(ping.err, "rpcrdma: ping: " + server_ + " port 20049: " + why);
    const Result call = run("RPCRDMA call " + to_server() + version);
    EXPECT_EQ(call.status, 1) << call.out;
    EXPECT_THAT(call.out,
                HasSubstr("ERR_VERS: the peer supports none of our versions; it supports " +
                          std::string(other) + " to " + other + hint));
    const Result probe =
        run("RPCRDMA nfs-probe --handle 00 " + server_ + ":/x --from " + client_ + " " + version);
    EXPECT_EQ(probe.status, 1) << probe.err;
    EXPECT_THAT(probe.out, HasSubstr("does not work: NULL failed" + hint));
    stop(server);
    // One error for each.
    EXPECT_THAT(server.out, HasSubstr("4 RDMA_ERRORs"));
  }
}

TEST_F(Endpoint, ReverseCallsThatTheServerDoesNotMakeEndTheLoad) {
  // No packet that it sends arrives.
  Background server(serving({"--fault", "drop dir=out op=send"}));
  ASSERT_TRUE(server.wait_for("listening"));
  for (const char* direction : {"--both", "--reverse"}) {
    const Result r = run("RPCRDMA load " + to_server() + direction + " --count 1 --timeout 200ms");
    EXPECT_EQ(r.status, 2) << r.out;
    EXPECT_THAT(r.err, HasSubstr("the server makes no reverse Calls: timed out"));
  }
}

TEST_F(Endpoint, AnOptionOfVersionTwoShowsTheServersTime) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  const Result r = run("RPCRDMA ping " + to_server() + "-c 2 -i 1ms --time-echo --rdma-version 2");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("time from " + server_ + ": seq=2 xid=0x"));
  EXPECT_THAT(r.out, HasSubstr("2 sent, 2 answered"));
  const Result one = run("RPCRDMA ping " + to_server() + "-c 1 --time-echo -W 2s");
  EXPECT_EQ(one.status, 1);
  EXPECT_THAT(one.out, HasSubstr("options need version 2"));
  stop(server);
}

TEST_F(Endpoint, AServerWithoutReverseCreditsMakesNoReverseCalls) {
  Background server(serving({"--reverse-credits", "0"}));
  ASSERT_TRUE(server.wait_for("listening"));
  const Result r = run("RPCRDMA load " + to_server() + "--reverse --count 1");
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err, HasSubstr("the server makes no reverse Calls: PROG_UNAVAIL"));
  stop(server);
}

TEST_F(Endpoint, OneCallIsShownStepByStep) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  const Result r = run("RPCRDMA call " + to_server() + "--procedure echo-bulk --size 10000");
  EXPECT_EQ(r.status, 0) << r.err;
  std::size_t at = 0;
  for (const char* step :
       {"client: CM REQ\n", "Send size: 4096\n", "server: CM REP\n", "client: Send, ",
        "Read chunk: 10000 bytes in 1 segment at Position 48\n",
        "server: RDMA Read of 10000 bytes, handle 0x", "read chunk 0 segment 0\n",
        "server: RDMA Write of 10000 bytes, handle 0x", "write chunk 0 segment 0\n",
        "server: Send With Invalidate, ", "Accept status: SUCCESS (0)\n", "client: CM DREQ\n",
        "correct reply after "}) {
    const std::size_t found = r.out.find(step, at);
    ASSERT_NE(found, std::string::npos) << step << r.out;
    at = found;
  }
  const Result refused = run("RPCRDMA call " + to_server() + "--procedure source --size 20Mi");
  EXPECT_EQ(refused.status, 1) << refused.err;
  EXPECT_THAT(refused.out,
              HasSubstr("\nrefused by the server: the result would be longer than its --max-bulk"));
  stop(server);
}

TEST(EndpointUsage, BadArgumentsGiveOneLine) {
  const auto refused = [](const std::string& arguments, const std::string& part) {
    const Result r = run("RPCRDMA " + arguments);
    EXPECT_EQ(r.status, 2) << arguments;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << arguments << r.err;
    EXPECT_THAT(r.err, HasSubstr(part)) << arguments;
    EXPECT_EQ(r.out, "") << arguments;
  };
  refused("serve --listen 127.0.0.1 --profile rfc5666 --rdma-version 2", "version 1");
  refused("serve --listen 127.0.0.1 --profile rfc5666 --align 5000", "--align");
  refused("load 127.0.0.1 --no-offer", "--no-offer requires --profile rfc5666");
  refused("serve", "--listen");
  refused("serve --listen nosuchhost.invalid",
          "\"nosuchhost.invalid\" is no address and cannot be");
  refused("serve --listen 192.0.2.1", "192.0.2.1");
  refused("serve --listen 127.0.0.1 --port 0", "--port 0: not a number from 1 to 65535");
  refused("serve --listen 127.0.0.1 --credits 0", "--credits 0");
  refused("serve --listen 127.0.0.1 --inline 5000", "--inline 5000: not a multiple of 1Ki");
  refused("serve --listen 127.0.0.1 --max-bulk 1G", "--max-bulk 1G");
  refused("serve --listen 127.0.0.1 --drc-bytes 1Ki", "--drc-bytes 1Ki: give at least 64 KiB");
  refused("serve --listen 127.0.0.1 --drc-bytes 2Gi", "--drc-bytes 2Gi");
  refused("serve --listen 127.0.0.1 --max-memory lots", "--max-memory lots: not a size");
  refused("serve --listen 127.0.0.1 --max-memory 64Mi",
          "--max-memory 64Mi: too little for --max-bulk 16 MiB, --max-connections and --drc-bytes; "
          "give at least 153Mi");
  refused("serve --listen 127.0.0.1 --null-program nfs", "give PROGRAM:VERSION, such as nfs:4");
  refused("serve --listen 127.0.0.1 --null-program nfs:x", "--null-program nfs:x");
  refused("serve --listen 127.0.0.1 --null-program nsf:3", "--null-program nsf:3");
  refused("serve --listen 127.0.0.1 --null-program nfs:3,echo:1", "echo is always served");
  refused("serve --listen 127.0.0.1 --fault 'drop op=sned'",
          "--fault: line 1, column 9: there is no opcode \"sned\"");
  refused("serve --listen 127.0.0.1 --pcapng /nonexistent/x", "/nonexistent/x");
  refused("ping", "HOST");
  refused("ping 127.0.0.1 --from 127.0.0.1:1", "--from: \"127.0.0.1:1\": give no port here");
  refused("ping [::1", "a ] is missing");
  refused("load 127.0.0.1:20050 --port 20051", "port 20050 here, but --port 20051");
  refused("call 127.0.0.1:0", "the port is not a number from 1 to 65535");
  refused("nfs-probe nosuchhost.invalid:/x", "\"nosuchhost.invalid\" is no address and cannot be");
  refused("ping 127.0.0.1 --from ::1", "other IP version");
  refused("ping 127.0.0.1 --program nsf", "--program nsf");
  refused("ping 127.0.0.1 -i soon", "--interval soon");
  refused("call 127.0.0.1 --procedure nothing", "\"nothing\" is unknown");
  refused("load 127.0.0.1 --procedure ecko", "\"ecko\" is unknown");
  refused("load 127.0.0.1 --size big", "\"big\" is not a size");
  refused("load 127.0.0.1 --procedure echo --size 2M", "the maximum for echo is 1048576 bytes");
  refused("load 127.0.0.1 --depth 0", "--depth 0");
  refused("load 127.0.0.1 --threads 2", "--connections");
  refused("load 192.0.2.1 --from 192.0.2.2 --threads 2 --connections 2", "127.0.0.0/8 only");
  refused("load 127.0.0.1 --fail-above p99=5", "--fail-above: \"5\" is not a duration");
  refused("load 127.0.0.1 --rate -5", "--rate -5");
  refused("load 127.0.0.1 --duration soon", "--duration soon");
  for (const char* number : {"-5", "18446744073709551616", "-18446744073709551615", "1.5", "x"}) {
    for (const std::string option :
         {"load 127.0.0.1 --count ", "load 127.0.0.1 --seed ", "load 127.0.0.1 --depth ",
          "load 127.0.0.1 --connections ", "load 127.0.0.1 --threads ", "load 127.0.0.1 --port ",
          "load 127.0.0.1 --max-reads ", "load 127.0.0.1 --device x --gid-index ",
          "ping 127.0.0.1 --count ", "call 127.0.0.1 --port ",
          "serve --listen 127.0.0.1 --credits ", "serve --listen 127.0.0.1 --max-connections ",
          "serve --listen 127.0.0.1 --max-calls ", "serve --listen 127.0.0.1 --reverse-credits ",
          "serve --listen 127.0.0.1 --align ", "serve --listen 127.0.0.1 --drc-entries ",
          "serve --listen 127.0.0.1 --max-segments ",
          "serve --listen 127.0.0.1 --max-write-chunks "}) {
      refused(option + number, std::string(number) + ": not a whole number, or too large");
    }
  }
  refused("load 127.0.0.1 --procedure source --size 5Gi",
          "\"5Gi\" exceeds the maximum of 268435456 bytes");
  refused("load 127.0.0.1 --size 5Gi", "\"5Gi\" exceeds the maximum of 1048576 bytes");
  refused("serve --listen 127.0.0.1 --max-bulk 8Ti",
          "--max-bulk 8Ti: exceeds the maximum of 256 MiB");
  refused("load 127.0.0.1 --reverse --hgrm x", "--reverse: --interval, --json-stream");
  refused("load 127.0.0.1 --interval 1ms", "--interval 1ms: give at least 10ms");
  refused("load 127.0.0.1 --hlog -", "--hlog -: give a file; standard output has the report");
  refused("load 127.0.0.1 --hgrm /nonexistent/x", "--hgrm: /nonexistent/x: No such file");
  refused("ping 127.0.0.1 --interval 0", "--interval 0: it must be more than zero");
  refused("load 127.0.0.1 --sleep 0ms", "--sleep 0ms: it must be more than zero");
  refused("load 127.0.0.1 --sleep -1ms", "--sleep -1ms: not a duration");
  refused("load 127.0.0.1 --from 127.5.0.254 --threads 2 --connections 2",
          "there are too few after --from 127.5.0.254; give one that ends in 252 at most");
  refused("call 127.0.0.1 --procedure mix", "--procedure mix: call sends one Call");
  refused("call 127.0.0.1 --procedure echo:2,null:1", "call sends one Call; give one procedure");
  refused("call 127.0.0.1 --size 1k-2k", "--size 1k-2k: call sends one Call; give one size");
  refused("call 127.0.0.1 --size 1k,2k", "call sends one Call; give one size");
  refused("load " + own_address(1) + " --from " + own_address(2) +
              " --procedure source --size 64Mi --depth 64",
          "a thread can register at most 1024 MiB of memory, which is too little for the data of 1 "
          "connection with 64 Calls each of up to 64 MiB; give a smaller --size, --depth or "
          "--connections");
}

}  // namespace
}  // namespace rpcrdma::e2e
