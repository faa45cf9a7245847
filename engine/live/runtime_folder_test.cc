#include "runtime_folder.h"

#include "support/event_stream.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rpcrdma::trace {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class RuntimeFolderTest : public OwnRuntime {
 protected:
  [[nodiscard]] std::string own() const { return path("rpcrdma"); }

  void expect_refused(const std::string& why) {
    const auto made = make_runtime_folder();
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().message, StartsWith(own() + ": "));
    EXPECT_THAT(made.error().message, HasSubstr(why));
    const auto opened = open_runtime_folder();
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().message, made.error().message);
  }
};

TEST_F(RuntimeFolderTest, IsMadeForTheUserAlone) {
  const auto missing = open_runtime_folder();
  ASSERT_TRUE(missing);
  EXPECT_FALSE(*missing);
  const mode_t before = ::umask(0);
  const auto made = make_runtime_folder();
  ::umask(before);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->path, own());
  struct stat status {};
  ASSERT_EQ(::fstat(made->fd.get(), &status), 0);
  EXPECT_EQ(status.st_mode, static_cast<mode_t>(S_IFDIR | 0700));
  EXPECT_TRUE(make_runtime_folder());
  const auto opened = open_runtime_folder();
  ASSERT_TRUE(opened);
  EXPECT_TRUE(*opened);
}

TEST_F(RuntimeFolderTest, OneThatOthersMayLookIntoIsRefused) {
  for (const mode_t mode : {0750U, 0701U, 0777U, 0500U}) {
    ASSERT_TRUE(::mkdir(own().c_str(), 0700) == 0 || errno == EEXIST);
    ASSERT_EQ(::chmod(own().c_str(), mode), 0);
    expect_refused("mode");
  }
}

TEST_F(RuntimeFolderTest, ASymbolicLinkIsRefused) {
  ASSERT_EQ(::mkdir(path("elsewhere").c_str(), 0700), 0);
  ASSERT_EQ(::symlink(path("elsewhere").c_str(), own().c_str()), 0);
  expect_refused("not a folder");
}

TEST_F(RuntimeFolderTest, AFileIsRefused) {
  ::close(::open(own().c_str(), O_CREAT | O_WRONLY, 0600));
  expect_refused("not a folder");
}

TEST_F(RuntimeFolderTest, AnotherUsersIsRefused) {
  ASSERT_EQ(::mkdir(own().c_str(), 0700), 0);
  if (::chown(own().c_str(), 65534, 65534) != 0) GTEST_SKIP() << "only root may give folders away";
  expect_refused("belongs to another user");
}

TEST_F(RuntimeFolderTest, WithoutARuntimeFolderOfTheUsersItIsInTmp) {
  const std::string in_tmp = "/tmp/rpcrdma-" + std::to_string(::geteuid());
  ::unsetenv("XDG_RUNTIME_DIR");
  EXPECT_EQ(runtime_folder_path(), in_tmp);
  ::setenv("XDG_RUNTIME_DIR", "relative", 1);
  EXPECT_EQ(runtime_folder_path(), in_tmp);
  ::setenv("XDG_RUNTIME_DIR", path("missing").c_str(), 1);
  EXPECT_EQ(runtime_folder_path(), in_tmp);
  ::setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1);
  EXPECT_EQ(runtime_folder_path(), own());
  if (::chown(folder_.c_str(), 65534, 65534) != 0) GTEST_SKIP();
  EXPECT_EQ(runtime_folder_path(), in_tmp);
}

}  // namespace
}  // namespace rpcrdma::trace
