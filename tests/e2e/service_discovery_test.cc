// `rpcrdma ls` shows where endpoints serve their metrics, and writes it down for Prometheus.
#include "support/background.h"
#include "support/own_address.h"

#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace rpcrdma::e2e {
namespace {

using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ServiceDiscovery : public ::testing::Test {
 protected:
  ServiceDiscovery() { ::setenv("XDG_RUNTIME_DIR", runtime_.path().c_str(), 1); }

  // A server that runs until the end of the test.
  std::unique_ptr<Background> serve(const std::vector<std::string>& more) const {
    std::vector<std::string> all{"serve", "--listen", own_address(1)};
    all.insert(all.end(), more.begin(), more.end());
    auto server = std::make_unique<Background>(all);
    EXPECT_TRUE(server->wait_for("listening on")) << server->out;
    return server;
  }
  json targets() const { return try_parse_json(read_file(file_)); }

  TemporaryFolder runtime_;
  const std::string file_ = runtime_.file("targets.json");
};

// Also that the server's files are gone when it has ended.
TEST_F(ServiceDiscovery, LsShowsWhereMetricsAre) {
  const auto without = serve({"--no-live"});
  const std::string where = own_address(2) + ":9464";
  Background server({"serve", "--listen", own_address(2), "--metrics", where});
  ASSERT_TRUE(server.wait_for("metrics at"));
  const Result r = run("RPCRDMA ls");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, ContainsRegex("SINCE \\(UTC\\) +METRICS +ROLE\n"));
  EXPECT_THAT(r.out, ContainsRegex("[0-9]  " + where + "  server on "));
  EXPECT_EQ(try_parse_json(run("RPCRDMA ls --json").out)["metrics"], where);
  server.signal(SIGINT);
  EXPECT_EQ(server.finish(), 0);
  EXPECT_THAT(run("RPCRDMA ls").out, Not(HasSubstr("METRICS")));
  EXPECT_TRUE(std::filesystem::is_empty(runtime_.path() + "/rpcrdma"));
}

TEST_F(ServiceDiscovery, AFileIsWrittenOnce) {
  const auto server = serve({"--name", "a \"b\"", "--metrics", ":0"});
  const Result first = run("RPCRDMA ls --sd " + file_ + " --sd-host host1.example");
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_EQ(first.out, "");
  EXPECT_EQ(first.err, "rpcrdma: ls: --sd: 1 target\n");
  const json all = targets();
  ASSERT_EQ(all.size(), 1U) << all;
  EXPECT_THAT(all[0]["targets"][0].get<std::string>(), ContainsRegex("^host1.example:[0-9]+$"));
  EXPECT_EQ(all[0]["labels"]["endpoint"], "a \"b\"");
  EXPECT_THAT(all[0]["labels"]["endpoint_role"].get<std::string>(), HasSubstr("server on "));
  const Result again = run("RPCRDMA ls --sd " + file_ + " --sd-host host1.example");
  EXPECT_EQ(again.err, "rpcrdma: ls: --sd: 1 target, as in the file before\n");
}

TEST_F(ServiceDiscovery, WhatOthersCannotReachIsLeftOutInOneLine) {
  const auto server = serve({"--metrics", "127.0.0.1:0"});
  const Result r = run("RPCRDMA ls --sd " + file_ + " --sd-host host1");
  EXPECT_EQ(r.status, 0);
  EXPECT_THAT(r.err, HasSubstr("is left out: other machines cannot reach a loopback address\n"));
  EXPECT_THAT(r.err, HasSubstr(" 0 targets\n"));
  EXPECT_EQ(targets(), json::array());
}

TEST_F(ServiceDiscovery, WhatCannotBeDoneIsOneLine) {
  const auto refused = [](const std::string& arguments, const std::string& part) {
    const Result r = run("RPCRDMA ls " + arguments);
    EXPECT_EQ(r.status, 2) << arguments;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << arguments << r.err;
    EXPECT_THAT(r.err, HasSubstr(part)) << arguments;
    EXPECT_EQ(r.out, "") << arguments;
  };
  refused("--sd /nonexistent/x.json", "ls: --sd: /nonexistent/x.json: No such file");
  refused("--sd " + runtime_.file("x.txt"), "end in .json");
  refused("--every 5s", "--every: needs --sd");
  refused("--sd-host a", "--sd-host: needs --sd");
  refused("--sd " + file_ + " --json", "--json: not with --sd");
  refused("--sd " + file_ + " --every 1ms", "at least 100ms");
  refused("--sd " + file_ + " --every x", "not a duration");
  refused("--sd " + file_ + " --sd-host a:1", "without a port");
  EXPECT_FALSE(std::filesystem::exists(file_));
}

// The old file stays; the failure is reported once, and its end.
TEST_F(ServiceDiscovery, AFullDiskIsReportedAndTheOldFileStays) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a small file system";
  const auto server = serve({"--metrics", "127.0.0.1:0"});
  const std::string disk = runtime_.file("disk");
  std::filesystem::create_directory(disk);
  const Result r = run(fmt::format(
      "export C={0} D={1}\n"
      "unshare -m --propagation private bash -c '\n"
      "mount -t tmpfs -o size=8k tmpfs $D; echo [] >$D/t.json\n"
      "cat /dev/zero >$D/full 2>/dev/null\n"
      "$C ls --sd $D/t.json; echo status $?; cat $D/t.json\n"
      "$C ls --sd $D/t.json --every 100ms 2>$D/../log & pid=$!\n"
      "for i in $(seq 1000); do grep -q \"No space\" $D/../log && break; sleep 0.02; done\n"
      "rm $D/full\n"
      "for i in $(seq 1000); do grep -q \"1 target\" $D/../log && break; sleep 0.02; done\n"
      "kill $pid; wait $pid; echo status $?; ls $D; cat $D/../log; grep -c targets $D/t.json'",
      RPCRDMA_COMMAND, disk));
  EXPECT_THAT(r.err, HasSubstr("t.json: No space left on device\n"));
  EXPECT_THAT(r.out, ::testing::StartsWith("status 2\n[]\nstatus 0\nt.json\n"));
  EXPECT_THAT(r.out, HasSubstr("No space left on device\nrpcrdma: ls: --sd: 1 target\n1\n"));
}

}  // namespace
}  // namespace rpcrdma::e2e
