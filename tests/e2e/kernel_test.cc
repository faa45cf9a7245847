// The endpoint "kernel" with a fake source (fake_kernel.cc): the program rpcrdma-kernel, `rpcrdma
// kernel`, and the commands that start it.
#include "support/background.h"
#include "support/command.h"
#include "support/exposition.h"
#include "support/http_client.h"
#include "support/own_address.h"

#include <csignal>
#include <filesystem>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace rpcrdma::e2e {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

class Kernel : public ::testing::Test {
 protected:
  Kernel() {
    ::setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1);
    orders("");
  }
  ~Kernel() override {
    ::unsetenv("XDG_RUNTIME_DIR");
    ::unsetenv("RPCRDMA_FAKE_KERNEL");
  }

  static void orders(const std::string& words) {
    ::setenv("RPCRDMA_FAKE_KERNEL", words.c_str(), 1);
  }
  static std::string nfs_events() { return "events=" + capture("linux-nfs41.pcap"); }

  // The endpoint program in the foreground.
  class Program : public Background {
   public:
    explicit Program(const std::vector<std::string>& options = {})
        : Background(options, {}, RPCRDMA_FAKE_KERNEL_PROGRAM) {}
    bool is_ready() { return wait_for("tracing the client of a fake Linux"); }
  };
  // What `rpcrdma ls` prints once the endpoint has answered: on a busy machine it may take longer
  // than one call waits.
  static std::string listed() {
    while (true) {
      const std::string out = run("RPCRDMA ls").out;
      if (out.find("does not answer") == std::string::npos) return out;
    }
  }
  // The command beside the fake program.
  static Result run_beside(const std::string& shell) {
    return run("KERNEL() { " RPCRDMA_FAKE_KERNEL_COMMAND " \"$@\"; }; " + shell);
  }

  TemporaryFolder folder_;
};

TEST_F(Kernel, IsAnEndpointAmongOthers) {
  orders(nfs_events() + ",signal");
  Program program;
  ASSERT_TRUE(program.is_ready()) << program.out;
  EXPECT_THAT(listed(), AllOf(HasSubstr("\nkernel "), HasSubstr("client of a fake Linux")));
  Background attached({"attach", "kernel", "--json"}, folder_.file("out"));
  ASSERT_TRUE(attached.wait_for("attached to kernel")) << attached.out;
  program.signal(SIGUSR1);
  while (read_file(folder_.file("out")).find("\"kind\":\"reply\"") == std::string::npos) {
    std::this_thread::yield();
  }
  program.signal(SIGTERM);
  EXPECT_EQ(program.finish(), 0) << program.out;
  EXPECT_EQ(attached.finish(), 0);
  EXPECT_THAT(program.out, HasSubstr(" events, 0 lost in the kernel, 0 lost to readers\n"));
  EXPECT_THAT(attached.out, HasSubstr("kernel ended; "));
  EXPECT_THAT(attached.out, HasSubstr(" events, 0 lost"));
  EXPECT_THAT(run("RPCRDMA ls").err, HasSubstr("no endpoint"));
}

TEST_F(Kernel, WhatTheKernelLostIsLostToItsReaders) {
  orders(nfs_events() + ",signal,lost=7,ends");
  Program program;
  ASSERT_TRUE(program.is_ready()) << program.out;
  Background attached({"attach", "kernel", "-w", folder_.file("kept.pcapng")});
  ASSERT_TRUE(attached.wait_for("attached to kernel")) << attached.out;
  program.signal(SIGUSR1);
  EXPECT_EQ(attached.finish(), 0);
  EXPECT_THAT(attached.out, HasSubstr("kernel ended; "));
  EXPECT_THAT(attached.out, HasSubstr(" written, 7 events lost"));
  EXPECT_EQ(program.finish(), 2);
  EXPECT_THAT(program.out, HasSubstr("the trace has ended: the module xprtrdma was unloaded\n"));
  EXPECT_THAT(program.out, HasSubstr(" events, 7 lost in the kernel, 0 lost to readers\n"));
  const json report = parse_json(run("RPCRDMA analyze --json " + folder_.file("kept.pcapng")).out);
  EXPECT_EQ(report["recording"]["lost"], 7);
  EXPECT_EQ(report["connections"].size(), 1U);
}

TEST_F(Kernel, RecordsWithoutAReader) {
  orders(nfs_events() + ",ends");
  const std::string file = folder_.file("recorded.pcapng");
  Program program({"--record", file, "--name", "nfs client"});
  EXPECT_EQ(program.finish(), 2);
  EXPECT_THAT(program.out, HasSubstr(" events recorded, 0 lost: " + file));
  const json report = parse_json(run("RPCRDMA analyze --json " + file).out);
  EXPECT_GT(report["connections"][0]["calls"], 20) << report;
}

TEST_F(Kernel, AFilteredRecordingIsNoEvidenceOfWhatItLacks) {
  orders(nfs_events() + ",ends");
  const auto excluded = [&](const std::vector<std::string>& options, const std::string& file) {
    std::vector<std::string> all{"--record", file};
    all.insert(all.end(), options.begin(), options.end());
    Program program(all);
    EXPECT_EQ(program.finish(), 2);
    return parse_json(run("RPCRDMA analyze --json " + file).out)["recording"]["excluded"];
  };
  EXPECT_EQ(excluded({"--peer", "10.0.0.1"}, folder_.file("a")), json::array());
  const json types = excluded({"--slower", "1ms"}, folder_.file("b"));
  EXPECT_NE(std::find(types.begin(), types.end(), "message"), types.end()) << types;
}

TEST_F(Kernel, EndsWithASourceThatIsSilent) {
  orders("silent");
  Program program;
  EXPECT_EQ(program.finish(), 2);
  EXPECT_THAT(program.out, HasSubstr("the trace has ended: the module svcrdma was unloaded\n"));
}

TEST_F(Kernel, EndsWithItsCaller) {
  std::array<int, 2> input{};
  ASSERT_EQ(::pipe2(input.data(), O_CLOEXEC), 0);
  const int own = ::dup(STDIN_FILENO);
  ::dup2(input[0], STDIN_FILENO);
  Program program({"--until-input-ends"});
  ::dup2(own, STDIN_FILENO);
  ::close(own);
  ::close(input[0]);
  ASSERT_TRUE(program.wait_for(folder_.path() + "/rpcrdma/kernel.")) << program.out;
  ::close(input[1]);
  EXPECT_EQ(program.finish(), 0) << program.out;
}

TEST_F(Kernel, SaysWhyItCannot) {
  orders("refused");
  Program refused;
  EXPECT_EQ(refused.finish(), 2);
  EXPECT_EQ(refused.out,
            "rpcrdma-kernel: the kernel refuses the program wc_send: invalid access (-v prints the "
            "verifier's log)\n");
  Program verbose({"-v"});
  EXPECT_EQ(verbose.finish(), 2);
  EXPECT_EQ(verbose.out,
            "0: R1=ctx()\ninvalid access\n"
            "rpcrdma-kernel: the kernel refuses the program wc_send: invalid access\n");
  Program wrong({"--slower", "soon"});
  EXPECT_EQ(wrong.finish(), 2);
  EXPECT_THAT(wrong.out, StartsWith("rpcrdma-kernel: --slower soon: not a duration"));
  // The same error, before anything is started.
  const Result command = run("RPCRDMA kernel --slower soon");
  EXPECT_EQ(command.status, 2);
  EXPECT_THAT(command.err, StartsWith("rpcrdma: kernel: --slower soon: not a duration"));
}

TEST_F(Kernel, TheCommandBecomesTheProgram) {
  orders("fallback,ends");
  Background kernel({"kernel", "--peer=10.0.0.1", "--record", folder_.file("r.pcapng")}, {},
                    RPCRDMA_FAKE_KERNEL_COMMAND);
  EXPECT_EQ(kernel.finish(), 2);
  EXPECT_THAT(kernel.out,
              HasSubstr("tracing the client of a fake Linux; only --peer=10.0.0.1; `rpcrdma"));
  EXPECT_THAT(kernel.out, HasSubstr("rpcrdma-kernel: without BPF: this kernel has no BTF\n"));
  EXPECT_THAT(kernel.out, HasSubstr("recorded, 0 lost"));
}

TEST_F(Kernel, AttachStartsItAndEndsIt) {
  orders(nfs_events() + ",lost=3");
  Background attached({"attach", "kernel", "--json"}, folder_.file("out"),
                      RPCRDMA_FAKE_KERNEL_COMMAND);
  ASSERT_TRUE(attached.wait_for("attached to kernel")) << attached.out;
  EXPECT_THAT(attached.out, HasSubstr("rpcrdma-kernel: tracing the client of a fake Linux"));
  while (read_file(folder_.file("out")).find("\"kind\":\"reply\"") == std::string::npos) {
    std::this_thread::yield();
  }
  EXPECT_THAT(listed(), HasSubstr("client of a fake Linux"));
  attached.signal(SIGINT);
  EXPECT_EQ(attached.finish(), 0);
  EXPECT_THAT(attached.out, HasSubstr(" events, 3 lost"));
  EXPECT_THAT(attached.out, HasSubstr(" events, 3 lost in the kernel, 0 lost to readers\n"));
  EXPECT_THAT(run("RPCRDMA ls").err, HasSubstr("no endpoint"));
}

TEST_F(Kernel, AttachKeepsItsStreamUntilItEnds) {
  orders(nfs_events() + ",ends");
  const Result r = run_beside("KERNEL attach kernel -w " + folder_.file("kept.pcapng"));
  EXPECT_EQ(r.status, 0);
  EXPECT_THAT(r.err, HasSubstr("kernel ended; "));
  EXPECT_THAT(r.err, HasSubstr("rpcrdma-kernel: the trace has ended: the module xprtrdma"));
  const json report = parse_json(run("RPCRDMA analyze --json " + folder_.file("kept.pcapng")).out);
  EXPECT_GT(report["connections"][0]["calls"], 20) << report;
}

TEST_F(Kernel, ItsProcessEndsIfItsReaderIsKilled) {
  std::string process;
  {
    Background attached({"attach", "kernel"}, {}, RPCRDMA_FAKE_KERNEL_COMMAND);
    ASSERT_TRUE(attached.wait_for("attached to kernel")) << attached.out;
    process = json_lines(run("RPCRDMA ls --json").out).at(0)["process"].dump();
  }  // by SIGKILL
  while (::kill(std::stoi(process), 0) == 0 &&
         read_file("/proc/" + process + "/stat").find(") Z") == std::string::npos) {
    std::this_thread::yield();
  }
  EXPECT_THAT(run("RPCRDMA ls").err, HasSubstr("no endpoint"));
}

TEST_F(Kernel, FilterOptionsReachTheKernelThatIsStarted) {
  Background attached({"attach", "kernel", "--slower", "1ms", "--server"}, {},
                      RPCRDMA_FAKE_KERNEL_COMMAND);
  ASSERT_TRUE(attached.wait_for("attached to kernel")) << attached.out;
  EXPECT_THAT(attached.out, HasSubstr("client of a fake Linux; only --slower=1ms; "));
  // A second reader finds it.
  const Result again = run_beside("KERNEL attach kernel --slower 1ms");
  EXPECT_EQ(again.status, 2);
  EXPECT_THAT(again.err, HasSubstr("the endpoint kernel runs already"));
  const Result other = run_beside("KERNEL attach nfsd --slower 1ms");
  EXPECT_THAT(other.err, HasSubstr("nfsd: options that say what to trace"));
  const Result wrong = run_beside("KERNEL attach kernel --slower soon");
  EXPECT_THAT(wrong.err, StartsWith("rpcrdma: attach: --slower soon: not a duration"));
}

TEST_F(Kernel, TopCountsInTheKernel) {
  orders("seconds=3");
  const Result r = run_beside("KERNEL top kernel --once --seconds 90");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.err, HasSubstr("the trace has ended: the seconds are over"));
  EXPECT_THAT(r.out, HasSubstr("kernel has ended"));
  EXPECT_THAT(r.out, HasSubstr("1 connection, 0 open"));
  EXPECT_THAT(r.out, HasSubstr("NFS v3 READ"));
  EXPECT_THAT(r.out, HasSubstr("Calls are counted, not judged"));
  EXPECT_THAT(r.out, HasSubstr("1/64"));
  EXPECT_THAT(r.out, HasSubstr("credit waits "));
  EXPECT_THAT(run("RPCRDMA ls").err, HasSubstr("no endpoint"));
}

TEST_F(Kernel, TopWithEventsJudges) {
  orders(nfs_events() + ",ends");
  const Result r = run_beside("KERNEL top kernel --events --once --seconds 90");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("1 connection, 0 open"));
  EXPECT_THAT(r.out, Not(HasSubstr("not judged")));
  EXPECT_THAT(r.out, HasSubstr("Findings"));
}

TEST_F(Kernel, ReadersOfSumsWhoComeLaterGetThoseSoFar) {
  Program program({"--sums"});
  ASSERT_TRUE(program.is_ready()) << program.out;
  const std::string file = folder_.file("kept.pcapng");
  for (int reader = 0; reader < 2; ++reader) {
    Background attached({"attach", "kernel", "-w", file});
    ASSERT_TRUE(attached.wait_for("attached to kernel")) << attached.out;
    attached.signal(SIGINT);
    EXPECT_EQ(attached.finish(), 0);
  }
  const Result events = run("RPCRDMA decode --events " + file);
  EXPECT_THAT(events.out, HasSubstr("procedure"));
}

#ifdef RPCRDMA_METRICS
TEST_F(Kernel, ServesItsSumsAsMetrics) {
  const std::string address = own_address(1);
  Program program({"--sums", "--metrics", address + ":9464"});
  ASSERT_TRUE(program.wait_for("metrics at http://" + address + ":9464/metrics\n")) << program.out;
  double calls = 0;
  while (!(calls > 0)) {
    const metrics::testing::Exposition e(metrics::testing::scrape(address, 9464));
    ASSERT_THAT(e.problems(), ::testing::IsEmpty());
    calls = e[R"(rpcrdma_procedure_calls_total{procedure="READ",program="NFS",role="client"})"];
    if (!(calls > 0)) continue;
    EXPECT_EQ(e[R"(rpcrdma_calls_total{role="client"})"], calls);
    EXPECT_EQ(e[R"(rpcrdma_credits_granted{role="client"})"], 64);
    EXPECT_EQ(e[R"(rpcrdma_connections{role="client"})"], 1);
    EXPECT_EQ(e[R"(rpcrdma_trace_events_lost_total{where="kernel"})"], 0);
  }
  program.signal(SIGTERM);
  EXPECT_EQ(program.finish(), 0) << program.out;
}
#endif

TEST_F(Kernel, ReadersSayWhyItCannotBeTraced) {
  orders("refused");
  for (const std::string command : {"attach kernel", "top kernel --once"}) {
    const Result r = run_beside("KERNEL " + command);
    EXPECT_EQ(r.status, 2);
    EXPECT_THAT(r.err,
                StartsWith("rpcrdma: cannot trace the kernel: the kernel refuses the program "
                           "wc_send: invalid access"));
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  }
  // Without privileges it also says how to get them. The reader looks for its sockets first.
  const TemporaryFolder own;
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(own.path().c_str(), 65534, 65534), 0);
  }
  const std::string as_nobody =
      ::geteuid() == 0 ? "setpriv --reuid 65534 --regid 65534 --clear-groups " : "";
  const Result plain = run("XDG_RUNTIME_DIR=" + own.path() + ' ' + as_nobody +
                           RPCRDMA_FAKE_KERNEL_COMMAND " attach kernel");
  EXPECT_EQ(plain.status, 2);
  EXPECT_THAT(plain.err,
              HasSubstr("it needs privileges: use sudo, or permit it once: sudo setcap "));
  EXPECT_THAT(plain.err, HasSubstr("+ep " RPCRDMA_FAKE_KERNEL_PROGRAM "\n"));
  // Another name is not started.
  EXPECT_THAT(run_beside("KERNEL attach kernels").err, HasSubstr("no endpoint kernels runs here"));
}

TEST_F(Kernel, FromRootItBecomesAnotherUserForGood) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  orders("regains,ends");
  std::filesystem::permissions(folder_.path(), std::filesystem::perms::all);
  const TemporaryFolder runtime;
  ASSERT_EQ(::chown(runtime.path().c_str(), 65534, 65534), 0);
  ::setenv("XDG_RUNTIME_DIR", runtime.path().c_str(), 1);
  const std::string file = folder_.file("recorded.pcapng");
  Program program({"--user", "nobody", "--record", file});
  EXPECT_EQ(program.finish(), 2);
  EXPECT_THAT(program.out, HasSubstr("the module xprtrdma was unloaded")) << program.out;
  struct stat status {};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 65534U);
  EXPECT_TRUE(std::filesystem::exists(runtime.path() + "/rpcrdma"));
}

// sudo says who called it by these variables.
TEST_F(Kernel, UnderSudoAllBelongsToTheCaller) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const TemporaryFolder own;
  ASSERT_EQ(::chown(own.path().c_str(), 65534, 65534), 0);
  ::setenv("XDG_RUNTIME_DIR", own.path().c_str(), 1);
  const std::string sudo = "export SUDO_UID=65534 SUDO_GID=65534; ";
  orders(nfs_events() + ",regains,ends");
  const Result started = run_beside(sudo + "KERNEL attach kernel -w " + own.file("kept.pcapng"));
  EXPECT_EQ(started.status, 0) << started.err;
  EXPECT_THAT(started.err, HasSubstr("the module xprtrdma was unloaded"));
  struct stat status {};
  ASSERT_EQ(::stat(own.file("kept.pcapng").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 65534U);
  ASSERT_EQ(::stat(own.file("rpcrdma").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 65534U);
  // The caller's endpoint is found, and none is started.
  orders("");
  Program program({"--user", "nobody"});
  ASSERT_TRUE(program.is_ready()) << program.out;
  const Result found = run_beside(sudo + "KERNEL attach kernel --slower 1ms");
  EXPECT_EQ(found.status, 2);
  EXPECT_THAT(found.err, HasSubstr("the endpoint kernel runs already"));
}

}  // namespace
}  // namespace rpcrdma::e2e
