// What running commands may still do, as the kernel states it in /proc/PID/status: decoders are
// confined, and `capture` is not root for longer than it needs.
#include "loopback_up.h"
#include "support/background.h"
#include "support/command.h"

#include <chrono>
#include <csignal>
#include <functional>
#include <string>
#include <thread>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <pwd.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <rpcrdma/base/confinement.h>
#include <rpcrdma/base/file_descriptor.h>

namespace rpcrdma::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// The value of a field of /proc/PID/status, up to its line's end.
std::string status_of(pid_t process, const std::string& field) {
  const std::string all = "\n" + read_file(fmt::format("/proc/{}/status", process));
  const std::size_t at = all.find("\n" + field + ":\t");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + field.size() + 3;
  return all.substr(begin, all.find('\n', begin) - begin);
}

bool eventually(const std::function<bool()>& holds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

class ConfinedDecoder : public ::testing::Test {
 protected:
  void SetUp() override {
    const base::ConfinementSupport support = base::confinement_support();
    if (!support.system_calls) GTEST_SKIP() << support.why_not;
    ASSERT_EQ(::mkfifo(fifo_.c_str(), 0600), 0);
  }

  TemporaryFolder folder_;
  const std::string fifo_ = folder_.file("fifo");
  const std::string whole_ = capture("linux-nfs41.pcap");
};

TEST_F(ConfinedDecoder, FollowsAPipe) {
  const std::string bytes = read_file(whole_);
  const std::string expected = run("RPCRDMA decode " + whole_).out;
  for (const std::string command : {"decode", "analyze"}) {
    Background decoder({command, fifo_}, folder_.file("out"));
    base::FileDescriptor to(::open(fifo_.c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_GE(to.get(), 0);
    ASSERT_EQ(::write(to.get(), bytes.data(), 2000), 2000);
    EXPECT_TRUE(eventually([&] { return status_of(decoder.id(), "Seccomp_filters") == "2"; }))
        << command;
    EXPECT_EQ(status_of(decoder.id(), "Seccomp"), "2") << command;
    EXPECT_EQ(status_of(decoder.id(), "NoNewPrivs"), "1") << command;
    for (std::size_t at = 2000; at < bytes.size();) {
      const ssize_t n = ::write(to.get(), bytes.data() + at, bytes.size() - at);
      ASSERT_GT(n, 0);
      at += static_cast<std::size_t>(n);
    }
    to.reset();
    EXPECT_EQ(decoder.finish(), 0) << decoder.out;
    if (command == "decode") {
      EXPECT_EQ(read_file(folder_.file("out")), expected);
    }
  }
}

TEST(Doctor, NamesTheProtection) {
  const base::ConfinementSupport support = base::confinement_support();
  const std::string out = run("RPCRDMA doctor").out;
  EXPECT_THAT(out, HasSubstr("confined decoders: "));
  EXPECT_THAT(out, HasSubstr(support.system_calls ? "a seccomp filter" : support.why_not));
}

#ifdef RPCRDMA_LIVE

constexpr const char* kNoCapabilities = "0000000000000000";

class CaptureRights : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "not root";
    ASSERT_EQ(::unshare(CLONE_NEWNET), 0);
    ASSERT_TRUE(set_loopback_up());
    ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
    ASSERT_EQ(::mkdir(open_.c_str(), 0777), 0);
    ASSERT_EQ(::chmod(open_.c_str(), 0777), 0);
  }
  static std::vector<std::string> command(const std::vector<std::string>& more) {
    std::vector<std::string> all{"capture", "-i", "lo", "-B", "4"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  // The user that a capture of root becomes here; nothing: it stays root.
  static const passwd* default_user() {
    for (const char* const name : {"rpcrdma", "tcpdump"}) {
      if (const passwd* const user = ::getpwnam(name)) return user;
    }
    return nullptr;
  }
  static std::string uids(uid_t uid) { return fmt::format("{0}\t{0}\t{0}\t{0}", uid); }
  static uid_t owner(const std::string& file) {
    struct stat status {};
    return ::stat(file.c_str(), &status) == 0 ? status.st_uid : 0xffffffff;
  }
  // Packets that the default filter takes.
  static void send_packets(int count) {
    const base::FileDescriptor fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(4791);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const std::string bytes(500, 'x');
    for (int i = 0; i < count; ++i) {
      (void)::sendto(fd.get(), bytes.data(), bytes.size(), 0,
                     reinterpret_cast<const sockaddr*>(&to), sizeof to);
    }
  }
  static void expect_nothing_left(const Background& capture, uid_t uid) {
    EXPECT_EQ(status_of(capture.id(), "Uid"), uids(uid));
    for (const char* const set : {"CapEff", "CapPrm", "CapInh", "CapAmb"}) {
      EXPECT_EQ(status_of(capture.id(), set), kNoCapabilities) << set;
    }
    EXPECT_EQ(status_of(capture.id(), "NoNewPrivs"), "1");
  }

  TemporaryFolder folder_;
  const std::string open_ = folder_.file("open");
};

TEST_F(CaptureRights, TheUserThatIsNamedWritesARing) {
  const std::string file = open_ + "/ring.pcapng";
  Background capture(command({"-w", file, "--ring-size", "2k", "--user", "nobody"}));
  ASSERT_TRUE(capture.wait_for("listening on lo")) << capture.out;
  EXPECT_THAT(capture.out, HasSubstr("runs as user nobody from here"));
  expect_nothing_left(capture, 65534);
  send_packets(20);
  ASSERT_TRUE(eventually([&] {
    send_packets(1);
    return run("ls " + open_).out.find("ring_00003_") != std::string::npos;
  }));
  capture.signal(SIGINT);
  EXPECT_EQ(capture.finish(), 0) << capture.out;
  const std::string third = run("ls " + open_ + "/ring_00003_*").out;
  EXPECT_EQ(owner(third.substr(0, third.find('\n'))), 65534U);
}

TEST_F(CaptureRights, RootBecomesTheDefaultUser) {
  Background capture(command({}));
  ASSERT_TRUE(capture.wait_for("listening on lo")) << capture.out;
  const passwd* const user = default_user();
  if (user == nullptr) {
    EXPECT_THAT(capture.out, HasSubstr("stays root without capabilities"));
    return expect_nothing_left(capture, 0);
  }
  EXPECT_THAT(capture.out, HasSubstr(fmt::format("runs as user {} from here", user->pw_name)));
  expect_nothing_left(capture, user->pw_uid);
}

TEST_F(CaptureRights, AFileThatOnlyRootMayCreateIsOpenedFirst) {
  const std::string file = folder_.file("roots.pcapng");
  Background capture(command({"-w", file, "-c", "3"}));
  ASSERT_TRUE(capture.wait_for("listening on lo")) << capture.out;
  const passwd* const user = default_user();
  expect_nothing_left(capture, user != nullptr ? user->pw_uid : 0);
  send_packets(3);
  EXPECT_EQ(capture.finish(), 0) << capture.out;
  EXPECT_EQ(owner(file), 0U);
  EXPECT_EQ(parse_json(run("RPCRDMA analyze --json " + file).out)["packets"]["total"], 3);
}

TEST_F(CaptureRights, AFileOfAnOpenFolderBelongsToTheDefaultUser) {
  const passwd* const user = default_user();
  if (user == nullptr) GTEST_SKIP() << "no user rpcrdma or tcpdump";
  const uid_t uid = user->pw_uid;
  const std::string file = open_ + "/new.pcapng";
  Background capture(command({"-w", file, "-c", "3"}));
  ASSERT_TRUE(capture.wait_for("listening on lo")) << capture.out;
  send_packets(3);
  EXPECT_EQ(capture.finish(), 0) << capture.out;
  EXPECT_EQ(owner(file), uid);
}

// Later files of a ring could not be created.
TEST_F(CaptureRights, ARingThatOnlyRootMayCreateKeepsThatRight) {
  const std::string file = folder_.file("ring.pcapng");
  Background capture(command({"-w", file, "--ring-size", "2k"}));
  ASSERT_TRUE(capture.wait_for("listening on lo")) << capture.out;
  EXPECT_THAT(capture.out, HasSubstr("stays root to create the files of the ring"));
  EXPECT_EQ(status_of(capture.id(), "Uid"), uids(0));
  // CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER, CAP_NET_BIND_SERVICE, or fewer.
  const unsigned long long left = std::stoull(status_of(capture.id(), "CapEff"), nullptr, 16);
  EXPECT_EQ(left & ~0x40eULL, 0U);
  EXPECT_EQ(status_of(capture.id(), "NoNewPrivs"), "1");
  ASSERT_TRUE(eventually([&] {
    send_packets(1);
    return run("ls " + folder_.path()).out.find("ring_00003_") != std::string::npos;
  }));
  capture.signal(SIGINT);
  EXPECT_EQ(capture.finish(), 0) << capture.out;
}

TEST_F(CaptureRights, RootStaysRootByOption) {
  Background capture(command({"--user", "root"}));
  ASSERT_TRUE(capture.wait_for("listening on lo")) << capture.out;
  EXPECT_EQ(status_of(capture.id(), "Uid"), uids(0));
  EXPECT_THAT(status_of(capture.id(), "CapEff"), Not(StartsWith(kNoCapabilities)));
}

#endif  // RPCRDMA_LIVE

}  // namespace
}  // namespace rpcrdma::e2e
