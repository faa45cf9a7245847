// What `load`, `ping`, `call` and `serve` write for other programs, and how they end when the
// server dies or refuses.
#include "support/background.h"
#include "support/own_address.h"

#include <map>
#include <regex>
#include <sstream>

#include <gmock/gmock.h>

namespace rpcrdma::e2e {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class LoadOutput : public ::testing::Test {
 protected:
  const std::string server_ = own_address(3);
  const std::string client_ = own_address(4);
  TemporaryFolder folder_;

  std::vector<std::string> serving(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all{"serve", "--listen", server_};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  std::string to_server() const { return server_ + " --from " + client_ + " "; }
  std::vector<std::string> loading(const std::vector<std::string>& more) const {
    std::vector<std::string> all{"load", server_, "--from", client_};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  static void stop(Background& server) {
    server.signal(SIGINT);
    EXPECT_EQ(server.finish(), 0) << server.out;
  }
  // Checks that each key of an object is documented in a section of docs/load.md.
  static void expect_documented(const json& object) {
    const std::string docs = read_file(RPCRDMA_TEST_DOCS "/load.md");
    for (const auto& [key, value] : object.items()) {
      EXPECT_THAT(docs, HasSubstr("`" + key + "`")) << object;
    }
  }
};

std::vector<std::string> written_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST_F(LoadOutput, SeveralServersAreCalledAtTheSameTime) {
  const std::string second = own_address(5);
  Background one(serving());
  Background two({"serve", "--listen", second});
  ASSERT_TRUE(one.wait_for("listening"));
  ASSERT_TRUE(two.wait_for("listening"));
  const std::string page = folder_.file("page.html");
  const Result load = run("RPCRDMA load " + server_ + "," + second + " --from " + client_ +
                          " --count 200 --depth 2 --connections 2 --json --html " + page);
  EXPECT_EQ(load.status, 0) << load.err;
  const json report = json::parse(load.out);
  EXPECT_EQ(report["calls"], 200);
  EXPECT_EQ(report["connections"], 4);
  EXPECT_EQ(report["server"], server_ + " port 20049, " + second + " port 20049");
  const std::string text = read_file(page);
  EXPECT_THAT(text, HasSubstr("<b>Passed.</b> 200 Calls were answered, all correct."));
  EXPECT_THAT(text, HasSubstr("Latency by percentile"));
  for (Background* const server : {&one, &two}) {
    stop(*server);
    EXPECT_THAT(server->out, ::testing::Not(HasSubstr(" 0 Calls")));
  }
  EXPECT_EQ(run("RPCRDMA load " + server_ + " " + server_ + " --from " + client_).err,
            "rpcrdma: load: " + server_ + " port 20049: given twice\n");
}

TEST_F(LoadOutput, EachIntervalIsALineAnObjectAndAHistogram) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  const std::string stream = folder_.file("stream"), hgrm = folder_.file("hgrm"),
                    hlog = folder_.file("hlog");
  const Result r = run("RPCRDMA load " + to_server() +
                       "--procedure null --duration 500ms --interval 100ms --json-stream " +
                       stream + " --hgrm " + hgrm + " --hlog " + hlog);
  EXPECT_EQ(r.status, 0) << r.err;
  const std::vector<std::string> text = written_lines(r.out);
  ASSERT_GT(text.size(), 4U);
  const std::regex interval(R"(\d+\.\d s: [\d.]+ calls/s, 0 B/s, 0 failed(, p50 .*)?)");
  std::uint64_t in_text = 0;
  while (std::regex_match(text[in_text], interval)) ++in_text;
  EXPECT_GE(in_text, 1U) << r.out;

  std::uint64_t calls = 0;
  const std::vector<std::string> objects = written_lines(read_file(stream));
  EXPECT_EQ(objects.size(), in_text);
  for (const std::string& line : objects) {
    const json object = json::parse(line);
    expect_documented(object);
    calls += object["calls"].get<std::uint64_t>();
    EXPECT_EQ(object["errors"], 0);
    EXPECT_LE(object["connections"], 1);  // 0 before its first Reply
  }
  const json last = json::parse(objects.back());
  EXPECT_EQ(last["connections"], 1);
  EXPECT_GT(last["credits"], 0);
  EXPECT_THAT(r.out, HasSubstr(std::to_string(calls) + " Calls in "));

  const std::vector<std::string> log = written_lines(read_file(hlog));
  ASSERT_EQ(log.size(), 4 + objects.size());
  EXPECT_EQ(log[1], "#[Histogram log format version 1.3]");
  const std::regex entry(R"(\d+\.\d{3},\d+\.\d{3},\d+\.\d{3},HISTF[A-Za-z0-9+/]+=*)");
  for (std::size_t i = 4; i < log.size(); ++i) EXPECT_TRUE(std::regex_match(log[i], entry)) << i;

  const std::string distribution = read_file(hgrm);
  EXPECT_THAT(distribution,
              StartsWith("       Value     Percentile TotalCount 1/(1-Percentile)\n"));
  EXPECT_THAT(distribution,
              HasSubstr("Total count    = " + std::string(12 - std::to_string(calls).size(), ' ') +
                        std::to_string(calls) + "]"));
  stop(server);
}

TEST_F(LoadOutput, WhatCannotBeWrittenIsReported) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  for (const std::string option : {"--hgrm", "--hlog", "--json-stream", "--html"}) {
    const Result r =
        run("RPCRDMA load " + to_server() + "--count 1 --procedure null " + option + " /dev/full");
    EXPECT_EQ(r.status, 2) << option;
    EXPECT_EQ(r.err, "rpcrdma: load: " + option + ": /dev/full: No space left on device\n");
    EXPECT_THAT(r.out, HasSubstr("1 Call in ")) << option;
  }
  // The load would last an hour: it ends with its reader.
  const Result r = run("RPCRDMA load " + to_server() +
                       "--procedure null --duration 1h --interval 10ms --json-stream - 2> " +
                       folder_.file("err") + " | head -n 1");
  EXPECT_EQ(written_lines(r.out).size(), 1U);
  EXPECT_THAT(read_file(folder_.file("err")),
              HasSubstr("rpcrdma: load: --json-stream: standard output: Broken pipe\n"));
  stop(server);
}

TEST_F(LoadOutput, AServerThatDiesIsAnExitStatus) {
  for (const std::vector<std::string>& options : {
           std::vector<std::string>{"--count", "1000000000", "--timeout", "300ms"},
           std::vector<std::string>{"--duration", "3s", "--timeout", "200ms"},
           std::vector<std::string>{"--duration", "3s", "--rate", "100", "--timeout", "200ms"},
       }) {
    Background server(serving());
    ASSERT_TRUE(server.wait_for("listening"));
    std::vector<std::string> all{"--procedure", "null", "--fail-above", "errors=1000000"};
    all.insert(all.end(), options.begin(), options.end());
    Background client(loading(all));
    ASSERT_TRUE(server.wait_for(client_ + " connected"));
    server.signal(SIGKILL);
    server.finish();
    EXPECT_EQ(client.finish(), 1) << client.out;
    EXPECT_THAT(client.out, HasSubstr("not re-established: ")) << options[1];
  }
}

TEST_F(LoadOutput, ALowRateIsDividedByTheTimeAskedFor) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  const auto report = [&](const std::string& options) {
    return try_parse_json(
        run("RPCRDMA load " + to_server() + "--procedure null --json " + options).out);
  };
  const json counted = report("--rate 5 --count 2");
  EXPECT_EQ(counted["calls"], 2);
  EXPECT_LE(counted["calls_per_second"], 5);
  EXPECT_GE(counted["seconds"], 0.4);
  EXPECT_EQ(counted["connections_down"], 0);
  // The only Call is due at once.
  const json timed = report("--rate 1 --duration 400ms");
  EXPECT_EQ(timed["calls"], 1);
  EXPECT_GE(timed["seconds"], 0.4);
  stop(server);
}

TEST_F(LoadOutput, RefusalsNameTheLimitAtBothEnds) {
  Background server(serving({"--max-bulk", "64Ki", "--max-write-chunks", "0", "--json"}));
  ASSERT_TRUE(server.wait_for("listening"));
  const auto reason = [&](const std::string& options) {
    const Result r = run("RPCRDMA call " + to_server() + options);
    EXPECT_EQ(r.status, 1) << r.out;
    return written_lines(r.out).back();
  };
  EXPECT_THAT(reason("--procedure sink --size 128Ki"),
              HasSubstr("the server refuses Read chunks above its --max-bulk"));
  EXPECT_THAT(reason("--procedure list --size 128Ki"),
              HasSubstr("the result would be longer than its --max-bulk"));
  reason("--procedure source --size 64Ki");
  stop(server);
  EXPECT_THAT(server.out, HasSubstr("the Read chunks are longer than is accepted (--max-bulk 64 "
                                    "KiB)\n"));
  EXPECT_THAT(server.out,
              HasSubstr(" refused: a result of 128.9 KiB is above --max-bulk 64 KiB\n"));
  EXPECT_THAT(server.out, HasSubstr("more chunks than are accepted (--max-write-chunks 0)\n"));
  const json summary = try_parse_json(written_lines(server.out).back());
  expect_documented(summary);
  EXPECT_EQ(summary["connections"], 3);
  EXPECT_EQ(summary["results_too_long"], 1);
  EXPECT_EQ(summary["refusals"].size(), 2U);
}

TEST_F(LoadOutput, PingAndCallPrintOneObject) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  const auto object = [&](const std::string& command, int status) {
    const Result r = run("RPCRDMA " + command);
    EXPECT_EQ(r.status, status) << r.err;
    const json parsed = try_parse_json(r.out);
    expect_documented(parsed);
    return parsed;
  };
  const json answered = object("ping " + to_server() + "-c 3 -i 1ms --json", 0);
  EXPECT_EQ(answered["answered"], 3);
  EXPECT_EQ(answered["lost"], 0);
  EXPECT_TRUE(answered["error"].is_null());
  EXPECT_TRUE(answered["first_us"].is_number());
  EXPECT_LE(answered["latency_us"]["min"], answered["latency_us"]["max"]);
  const json refused = object("ping " + to_server() + "-c 1 --program nfs --json", 1);
  EXPECT_EQ(refused["refusal"], "PROG_UNAVAIL");
  EXPECT_EQ(refused["refused"], 1);
  EXPECT_TRUE(refused["latency_us"]["min"].is_null());  // of one answer, the first
  const json absent = object("ping " + to_server() + "-c 1 --port 20050 --json", 1);
  EXPECT_EQ(absent["connected"], false);
  EXPECT_THAT(absent["error"].get<std::string>(), HasSubstr("no listener on that port"));

  const json call = object("call " + to_server() + "--procedure sink --size 64Ki --json", 0);
  EXPECT_EQ(call["correct"], true);
  EXPECT_GT(call["steps"].size(), 3U);
  EXPECT_GT(call["latency_us"]["total"].get<double>(), 0);
  const json wrong = object("call " + to_server() +
                                "--rdma-version 2 --size 17Mi "
                                "--procedure source --json",
                            1);
  EXPECT_EQ(wrong["correct"], false);
  EXPECT_TRUE(wrong["latency_us"].is_null());
  stop(server);
}

TEST_F(LoadOutput, EndpointsShareAnAddress) {
  Background one(serving()), two(serving({"--port", "20050"}));
  ASSERT_TRUE(one.wait_for("listening"));
  ASSERT_TRUE(two.wait_for("listening"));
  const Result third = run("RPCRDMA serve --listen " + server_ + ":20050");
  EXPECT_EQ(third.status, 2);
  EXPECT_EQ(third.err,
            "rpcrdma: serve: port 20050 of " + server_ + " is served by another endpoint\n");
  // Client and server have one address, and a load runs there already.
  Background load({"load", server_, "--from", server_, "--duration", "1h", "--depth", "4"});
  ASSERT_TRUE(one.wait_for(server_ + " connected"));
  for (const std::string& host : {server_, server_ + ":20050"}) {
    const Result ping = run("RPCRDMA ping " + host + " --from " + server_ + " -c 2 -i 1ms");
    EXPECT_EQ(ping.status, 0) << ping.out << ping.err;
  }
  const std::string file = folder_.file("packets");
  const Result both = run("RPCRDMA load " + server_ + ":20050 --from " + server_ +
                          " --procedure mix --size 1-20000 --count 200 --depth 4 --pcapng " + file);
  EXPECT_EQ(both.status, 0) << both.out << both.err;
  EXPECT_THAT(run("RPCRDMA analyze --no-plots " + file).out, HasSubstr("200 Calls, all answered"));
  // The other server receives its packets itself when the first has ended.
  load.signal(SIGINT);
  EXPECT_EQ(load.finish(), 0) << load.out;
  stop(one);
  const Result left = run("RPCRDMA load " + server_ + ":20050 --from " + client_ + " --count 100");
  EXPECT_EQ(left.status, 0) << left.out << left.err;
  stop(two);
}

TEST_F(LoadOutput, NamesStandForAddresses) {
  Background server({"serve", "--listen", "localhost:20077"});
  ASSERT_TRUE(server.wait_for("listening on 127.0.0.1 port 20077")) << server.out;
  for (const std::string& command : std::vector<std::string>{
           "ping localhost:20077 -c 1", "load localhost --port 20077 --count 1 --from localhost",
           "call 127.0.0.1:20077 --from " + client_, "ping [127.0.0.1]:20077 -c 1"}) {
    const Result r = run("RPCRDMA " + command);
    EXPECT_EQ(r.status, 0) << command << r.out << r.err;
  }
  stop(server);
}

TEST_F(LoadOutput, ZeroIsNoTimeLimitAndAMixMayHaveMore) {
  Background server(serving({"--idle", "0"}));
  ASSERT_TRUE(server.wait_for("listening"));
  const Result r = run("RPCRDMA load " + to_server() +
                       "--timeout 0 --count 100 --procedure mix,null:50,sleep --sleep 1ms --json");
  EXPECT_EQ(r.status, 0) << r.err;
  std::map<std::string, int> calls;
  const json report = try_parse_json(r.out);
  for (const json& p : report["procedures"]) calls[p["name"]] = p["calls"];
  EXPECT_GT(calls["null"], 70);
  EXPECT_EQ(run("RPCRDMA ping " + to_server() + "-c 1 --wait 0").status, 0);
  EXPECT_EQ(run("RPCRDMA call " + to_server() + "--timeout 0 --procedure null").status, 0);
  stop(server);
}

}  // namespace
}  // namespace rpcrdma::e2e
