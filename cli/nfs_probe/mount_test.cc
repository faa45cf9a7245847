#include <array>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rpcrdma/nfs_probe/mount.h>
#include <rpcrdma/wire/endian.h>

namespace rpcrdma::nfs_probe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void put(std::vector<std::uint8_t>& to, std::initializer_list<std::uint32_t> words) {
  for (const std::uint32_t word : words) {
    to.resize(to.size() + 4);
    wire::store_be32(to.data() + to.size() - 4, word);
  }
}

// Answers one Call over TCP with these results, or closes the connection.
class MountOnce {
 public:
  explicit MountOnce(std::vector<std::uint8_t> results, bool closes = false) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&own), sizeof own), 0);
    EXPECT_EQ(::listen(listener_, 1), 0);
    socklen_t length = sizeof own;
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&own), &length), 0);
    server.address = fabric::make_ipv4(127, 0, 0, 1);
    server.port = ntohs(own.sin_port);
    thread_ = std::thread([this, results, closes] { serve(results, closes); });
  }
  ~MountOnce() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  MountOnce(const MountOnce&) = delete;
  MountOnce& operator=(const MountOnce&) = delete;

  MountServer server;
  std::vector<std::uint8_t> call;  // after the record mark

 private:
  static bool read_all(int fd, std::uint8_t* to, std::size_t bytes) {
    while (bytes != 0) {
      const ssize_t n = ::read(fd, to, bytes);
      if (n <= 0) return false;
      to += n;
      bytes -= static_cast<std::size_t>(n);
    }
    return true;
  }
  void serve(const std::vector<std::uint8_t>& results, bool closes) {
    const int fd = ::accept(listener_, nullptr, nullptr);
    if (fd < 0) return;
    std::array<std::uint8_t, 4> mark{};
    if (read_all(fd, mark.data(), mark.size())) {
      call.resize(wire::load_be32(mark.data()) & 0x7fffffffU);
      if (read_all(fd, call.data(), call.size()) && !closes) {
        std::vector<std::uint8_t> reply;
        put(reply, {0x80000000U | static_cast<std::uint32_t>(24 + results.size()),
                    wire::load_be32(call.data()), 1, 0, 0, 0, 0});
        reply.insert(reply.end(), results.begin(), results.end());
        EXPECT_EQ(::write(fd, reply.data(), reply.size()), static_cast<ssize_t>(reply.size()));
      }
    }
    ::close(fd);
  }

  int listener_ = -1;
  std::thread thread_;
};

std::vector<std::uint8_t> results(std::initializer_list<std::uint32_t> words) {
  std::vector<std::uint8_t> bytes;
  put(bytes, words);
  return bytes;
}

TEST(Mount, GivesTheHandle) {
  MountOnce once(results({0, 6, 0x01020304, 0x05060000, 2, 1, 390003}));
  const auto mounted = mount(once.server, "/export");
  ASSERT_TRUE(mounted) << mounted.error().message;
  EXPECT_THAT(
      std::vector<std::uint8_t>(mounted->handle.view().begin(), mounted->handle.view().end()),
      ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(mounted->flavors, ElementsAre(1, 390003));
  EXPECT_EQ(mounted->port, once.server.port);
  // MOUNT, version 3, MNT, and the path at the end.
  EXPECT_EQ(wire::load_be32(once.call.data() + 12), 100005U);
  EXPECT_EQ(wire::load_be32(once.call.data() + 16), 3U);
  EXPECT_EQ(wire::load_be32(once.call.data() + 20), 1U);
  EXPECT_EQ(std::string(once.call.end() - 8, once.call.end() - 1), "/export");
}

TEST(Mount, RefusalsAreExplained) {
  MountOnce once(results({13}));
  const auto mounted = mount(once.server, "/export");
  ASSERT_FALSE(mounted);
  EXPECT_THAT(mounted.error().message, HasSubstr("MNT3ERR_ACCES: it is not exported"));
}

TEST(Mount, AnswersThatAreNoneAreErrors) {
  for (const auto& bad :
       {results({}), results({0, 65}), results({0, 0, 0}), results({0, 4, 1, 65})}) {
    MountOnce once(bad);
    EXPECT_FALSE(mount(once.server, "/export"));
  }
  MountOnce closes({}, true);
  const auto mounted = mount(closes.server, "/export");
  ASSERT_FALSE(mounted);
  EXPECT_THAT(mounted.error().message, HasSubstr("MOUNT: "));
}

TEST(Mount, NobodyThereIsAnError) {
  MountServer server;
  {
    const MountOnce once({});
    server = once.server;
  }
  const auto mounted = mount(server, "/export");
  ASSERT_FALSE(mounted);
  EXPECT_THAT(mounted.error().message, HasSubstr("Connection refused"));
}

TEST(Mount, UnmountReportsThatNobodyAnswered) {
  MountOnce closes({}, true);
  EXPECT_FALSE(unmount(closes.server, "/export"));
}

TEST(Mount, UnmountAsksForIt) {
  MountOnce once({});
  EXPECT_TRUE(unmount(once.server, "/export"));
  ASSERT_GE(once.call.size(), 24U);
  EXPECT_EQ(wire::load_be32(once.call.data() + 20), 3U);
}

}  // namespace
}  // namespace rpcrdma::nfs_probe
