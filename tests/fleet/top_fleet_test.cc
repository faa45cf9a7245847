// `rpcrdma top --fleet` and `rpcrdma fleet` with agents that the test simulates on a real bus.
#include "fleet/simulated_agents.h"
#include "support/background.h"
#include "support/nats_server.h"
#include "support/terminal.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <set>
#include <thread>

#include <gmock/gmock.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/fleet/bus.h>
#include <rpcrdma/fleet/subjects.h>

namespace rpcrdma::e2e {
namespace {

using fleet::SimulatedAgent;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class TopFleet : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!NatsServer::installed()) GTEST_SKIP() << "nats-server is not installed";
    std::filesystem::create_directory(folder_.file("bus"));
    ASSERT_TRUE(server_.start()) << server_.log();
    fleet::BusOptions options;
    options.url = server_.url();
    auto bus = fleet::Bus::connect(options);
    ASSERT_TRUE(bus) << bus.error().message;
    bus_ = std::move(*bus);
    const auto streams = bus_->prepare_streams();
    ASSERT_TRUE(streams) << streams.error().message;
  }
  void TearDown() override {
    stop_ = true;
    if (publisher_.joinable()) publisher_.join();
  }

  // Publishes a summary of each agent, and what the test adds, several times a second.
  void publish(std::size_t agents) {
    publisher_ = std::thread([this, agents] {
      std::vector<SimulatedAgent> all;
      for (std::size_t i = 1; i <= agents; ++i) {
        all.emplace_back(i, fleet::SimulatedLoad{.calls_per_second = 100, .samples = 50});
      }
      while (!stop_) {
        for (SimulatedAgent& a : all) {
          fleet::Summary s = a.next(base::monotonic_ns(), base::wall_clock_ns());
          if (change_) change_(s);
          bus_->publish_state(s.host, fleet::to_json(s));
        }
        for (const auto& [subject, data] : more_) (void)bus_->send(subject, data);
        ::poll(nullptr, 0, 300);
      }
    });
  }
  void publish_finding(const std::string& host, std::uint64_t count) {
    fleet::FindingNote n;
    n.host = host;
    n.instance = "i";
    n.sequence = count;
    n.wall_ns = base::wall_clock_ns();
    n.endpoint = "nfsd";
    n.kind = 7;
    n.severity = "error";
    n.rule = "FC-01";
    n.at_fault = "client 10.0.0.2";
    n.count = count;
    n.text = "more Calls are in flight than the last grant";
    n.advice = "check the client";
    bus_->publish_finding(host, host + std::to_string(count), fleet::to_json(n));
    ASSERT_TRUE(bus_->flush(std::chrono::seconds(20)));
  }
  [[nodiscard]] Result top(const std::string& more) const {
    return run("RPCRDMA top --fleet " + server_.url() + " " + more);
  }
  [[nodiscard]] Result ask(const std::string& words) const {
    return run("RPCRDMA fleet " + words + " --bus " + server_.url());
  }

  TemporaryFolder folder_;
  NatsServer server_{folder_.file("bus")};
  std::unique_ptr<fleet::Bus> bus_;
  std::function<void(fleet::Summary&)> change_;
  std::vector<std::pair<std::string, std::string>> more_;
  std::atomic<bool> stop_ = false;
  std::thread publisher_;
};

TEST_F(TopFleet, OnceIsPlainText) {
  publish(3);
  publish_finding("node0002", 4);
  const Result r = top("--once");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("3 reporting  0 old  0 left   6 endpoints  48 connections"));
  for (const char* const host : {"node0001", "node0002", "node0003"}) {
    EXPECT_THAT(r.out, HasSubstr(std::string(" ") + host + "       ok "));
  }
  EXPECT_THAT(r.out, HasSubstr("FC-01"));
  EXPECT_THAT(r.out, Not(HasSubstr("\033")));
  const Result hosts = ask("hosts");
  EXPECT_EQ(hosts.status, 0) << hosts.err;
  EXPECT_EQ(std::count(hosts.out.begin(), hosts.out.end(), '\n'), 4);
  const Result one = ask("hosts node0002 --json");
  EXPECT_EQ(json::parse(one.out)["name"], "node0002") << one.err;
}

TEST_F(TopFleet, DrawsAndTakesKeys) {
  publish(3);
  publish_finding("node0003", 1);
  Terminal t({"top", "--fleet", server_.url()});
  EXPECT_TRUE(t.wait_for("3 reporting  0 old")) << t.all();
  EXPECT_TRUE(t.wait_for("node0003       ok"));
  EXPECT_FALSE(t.modes_restored());
  t.type("j\r");
  EXPECT_TRUE(t.wait_for("client1 on node0002")) << t.screen();
  t.type("f");
  EXPECT_TRUE(t.wait_for("nfsd on node0003: client 10.0.0.2")) << t.screen();
  t.type("v");
  EXPECT_TRUE(t.wait_for("bus connected"));
  t.type("?");
  EXPECT_TRUE(t.wait_for("any key closes it"));
  t.type(" p");
  EXPECT_TRUE(t.wait_for("PAUSED"));
  t.type("p");
  server_.stop(SIGKILL);
  EXPECT_TRUE(t.wait_for("BUS DISCONNECTED")) << t.screen();
  EXPECT_TRUE(t.wait_for("0 reporting  3 old"));
  ASSERT_TRUE(server_.start());
  EXPECT_TRUE(t.wait_for("3 reporting  0 old")) << t.screen();
  t.type("q");
  EXPECT_EQ(t.finish(), 0);
  EXPECT_TRUE(t.modes_restored());
}

TEST_F(TopFleet, FindingsComeFromTheStream) {
  for (const std::uint64_t count : {1U, 2U, 3U}) publish_finding("node1", count);
  publish_finding("node\033[2J", 1);
  const Result all = ask("findings --since 1h");
  EXPECT_EQ(all.status, 0) << all.err;
  EXPECT_EQ(std::count(all.out.begin(), all.out.end(), '\n'), 4) << all.out;
  EXPECT_THAT(all.out, HasSubstr(" node1 nfsd error FC-01 x3 more Calls are in flight than the "
                                 "last grant (client 10.0.0.2)\n"));
  EXPECT_THAT(all.out, HasSubstr("node\\x1b[2J"));
  EXPECT_THAT(all.out, Not(HasSubstr("\033")));
  const Result one = ask("findings --host node1 --json");
  EXPECT_EQ(std::count(one.out.begin(), one.out.end(), '\n'), 3) << one.out;
  EXPECT_EQ(json::parse(one.out.substr(0, one.out.find('\n')))["count"], 1);
  EXPECT_THAT(ask("findings --host other").out, IsEmpty());
  EXPECT_THAT(ask("findings --since 8d").err, HasSubstr("at most 7 days"));

  Background follow({"fleet", "findings", "--follow", "--bus", server_.url()});
  EXPECT_TRUE(follow.wait_for(" x3 "));
  publish_finding("node1", 44);
  EXPECT_TRUE(follow.wait_for(" x44 "));
  follow.signal(SIGINT);
  EXPECT_EQ(follow.finish(), 0);
}

TEST_F(TopFleet, BadInputIsOneLineAndHarmsNobody) {
  SimulatedAgent forger(9, {});
  const std::string forged = fleet::to_json(forger.next(1, 1));
  std::string other = forged;
  other.replace(other.find("\"schema\":1"), 10, "\"schema\":9");
  more_ = {{fleet::state_subject("victim"), forged},
           {fleet::state_subject("newer"), other},
           {fleet::state_subject("garbage"), "{\"schema\":1"},
           {fleet::state_subject("large"), std::string(900'000, 'x')},
           {fleet::findings_subject("victim"), "[]"}};
  publish(2);
  const Result r = top("--json");
  ASSERT_EQ(r.status, 0) << r.err;
  const json j = json::parse(r.out);
  EXPECT_EQ(j["totals"]["hosts"]["fresh"], 2);
  EXPECT_EQ(j["hosts"].size(), 2U);
  EXPECT_GT(j["refused"]["wrong_host"], 0);
  EXPECT_GT(j["refused"]["other_schema"], 0);
  EXPECT_GT(j["refused"]["malformed"], 0);
  EXPECT_GT(j["refused"]["findings"], 0);
  std::multiset<std::string> lines;
  for (const json& e : j["events"]) {
    if (e["host"].is_string()) lines.insert(e["host"].get<std::string>());
  }
  for (const char* const host : {"victim", "newer", "garbage", "large"}) {
    EXPECT_EQ(lines.count(host), 1U) << host;
  }
}

TEST_F(TopFleet, SaysWhyItCannot) {
  const int port = server_.port();
  server_.stop();
  for (const char* const words :
       {"top --once --fleet", "fleet hosts --bus", "fleet findings --bus"}) {
    const Result r =
        run(std::string("RPCRDMA ") + words + " nats://127.0.0.1:" + std::to_string(port));
    EXPECT_EQ(r.status, 2);
    EXPECT_THAT(r.err, HasSubstr("no NATS server answers there"));
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  }
  EXPECT_THAT(run("RPCRDMA top nfsd --fleet x --once").err, HasSubstr("name no ENDPOINT"));
  EXPECT_EQ(run("RPCRDMA top nobody --json").status, 2);
}

void add_keys(const json& j, std::set<std::string>& keys) {
  if (j.is_object()) {
    for (const auto& [key, value] : j.items()) {
      keys.insert(key);
      add_keys(value, keys);
    }
  }
  if (j.is_array()) {
    for (const json& one : j) add_keys(one, keys);
  }
}

// The words in backquotes of the chapter JSON, but for values and commands.
std::set<std::string> documented_keys() {
  const std::string all = read_file(std::string(RPCRDMA_TEST_DOCS) + "/fleet.md");
  const std::size_t begin = all.find("\n## JSON");
  const std::string text = all.substr(begin, all.find("\n## ", begin + 4) - begin);
  std::set<std::string> keys;
  for (std::size_t at = text.find('`'); at != std::string::npos; at = text.find('`', at)) {
    const std::size_t end = text.find('`', at + 1);
    keys.insert(text.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  for (const char* const value :
       {"here", "silent", "left", "endpoint", "kernel", "closed", "killed", "refused", "good",
        "bad", "note", "null", "_ns", "fleet hosts --json", "fleet findings --json",
        "top --fleet URL --json"}) {
    keys.erase(value);
  }
  // Values that are keys elsewhere.
  keys.insert({"endpoint", "left", "refused"});
  return keys;
}

TEST_F(TopFleet, EveryJsonKeyIsDocumented) {
  change_ = [](fleet::Summary& s) {
    s.endpoints[1].end = fleet::EndpointEnd::kRefused;
    s.endpoints[1].why = "it sends what no endpoint sends";
    s.endpoints[0].recordings.push_back({"/tmp/a.pcapng", 100, true});
  };
  publish(2);
  publish_finding("node0001", 1);
  const Result r = top("--json");
  ASSERT_EQ(r.status, 0) << r.err;
  std::set<std::string> keys;
  add_keys(json::parse(r.out), keys);
  EXPECT_EQ(keys, documented_keys());
  std::set<std::string> of_host, of_finding;
  const Result hosts = ask("hosts --json");
  add_keys(json::parse(hosts.out.substr(0, hosts.out.find('\n'))), of_host);
  add_keys(json::parse(ask("findings --json").out), of_finding);
  EXPECT_TRUE(std::includes(keys.begin(), keys.end(), of_host.begin(), of_host.end()));
  EXPECT_TRUE(std::includes(keys.begin(), keys.end(), of_finding.begin(), of_finding.end()));
}

}  // namespace
}  // namespace rpcrdma::e2e
