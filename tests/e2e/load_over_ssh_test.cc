// `rpcrdma load --agents`: agents in network namespaces on one bridge, started by a script that
// stands for ssh, and by ssh itself; agents that die, hang, flood, or are of another version.
#include "support/background.h"
#include "support/bridged_hosts.h"
#include "support/command.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/base/text.h>
#include <rpcrdma/load_agents/messages.h>

namespace rpcrdma::e2e {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kHosts = 4;

class LoadOverSsh : public ::testing::Test {
 protected:
  void SetUp() override {
    static const bool entered = enter_bridged_hosts(kHosts);
    if (!entered) GTEST_SKIP() << "not permitted to make namespaces";
    // What an agent's starter leaves behind becomes a child of this process.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    // $1: the address of a host; $2: a command. A file with the name of the address replaces the
    // command. The process becomes the agent.
    write_file(folder_.file("ssh"),
               fmt::format("#!/bin/sh\necho $$ >> {0}/pid.$1\n"
                           "[ -f {0}/$1 ] && exec sh {0}/$1\n"
                           "exec ip netns exec h${{1##*.}} sh -c \"exec $2\"\n",
                           folder_.path()));
    ::chmod(folder_.file("ssh").c_str(), 0700);
  }
  void TearDown() override {
    // Of all that agents were, nothing is left.
    const std::int64_t end = base::monotonic_ns() + 30 * base::kSecond;
    while (::waitpid(-1, nullptr, WNOHANG) >= 0) {
      ASSERT_LT(base::monotonic_ns(), end) << "a process is left";
      ::poll(nullptr, 0, 5);
    }
  }

  static std::string addresses(int count) {
    std::string text = host_address(1);
    for (int i = 2; i <= count; ++i) text += "," + host_address(i);
    return text;
  }
  [[nodiscard]] std::vector<std::string> with(const std::string& agents,
                                              const std::vector<std::string>& more) const {
    std::vector<std::string> all{
        "load", "--agents", agents, "--ssh", folder_.file("ssh"), "--agent-path", RPCRDMA_COMMAND};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  // Runs to the end.
  [[nodiscard]] Result load(const std::string& agents, const std::string& more) const {
    std::string line = "RPCRDMA";
    for (const std::string& word : with(agents, {})) line += " '" + word + "'";
    return run(line + " " + more);
  }
  static std::vector<std::string> serving() {
    return {"serve", "--listen", kBridgeAddress, "--json", "--quiet"};
  }
  // Ends the server; returns its summary.
  static json stop(Background& server) {
    server.signal(SIGINT);
    EXPECT_EQ(server.finish(), 0) << server.out;
    return try_parse_json(server.out.substr(server.out.rfind("{\"connections")));
  }
  // The agent's process, or that of its ssh.
  [[nodiscard]] pid_t process_of(int host) const {
    const std::string text = read_file(folder_.file("pid." + host_address(host)));
    return text.empty() ? -1 : static_cast<pid_t>(std::stol(text));
  }
  // What the host does instead of starting an agent.
  void replace(int host, const std::string& script) const {
    write_file(folder_.file(host_address(host)), script);
  }
  static void expect_one_fault(const Result& r, int status, const std::string& text) {
    EXPECT_EQ(r.status, status) << r.out << r.err;
    EXPECT_THAT(r.err, HasSubstr(text));
  }

  const TemporaryFolder folder_;
};

TEST_F(LoadOverSsh, CountsOfAllAgentsAreThoseOfTheServer) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  const Result r = load(
      addresses(4), fmt::format("{} --count 500 --procedure mix --depth 4 --json", kBridgeAddress));
  EXPECT_EQ(r.status, 0) << r.err;
  const json report = try_parse_json(r.out);
  const json summary = stop(server);
  EXPECT_EQ(report["calls"], 2000);
  EXPECT_EQ(report["errors"], 0);
  EXPECT_EQ(summary["success"], 2000);
  EXPECT_EQ(summary["connections"], 4);
  // What one load reports, all together report, too.
  Background another(serving());
  ASSERT_TRUE(another.wait_for("listening"));
  const json single =
      try_parse_json(run(fmt::format("RPCRDMA load {} --count 10 --json", kBridgeAddress)).out);
  stop(another);
  for (const auto& [key, value] : single.items()) {
    EXPECT_TRUE(report.contains(key)) << key;
    if (!report.contains(key)) continue;
    // Numbers may be whole or not.
    EXPECT_EQ(std::string(report[key].type_name()), value.type_name()) << key;
  }
}

TEST_F(LoadOverSsh, SeveralAgentsAtOneHostAreSeveralRanks) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  const Result r = load(host_address(1) + ":3," + host_address(2),
                        fmt::format("{} --count 100", kBridgeAddress));
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr(host_address(1) + "#3"));
  EXPECT_EQ(stop(server)["success"], 400);
}

// The monotonic clock of each host is 1000 seconds ahead of that of the one before.
TEST_F(LoadOverSsh, AgentsBeginTogether) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  for (int i = 1; i <= 4; ++i) {
    replace(i, fmt::format("exec ip netns exec h{} unshare --time --monotonic {} --fork "
                           "--kill-child {} load --agent",
                           i, 1000 * i, RPCRDMA_COMMAND));
  }
  // A busy machine may not run an agent when its time has come, so a few loads may be needed.
  double skew = 1e9;
  for (int i = 0; i < 50 && skew >= 5000; ++i) {
    const Result r = load(addresses(4), fmt::format("{} --count 10 --json", kBridgeAddress));
    ASSERT_EQ(r.status, 0) << r.err;
    const json report = try_parse_json(r.out);
    skew = std::min(skew, report["start_skew_us"].get<double>());
    ASSERT_EQ(report["ranks"].size(), 4U);
    for (const json& rank : report["ranks"]) {
      const double true_offset = 1e9 * (rank["rank"].get<double>() + 1);
      EXPECT_NEAR(rank["clock_offset_us"].get<double>(), true_offset,
                  rank["clock_error_us"].get<double>());
    }
  }
  EXPECT_LT(skew, 5000);
  stop(server);
}

TEST_F(LoadOverSsh, AgentsServeWhereThePatternNeedsIt) {
  const std::map<std::string, int> calls{
      {"n-to-1", 2 * 50}, {"1-to-n", 50}, {"pairwise", 6 * 50}, {"all-to-all", 3 * 50}};
  for (const auto& [pattern, expected] : calls) {
    const Result r = load(addresses(3), "--count 50 --json --pattern " + pattern);
    EXPECT_EQ(r.status, 0) << pattern << r.err;
    EXPECT_EQ(try_parse_json(r.out)["errors"], 0) << pattern;
    EXPECT_EQ(try_parse_json(r.out)["calls"], expected) << pattern;
  }
}

TEST_F(LoadOverSsh, SecondsOfAllAreAddedUp) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  const Result r = load(
      addresses(2),
      fmt::format("{0} --rate 100 --duration 2s --json --json-stream {1}/stream --hgrm {1}/hgrm "
                  "--hlog {1}/hlog --html {1}/page",
                  kBridgeAddress, folder_.path()));
  EXPECT_EQ(r.status, 0) << r.err;
  int calls = 0;
  std::istringstream stream(read_file(folder_.file("stream")));
  for (std::string line; std::getline(stream, line);) {
    calls += try_parse_json(line)["calls"].get<int>();
  }
  EXPECT_EQ(calls, try_parse_json(r.out)["calls"]);
  EXPECT_THAT(read_file(folder_.file("hgrm")),
              HasSubstr(fmt::format("Total count    = {:12}]", calls)));
  EXPECT_THAT(read_file(folder_.file("hlog")), HasSubstr("#[Histogram log format version 1.3]"));
  EXPECT_THAT(read_file(folder_.file("page")), HasSubstr(host_address(2)));
  stop(server);
}

TEST_F(LoadOverSsh, OneThatIsKilledIsNamedAndTheOthersReport) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  Background job(with(addresses(3), {kBridgeAddress, "--duration", "1h", "--interval", "1s"}));
  ASSERT_TRUE(job.wait_for(" s: ")) << job.out;
  ::kill(process_of(2), SIGKILL);
  EXPECT_EQ(job.finish(), 1);
  EXPECT_THAT(job.out, AllOf(HasSubstr("agent 10.9.0.2: the agent ended early: "),
                             HasSubstr("was ended by signal 9 (Killed)"), HasSubstr("10.9.0.3")));
  stop(server);
}

TEST_F(LoadOverSsh, OneThatIsStoppedIsNamed) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  Background job(with(addresses(3), {kBridgeAddress, "--duration", "1h", "--interval", "1s",
                                     "--stuck-after", "3s"}));
  ASSERT_TRUE(job.wait_for(" s: ")) << job.out;
  ::kill(process_of(3), SIGSTOP);
  EXPECT_EQ(job.finish(), 1);
  EXPECT_THAT(job.out,
              AllOf(HasSubstr("agent 10.9.0.3: it sent nothing for 3 s"), HasSubstr("10.9.0.1")));
  stop(server);
}

TEST_F(LoadOverSsh, CtrlCEndsAllAndReports) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  Background job(with(addresses(2), {kBridgeAddress, "--duration", "1h", "--interval", "1s"}));
  ASSERT_TRUE(job.wait_for(" s: ")) << job.out;
  job.signal(SIGINT);
  EXPECT_EQ(job.finish(), 0) << job.out;
  EXPECT_THAT(job.out, HasSubstr(" Calls in "));
  EXPECT_EQ(stop(server)["connections"], 2);
}

TEST_F(LoadOverSsh, AgentsEndWithTheirCoordinator) {
  Background server({"serve", "--listen", kBridgeAddress});
  ASSERT_TRUE(server.wait_for("listening"));
  {
    Background job(with(addresses(2), {kBridgeAddress, "--duration", "1h", "--interval", "1s"}));
    ASSERT_TRUE(job.wait_for(" s: ")) << job.out;
    job.signal(SIGKILL);
  }
  // TearDown() waits for the agents.
  for (int i = 1; i <= 2; ++i) EXPECT_TRUE(server.wait_for(" closed (")) << server.out;
  server.signal(SIGINT);
  server.finish();
}

TEST_F(LoadOverSsh, OneThatCannotBeReachedEndsTheJobBeforeItBegins) {
  replace(2, "echo 'ssh: connect to host 10.9.0.2 port 22: No route to host' >&2; exit 255");
  expect_one_fault(load(addresses(2), kBridgeAddress), 2,
                   "rpcrdma: load: agent 10.9.0.2: no agent began: ");
}

TEST_F(LoadOverSsh, OneThatRefusesSaysWhy) {
  // Nobody listens.
  expect_one_fault(load(addresses(2), fmt::format("{} --timeout 1s", kBridgeAddress)), 2,
                   "rpcrdma: load: agent 10.9.0.");
}

TEST_F(LoadOverSsh, ABannerDoesNoHarm) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  replace(2, fmt::format("echo 'Welcome to host 2'; exec ip netns exec h2 {} load --agent",
                         RPCRDMA_COMMAND));
  const Result r = load(addresses(2), fmt::format("{} --count 10 --json", kBridgeAddress));
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.err, HasSubstr("10.9.0.2: ignored 18 bytes of text that it printed at login"));
  EXPECT_EQ(try_parse_json(r.out)["calls"], 20);
  stop(server);
}

TEST_F(LoadOverSsh, AnotherVersionIsRefused) {
  std::vector<std::uint8_t> hello;
  load_agents::append_frame(hello, load_agents::FrameType::kHello,
                            load_agents::Hello{1, "0.0.1 (old)", ""}.encode());
  write_file(folder_.file("hello"), std::string(base::as_text(hello)));
  replace(2, fmt::format("cat {} -", folder_.file("hello")));
  expect_one_fault(load(addresses(2), kBridgeAddress), 2,
                   "rpcrdma: load: agent 10.9.0.2: it runs rpcrdma 0.0.1 (old), and this is ");
}

TEST_F(LoadOverSsh, OneThatFloodsIsRefused) {
  replace(2, "yes");
  expect_one_fault(load(addresses(2), kBridgeAddress), 2, "10.9.0.2: it sends something else");
  replace(2, "yes >&2");
  const Result r = load(addresses(2), kBridgeAddress);
  expect_one_fault(r, 2, "10.9.0.2: it floods its standard error");
  EXPECT_LT(r.err.size(), 20'000U);
}

TEST_F(LoadOverSsh, WrongOptionsAreOneLine) {
  const std::map<std::string, std::string> lines{
      {"--agents a,,b", "'' is not a host"},
      {"--agents -oProxyCommand=x", "is not a host"},
      {"--agents a --ssh \"'\"", "has no end"},
      {"--agents a --metrics 9400", "cannot be used with --agents"},
      {"--agents a --stuck-after 1s", "give at least 3s"},
      {"--agents a --agent", "excludes"},
      {"--agents a --ssh /nonexistent/ssh", "No such file"},
      {"--agents a --interval 500ms", "whole seconds"},
      {"", "HOST"},
  };
  for (const auto& [options, text] : lines) {
    const Result r = run("RPCRDMA load " + options);
    EXPECT_EQ(r.status, 2) << options;
    EXPECT_THAT(r.err, HasSubstr(text)) << options;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  }
}

TEST_F(LoadOverSsh, AnAgentThatIsStartedByHandEndsWithItsInput) {
  EXPECT_EQ(run("RPCRDMA load --agent < /dev/null").status, 0);
  const Result r = run("head -c 100 /dev/zero | RPCRDMA load --agent");
  EXPECT_EQ(r.status, 2);
}

// Debian's sshd at two of the hosts, with keys of this test.
TEST_F(LoadOverSsh, WorksWithSshItself) {
  const std::string folder = folder_.path();
  ::mkdir("/run/sshd", 0755);
  ASSERT_EQ(std::system(fmt::format("ssh-keygen -q -t ed25519 -N '' -f {0}/host && "
                                    "ssh-keygen -q -t ed25519 -N '' -f {0}/user",
                                    folder)
                            .c_str()),
            0);
  std::vector<std::unique_ptr<Background>> daemons;
  for (int i = 1; i <= 2; ++i) {
    const std::string file = fmt::format("{}/sshd{}", folder, i);
    write_file(file, fmt::format("Port 22\nListenAddress {}\nHostKey {}/host\nPidFile none\n"
                                 "AuthorizedKeysFile {}/user.pub\nStrictModes no\n"
                                 "PermitRootLogin yes\nUsePAM no\nLogLevel INFO\n",
                                 host_address(i), folder, folder));
    daemons.push_back(std::make_unique<Background>(
        std::vector<std::string>{"netns", "exec", fmt::format("h{}", i), "/usr/sbin/sshd", "-D",
                                 "-e", "-f", file},
        std::string(), "ip"));
    ASSERT_TRUE(daemons.back()->wait_for("Server listening")) << daemons.back()->out;
  }
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  const Result r = run(fmt::format(
      "RPCRDMA load {} --agents {}:2,{} --count 100 --json --agent-path {} --ssh 'ssh -F none -o "
      "BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR "
      "-i {}/user'",
      kBridgeAddress, host_address(1), host_address(2), RPCRDMA_COMMAND, folder));
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(try_parse_json(r.out)["calls"], 300);
  EXPECT_EQ(stop(server)["success"], 300);
  // Agents can serve, too: at the address that ssh knows.
  const Result pairs = run(fmt::format(
      "RPCRDMA load --pattern pairwise --agents {},{} --count 100 --json --agent-path {} --ssh "
      "'ssh "
      "-F none -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o "
      "LogLevel=ERROR -i {}/user'",
      host_address(1), host_address(2), RPCRDMA_COMMAND, folder));
  EXPECT_EQ(pairs.status, 0) << pairs.err;
  EXPECT_EQ(try_parse_json(pairs.out)["calls"], 200);
  const Result wrong = run(fmt::format(
      "RPCRDMA load {} --agents {} --agent-path /nonexistent/rpcrdma --ssh 'ssh -F none -o "
      "BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR "
      "-i {}/user'",
      kBridgeAddress, host_address(1), folder));
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.err, AllOf(HasSubstr("no agent began: ssh ended with status 127"),
                               HasSubstr("/nonexistent/rpcrdma")));
  for (const auto& daemon : daemons) {
    daemon->signal(SIGTERM);
    daemon->finish();
  }
}

}  // namespace
}  // namespace rpcrdma::e2e
