// `rpcrdma serve` as systemd starts it with Type=notify; the test owns the notification socket.
#include "support/background.h"

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace rpcrdma::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Sets NOTIFY_SOCKET for child processes; a `name` that begins with '@' is an abstract one.
class NotifySocket {
 public:
  explicit NotifySocket(const std::string& name)
      : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name[0] == '@') address.sun_path[0] = '\0';
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address),
                     static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size())),
              0);
    // If nothing is sent, the test fails instead of hanging.
    const timeval longest{.tv_sec = 60, .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest);
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
  }
  ~NotifySocket() {
    ::unsetenv("NOTIFY_SOCKET");
    ::close(socket_);
  }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  [[nodiscard]] std::string next() const {
    std::array<char, 1024> buffer{};
    const ssize_t n = ::recv(socket_, buffer.data(), buffer.size(), 0);
    return n < 0 ? "nothing came" : std::string(buffer.data(), static_cast<std::size_t>(n));
  }

 private:
  int socket_;
};

std::vector<std::string> serve(const std::string& address) {
  return {"serve", "--listen", address, "--provider", "soft"};
}

void expect_ready_and_stopping(const NotifySocket& manager, const std::string& address) {
  Background server(serve(address));
  EXPECT_EQ(manager.next(), "READY=1\nSTATUS=listening on " + address + " port 20049");
  // Ready means that it answers.
  EXPECT_EQ(run("env -u NOTIFY_SOCKET " RPCRDMA_COMMAND " ping " + address +
                " --provider soft --from 127.86.87.9 --count 1")
                .status,
            0);
  server.signal(SIGTERM);
  EXPECT_EQ(manager.next(), "STOPPING=1\nSTATUS=closing connections");
  EXPECT_EQ(server.finish(), 0);
  EXPECT_THAT(server.out, Not(HasSubstr("NOTIFY_SOCKET")));
}

TEST(ServeUnderSystemd, SaysWhenItIsReadyAndWhenItStops) {
  const TemporaryFolder folder;
  expect_ready_and_stopping(NotifySocket(folder.file("notify")), "127.86.87.1");
}

TEST(ServeUnderSystemd, KnowsAbstractSockets) {
  expect_ready_and_stopping(NotifySocket("@rpcrdma-e2e-" + std::to_string(::getpid())),
                            "127.86.87.2");
}

// The environment has a stale socket of another service, for example inherited by a shell.
TEST(ServeUnderSystemd, ASocketThatIsGoneIsNoReasonNotToServe) {
  ::setenv("NOTIFY_SOCKET", "/tmp/rpcrdma-nobody-is-here", 1);
  Background server(serve("127.86.87.3"));
  ::unsetenv("NOTIFY_SOCKET");
  EXPECT_TRUE(server.wait_for("warning NOTIFY_SOCKET: No such file or directory\n"));
  server.signal(SIGINT);
  EXPECT_EQ(server.finish(), 0);
  EXPECT_THAT(server.out, HasSubstr("listening on 127.86.87.3"));
}

TEST(ServeUnderSystemd, SaysThatItReadsItsConfigurationAgain) {
  const TemporaryFolder folder;
  const NotifySocket manager(folder.file("notify"));
  write_file(folder.file("serve.conf"), "credits = 3\n");
  std::vector<std::string> command = serve("127.86.87.4");
  command.insert(command.end(), {"--config", folder.file("serve.conf")});
  Background server(command);
  EXPECT_THAT(manager.next(), HasSubstr("READY=1\n"));
  server.signal(SIGHUP);
  const std::string reloading = manager.next();
  EXPECT_THAT(reloading, HasSubstr("RELOADING=1\nMONOTONIC_USEC="));
  EXPECT_THAT(reloading, HasSubstr("\nSTATUS=reading the configuration"));
  EXPECT_EQ(manager.next(), "READY=1\nSTATUS=listening on 127.86.87.4 port 20049");
  server.signal(SIGTERM);
  EXPECT_THAT(manager.next(), HasSubstr("STOPPING=1\n"));
  EXPECT_EQ(server.finish(), 0);
}

TEST(ServeUnderSystemd, FeedsTheWatchdog) {
  const TemporaryFolder folder;
  const NotifySocket manager(folder.file("notify"));
  ::setenv("WATCHDOG_USEC", "20000", 1);
  Background server(serve("127.86.87.5"));
  ::unsetenv("WATCHDOG_USEC");
  EXPECT_THAT(manager.next(), HasSubstr("READY=1\n"));
  int fed = 0;
  while (fed < 5) {
    const std::string said = manager.next();
    ASSERT_TRUE(said == "WATCHDOG=1" || said.starts_with("STATUS=")) << said;
    fed += said == "WATCHDOG=1" ? 1 : 0;
  }
  server.signal(SIGTERM);
  EXPECT_EQ(server.finish(), 0);
}

}  // namespace
}  // namespace rpcrdma::e2e
