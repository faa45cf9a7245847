// Folders and sockets of other users, as root looks at them: nothing that a user puts there leads
// root to another place or another process.
#include "socket_file.h"
#include "support/event_stream.h"

#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rpcrdma::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr uid_t kNobody = 65534;

class OtherUsers : public OwnRuntime {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root looks at other users' folders";
    for (const std::string& folder : {roots_.users, roots_.temporary, roots_.services}) {
      std::filesystem::create_directories(folder);
    }
  }
  // Makes a folder that belongs to this user.
  static void make(const std::string& path, uid_t owner = kNobody, mode_t mode = 0700) {
    std::filesystem::create_directories(path);
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    ASSERT_EQ(::chown(path.c_str(), owner, owner), 0);
  }
  [[nodiscard]] std::vector<std::string> found() const {
    std::vector<std::string> paths;
    for (const RuntimeFolder& folder : folders_of_others(roots_)) {
      EXPECT_EQ(folder.owner, kNobody);
      paths.push_back(folder.path.substr(path("").size()));
    }
    return paths;
  }

  const RuntimeRoots roots_{path("user"), path("tmp"), path("services")};
};

// A process of another user that listens on a socket, or is only asked for its number.
class Listener {
 public:
  // `file` may contain PID, which stands for the process.
  Listener(const RuntimeFolder& folder, std::string file, uid_t uid) {
    int ready[2];
    EXPECT_EQ(::pipe2(ready, O_CLOEXEC), 0);
    process_ = ::fork();
    if (process_ == 0) {
      if (const std::size_t at = file.find("PID"); at != std::string::npos) {
        file.replace(at, 3, std::to_string(::getpid()));
      }
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      const std::string path = folder.path + "/" + file;
      path.copy(address.sun_path, sizeof address.sun_path - 1);
      const bool listens = ::setresgid(uid, uid, uid) == 0 && ::setresuid(uid, uid, uid) == 0 &&
                           ::fchdir(folder.fd.get()) == 0;
      const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      file.copy(address.sun_path, sizeof address.sun_path - 1);
      address.sun_path[file.size()] = '\0';
      const char said =
          listens && ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
                  ::listen(fd, 1) == 0
              ? 'y'
              : 'n';
      (void)!::write(ready[1], &said, 1);
      ::pause();
      ::_exit(0);
    }
    char said = 0;
    ::close(ready[1]);
    EXPECT_EQ(::read(ready[0], &said, 1), 1);
    EXPECT_EQ(said, 'y');
    ::close(ready[0]);
  }
  ~Listener() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  [[nodiscard]] std::string process() const { return std::to_string(process_); }

 private:
  pid_t process_;
};

TEST_F(OtherUsers, TheirFoldersAreFoundWhereEndpointsMakeThem) {
  make(path("user/65534/rpcrdma"));
  make(path("tmp/rpcrdma-65534"));
  make(path("services/serve"));
  EXPECT_THAT(found(),
              UnorderedElementsAre("user/65534/rpcrdma", "tmp/rpcrdma-65534", "services/serve"));
}

TEST_F(OtherUsers, AFolderUnderAnotherUsersNameIsLeftOut) {
  make(path("user/1000/rpcrdma"));
  make(path("tmp/rpcrdma-1000"));
  make(path("tmp/rpcrdma-0"));
  make(path("tmp/rpcrdma-x"));
  make(path("tmp/rpcrdma-"));
  make(path("tmp/other-65534"));
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(OtherUsers, AFolderThatOthersCanChangeOrALinkIsLeftOut) {
  make(path("services/serve"), kNobody, 0755);
  make(path("tmp/rpcrdma-65534"), kNobody, 0777);
  make(path("elsewhere"));
  std::filesystem::create_directories(path("user/65534"));
  ASSERT_EQ(::symlink(path("elsewhere").c_str(), path("user/65534/rpcrdma").c_str()), 0);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(OtherUsers, RootsOwnIsNotAmongThem) {
  make(path("services/serve"), 0);
  make(path("tmp/rpcrdma-0"), 0);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(OtherUsers, OnlyTheProcessOfTheNameAnswers) {
  make(path("services/serve"));
  std::filesystem::permissions(path(""), std::filesystem::perms::others_exec,
                               std::filesystem::perm_options::add);
  auto folders = folders_of_others(roots_);
  ASSERT_EQ(folders.size(), 1U);
  const RuntimeFolder& folder = folders.front();
  const auto connect = [&](const std::string& file) {
    const auto fd = connect_socket(folder, file);
    return fd ? 0 : fd.error();
  };
  const Listener good(folder, "serve.PID.sock", kNobody);
  EXPECT_EQ(connect("serve." + good.process() + ".sock"), 0);
  EXPECT_TRUE(is_owners_socket(folder, "serve." + good.process() + ".sock"));
  // Process 1 would be the one to look into.
  const Listener liar(folder, "serve.1.sock", kNobody);
  EXPECT_EQ(connect("serve.1.sock"), EPERM);
  // A third user's process.
  ASSERT_EQ(::fchmod(folder.fd.get(), 0777), 0);
  const Listener third(folder, "third.PID.sock", kNobody - 1);
  EXPECT_EQ(connect("third." + third.process() + ".sock"), EPERM);
  EXPECT_FALSE(is_owners_socket(folder, "third." + third.process() + ".sock"));
}

TEST_F(OtherUsers, ALinkToRootsOwnSocketIsNotFollowed) {
  make(path("services/serve"));
  auto folders = folders_of_others(roots_);
  ASSERT_EQ(folders.size(), 1U);
  const auto own = ListeningSocket::open(make_runtime_folder().value(),
                                         {"own", static_cast<std::uint32_t>(::getpid())});
  ASSERT_TRUE(own);
  const std::string file = "own." + std::to_string(::getpid()) + ".sock";
  ASSERT_EQ(::symlinkat(own->path().c_str(), folders.front().fd.get(), file.c_str()), 0);
  EXPECT_FALSE(is_owners_socket(folders.front(), file));
  const auto fd = connect_socket(folders.front(), file);
  ASSERT_FALSE(fd);
  EXPECT_EQ(fd.error(), EPERM);
}

}  // namespace
}  // namespace rpcrdma::trace
