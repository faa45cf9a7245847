#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/batch_run/runner.h>

namespace rpcrdma::batch_run {
namespace {

using ::testing::ElementsAre;

RunOptions with(Runner runner) {
  RunOptions o;
  o.runner = runner;
  o.shards = 3;
  o.program = "/opt/rpc rdma/rpcrdma";
  o.folder = "/x/it's";
  return o;
}

TEST(CommandLines, OfLocalProcesses) {
  const auto lines = command_lines(with(Runner::kLocal));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_THAT(lines[1], ElementsAre("/opt/rpc rdma/rpcrdma", "analyze-many", "--out", "/x/it's",
                                    "--shard", "2/3"));
}

TEST(CommandLines, OfSlurm) {
  RunOptions o = with(Runner::kSlurm);
  o.threads = 4;
  o.arguments = {"--partition=long"};
  EXPECT_THAT(command_lines(o),
              ElementsAre(ElementsAre(
                  "sbatch", "--wait", "--parsable", "--job-name=rpcrdma", "--array=1-3",
                  "--output=/x/it's/logs/slurm-%a.log", "--partition=long",
                  "--wrap=exec '/opt/rpc rdma/rpcrdma' analyze-many --out '/x/it'\\''s' --shard "
                  "auto --threads 4")));
}

TEST(CommandLines, OfMpi) {
  RunOptions o = with(Runner::kMpi);
  EXPECT_THAT(command_lines(o)[0], ElementsAre("mpirun", o.program, "analyze-many", "--out",
                                               o.folder, "--shard", "auto"));
  o.shards_given = true;
  o.hosts = "a,b";
  EXPECT_THAT(command_lines(o)[0],
              ElementsAre("mpirun", "-np", "3", "--host", "a,b", o.program, "analyze-many", "--out",
                          o.folder, "--shard", "auto"));
}

TEST(CommandLines, OfParallel) {
  RunOptions o = with(Runner::kParallel);
  o.hosts = "a,b";
  EXPECT_THAT(command_lines(o)[0],
              ElementsAre("parallel", "--will-cite", "--sshlogin", "a,b",
                          "'/opt/rpc rdma/rpcrdma' analyze-many --out '/x/it'\\''s' --shard {}/3",
                          ":::", "1", "2", "3"));
}

TEST(RunAll, CollectsWhatProcessesSay) {
  int ticks = 0;
  const Said said = run_all({{"sh", "-c", "echo one; echo two >&2"}, {"sh", "-c", "echo three"}},
                            [&] { ++ticks; });
  EXPECT_THAT(said.lines, ElementsAre("one", "two", "three"));
  EXPECT_EQ(said.ended_badly, "");
  EXPECT_GT(ticks, 0);
}

TEST(RunAll, NamesHowAProcessEnded) {
  EXPECT_EQ(run_all({{"sh", "-c", "kill -9 $$"}}, [] {}).ended_badly, "sh was ended by signal 9");
  EXPECT_EQ(run_all({{"sh", "-c", "exit 3"}}, [] {}).ended_badly, "sh ended with status 3");
  EXPECT_THAT(run_all({{"/nonexistent/program"}}, [] {}).lines,
              ElementsAre("/nonexistent/program: No such file or directory"));
}

TEST(RunAll, KeepsTheEndOfMuchOutput) {
  const Said said = run_all({{"sh", "-c", "seq 100000"}}, [] {});
  EXPECT_LT(said.lines.size(), 20000U);
  EXPECT_EQ(said.lines.back(), "100000");
}

}  // namespace
}  // namespace rpcrdma::batch_run
