#include "socket_file.h"

#include "support/event_stream.h"

#include <cerrno>

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>

namespace rpcrdma::trace {
namespace {

using ::testing::HasSubstr;

class SocketFileTest : public OwnRuntime {
 protected:
  static base::Expected<ListeningSocket> listen(const std::string& name) {
    return ListeningSocket::open(make_runtime_folder().value(), {name, 7});
  }
  static int connect(const std::string& file) {
    const auto fd = connect_socket(make_runtime_folder().value(), file);
    return fd ? 0 : fd.error();
  }
};

TEST(SocketName, ThereAndBack) {
  EXPECT_EQ(to_file_name({"nfs-server_1", 4711}), "nfs-server_1.4711.sock");
  EXPECT_EQ(to_file_name({"../a b\n.x", 1}), "___a_b__x.1.sock");
  EXPECT_EQ(to_file_name({"", 1}), "endpoint.1.sock");
  EXPECT_EQ(to_file_name({std::string(1000, 'a'), 1}), std::string(64, 'a') + ".1.sock");
  const auto socket = parse_file_name("nfs-server_1.4711.sock");
  ASSERT_TRUE(socket);
  EXPECT_EQ(socket->name, "nfs-server_1");
  EXPECT_EQ(socket->process, 4711U);
  for (const char* const other :
       {"", ".", "..", ".sock", "a.sock", "a.1.socket", ".1.sock", "a..sock", "a.x.sock",
        "a.1x.sock", "a.1.2.sock", "a.99999999999.sock", "a.-1.sock", ".a.1.sock"}) {
    EXPECT_FALSE(parse_file_name(other)) << other;
  }
}

TEST_F(SocketFileTest, IsTheUsersAloneAndGoesWithTheSocket) {
  const mode_t before = ::umask(0);
  {
    const auto socket = listen("a");
    ::umask(before);
    ASSERT_TRUE(socket) << socket.error().message;
    EXPECT_EQ(socket->path(), path("rpcrdma/a.7.sock"));
    struct stat status {};
    ASSERT_EQ(::stat(socket->path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode, static_cast<mode_t>(S_IFSOCK | 0600));
    EXPECT_EQ(connect("a.7.sock"), 0);
  }
  EXPECT_TRUE(std::filesystem::is_empty(path("rpcrdma")));
  EXPECT_EQ(connect("a.7.sock"), ENOENT);
}

TEST_F(SocketFileTest, OneThatNobodyListensAtIsReplaced) {
  const std::string file = path("rpcrdma/a.7.sock");
  {
    const auto socket = listen("a");
    std::filesystem::create_hard_link(file, path("kept"));
  }
  std::filesystem::rename(path("kept"), file);
  EXPECT_EQ(connect("a.7.sock"), ECONNREFUSED);
  const auto socket = listen("a");
  ASSERT_TRUE(socket) << socket.error().message;
  EXPECT_EQ(connect("a.7.sock"), 0);
}

TEST_F(SocketFileTest, OneThatSomebodyListensAtIsNot) {
  const auto socket = listen("a");
  const auto second = listen("a");
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("a.7.sock: another endpoint listens there"));
  EXPECT_EQ(connect("a.7.sock"), 0);
}

// Its file was replaced meanwhile by another socket's.
TEST_F(SocketFileTest, RemovesOnlyItsOwnFile) {
  const std::string file = path("rpcrdma/a.7.sock");
  {
    const auto socket = listen("a");
    std::filesystem::rename(file, path("moved"));
    const auto other = listen("b");
    std::filesystem::create_hard_link(path("rpcrdma/b.7.sock"), file);
  }
  EXPECT_TRUE(std::filesystem::exists(file));
}

TEST_F(SocketFileTest, PathsMayBeLongerThanASocketsAddress) {
  const std::string deep = path(std::string(200, 'd'));
  std::filesystem::create_directory(deep);
  ::setenv("XDG_RUNTIME_DIR", deep.c_str(), 1);
  const auto socket = listen("a");
  ASSERT_TRUE(socket) << socket.error().message;
  EXPECT_TRUE(std::filesystem::is_socket(deep + "/rpcrdma/a.7.sock"));
  EXPECT_EQ(connect("a.7.sock"), 0);
}

TEST_F(SocketFileTest, AFullQueueOfAHungProcessDoesNotBlock) {
  const auto socket = listen("a");
  ASSERT_TRUE(socket);
  const auto folder = make_runtime_folder().value();
  std::vector<base::FileDescriptor> connected;
  auto fd = connect_socket(folder, "a.7.sock");
  for (; fd; fd = connect_socket(folder, "a.7.sock")) connected.push_back(std::move(*fd));
  EXPECT_EQ(fd.error(), EAGAIN);
}

}  // namespace
}  // namespace rpcrdma::trace
