// Tests packaging/release on a project of its own, which has the files that it reads.
#include "support/command.h"

#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace rpcrdma::dev {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class Release : public ::testing::Test {
 protected:
  Release() {
    for (const char* name : {"packaging/release", "packaging/commit", ".gitattributes",
                             "packaging/rpm/rpcrdma-scope.spec", "debian/changelog",
                             "gui/rpcrdma-gui.metainfo.xml", "CMakeLists.txt"}) {
      fs::create_directories(fs::path(folder_.file(name)).parent_path());
      fs::copy_file(fs::path(RPCRDMA_SOURCE_DIR) / name, folder_.file(name));
    }
    e2e::write_file(folder_.file(".gitignore"), "/build/\n");
    write_changelog(fmt::format("({})", "2026-11-26"));
    EXPECT_EQ(run("git init -q").status, 0);
    commit();
  }

  // Runs a command in the directory, as a user that git knows.
  [[nodiscard]] e2e::Result run(const std::string& command) const {
    return e2e::run(
        fmt::format("cd {} && export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=A "
                    "GIT_AUTHOR_EMAIL=a@example.com "
                    "GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.com && {}",
                    folder_.path(), command));
  }
  void commit() const { EXPECT_EQ(run("git add -A && git commit -q -m x").status, 0); }
  void write_changelog(const std::string& when) const {
    e2e::write_file(folder_.file("CHANGELOG.md"),
                    fmt::format("# Changes\n\n## {} {}\n\n- One thing.\n\n## 0.0.1 (2020-01-01)\n\n"
                                "- An older one.\n",
                                RPCRDMA_VERSION, when));
  }
  void expect_refused(const std::string& why, const std::string& version = RPCRDMA_VERSION) const {
    const e2e::Result r = run("packaging/release " + version);
    EXPECT_EQ(r.status, 1);
    EXPECT_THAT(r.err, HasSubstr(why));
    EXPECT_EQ(run("git tag").out, "");
  }
  // Returns the output of --version for sources in `folder`.
  [[nodiscard]] std::string version_in(const std::string& folder) const {
    EXPECT_EQ(run(fmt::format("cmake -D SOURCE={} -D VERSION=1.2.3 -D GIT=git -D OUT={}/version.cc "
                              "-P " RPCRDMA_SOURCE_DIR "/engine/version/write_version.cmake",
                              folder, folder_.path()))
                  .status,
              0);
    const std::string source = e2e::read_file(folder_.file("version.cc"));
    const std::size_t at = source.find('"') + 1;
    return source.substr(at, source.find('"', at) - at);
  }

  e2e::TemporaryFolder folder_;
};

TEST_F(Release, TagsAndArchivesTheVersion) {
  const e2e::Result r = run("packaging/release " RPCRDMA_VERSION);
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(run("git tag").out, "v" RPCRDMA_VERSION "\n");
  EXPECT_EQ(run("git cat-file -t v" RPCRDMA_VERSION).out, "tag\n");
  const std::string message = run("git tag -l --format='%(contents)'").out;
  EXPECT_THAT(message, HasSubstr("- One thing."));
  EXPECT_THAT(message, Not(HasSubstr("- An older one.")));

  // Programs built from the tarball or from a clone name its commit.
  ASSERT_EQ(run("tar -C build -xf build/rpcrdma-scope-" RPCRDMA_VERSION ".tar.gz").status, 0);
  std::string head = run("git rev-parse --short=7 HEAD").out;
  head.resize(7);
  EXPECT_EQ(version_in(folder_.file("build/rpcrdma-scope-" RPCRDMA_VERSION)),
            "1.2.3 (" + head + ")");
  EXPECT_EQ(version_in(folder_.path()), "1.2.3 (" + head + ")");
}

TEST_F(Release, OfACopyWithoutACloneNoCommitIsNamed) {
  fs::remove_all(folder_.file(".git"));
  EXPECT_EQ(version_in(folder_.path()), "1.2.3");
}

TEST_F(Release, TakesNoOtherVersion) {
  expect_refused("9.9.9 is not the version of CMakeLists.txt", "9.9.9");
}

TEST_F(Release, FilesThatNameAnotherVersionAreNamed) {
  for (const char* file :
       {"debian/changelog", "packaging/rpm/rpcrdma-scope.spec", "gui/rpcrdma-gui.metainfo.xml"}) {
    const std::string before = e2e::read_file(folder_.file(file));
    std::string after = before;
    after.replace(after.find(RPCRDMA_VERSION), std::string(RPCRDMA_VERSION).size(), "7.7.7");
    e2e::write_file(folder_.file(file), after);
    commit();
    expect_refused(fmt::format("{} has version 7.7.7", file));
    e2e::write_file(folder_.file(file), before);
  }
}

TEST_F(Release, WantsASectionWithADate) {
  write_changelog("(unreleased)");
  commit();
  expect_refused("CHANGELOG.md has no section");
}

TEST_F(Release, WantsEverythingCommitted) {
  e2e::write_file(folder_.file("CMakeLists.txt"),
                  e2e::read_file(folder_.file("CMakeLists.txt")) + "\n");
  expect_refused("uncommitted");
}

TEST_F(Release, IsMadeOnce) {
  ASSERT_EQ(run("packaging/release " RPCRDMA_VERSION).status, 0);
  const e2e::Result r = run("packaging/release " RPCRDMA_VERSION);
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err, HasSubstr("tag v" RPCRDMA_VERSION " already exists"));
}

TEST(ReleasedVersion, IsTheSameInAllFiles) {
  const e2e::Result r = e2e::run(RPCRDMA_SOURCE_DIR "/packaging/release check");
  EXPECT_EQ(r.status, 0) << r.err;
}

TEST(ReleasedVersion, NamesTheCommit) {
  const e2e::Result r = e2e::run(RPCRDMA_COMMAND " --version");
  EXPECT_THAT(r.out, MatchesRegex("rpcrdma " RPCRDMA_VERSION "( \\([0-9a-f]{7}\\))?\n"));
}

}  // namespace
}  // namespace rpcrdma::dev
