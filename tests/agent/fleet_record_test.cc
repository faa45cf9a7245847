// `rpcrdma fleet record`: brings a recording of an endpoint from its host's agent.
#include "fleet_fixture.h"

#include <csignal>
#include <filesystem>

namespace rpcrdma::e2e {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FleetRecord : public Fleet {
 protected:
  [[nodiscard]] std::string record(const std::string& more,
                                   const std::string& host = "node") const {
    return "RPCRDMA fleet record " + host + " --bus " + server_.url() + " " + more;
  }
  // What a failed command must not leave.
  [[nodiscard]] std::vector<std::string> files_in(const std::string& folder) const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }
  void expect_refused(const std::string& command, const std::string& part) const {
    const Result r = run(command);
    EXPECT_EQ(r.status, 2) << command;
    EXPECT_THAT(r.err, HasSubstr(part)) << command;
  }
};

TEST_F(FleetRecord, BringsAFileThatAnalyzeReads) {
  start_bus();
  listen();
  std::filesystem::create_directory(folder_.file("spool"));
  Background agent(agent_words({"--spool", folder_.file("spool")}));
  ASSERT_TRUE(agent.wait_for("publishes as host"));
  Background server(serve_words({"--name", "srv"}));
  ASSERT_TRUE(follows("srv"));
  // Long enough for everything below; its events need many chunks.
  Background load(
      load_words({"--name", "ld", "--procedure", "mix", "--duration", "90s", "--rate", "2000"}));
  ASSERT_TRUE(follows("ld"));
  expect_refused(record("--for 1s"), "2 endpoints run on this host: choose one with --endpoint");
  const std::string file = folder_.file("out.pcapng");
  const Result r = run(record("--for 2s --endpoint srv -w " + file));
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.err, HasSubstr("node records srv for 2.000 s"));
  EXPECT_THAT(r.err, HasSubstr(" events, 0 lost"));
  EXPECT_EQ(std::filesystem::status(file).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  const Result analyzed = run("RPCRDMA analyze --json " + file);
  ASSERT_EQ(analyzed.status, 0) << analyzed.err;
  EXPECT_THAT(analyzed.out, HasSubstr("\"srv\""));
  const Result text = run("RPCRDMA analyze " + file);
  EXPECT_THAT(text.out, HasSubstr("Calls"));
  EXPECT_GT(std::filesystem::file_size(file), 256U << 10);
  // The agent keeps nothing.
  EXPECT_TRUE(becomes([&] { return files_in(folder_.file("spool")).empty(); }));
  // A limit of its size.
  const Result small =
      run(record("--for 60s --max-size 100k --endpoint srv -w " + folder_.file("small.pcapng")));
  EXPECT_EQ(small.status, 0) << small.err;
  EXPECT_THAT(small.err, HasSubstr("ended early: it reached"));
  EXPECT_EQ(run("RPCRDMA analyze " + folder_.file("small.pcapng")).status, 0);
}

TEST_F(FleetRecord, OneAtATimeAndItIsShown) {
  start_bus();
  listen();
  Background agent(agent_words());
  ASSERT_TRUE(agent.wait_for("publishes as host"));
  Background server(serve_words({"--name", "srv"}));
  ASSERT_TRUE(follows("srv"));
  Background recording({"fleet", "record", "node", "--bus", server_.url(), "--for", "90s", "-w",
                        folder_.file("long.pcapng")});
  ASSERT_TRUE(recording.wait_for("node records srv"));
  ASSERT_TRUE(summary([&](const fleet::Summary& s) {
    const fleet::EndpointSummary* const e = endpoint(s, "srv");
    return e != nullptr && e->recordings.size() == 1 && e->recordings[0].on_demand;
  }));
  expect_refused(record("--for 1s"), "node: it records srv for another request");
  // Ctrl-C leaves nothing, and the agent is free again.
  recording.signal(SIGINT);
  EXPECT_EQ(recording.finish(), 2);
  EXPECT_THAT(recording.out, HasSubstr("interrupted"));
  EXPECT_THAT(files_in(folder_.path()), ::testing::Not(::testing::Contains(HasSubstr("long"))));
  ASSERT_TRUE(agent.wait_for("the recording was stopped"));
  ASSERT_TRUE(becomes(
      [&] { return run(record("--for 100ms -w " + folder_.file("next.pcapng"))).status == 0; }));
  // The endpoint ends during a recording.
  Background until({"fleet", "record", "node", "--bus", server_.url(), "--for", "90s", "-w",
                    folder_.file("until.pcapng")});
  ASSERT_TRUE(until.wait_for("node records srv"));
  server.signal(SIGTERM);
  EXPECT_EQ(until.finish(), 0) << until.out;
  EXPECT_THAT(until.out, HasSubstr("ended early: the endpoint ended"));
}

TEST_F(FleetRecord, SaysInOneLineWhatIsWrong) {
  start_bus();
  listen();
  Background agent(agent_words({"--no-record"}, "shy"));
  ASSERT_TRUE(agent.wait_for("publishes as host"));
  expect_refused(record("--for 1s", "shy"), "shy: this agent records nothing (--no-record)");
  expect_refused(record("--for 1s", "moon"), "moon: no agent of this host is connected");
  expect_refused(record("--for 11m", "shy"), "--for 11m: not a time of at most 10 minutes");
  expect_refused(record("--max-size 2Gi", "shy"), "--max-size 2Gi: not a size of at most 1Gi");
  expect_refused("RPCRDMA fleet record --bus " + server_.url(), "name the host");
  Background other(agent_words());
  ASSERT_TRUE(other.wait_for("publishes as host"));
  expect_refused(record("--for 1s"), "node: no endpoint runs on this host");
  expect_refused(record("--for 1s --endpoint srv"), "node: no endpoint srv runs on this host");
}

// A full disk at either end: one line, and no part of the file stays.
TEST_F(FleetRecord, AFullDiskLeavesNothing) {
  start_bus();
  listen();
  const std::string spool = folder_.file("spool");
  const std::string out = folder_.file("out");
  std::filesystem::create_directory(spool);
  std::filesystem::create_directory(out);
  Background server(serve_words({"--name", "srv"}));
  Background load(
      load_words({"--no-live", "--procedure", "mix", "--duration", "90s", "--rate", "2000"}));
  {
    Background agent({"-c", "ulimit -f 64; exec " RPCRDMA_COMMAND " agent --host node --spool " +
                                spool + " --bus " + server_.url()},
                     {}, "bash");
    ASSERT_TRUE(agent.wait_for("follows srv"));
    expect_refused(record("--for 50s -w " + out + "/x.pcapng"), "File too large");
    EXPECT_THAT(files_in(out), IsEmpty());
    EXPECT_TRUE(becomes([&] { return files_in(spool).empty(); }));
    agent.signal(SIGTERM);
    EXPECT_EQ(agent.finish(), 0) << agent.out;
  }
  Background agent(agent_words({"--spool", spool}));
  ASSERT_TRUE(agent.wait_for("follows srv"));
  const Result r = run("ulimit -f 64; " + record("--for 2s -w " + out + "/x.pcapng"));
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err, HasSubstr("x.pcapng: File too large"));
  EXPECT_THAT(files_in(out), IsEmpty());
  EXPECT_TRUE(becomes([&] { return files_in(spool).empty(); }));
  // Nobody else is harmed.
  EXPECT_EQ(run(record("--for 100ms -w " + out + "/y.pcapng")).status, 0);
}

// The agent is killed while it records.
TEST_F(FleetRecord, AnAgentThatFallsSilentIsNamed) {
  start_bus();
  listen();
  Background agent(agent_words());
  ASSERT_TRUE(agent.wait_for("publishes as host"));
  Background server(serve_words({"--name", "srv"}));
  ASSERT_TRUE(follows("srv"));
  Background recording({"fleet", "record", "node", "--bus", server_.url(), "--for", "90s", "-w",
                        folder_.file("long.pcapng")});
  ASSERT_TRUE(recording.wait_for("node records srv"));
  agent.signal(SIGKILL);
  EXPECT_EQ(recording.finish(), 2);
  EXPECT_THAT(recording.out, HasSubstr("node: its agent has fallen silent"));
  EXPECT_THAT(files_in(folder_.path()), ::testing::Not(::testing::Contains(HasSubstr("long"))));
}

}  // namespace
}  // namespace rpcrdma::e2e
