// Ranks that die or stop while the job runs: named, and the others' results are reported.
#include "cluster.h"
#include "support/json.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>

namespace rpcrdma::load_mpi {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Clock = std::chrono::steady_clock;

// The process of the rank on this host.
pid_t rank_on(const Cluster& cluster, int host) {
  std::istringstream pids(e2e::run("ip netns pids " + cluster.space(host)).out);
  for (pid_t pid = 0; pids >> pid;) {
    std::error_code gone;
    const auto program =
        std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe", gone);
    if (!gone && program == RPCRDMA_LOAD_MPI) return pid;
  }
  ADD_FAILURE() << "no rank on host " << host;
  return -1;
}

class Fault : public testing::Test {
 protected:
  void SetUp() override {
    if (!Cluster::permitted()) GTEST_SKIP() << "only root can make hosts";
    cluster_ = std::make_unique<Cluster>(4);
    ASSERT_TRUE(cluster_->ok());
    server_ = cluster_->serve(0);
  }

  // Runs a job that would take minutes, and sends the signal to the rank on this host while it
  // runs.
  void run(int signal, int host, const std::vector<std::string>& mpi = {},
           const std::string& stuck_after = "3s") {
    // While mpirun ends a job it reads no output.
    const std::string file = cluster_->file("report");
    e2e::Background job(
        cluster_->job({"10.77.0.10", "--duration", "300s", "--rate", "200", "--json", "--interval",
                       "1s", "--stuck-after", stuck_after, "--report", file},
                      mpi),
        {}, "ip");
    ASSERT_TRUE(job.wait_for("3.0 s: ")) << job.out;
    const pid_t pid = rank_on(*cluster_, host);
    ASSERT_GT(pid, 0);
    const auto begin = Clock::now();
    ASSERT_EQ(::kill(pid, signal), 0);
    status_ = job.finish();
    took_ = std::chrono::duration<double>(Clock::now() - begin).count();
    err_ = job.out;
    out_ = e2e::read_file(file);
  }

  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<e2e::Background> server_;
  int status_ = 0;
  double took_ = 0;
  std::string err_, out_;
};

TEST_F(Fault, AKilledRankIsNamedBeforeMpirunEndsTheOthers) {
  // The processors may be busy with other tests: the ranks get more than a second to end. As long
  // passes before SIGTERM, too, and rank 0 must not name the silent rank before that.
  run(SIGKILL, 3, {"--mca", "odls_base_sigkill_timeout", "5"}, "30s");
  EXPECT_NE(status_, 0);
  EXPECT_LT(took_, 60);
  EXPECT_THAT(err_, AllOf(HasSubstr("rpcrdma-load-mpi: rank 2 (h3) is dead, last heard of "),
                          HasSubstr("it did not answer when the launcher ended the job")));
  // The report is whole, and has the results of the others.
  const nlohmann::json report = e2e::parse_json(out_);
  EXPECT_EQ(report["complete"], false);
  ASSERT_EQ(report["ranks"].size(), 4U);
  for (const std::size_t rank : {0U, 1U, 3U}) EXPECT_EQ(report["ranks"][rank]["state"], "done");
  EXPECT_EQ(report["ranks"][2]["state"], "dead");
  EXPECT_GT(report["ranks"][2]["calls"], 0);
}

// mpirun has noticed the death, but its signal comes late.
TEST_F(Fault, AReportBeforeMpirunsSignalIsWhole) {
  run(SIGKILL, 3, {"--mca", "odls_base_sigkill_timeout", "8"});
  EXPECT_NE(status_, 0);
  EXPECT_LT(took_, 60);
  EXPECT_THAT(err_, HasSubstr("rpcrdma-load-mpi: rank 2 (h3) is lost, last heard of "));
  const nlohmann::json report = e2e::parse_json(out_);
  ASSERT_EQ(report["ranks"].size(), 4U);
  EXPECT_EQ(report["ranks"][2]["state"], "lost");
}

TEST_F(Fault, WithoutMpirunsHelpAKilledRankIsNoticedByItsSilence) {
  run(SIGKILL, 3, {"--enable-recovery"});
  // mpirun itself returns 0 then.
  EXPECT_LT(took_, 60);
  EXPECT_THAT(err_, AllOf(HasSubstr("rpcrdma-load-mpi: rank 2 (h3) is lost, last heard of "),
                          HasSubstr("it was silent for 3 s: stopped, dead or unreachable")));
}

TEST_F(Fault, AStoppedRankIsNamed) {
  run(SIGSTOP, 4);
  EXPECT_NE(status_, 0);
  EXPECT_LT(took_, 60);
  EXPECT_THAT(err_, AllOf(HasSubstr("rpcrdma-load-mpi: rank 3 (h4) is lost, last heard of "),
                          HasSubstr("it was silent for 3 s: stopped, dead or unreachable")));
}

TEST_F(Fault, IfRankZeroStopsAnotherRankEndsTheJob) {
  run(SIGSTOP, 1);
  EXPECT_NE(status_, 0);
  EXPECT_LT(took_, 60);
  EXPECT_THAT(err_, HasSubstr("rank 1 (h2): rank 0 is silent"));
}

}  // namespace
}  // namespace rpcrdma::load_mpi
