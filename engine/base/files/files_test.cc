// Files that are written whole, and files of lines: what stands at their path after success, after
// errors, and when the writer never finishes.
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rpcrdma/base/line_file.h>
#include <rpcrdma/base/whole_file.h>

namespace rpcrdma::base {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class Files : public testing::Test {
 protected:
  Files() {
    std::string pattern = (fs::temp_directory_path() / "rpcrdma-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Files() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  [[nodiscard]] std::string at(const std::string& name) const { return folder_ + "/" + name; }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      all.push_back(entry.path().filename().string());
    }
    return all;
  }
  static std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static mode_t mode(const std::string& path) {
    struct stat status {};
    return ::lstat(path.c_str(), &status) == 0 ? status.st_mode & 07777U : 0;
  }
  static Expected<void> write(const std::string& path, const std::string& text,
                              const WholeFileOptions& options = {}) {
    return write_whole(
        path, [&](const Write& to) { to(text); }, options);
  }

  std::string folder_;
};

// While it exists, no file may grow beyond this size: as on a full disk.
class SizeLimit {
 public:
  explicit SizeLimit(rlim_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(Files, AWholeFileAppearsWhenItIsFinished) {
  auto file = WholeFile::create(at("a"));
  ASSERT_TRUE(file) << file.error().message;
  file->write("one ");
  file->write("two");
  EXPECT_FALSE(fs::exists(at("a")));
  ASSERT_TRUE(file->finish());
  EXPECT_EQ(read(at("a")), "one two");
  EXPECT_THAT(names(), ElementsAre("a"));
}

TEST_F(Files, AWriterThatGivesUpLeavesTheOldFile) {
  ASSERT_TRUE(write(at("a"), "old"));
  {
    auto file = WholeFile::create(at("a"));
    ASSERT_TRUE(file);
    file->write(std::string(std::size_t{1} << 20, 'n'));
    EXPECT_FALSE(file->failed());
  }
  EXPECT_EQ(read(at("a")), "old");
  EXPECT_THAT(names(), ElementsAre("a"));
}

TEST_F(Files, AnAssignedWriterReplacesOneThatGaveUp) {
  auto first = WholeFile::create(at("a"));
  auto second = WholeFile::create(at("b"));
  ASSERT_TRUE(first && second);
  first->write("lost");
  second->write("kept");
  *first = std::move(*second);
  ASSERT_TRUE(first->finish());
  EXPECT_THAT(names(), ElementsAre("b"));
  EXPECT_EQ(read(at("b")), "kept");
}

TEST_F(Files, AFullDiskLeavesTheOldFileAndIsNamed) {
  ASSERT_TRUE(write(at("a"), "old"));
  const SizeLimit full(100'000);
  const auto written = write(at("a"), std::string(300'000, 'n'));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, at("a") + ": File too large");
  EXPECT_EQ(read(at("a")), "old");
  EXPECT_THAT(names(), ElementsAre("a"));
  ASSERT_FALSE(write(at("b"), std::string(300'000, 'n'), {.to_disk = true}));
  EXPECT_THAT(names(), ElementsAre("a"));
}

TEST_F(Files, AFullDiskIsKnownBeforeTheEnd) {
  const SizeLimit full(1);
  auto file = WholeFile::create(at("a"));
  ASSERT_TRUE(file);
  file->write(std::string(std::size_t{1} << 20, 'n'));
  EXPECT_TRUE(file->failed());
  file->write("more");
  EXPECT_FALSE(file->finish());
}

TEST_F(Files, ANewFileHasItsModeAndAnOldOneKeepsIts) {
  const mode_t mask = ::umask(027);
  ASSERT_TRUE(write(at("a"), "1"));
  EXPECT_EQ(mode(at("a")), 0640U);
  ASSERT_TRUE(write(at("p"), "1", {.mode = 0600}));
  EXPECT_EQ(mode(at("p")), 0600U);
  ::umask(mask);
  ASSERT_EQ(::chmod(at("a").c_str(), 0604), 0);
  ASSERT_TRUE(write(at("a"), "2"));
  EXPECT_EQ(mode(at("a")), 0604U);
  EXPECT_EQ(read(at("a")), "2");
}

TEST_F(Files, ASymbolicLinkIsFollowedOnlyIfItIsTheUsers) {
  ASSERT_TRUE(write(at("target"), "old"));
  fs::create_symlink("target", at("link"));
  ASSERT_TRUE(write(at("link"), "new"));
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(read(at("target")), "new");
  ASSERT_TRUE(write(at("link"), "own", {.existing = Existing::kReplaceName, .mode = 0600}));
  EXPECT_FALSE(fs::is_symlink(at("link")));
  EXPECT_EQ(read(at("link")), "own");
  EXPECT_EQ(mode(at("link")), 0600U);
  EXPECT_EQ(read(at("target")), "new");
}

TEST_F(Files, ANameIsReplacedWhateverItIs) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  ASSERT_TRUE(write(at("pipe"), "x", {.existing = Existing::kReplaceName}));
  EXPECT_EQ(read(at("pipe")), "x");
  fs::create_symlink("nowhere", at("dangling"));
  ASSERT_TRUE(write(at("dangling"), "y"));
  EXPECT_EQ(read(at("dangling")), "y");
  fs::create_directory(at("folder"));
  const auto written = write(at("folder"), "z", {.existing = Existing::kReplaceName});
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr("/folder: "));
  EXPECT_EQ(write(at("folder"), "z").error().message, at("folder") + ": Is a directory");
  EXPECT_THAT(names(), UnorderedElementsAre("pipe", "dangling", "folder"));
}

TEST_F(Files, AFileThatExistsIsRefused) {
  const WholeFileOptions refuse{.existing = Existing::kRefuse};
  ASSERT_TRUE(write(at("a"), "old", refuse));
  EXPECT_EQ(write(at("a"), "new", refuse).error().message, at("a") + ": File exists");
  // Also one that appears meanwhile.
  auto file = WholeFile::create(at("b"), refuse);
  ASSERT_TRUE(file);
  file->write("late");
  ASSERT_TRUE(write(at("b"), "early"));
  EXPECT_FALSE(file->finish());
  EXPECT_EQ(read(at("a")), "old");
  EXPECT_EQ(read(at("b")), "early");
  EXPECT_THAT(names(), UnorderedElementsAre("a", "b"));
}

TEST_F(Files, WhatIsNoFileIsWrittenAsItIs) {
  const auto full = write("/dev/full", "x");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().message, "/dev/full: No space left on device");
  EXPECT_TRUE(write("/dev/null", "x"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  const int reader = ::open(at("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_TRUE(write(at("pipe"), "hello"));
  std::string got(16, '\0');
  EXPECT_EQ(::read(reader, got.data(), got.size()), 5);
  ::close(reader);
  EXPECT_TRUE(fs::is_fifo(at("pipe")));
  // A descriptor of this process stays the same file.
  ASSERT_TRUE(write(at("a"), "old"));
  const int fd = ::open(at("a").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_TRUE(write("/dev/fd/" + std::to_string(fd), "new"));
  EXPECT_EQ(::pread(fd, got.data(), got.size(), 0), 3);
  ::close(fd);
}

TEST_F(Files, AFolderThatTakesNoFilesIsNamed) {
  EXPECT_EQ(write(at("no/a"), "x").error().message, at("no/a") + ": No such file or directory");
  const auto proc = write("/proc/nowhere", "x");
  ASSERT_FALSE(proc);
  EXPECT_THAT(proc.error().message, HasSubstr("/proc/nowhere: "));
}

// Root may write everywhere.
TEST_F(Files, AFileInAFolderWithoutWritePermissionIsWrittenInPlace) {
  if (::geteuid() == 0) {
    // Only in this process.
    if (::chown(folder_.c_str(), 65534, 65534) != 0 || ::seteuid(65534) != 0) {
      GTEST_SKIP() << "cannot become another user";
    }
  }
  ASSERT_TRUE(write(at("a"), "old"));
  ASSERT_EQ(::chmod(folder_.c_str(), 0555), 0);
  EXPECT_TRUE(write(at("a"), "new"));
  EXPECT_EQ(read(at("a")), "new");
  {
    const SizeLimit full(1);
    EXPECT_FALSE(write(at("a"), "a longer text"));
  }
  EXPECT_EQ(read(at("a")), "") << "half a file must not look whole";
  EXPECT_THAT(write(at("b"), "x").error().message, HasSubstr("Permission denied"));
  ASSERT_EQ(::chmod(at("a").c_str(), 0444), 0);
  EXPECT_THAT(write(at("a"), "x").error().message, HasSubstr("Permission denied"));
  ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
  EXPECT_THAT(write(at("a"), "x").error().message, HasSubstr("Permission denied"))
      << "to rename over a file that may not be written would be a surprise";
  [[maybe_unused]] const int back = ::seteuid(::getuid());
}

TEST_F(Files, AFileOfLinesEndsWithAWholeLine) {
  auto file = LineFile::create(at("a"));
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write("12345\n"));
  EXPECT_EQ(read(at("a")), "12345\n") << "at once";
  {
    const SizeLimit full(20);
    const auto written = file->write("23456\n34567\n45678\n");
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().message, at("a") + ": File too large");
  }
  EXPECT_EQ(read(at("a")), "12345\n23456\n34567\n");
  EXPECT_TRUE(file->finish());
}

TEST_F(Files, AFileOfLinesWithoutRoomForOneIsEmpty) {
  auto file = LineFile::create(at("a"));
  ASSERT_TRUE(file);
  {
    const SizeLimit full(3);
    EXPECT_FALSE(file->write("12345\n"));
  }
  EXPECT_THAT(read(at("a")), IsEmpty());
  EXPECT_EQ(LineFile::create(at("no/a")).error().message,
            at("no/a") + ": No such file or directory");
}

}  // namespace
}  // namespace rpcrdma::base
