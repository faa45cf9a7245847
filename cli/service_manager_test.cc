// The test acts as the service manager.
#include "service_manager.h"

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

namespace rpcrdma::cli {
namespace {

using ::testing::HasSubstr;

// Binds the socket that NOTIFY_SOCKET names.
class Listener {
 public:
  explicit Listener(const std::string& name)
      : name_(name), socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name[0] == '@') address.sun_path[0] = '\0';
    const std::size_t bytes = offsetof(sockaddr_un, sun_path) + name.size();
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address),
                     static_cast<socklen_t>(bytes)),
              0);
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
  }
  ~Listener() {
    if (name_[0] == '/') ::unlink(name_.c_str());
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Returns the next datagram; empty if there is none.
  [[nodiscard]] std::string next() const {
    std::array<char, 512> buffer{};
    const ssize_t n = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    return n < 0 ? std::string() : std::string(buffer.data(), static_cast<std::size_t>(n));
  }

 private:
  std::string name_;
  base::FileDescriptor socket_;
};

std::string error_of(const std::string& name) {
  ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
  const auto manager = ServiceManager::from_environment();
  return manager ? "" : manager.error().message;
}

std::string path_of_length(std::size_t length) {
  std::string path = fmt::format("/tmp/rpcrdma-notify-{}-", ::getpid());
  path.resize(length, 'x');
  return path;
}

void expect_to_reach(const Listener& listener) {
  const auto manager = ServiceManager::from_environment();
  ASSERT_TRUE(manager) << manager.error().message;
  EXPECT_TRUE(manager->ready("listening on 10.0.0.1"));
  EXPECT_EQ(listener.next(), "READY=1\nSTATUS=listening on 10.0.0.1");
  EXPECT_TRUE(manager->stopping());
  EXPECT_EQ(listener.next(), "STOPPING=1\nSTATUS=closing connections");
  EXPECT_EQ(listener.next(), "");
}

TEST(ServiceManager, IsReportedAtAPath) {
  expect_to_reach(Listener(path_of_length(60)));
}

TEST(ServiceManager, IsReportedAtAnAbstractSocket) {
  expect_to_reach(Listener(fmt::format("@rpcrdma-notify-{}", ::getpid())));
}

TEST(ServiceManager, HasANameOfAllBytesThatThereAreRoomFor) {
  expect_to_reach(Listener(path_of_length(107)));
  std::string name = fmt::format("@rpcrdma-notify-{}", ::getpid());
  name.resize(108, 'x');
  expect_to_reach(Listener(name));
}

TEST(ServiceManager, IsNobodyWithoutTheVariable) {
  ::unsetenv("NOTIFY_SOCKET");
  const auto manager = ServiceManager::from_environment();
  ASSERT_TRUE(manager);
  EXPECT_TRUE(manager->ready("x"));
  EXPECT_TRUE(manager->stopping());
}

TEST(ServiceManager, NamesThatAreNoSocketsAreErrors) {
  for (const char* name : {"", "relative", "vsock:2:1234", "@", "/"}) {
    EXPECT_THAT(error_of(name), HasSubstr("NOTIFY_SOCKET: ")) << name;
  }
  EXPECT_THAT(error_of(path_of_length(108)), HasSubstr("length"));
  EXPECT_THAT(error_of("@" + std::string(108, 'x')), HasSubstr("length"));
  EXPECT_THAT(error_of("/" + std::string(100000, 'x')), HasSubstr("length"));
}

TEST(ServiceManager, NobodyThereIsAnError) {
  ::setenv("NOTIFY_SOCKET", "/tmp/rpcrdma-nobody-is-here", 1);
  const auto manager = ServiceManager::from_environment();
  ASSERT_TRUE(manager);
  const auto recorded = manager->ready("x");
  ASSERT_FALSE(recorded);
  EXPECT_THAT(recorded.error().message, HasSubstr("No such file"));
}

TEST(ServiceManager, AStatusIsOneLine) {
  const Listener listener(path_of_length(50));
  const auto manager = ServiceManager::from_environment();
  ASSERT_TRUE(manager);
  EXPECT_TRUE(manager->ready("a\nMAINPID=1\tb"));
  EXPECT_EQ(listener.next(), "READY=1\nSTATUS=a MAINPID=1 b");
}

TEST(ServiceManager, SaysWhatAServiceDoes) {
  const Listener listener(path_of_length(60));
  const auto manager = ServiceManager::from_environment();
  ASSERT_TRUE(manager);
  EXPECT_TRUE(manager->listens());
  EXPECT_TRUE(manager->reloading());
  EXPECT_THAT(listener.next(), ::testing::MatchesRegex("RELOADING=1\nMONOTONIC_USEC=[0-9]+\n"
                                                       "STATUS=reading the configuration"));
  EXPECT_TRUE(manager->status("a\nREADY=1"));
  EXPECT_EQ(listener.next(), "STATUS=a READY=1");
  EXPECT_TRUE(manager->alive());
  EXPECT_EQ(listener.next(), "WATCHDOG=1");
}

TEST(ServiceManager, KnowsHowOftenItMustSayThatItIsAlive) {
  const Listener listener(path_of_length(60));
  const auto watchdog = [](const char* time, const char* process) {
    ::setenv("WATCHDOG_USEC", time, 1);
    process != nullptr ? ::setenv("WATCHDOG_PID", process, 1) : ::unsetenv("WATCHDOG_PID");
    auto manager = ServiceManager::from_environment();
    ::unsetenv("WATCHDOG_USEC");
    ::unsetenv("WATCHDOG_PID");
    return manager ? manager->watchdog().value_or(0) : -1;
  };
  const std::string own = fmt::format("{}", ::getpid());
  EXPECT_EQ(watchdog("30000000", nullptr), 30 * fabric::kSecond);
  EXPECT_EQ(watchdog("1000", own.c_str()), fabric::kMillisecond);
  EXPECT_EQ(watchdog("1000", "1"), 0);  // it is another process's
  for (const char* const wrong : {"", "0", "-1", "1s", "99999999999999999999", "86400000001"}) {
    EXPECT_EQ(watchdog(wrong, nullptr), -1) << wrong;
  }
}

}  // namespace
}  // namespace rpcrdma::cli
