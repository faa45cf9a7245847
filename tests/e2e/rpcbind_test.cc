// `serve --rpcbind`, and clients that query rpcbind for a port: with Debian's rpcbind and with fake
// ones that answer nonsense, in a network namespace and with a private /run.
#include "loopback_up.h"
#include "support/background.h"
#include "support/command.h"
#include "support/rpcbind_server.h"

#include <algorithm>
#include <csignal>
#include <cstring>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <rpcrdma/rpcbind/rpcbind.h>

namespace rpcrdma::e2e {
namespace {

using rpcbind::Registration;
using rpcbind::testing::FakeServer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kServer = "127.0.0.1";
constexpr const char* kEcho = "0x20525244";

constexpr const char* kCallback = "0x20525245";

// The programs of `serve`, at a netid and universal address.
auto both_programs(const std::string& at) {
  return ElementsAre(fmt::format("{} 1 {}", kEcho, at), fmt::format("{} 1 {}", kCallback, at));
}

// Once per process.
bool enter_namespaces() {
  static const bool entered = [] {
    if (::unshare(CLONE_NEWNET | CLONE_NEWNS) != 0) return false;
    // From here on, even after a failure, the machine's own files are out of reach.
    if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", "/run", "tmpfs", 0, nullptr) != 0 || ::mkdir("/run/rpcbind", 0755) != 0) {
      return false;
    }
    return set_loopback_up();
  }();
  return entered;
}

// Debian's rpcbind, until the end of the test.
class RealRpcbind {
 public:
  RealRpcbind() {
    child_ = ::fork();
    if (child_ == 0) {
      ::alarm(100);
      ::execl("/usr/sbin/rpcbind", "rpcbind", "-f", nullptr);
      ::_exit(127);
    }
    // Until it answers or ends.
    while (!rpcbind::dump(rpcbind::this_machine())) {
      if (::waitpid(child_, nullptr, WNOHANG) != 0) {
        ADD_FAILURE() << "rpcbind does not run";
        child_ = -1;
        return;
      }
      ::usleep(1000);
    }
  }
  ~RealRpcbind() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    ::unlink(rpcbind::kLocalSocket);
  }
  RealRpcbind(const RealRpcbind&) = delete;
  RealRpcbind& operator=(const RealRpcbind&) = delete;

  // Registrations over RDMA, as "PROGRAM VERSION NETID ADDRESS".
  static std::vector<std::string> rdma() {
    std::vector<std::string> found;
    const auto all = rpcbind::dump(rpcbind::this_machine());
    if (!all) return {all.error().message};
    for (const Registration& r : *all) {
      if (!r.netid.starts_with("rdma")) continue;
      found.push_back(fmt::format("{:#x} {} {} {}", r.program, r.version, r.netid, r.address));
    }
    return found;
  }

 private:
  pid_t child_ = -1;
};

class Rpcbind : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!enter_namespaces()) GTEST_SKIP() << "not permitted to make namespaces";
  }
  static std::vector<std::string> serving(const std::vector<std::string>& more = {},
                                          const std::string& address = kServer) {
    std::vector<std::string> all{"serve", "--listen", address};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  static Result ping(const std::string& options) {
    return run(fmt::format("RPCRDMA ping {} --from 127.0.0.2 -c 1 {}", kServer, options));
  }
  static void stop(Background& server) {
    server.signal(SIGINT);
    EXPECT_EQ(server.finish(), 0) << server.out;
  }
  static void expect_one_line(const std::string& text) {
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    EXPECT_LT(text.size(), 300U);
  }
};

TEST_F(Rpcbind, ServersAreRegisteredFoundAndUnregistered) {
  const RealRpcbind real;
  Background server(serving({"--rpcbind", "--port", "20777"}));
  ASSERT_TRUE(server.wait_for("listening on ")) << server.out;
  EXPECT_THAT(server.out, HasSubstr("netid rdma, address 127.0.0.1.81.41\n"));
  EXPECT_THAT(RealRpcbind::rdma(), both_programs("rdma 127.0.0.1.81.41"));
  EXPECT_THAT(run("rpcinfo").out, HasSubstr(" rdma      127.0.0.1.81.41 "));

  for (const std::string options : {"--rpcbind", "--program echo"}) {
    const Result r = ping(options);
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(r.err, "");
    EXPECT_THAT(r.out, StartsWith("PING 127.0.0.1 port 20777, program 0x"));
  }
  const Result load = run("RPCRDMA load 127.0.0.1 --from 127.0.0.2 --rpcbind --count 5");
  EXPECT_EQ(load.status, 0) << load.err;
  EXPECT_EQ(load.err, "");

  stop(server);
  EXPECT_THAT(RealRpcbind::rdma(), IsEmpty());
}

TEST_F(Rpcbind, Ipv6HasItsNetid) {
  const RealRpcbind real;
  Background server(serving({"--rpcbind"}, "::1"));
  ASSERT_TRUE(server.wait_for("listening on ")) << server.out;
  EXPECT_THAT(RealRpcbind::rdma(), both_programs("rdma6 ::1.78.81"));
  stop(server);
  EXPECT_THAT(RealRpcbind::rdma(), IsEmpty());
}

TEST_F(Rpcbind, AKilledServersPlaceIsTaken) {
  const RealRpcbind real;
  {
    Background killed(serving({"--rpcbind", "--port", "20777"}));
    ASSERT_TRUE(killed.wait_for("listening on ")) << killed.out;
    killed.signal(SIGKILL);
    killed.finish();
  }
  Background server(serving({"--rpcbind"}));
  ASSERT_TRUE(server.wait_for("listening on ")) << server.out;
  EXPECT_THAT(server.out, HasSubstr("replaces \"127.0.0.1.81.41\""));
  EXPECT_THAT(RealRpcbind::rdma(), both_programs("rdma 127.0.0.1.78.81"));
  stop(server);
}

TEST_F(Rpcbind, WhereItDoesNotKnowTheProgramTheWellKnownPortIsTried) {
  const RealRpcbind real;
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening on ")) << server.out;
  EXPECT_THAT(RealRpcbind::rdma(), IsEmpty());
  // It is registered over TCP, which was not the question.
  ASSERT_TRUE(rpcbind::set(rpcbind::this_machine(), {100003, 4, "tcp", "0.0.0.0.8.1", ""}).value());
  for (const std::string program : {"nfs", "100003", "portmapper"}) {
    const Result r = ping("--program " + program);
    EXPECT_EQ(r.status, 1) << r.err;  // PROG_UNAVAIL
    EXPECT_THAT(r.out, StartsWith("PING 127.0.0.1 port 20049, "));
    expect_one_line(r.err);
    EXPECT_THAT(r.err, HasSubstr("rpcbind has no program 10000"));
    EXPECT_THAT(r.err, HasSubstr(" for netid rdma; trying port 20049"));
  }
  stop(server);
}

TEST_F(Rpcbind, WithoutOneClientsGoOnAndServersEnd) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening on ")) << server.out;
  const Result r = ping("--program nfs");
  EXPECT_EQ(r.status, 1) << r.err;  // PROG_UNAVAIL
  expect_one_line(r.err);
  EXPECT_THAT(r.err, HasSubstr("TCP port 111: Connection refused; trying port 20049"));
  // A client with a given port does not query rpcbind.
  EXPECT_EQ(ping("--program nfs --port 20049").err, "");
  EXPECT_EQ(ping("").err, "");
  const Result both = ping("--rpcbind --port 20049");
  EXPECT_EQ(both.status, 2);
  stop(server);

  const Result serve = run("RPCRDMA serve --listen 127.0.0.3 --rpcbind");
  EXPECT_EQ(serve.status, 2);
  EXPECT_EQ(serve.out, "");
  expect_one_line(serve.err);
  EXPECT_THAT(serve.err, HasSubstr("serve: --rpcbind: rpcbind at 127.0.0.1 TCP port 111: "));
}

TEST_F(Rpcbind, NonsenseIsALineAndTheWellKnownPort) {
  using namespace rpcbind::testing;
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening on ")) << server.out;
  struct Nonsense {
    FakeServer::Answer answer;
    const char* said;
  };
  const std::vector<Nonsense> all{
      {[](const std::string& call) {
         return reply(call, entry(100003, 4, "rdma", "\x1b[31mno address") + words({0}));
       },
       "rpcbind has an invalid address for program 100003: \"?[31mno address\""},
      {[](const std::string& call) {
         return reply(call, words({1, 100003, 4, 0xffffffff}) + std::string(1 << 16, 'x'));
       },
       "rpcbind: its answer cannot be decoded"},
      {[](const std::string&) { return words({0xffffffff}) + std::string(1 << 20, 'x'); },
       "rpcbind: its answer is longer than 262144 bytes"},
      {[](const std::string&) { return std::string(); }, "rpcbind: no answer in time"}};
  for (const Nonsense& n : all) {
    const FakeServer fake(n.answer, rpcbind::kPort);
    const Result r = ping("--program nfs");
    EXPECT_EQ(r.status, 1) << r.err;  // PROG_UNAVAIL
    expect_one_line(r.err);
    EXPECT_THAT(r.err, HasSubstr(std::string(n.said) + "; trying port 20049"));
  }
  stop(server);
}

TEST_F(Rpcbind, NfsProbeFindsMount) {
  using namespace rpcbind::testing;
  const RealRpcbind real;
  // MNT3ERR_ACCES
  const FakeServer mount([](const std::string& call) { return reply(call, words({13})); });
  const std::string address = fmt::format("127.0.0.1.{}.{}", mount.port >> 8, mount.port & 0xff);
  ASSERT_TRUE(rpcbind::set(rpcbind::this_machine(), {100005, 3, "tcp", address, ""}).value());
  const Result r = run("RPCRDMA nfs-probe 127.0.0.1:/export --from 127.0.0.2");
  EXPECT_EQ(r.status, 2);
  expect_one_line(r.err);
  EXPECT_THAT(r.err, HasSubstr("MNT3ERR_ACCES"));
}

}  // namespace
}  // namespace rpcrdma::e2e
