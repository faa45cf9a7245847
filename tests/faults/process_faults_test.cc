// The programs when the system fails them: no thread can be started, clocks jump, descriptors run
// out, and either side is stopped for a while.
#include "support/background.h"
#include "support/command.h"
#include "support/own_address.h"
#include "support/running_endpoint.h"

#include <csignal>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <rpcrdma/live/endpoints.h>

namespace rpcrdma::e2e {
namespace {

using ::testing::AnyOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

using Words = std::vector<std::string>;

// A sanitizer's runtime would insist on being the first library.
const std::string kPreload = "LD_PRELOAD=" RPCRDMA_SYSTEM_FAULTS;
const std::string kAnyOrder = "ASAN_OPTIONS=verify_asan_link_order=0";

Words with(const std::string& fault, const Words& arguments) {
  Words words{kAnyOrder, kPreload, fault, RPCRDMA_COMMAND};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

class SystemFaults : public ::testing::Test {
 protected:
  SystemFaults() { ::setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1); }
  ~SystemFaults() override { ::unsetenv("XDG_RUNTIME_DIR"); }

  const std::string server_ = own_address(1), client_ = own_address(2);
  TemporaryFolder folder_;
};

// ----- threads

// Runs a command with ever more threads until one more changes nothing. It never crashes: it says
// that there was no thread, or does its work without. Returns the outputs of the runs that worked.
std::vector<std::string> with_few_threads(const Words& arguments, int most) {
  std::vector<std::string> outputs;
  for (int threads = 0; threads <= most; ++threads) {
    Background run(with(fmt::format("RPCRDMA_TEST_THREADS={}", threads), arguments), {}, "env");
    const int status = run.finish();
    if (status == 0) {
      outputs.push_back(run.out);
    } else {
      EXPECT_EQ(status, 2) << threads << ": " << run.out;
      EXPECT_THAT(run.out, HasSubstr("thread")) << threads;
    }
  }
  EXPECT_FALSE(outputs.empty());
  return outputs;
}

std::string big_capture() {
  const std::string one = read_file(capture("linux-nfs41.pcap"));
  constexpr std::size_t kHeader = 24;
  std::string many = one;
  while (many.size() < (5U << 20)) many += one.substr(kHeader);
  return many;
}

TEST_F(SystemFaults, AnAnalysisNeedsNoThreads) {
  write_file(folder_.file("big.pcap"), big_capture());
  const auto outputs =
      with_few_threads({"analyze", "--json", "-j", "4", folder_.file("big.pcap")}, 2);
  ASSERT_EQ(outputs.size(), 3U);
  for (const std::string& output : outputs) EXPECT_EQ(output, outputs.back());
}

TEST_F(SystemFaults, ABatchNeedsNoThreads) {
  for (int i = 0; i < 3; ++i) {
    write_file(folder_.file(fmt::format("{}.pcap", i)),
               read_file(capture("cases/ok-5-getattr.pcap")));
  }
  for (int threads = 0; threads < 3; ++threads) {
    const std::string out = folder_.file(fmt::format("out{}", threads));
    Background run(with(fmt::format("RPCRDMA_TEST_THREADS={}", threads),
                        {"analyze-many", "--out", out, "--plan", folder_.file("0.pcap"),
                         folder_.file("1.pcap"), folder_.file("2.pcap")}),
                   {}, "env");
    EXPECT_EQ(run.finish(), 0) << run.out;
    EXPECT_NE(read_file(out + "/plan.json"), "");
  }
}

TEST_F(SystemFaults, ClientsSayThatThereIsNoThread) {
  Background server({"serve", "--listen", server_});
  ASSERT_TRUE(server.wait_for("listening"));
  with_few_threads(
      {"load", server_, "--from", client_, "--threads", "2", "--connections", "2", "--count", "20"},
      5);
  with_few_threads({"ping", server_, "--from", client_, "-c", "1"}, 3);
}

TEST_F(SystemFaults, ASelftestSaysThatThereIsNoThread) {
  for (int threads = 0; threads < 3; ++threads) {
    Background run(with(fmt::format("RPCRDMA_TEST_THREADS={}", threads), {"selftest"}), {}, "env");
    EXPECT_EQ(run.finish(), 2) << run.out;
    EXPECT_THAT(run.out, HasSubstr("selftest: cannot start a thread"));
  }
}

TEST_F(SystemFaults, AServerSaysThatThereIsNoThread) {
  int status = -1;
  for (int threads = 0; status != 0 && threads < 12; ++threads) {
    Background server(with(fmt::format("RPCRDMA_TEST_THREADS={}", threads),
                           {"serve", "--listen", server_, "--pcapng", folder_.file("p.pcapng"),
                            "--record", folder_.file("r.pcapng")}),
                      {}, "env");
    if (server.wait_for("listening")) server.signal(SIGTERM);
    status = server.finish();
    if (status == 0) break;
    EXPECT_EQ(status, 2) << threads << ": " << server.out;
    EXPECT_THAT(server.out, HasSubstr("cannot start a thread")) << threads;
  }
  EXPECT_EQ(status, 0);
}

// ----- clocks

// The two clocks of a program, which a test moves while it runs.
class Clocks {
 public:
  explicit Clocks(std::string file) : file_(std::move(file)) {
    write_file(file_, std::string(sizeof(Ahead), '\0'));
    const int fd = ::open(file_.c_str(), O_RDWR | O_CLOEXEC);
    ahead_ = static_cast<Ahead*>(
        ::mmap(nullptr, sizeof(Ahead), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    ::close(fd);
  }
  ~Clocks() { ::munmap(ahead_, sizeof(Ahead)); }
  Clocks(const Clocks&) = delete;
  Clocks& operator=(const Clocks&) = delete;

  [[nodiscard]] std::string variable() const { return "RPCRDMA_TEST_CLOCKS=" + file_; }
  void step_wall(std::int64_t seconds) { __atomic_fetch_add(&ahead_->wall, seconds * kSecond, 5); }
  void step_both(std::int64_t seconds) {
    step_wall(seconds);
    __atomic_fetch_add(&ahead_->monotonic, seconds * kSecond, 5);
  }

 private:
  static constexpr std::int64_t kSecond = 1'000'000'000;
  struct Ahead {
    std::int64_t wall, monotonic;
  };
  std::string file_;
  Ahead* ahead_ = nullptr;
};

nlohmann::json loaded(const Background& load, const std::string& file) {
  auto json = nlohmann::json::parse(read_file(file), nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << load.out;
  return json;
}

void expect_all_right(const nlohmann::json& load, std::uint64_t calls) {
  ASSERT_TRUE(load.is_object());
  EXPECT_EQ(load["calls"], calls);
  EXPECT_EQ(load["errors"], 0);
  EXPECT_EQ(load["mismatches"], 0);
}

// Minutes pass at once, as when a machine was suspended; then the wall clock is set back.
TEST_F(SystemFaults, ClocksThatJumpCostNoConnection) {
  Clocks server_clocks(folder_.file("server")), client_clocks(folder_.file("client"));
  Background server(with(server_clocks.variable(), {"serve", "--listen", server_, "--name", "srv"}),
                    {}, "env");
  ASSERT_TRUE(server.wait_for("listening"));
  constexpr std::uint64_t kCalls = 1200;
  Background load(with(client_clocks.variable(),
                       {"load", server_, "--from", client_, "--procedure", "echo-bulk,list,sleep",
                        "--sleep", "20ms", "--size", "64Ki", "--connections", "3", "--depth", "2",
                        "--count", std::to_string(kCalls), "--name", "ld", "--json"}),
                  folder_.file("load.json"), "env");
  Background reader({"attach", "srv", "--events"});
  ASSERT_TRUE(reader.wait_for("reply"));
  client_clocks.step_both(600);
  server_clocks.step_wall(-86400);
  const auto pause = [] { ::poll(nullptr, 0, 300); };  // so that some Calls pass in between
  pause();
  server_clocks.step_both(600);
  pause();
  client_clocks.step_wall(-7200);
  server_clocks.step_wall(86400);
  EXPECT_EQ(load.finish(), 0) << load.out;
  const auto result = loaded(load, folder_.file("load.json"));
  expect_all_right(result, kCalls);
  EXPECT_EQ(result["connections_lost"], 0);
  EXPECT_GE(result["latency_us"]["min"], 0);
  EXPECT_LT(result["packets_retransmitted"], kCalls) << "timers fire once, not for each second";
  server.signal(SIGTERM);
  EXPECT_EQ(server.finish(), 0) << server.out;
  EXPECT_EQ(reader.finish(), 0);
  EXPECT_THAT(reader.out, Not(ContainsRegex(" -[0-9]"))) << "a negative duration";
}

// ----- descriptors

#if defined __has_feature
#if __has_feature(undefined_behavior_sanitizer)
#define RPCRDMA_UBSAN
#endif
#endif
#ifndef RPCRDMA_UBSAN

rlimit set_descriptors(pid_t process, rlim_t most) {
  rlimit before{};
  EXPECT_EQ(::prlimit(process, RLIMIT_NOFILE, nullptr, &before), 0);
  const rlimit limit{most, before.rlim_max};
  EXPECT_EQ(::prlimit(process, RLIMIT_NOFILE, &limit, nullptr), 0);
  return before;
}
// A limit below which no number is free. Descriptors that are open stay open.
rlim_t no_more_descriptors(pid_t process) {
  rlim_t limit = 0;
  while (std::filesystem::is_symlink(fmt::format("/proc/{}/fd/{}", process, limit))) ++limit;
  return limit;
}
// Bytes that a reader receives without waiting for long.
bool gets_events(const base::FileDescriptor& reader) {
  for (int tries = 0; tries < 500; ++tries) {
    std::array<char, 65536> bytes{};
    pollfd wait{reader.get(), POLLIN, 0};
    if (::poll(&wait, 1, 20) <= 0) continue;
    return ::read(reader.get(), bytes.data(), bytes.size()) > 0;
  }
  return false;
}

// The live socket of a server that has no descriptor left: it continues to serve, also its readers.
// A reader that connects meanwhile is accepted when there is a descriptor. UBSan itself needs
// descriptors to check an object's type, and reports a fault if there is none.
TEST_F(SystemFaults, AServerWithoutDescriptorsServes) {
  Background server({"serve", "--listen", server_, "--name", "srv"});
  ASSERT_TRUE(server.wait_for("listening"));
  Background load({"load", server_, "--from", client_, "--duration", "60s", "--no-live", "--json"},
                  folder_.file("load.json"));
  auto first = trace::connect_endpoint("srv");
  ASSERT_TRUE(first);
  ASSERT_TRUE(gets_events(*first));
  const rlimit before = set_descriptors(server.id(), no_more_descriptors(server.id()));
  // The kernel completes the connection; the server cannot accept it.
  auto second = trace::connect_endpoint("srv");
  ASSERT_TRUE(second);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(gets_events(*first));
  pollfd nothing{second->get(), POLLIN, 0};
  EXPECT_EQ(::poll(&nothing, 1, 0), 0);
  set_descriptors(server.id(), before.rlim_cur);
  EXPECT_TRUE(gets_events(*second));
  load.signal(SIGINT);
  EXPECT_EQ(load.finish(), 0) << load.out;
  const auto result = loaded(load, folder_.file("load.json"));
  EXPECT_EQ(result["errors"], 0);
  EXPECT_EQ(result["mismatches"], 0);
  EXPECT_EQ(result["connections_lost"], 0);
}
#endif

// ----- stopped processes

// Stops one side at moments that differ, in every state of a connection's life, and lets it run
// again: all Calls end right.
struct Stopped {
  const char* name;
  bool server;
  const char* procedure;
  const char* size;
};
class StoppedSide : public SystemFaults, public ::testing::WithParamInterface<Stopped> {};
INSTANTIATE_TEST_SUITE_P(Sides, StoppedSide,
                         ::testing::Values(Stopped{"ServerWithReadChunks", true, "sink", "1Mi"},
                                           Stopped{"ServerWithReplies", true, "source,list", "1Mi"},
                                           Stopped{"ClientWithReadChunks", false, "sink", "1Mi"},
                                           Stopped{"ClientWithReplies", false, "source,list",
                                                   "1Mi"}),
                         [](const auto& of) { return of.param.name; });

TEST_P(StoppedSide, NothingIsWrong) {
  const Stopped& how = GetParam();
  Background server({"serve", "--listen", server_, "--no-live"});
  ASSERT_TRUE(server.wait_for("listening"));
  if (how.server) server.signal(SIGSTOP);  // the REQ is not answered
  Background load(
      {"load", server_, "--from", client_, "--procedure", how.procedure, "--size", how.size,
       "--connections", "2", "--depth", "2", "--count", "400", "--no-live", "--json"},
      folder_.file("load.json"));
  ::poll(nullptr, 0, 200);
  server.signal(SIGCONT);
  const Background& stopped = how.server ? server : load;
  for (int i = 0; i < 10; ++i) {
    ::poll(nullptr, 0, 3 + 7 * i);
    stopped.signal(SIGSTOP);
    ::poll(nullptr, 0, i == 4 ? 1100 : 20);
    stopped.signal(SIGCONT);
  }
  EXPECT_EQ(load.finish(), 0) << load.out;
  expect_all_right(loaded(load, folder_.file("load.json")), 400);
  server.signal(SIGTERM);
  EXPECT_EQ(server.finish(), 0) << server.out;
  EXPECT_THAT(server.out, HasSubstr("400 Calls: 400 answered with success"));
}

// A server that stays stopped while its client disconnects: the client ends all the same.
TEST_F(SystemFaults, AClientLeavesAStoppedServer) {
  Background server({"serve", "--listen", server_, "--no-live"});
  ASSERT_TRUE(server.wait_for("listening"));
  Background load({"load", server_, "--from", client_, "--duration", "60s", "--interval", "100ms",
                   "--timeout", "1s", "--no-live"});
  ASSERT_TRUE(load.wait_for("/s"));
  server.signal(SIGSTOP);
  load.signal(SIGINT);
  EXPECT_THAT(load.finish(), AnyOf(0, 1)) << load.out;
  server.signal(SIGCONT);
  Background ping({"ping", server_, "--from", client_, "-c", "1"});
  EXPECT_EQ(ping.finish(), 0) << ping.out;
  server.signal(SIGTERM);
  EXPECT_EQ(server.finish(), 0) << server.out;
}

}  // namespace
}  // namespace rpcrdma::e2e
