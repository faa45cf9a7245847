#include <cstdlib>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rpcrdma/program/privileges.h>

namespace rpcrdma::cli {
namespace {

using ::testing::HasSubstr;

class Privileges : public ::testing::Test {
 protected:
  void SetUp() override {
    ::unsetenv("SUDO_UID");
    ::unsetenv("SUDO_GID");
  }
};

bool is_root() {
  return ::geteuid() == 0;
}

TEST_F(Privileges, NobodyIsBecomeWithoutSudoAndOption) {
  const auto identity = identity_after_opening("");
  ASSERT_TRUE(identity);
  EXPECT_FALSE(identity->has_value());
}

TEST_F(Privileges, UnknownUserIsNamed) {
  EXPECT_THAT(identity_after_opening("no-such-user").error().message,
              HasSubstr(is_root() ? "--user no-such-user: there is no such user" : "only root"));
}

TEST_F(Privileges, WhoCalledSudo) {
  ::setenv("SUDO_UID", "65534", 1);
  ::setenv("SUDO_GID", "65533", 1);
  const auto identity = identity_after_opening("").value();
  ASSERT_EQ(identity.has_value(), is_root());
  if (!identity) return;
  EXPECT_EQ(identity->user, "nobody");
  EXPECT_EQ(identity->uid, 65534U);
  EXPECT_EQ(identity->gid, 65533U);
  // The option has priority.
  EXPECT_FALSE(identity_after_opening("root").value().has_value());
}

TEST_F(Privileges, RootWhoCalledSudoStaysRoot) {
  ::setenv("SUDO_UID", "0", 1);
  ::setenv("SUDO_GID", "0", 1);
  EXPECT_FALSE(identity_after_opening("").value().has_value());
  ::setenv("SUDO_UID", "12x", 1);
  EXPECT_FALSE(identity_after_opening("").value().has_value());
}

// Rights that the child process still has after dropping privileges: bits of the exit status.
enum Can { kFailed = 1, kOtherUser = 2, kOtherGroup = 4, kRootsFile = 8, kRawSocket = 16 };

int what_is_left(const std::optional<Identity>& become) {
  if (!give_up_privileges(become)) return kFailed;
  int can = 0;
  if (become && (::getuid() != become->uid || ::geteuid() != become->uid)) can |= kOtherUser;
  if (become && (::getgid() != become->gid || ::getegid() != become->gid)) can |= kOtherGroup;
  if (::setuid(0) == 0) can |= kOtherUser;
  if (::setgid(0) == 0) can |= kOtherGroup;
  if (::open("/etc/shadow", O_RDONLY | O_CLOEXEC) >= 0) can |= kRootsFile;
  if (::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0) >= 0) can |= kRawSocket;
  return can;
}

int in_a_child(const std::optional<Identity>& become) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(what_is_left(become));
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(Privileges, NothingOfRootIsLeft) {
  const Identity nobody{"nobody", 65534, 65534};
  if (is_root()) {
    EXPECT_EQ(in_a_child(nobody), 0);
    // An explicit root stays root.
    EXPECT_EQ(in_a_child(std::nullopt), kOtherUser | kOtherGroup | kRootsFile | kRawSocket);
  } else {
    EXPECT_EQ(in_a_child(std::nullopt), 0);
    EXPECT_EQ(in_a_child(nobody), kFailed);
  }
}

// Returns the exit status of a shell command after limit_root().
int shell_of_limited_root(KeptRights kept, const char* command) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (!limit_root(kept)) ::_exit(255);
    ::execl("/bin/sh", "sh", "-c", command, nullptr);
    ::_exit(254);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(Privileges, ALimitedRootRegainsNothing) {
  if (!is_root()) GTEST_SKIP() << "not root";
  EXPECT_EQ(
      shell_of_limited_root(KeptRights::kNone,
                            "grep -q '^CapEff:.*0000000000000000$' /proc/self/status && "
                            "grep -q '^NoNewPrivs:.*1$' /proc/self/status && test $(id -u) = 0"),
      0);
  EXPECT_EQ(shell_of_limited_root(KeptRights::kFiles,
                                  "grep -q '^CapEff:.*0000000000000[0-4]0[0-9a-f]$' "
                                  "/proc/self/status && test $(id -u) = 0"),
            0);
}

TEST_F(Privileges, TheDefaultUserIsOneForThisPurpose) {
  const auto identity = default_identity();
  const passwd* const own = ::getpwnam("rpcrdma");
  const passwd* const entry = own != nullptr ? own : ::getpwnam("tcpdump");
  ASSERT_EQ(identity.has_value(), entry != nullptr);
  if (entry == nullptr) return;
  EXPECT_EQ(identity->uid, entry->pw_uid);
  EXPECT_EQ(identity->gid, entry->pw_gid);
}

TEST_F(Privileges, AnotherEffectiveUserIsOneForAWhile) {
  const uid_t before = ::geteuid();
  {
    const EffectiveUser nobody({"nobody", 65534, 65534});
    EXPECT_EQ(::geteuid(), before == 0 ? 65534U : before);
  }
  EXPECT_EQ(::geteuid(), before);
}

}  // namespace
}  // namespace rpcrdma::cli
