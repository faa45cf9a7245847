// Tests what ./dev installs or requires before it builds: Debian packages if there is apt, else
// programs and libraries.
#include "stand_ins.h"

#include <gmock/gmock.h>

namespace rpcrdma::dev {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class DevPackages : public DevScript {
 protected:
  // A system without dpkg and apt, on which everything is installed: each program that ./dev needs,
  // and those that a shell script uses.
  DevPackages() {
    namespace fs = std::filesystem;
    fs::create_directories(folder() + "/elsewhere");
    for (const char* tool : {"awk", "bash", "cat", "dirname", "env", "grep", "head", "ls", "mktemp",
                             "paste", "rm", "sed", "sort", "tail", "tee"}) {
      fs::create_symlink(std::string("/usr/bin/") + tool, folder() + "/elsewhere/" + tool);
    }
    for (const char* tool : {"clang++", "cmake", "ctest", "git", "id", "nproc"})
      stand_in_elsewhere(tool);
    std::istringstream lines(e2e::read_file(folder() + "/cmake/packages.txt"));
    for (std::string package, check; lines >> package;) {
      if (package[0] != '#' && lines >> check && check.starts_with("command:")) {
        if (check.back() == '?') check.pop_back();
        stand_in_elsewhere(check.substr(check.find(':') + 1));
      }
      std::getline(lines, package);
    }
  }
  void stand_in_elsewhere(const std::string& tool) const {
    const std::string file = "elsewhere/" + tool;
    if (!std::filesystem::exists(folder() + "/" + file)) stand_in(file);
  }
  [[nodiscard]] e2e::Result run_elsewhere(const std::string& arguments,
                                          const std::string& variables = {}) {
    return run(arguments, "PATH=" + folder() + "/elsewhere " + variables);
  }
};

TEST_F(DevPackages, MissingOnesAreInstalledByRootAndNamedToOthers) {
  EXPECT_EQ(run("build", "PACKAGES=").status, 0);
  const std::vector<std::string> lines = started();
  ASSERT_GE(lines.size(), 2U);
  EXPECT_EQ(lines[0], "apt-get update");
  EXPECT_THAT(lines[1], StartsWith("apt-get install -y --no-install-recommends g++ cmake "));
  std::filesystem::remove(folder() + "/log");
  const e2e::Result r = run("test quick", "PACKAGES= USER_ID=1000");
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err, HasSubstr("run as root: apt-get install --no-install-recommends g++ cmake "));
  EXPECT_THAT(started(), IsEmpty());
}

TEST_F(DevPackages, TheDocsListThem) {
  const std::string dev = e2e::read_file(folder() + "/dev");
  const std::string docs = e2e::read_file(RPCRDMA_SOURCE_DIR "/docs/install.md");
  for (const char* list : {"build", "test", "sanitize", "wireshark", "gui"}) {
    const std::string begin = std::string("\npackages_") + list + "=(";
    const std::size_t at = dev.find(begin) + begin.size();
    std::istringstream names(dev.substr(at, dev.find(')', at) - at));
    int listed = 0;
    for (std::string name; names >> name; ++listed)
      EXPECT_THAT(docs, HasSubstr(" " + name)) << list;
    EXPECT_GE(listed, 3) << list;
  }
}

// Like libqt6opengl6-dev in Debian 13; a removed package whose configuration remains does not
// count.
TEST_F(DevPackages, OneThatAnotherProvidesIsThere) {
  const std::string others = "$(awk '/^[a-z]/ && !/opengl/ {print $1}' cmake/packages.txt)";
  const std::string user = "USER_ID=1000 PACKAGES=\"" + others + "\"";
  EXPECT_EQ(run("gui", user + " PROVIDED='libnone (= 2), libqt6opengl6-dev'").status, 0);
  const e2e::Result r = run("gui", user);
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err, testing::EndsWith("--no-install-recommends libqt6opengl6-dev\n"));
}

TEST_F(DevPackages, WithoutAptEachCommandContinuesWhereAllIsThere) {
  for (const char* command : {"build", "wireshark", "gui", "screenshots", "test quick", "test",
                              "bench wire", "fuzz 1", "lab", "lint", "format"}) {
    const e2e::Result r = run_elsewhere(command, "FAILS=cmake");
    EXPECT_THAT(r.err, AllOf(Not(HasSubstr("missing")), Not(HasSubstr("packages.txt")),
                             Not(HasSubstr("skipping a component"))))
        << command;
  }
  EXPECT_EQ(run_elsewhere("build").status, 0);
}

TEST_F(DevPackages, WithoutAptItNamesWhatIsMissing) {
  std::filesystem::remove(folder() + "/elsewhere/ninja");
  const e2e::Result r = run_elsewhere("build", "MISSING='re2 tl/expected.hpp'");
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err, HasSubstr("dev: missing: ninja tl/expected.hpp re2; Fedora packages: "
                               "expected-devel ninja-build re2-devel\n"));
  EXPECT_THAT(started(), IsEmpty());
}

TEST_F(DevPackages, WithoutAptAPartIsLeftOutForWhatOnlyItNeeds) {
  const e2e::Result r = run_elsewhere("build", "MISSING='librdmacm libmicrohttpd'");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(
      r.err,
      AllOf(HasSubstr("skipping a component: module librdmacm not found (Fedora: rdma-core-devel)"),
            HasSubstr("skipping a component: module libmicrohttpd not found")));
}

}  // namespace
}  // namespace rpcrdma::dev
