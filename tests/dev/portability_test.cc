// Tests the order of steps of ./dev portability, and its report of a failed step.
#include "stand_ins.h"

#include <gmock/gmock.h>

namespace rpcrdma::dev {
namespace {

using ::testing::ContainsRegex;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::string inside(const std::string& suite, const std::string& command) {
  return fmt::format(
      "unshare tests/portability/inside build/portability/{0} build/portability/cache/{0} {1}",
      suite, command);
}

TEST_F(DevScript, PortabilityMakesARootOnceAndBuildsWhatIsCommitted) {
  const e2e::Result r = run("portability");
  EXPECT_EQ(r.status, 0) << r.out << r.err;
  const auto first = started();
  EXPECT_THAT(
      first,
      ElementsAre(
          "debootstrap --variant=minbase --include=ca-certificates,git --cache-dir=" + folder() +
              "/build/portability/cache/trixie/archives trixie build/portability/trixie.made "
              "http://archive.test/debian",
          "git clone --quiet " + folder() + " build/portability/trixie/rpcrdma-scope",
          inside("trixie", "./dev build"), inside("trixie", "./dev wireshark"),
          inside("trixie", "tests/portability/dissect"),
          inside("trixie", "env QT_QPA_PLATFORM=offscreen ./dev gui --version"),
          inside("trixie", "./dev test quick"), inside("trixie", "./dev fuzz 1")));
  for (const char* step :
       {"root", "checkout", "build", "wireshark", "dissect", "gui", "test", "clang"}) {
    EXPECT_THAT(r.out, ContainsRegex(std::string("(^|\n)") + step + " +ok +[0-9]+ s\n"));
  }
  // Packages must not start services.
  EXPECT_EQ(e2e::read_file(folder() + "/build/portability/trixie/usr/sbin/policy-rc.d"),
            "#!/bin/sh\nexit 101\n");

  std::filesystem::remove(folder() + "/log");
  EXPECT_EQ(run("portability trixie test").status, 0);
  EXPECT_THAT(started(),
              ElementsAre(StartsWith("git clone"), inside("trixie", "./dev test quick")));
}

TEST_F(DevScript, PortabilityShowsAStepThatFailsAndRunsTheOthers) {
  const e2e::Result r = run("portability sid", "'FAILS=" + inside("sid", "./dev wireshark") + "'");
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.out, ContainsRegex(
                         "\nwireshark +FAILED +[0-9]+ s, see build/portability/sid.wireshark.log:\n"
                         "unshare: the stand-in fails\n"));
  EXPECT_THAT(r.out, ContainsRegex("\ntest +ok "));
  EXPECT_THAT(started(), SizeIs(8));
}

TEST_F(DevScript, PortabilityStopsWhereThereIsNoRoot) {
  const e2e::Result r = run("portability", "FAILS=debootstrap");
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.out, StartsWith("root       FAILED "));
  EXPECT_THAT(started(), SizeIs(1));
  // An unfinished root is not used.
  EXPECT_EQ(run("portability").status, 0);
}

TEST_F(DevScript, PortabilityIsForRoot) {
  const e2e::Result r = run("portability", "USER_ID=1000");
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err, HasSubstr("must run as root"));
  EXPECT_EQ(run("portability trixie frobnicate").status, 1);
}

}  // namespace
}  // namespace rpcrdma::dev
