// Tests what ./dev fleet runs: hosts in namespaces, with the real programs.
#include "support/command.h"

#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

namespace rpcrdma::dev {
namespace {

using ::testing::HasSubstr;

constexpr const char* kQuickStart = RPCRDMA_SOURCE_DIR "/tests/fleet/quick-start";

TEST(DevFleet, ShowsThreeHostsAndLeavesNothingBehind) {
  if (e2e::run("unshare --net --mount --pid --fork true").status != 0) {
    GTEST_SKIP() << "needs root, to make namespaces";
  }
  if (e2e::run("command -v nats-server ip nsenter").status != 0) {
    GTEST_SKIP() << "nats-server or iproute2 is not installed";
  }
  if (e2e::run("RPCRDMA agent --bus nats://127.0.0.1:1").err.find("no bus") != std::string::npos) {
    GTEST_SKIP() << "built without libnats";
  }
  const e2e::TemporaryFolder folder;
  const e2e::Result r =
      e2e::run(fmt::format("TMPDIR={} {} " RPCRDMA_COMMAND, folder.path(), kQuickStart));
  EXPECT_EQ(r.status, 0) << r.out << r.err;
  for (const char* host : {"server", "client1", "client2"}) EXPECT_THAT(r.out, HasSubstr(host));
  EXPECT_THAT(r.out, HasSubstr("Calls"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_NE(e2e::run("pgrep -f " + folder.path()).status, 0);
}

TEST(DevFleet, SaysWhatDoesNotStart) {
  if (e2e::run("unshare --net --mount --pid --fork true && command -v nats-server").status != 0) {
    GTEST_SKIP() << "needs root and nats-server";
  }
  const e2e::TemporaryFolder folder;
  e2e::write_file(folder.file("program"), "#!/bin/sh\necho \"$1 cannot\"\nexit 2\n");
  std::filesystem::permissions(folder.file("program"), std::filesystem::perms::owner_all);
  const e2e::Result r = e2e::run(std::string(kQuickStart) + " " + folder.file("program"));
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err, HasSubstr("serve cannot\nfleet: serve did not start\n"));
}

}  // namespace
}  // namespace rpcrdma::dev
