// The shares of rpcrdma analyze-many on Slurm, MPI and GNU parallel.
#include "batch/many_captures.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rpcrdma::e2e {
namespace {

using ::testing::HasSubstr;

class Runners : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directory(captures_); }

  // The tests need what Debian's packages install.
  static bool has(const std::string& program) { return run("command -v " + program).status == 0; }
  void expect_whole(const Result& r, std::size_t units) const {
    EXPECT_EQ(r.status, 0) << r.out.substr(0, 1000) << r.err;
    EXPECT_EQ(read_file(out_ + "/report.json"), whole_);
    const json summary = parse_json(read_file(out_ + "/summary.json"));
    EXPECT_EQ(summary["units"], units);
    EXPECT_EQ(summary["analyzed"], units);
  }
  void make(std::size_t captures) {
    whole_ = run("RPCRDMA analyze --json" + joined_names(write_captures(captures_, captures))).out;
    ASSERT_GT(whole_.size(), 10000U);
  }

  TemporaryFolder folder_;
  std::string captures_ = folder_.file("captures");
  std::string out_ = folder_.file("out");
  std::string whole_;
};

// One controller and two nodes, each in namespaces of its own.
class Slurm : public Runners {
 protected:
  void SetUp() override {
    Runners::SetUp();
    if (::geteuid() != 0) GTEST_SKIP() << "needs root for the namespaces of the nodes";
    for (const char* program : {"slurmctld", "slurmd", "sbatch", "munged", "unshare", "nsenter"}) {
      if (!has(program)) GTEST_SKIP() << program << " is not installed";
    }
    std::filesystem::create_directory(folder_.file("slurm"));
  }
  Result on_cluster(const std::string& line) const {
    write_file(folder_.file("line"), line);
    return run("unshare -n -u -m -p -f --kill-child --mount-proc bash " RPCRDMA_SLURM_RIG " " +
               folder_.file("slurm") + " bash " + folder_.file("line"));
  }
};

TEST_F(Slurm, AnArrayJobOver200CapturesEqualsOneAnalysis) {
  make(200);
  const std::string command = RPCRDMA_COMMAND " analyze-many " + captures_ + " --out " + out_;
  const Result r = on_cluster(command +
                              " --slice 4 --run slurm --jobs 5 --run-arg=--partition=all "
                              "> /dev/null && squeue -h && sinfo -h -o %D");
  expect_whole(r, 50);
  EXPECT_THAT(r.out, HasSubstr("2\n"));
  // Each task has a log, and the tasks together have done all units.
  std::size_t analyzed = 0;
  for (int task = 1; task <= 5; ++task) {
    const std::string log = read_file(fmt::format("{}/logs/slurm-{}.log", out_, task));
    EXPECT_THAT(log, HasSubstr(fmt::format("share {}/5: ", task)));
    analyzed += std::stoul(log.substr(log.find(": ") + 2));
  }
  EXPECT_EQ(analyzed, 50U);
}

TEST_F(Slurm, TasksOfSrunTakeTheirShares) {
  make(20);
  const Result r = on_cluster(RPCRDMA_COMMAND " analyze-many " + captures_ + " --out " + out_ +
                              " --slice 1 --run srun --jobs 4 --run-arg=--nodes=2 > /dev/null");
  expect_whole(r, 20);
}

TEST_F(Slurm, ARefusedJobIsOneLine) {
  make(2);
  const Result r = on_cluster(RPCRDMA_COMMAND " analyze-many " + captures_ + " --out " + out_ +
                              " --run slurm --run-arg=--partition=none");
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err, HasSubstr("1 of 1 units are not done: sbatch: error: "));
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
}

TEST_F(Runners, RanksOfMpiTakeTheirShares) {
  if (!has("mpirun")) GTEST_SKIP() << "mpirun is not installed";
  make(30);
  const Result r =
      run("export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; "
          "RPCRDMA analyze-many " +
          captures_ + " --out " + out_ +
          " --slice 2 --run mpi --jobs 3 --run-arg=--oversubscribe --run-arg=--bind-to "
          "--run-arg=none > /dev/null");
  expect_whole(r, 15);
}

// `ssh` that runs the command here, without the environment and in another directory, as a login on
// another host does.
TEST_F(Runners, ParallelReachesItsHostsOverSsh) {
  if (!has("parallel")) GTEST_SKIP() << "GNU parallel is not installed";
  make(30);
  write_file(folder_.file("ssh"),
             "#!/bin/bash\nwhile [ \"${1:0:1}\" = - ]; do [ \"$1\" = -l ] && shift; shift; done\n"
             "echo \"$1\" >> " +
                 folder_.file("hosts") +
                 "\nshift; [ \"$1\" = -- ] && shift; cd /; exec env -i PATH=\"$PATH\" HOME=/tmp "
                 "SHELL=/bin/bash bash -c \"$*\"\n");
  run("chmod +x " + folder_.file("ssh"));
  const Result r = run("export PARALLEL_SSH=" + folder_.file("ssh") + " HOME=" + folder_.path() +
                       "; cd " + folder_.path() +
                       "; RPCRDMA analyze-many captures --out out "
                       "--slice 2 --run parallel --hosts hosta,hostb --jobs 4 > /dev/null");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(read_file(out_ + "/report.json"), whole_);
  const std::string hosts = read_file(folder_.file("hosts"));
  EXPECT_THAT(hosts, HasSubstr("hosta"));
  EXPECT_THAT(hosts, HasSubstr("hostb"));
}

TEST_F(Runners, AMissingRunnerIsOneLine) {
  make(2);
  const Result r = run("program=$(readlink -f " RPCRDMA_COMMAND
                       "); PATH=/nonexistent; $program "
                       "analyze-many " +
                       captures_ + " --out " + out_ + " --run mpi");
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err, HasSubstr("1 of 1 units are not done: mpirun: No such file"));
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
}

}  // namespace
}  // namespace rpcrdma::e2e
