// `rpcrdma top` with both ends of a connection: endpoints of this host, over ssh (a script stands
// for it), and from pipes.
#include "support/background.h"
#include "support/own_address.h"
#include "support/running_endpoint.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

namespace rpcrdma::e2e {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class TopEnds : public ::testing::Test {
 protected:
  TopEnds() {
    ::setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1);
    // Options; the host; a command for a shell there.
    write_file(folder_.file("ssh"),
               fmt::format("#!/bin/sh\nwhile [ \"$1\" = -o ]; do shift 2; done\n"
                           "echo \"$1\" >> {0}/hosts\n"
                           "[ -f {0}/$1 ] && exec sh {0}/$1\nexec sh -c \"exec $2\"\n",
                           folder_.path()));
    ::chmod(folder_.file("ssh").c_str(), 0700);
  }
  ~TopEnds() override { ::unsetenv("XDG_RUNTIME_DIR"); }

  // A server, and a client whose Calls take 20 ms there.
  void start() {
    server_.emplace(
        std::vector<std::string>{"serve", "--listen", own_address(1), "--name", "server"});
    ASSERT_TRUE(server_->wait_for("listening on")) << server_->out;
    client_.emplace(std::vector<std::string>{"load", own_address(1), "--from", own_address(2),
                                             "--name", "client", "--procedure", "sleep", "--sleep",
                                             "20ms", "--depth", "4", "--duration", "90s"});
    ASSERT_TRUE(wait_for_endpoint("server"));
    ASSERT_TRUE(wait_for_endpoint("client"));
  }
  // What --json prints once both ends have joined Calls: the first Calls may be older than the
  // view.
  [[nodiscard]] json joined(const std::string& sources) const {
    json last;
    for (int tries = 0; tries < 10; ++tries) {
      const Result r = run("PATH=" + folder_.path() + ":$PATH; " + sources);
      EXPECT_EQ(r.status, 0) << r.err;
      last = try_parse_json(r.out);
      if (!last.is_object()) break;
      if (!last["ends"].empty() && last["ends"][0]["calls"] != 0) break;
    }
    return last;
  }
  [[nodiscard]] std::string remote() const {
    return std::string(" --remote ") + RPCRDMA_COMMAND + " ";
  }

  TemporaryFolder folder_;
  std::optional<Background> server_, client_;
};

void expect_slow_server(const json& shown) {
  ASSERT_TRUE(shown.is_object());
  ASSERT_EQ(shown["ends"].size(), 1U) << shown;
  const json& ends = shown["ends"][0];
  EXPECT_GT(ends["calls"], 0) << ends;
  EXPECT_EQ(ends["slow_side"], "server") << ends;
  EXPECT_EQ(ends["slow_stage"], "execute") << ends;
  EXPECT_TRUE(ends["clock_bound_ns"].is_number()) << ends;
  EXPECT_EQ(ends["contradictory"], 0) << ends;
  EXPECT_EQ(shown["events"]["lost"], 0) << shown["events"];
}

TEST_F(TopEnds, NamesTheSideThatIsSlowNow) {
  start();
  const json shown = joined("RPCRDMA top client server --json --seconds 3");
  ASSERT_NO_FATAL_FAILURE(expect_slow_server(shown));
  ASSERT_EQ(shown["connections"].size(), 2U) << shown;
  for (const json& c : shown["connections"]) {
    const json& now = c["outstanding"];
    EXPECT_EQ(now["uncertain"], false) << c;
    if (c["client"] == true) {
      EXPECT_EQ(now["slot"], 0) << c;
      EXPECT_TRUE(now["credit"].is_number()) << c;
    } else {
      EXPECT_TRUE(now["credit"].is_null()) << c;
      EXPECT_TRUE(now["at_server"].is_number()) << c;
    }
  }
  EXPECT_EQ(shown["network"].size(), 2U) << shown["network"];
  const Result text = run("RPCRDMA top client server --once --seconds 2");
  EXPECT_THAT(text.out, AllOf(HasSubstr("SLOW NOW"), HasSubstr(" Now in   slot 0"),
                              HasSubstr("Fabric/s server")));
}

TEST_F(TopEnds, OverSsh) {
  start();
  const json both =
      joined("RPCRDMA top ssh:alice/client ssh:root@bob/server --json --seconds 3" + remote());
  ASSERT_NO_FATAL_FAILURE(expect_slow_server(both));
  EXPECT_THAT(read_file(folder_.file("hosts")),
              AllOf(HasSubstr("alice\n"), HasSubstr("root@bob\n")));
  std::vector<std::string> names;
  for (const json& e : both["endpoints"]) names.push_back(e["name"]);
  EXPECT_THAT(names, ::testing::ElementsAre("alice:client", "root@bob:server"));
}

TEST_F(TopEnds, FromPipes) {
  start();
  ASSERT_EQ(::mkfifo(folder_.file("fifo").c_str(), 0600), 0);
  const json shown = joined("RPCRDMA attach server -w " + folder_.file("fifo") +
                            " & RPCRDMA attach client -w - | RPCRDMA top - " +
                            folder_.file("fifo") + " --json --seconds 3");
  ASSERT_NO_FATAL_FAILURE(expect_slow_server(shown));
}

TEST_F(TopEnds, WhatIsNoSourceIsRefusedInOneLine) {
  for (const char* name : {"ssh:", "ssh:-oProxyCommand=x", "ssh:a,b", "ssh:a/-x", "ssh:a/"}) {
    const Result r = run(fmt::format("RPCRDMA top {} --once", name));
    EXPECT_EQ(r.status, 2) << name;
    EXPECT_THAT(r.err, HasSubstr("does not name a host")) << name;
  }
  const Result twice = run("RPCRDMA top - - --once");
  EXPECT_EQ(twice.status, 2);
  EXPECT_THAT(twice.err, HasSubstr("only once"));
  const Result noise = run("echo this is no stream | RPCRDMA top - --once");
  EXPECT_EQ(noise.status, 2);
  EXPECT_EQ(std::ranges::count(noise.err, '\n'), 1) << noise.err;
}

TEST_F(TopEnds, WhyAHostCannotBeReached) {
  const std::string path = "PATH=" + folder_.path() + ":$PATH; ";
  write_file(folder_.file("away"),
             "printf 'ssh: connect to host \\033[2J away: No route to host\\n' >&2; exit 255");
  const Result r = run(path + "RPCRDMA top ssh:away --once");
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err, AllOf(HasSubstr("top: ssh:away: ssh: connect to host"),
                           HasSubstr("No route to host"), Not(HasSubstr("\033"))));
  write_file(folder_.file("mute"), "exit 3");
  EXPECT_THAT(run(path + "RPCRDMA top ssh:mute --once").err, HasSubstr("ssh:mute: "));
  const Result none = run("RPCRDMA top ssh:x --once --ssh /nonexistent/ssh");
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.err, HasSubstr("No such file"));
}

// Counters of devices, from a synthetic sysfs.
TEST_F(TopEnds, CountersOfDevices) {
  start();
  const std::string port = folder_.file("sys/class/infiniband/mlx5_0/ports/1");
  std::filesystem::create_directories(port + "/hw_counters");
  write_file(port + "/hw_counters/out_of_sequence", "12\n");
  write_file(port + "/hw_counters/np_ecn_marked_roce_packets", "7\n");
  const Result r = run("RPCRDMA top server --json --seconds 2 --sys " + folder_.file("sys"));
  const json shown = try_parse_json(r.out);
  ASSERT_TRUE(shown.is_object()) << r.err;
  const auto device =
      std::ranges::find_if(shown["network"], [](const json& n) { return n["name"] == "mlx5_0/1"; });
  ASSERT_NE(device, shown["network"].end()) << shown["network"];
  EXPECT_EQ((*device)["device"], true);
  EXPECT_EQ((*device)["per_second"]["out_of_sequence"], 0);
  EXPECT_EQ((*device)["total"]["ecn_marked"], 0);
  EXPECT_TRUE((*device)["total"]["cnp"].is_null());
}

}  // namespace
}  // namespace rpcrdma::e2e
