// rpcrdma selftest with its output formats.
#include "support/background.h"
#include "support/own_address.h"

#include <csignal>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rpcrdma::e2e {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class SelftestCommand : public ::testing::Test {
 protected:
  const std::string server_ = own_address(1);
  const std::string client_ = own_address(2);
  const std::string here_ = "RPCRDMA selftest --listen " + server_ + " --from " + client_ + " ";
};

TEST_F(SelftestCommand, BothEndsInOneProcess) {
  const Result r = run(here_ + "--only v2-v2,clean --json");
  EXPECT_EQ(r.status, 0) << r.err;
  const json report = parse_json(r.out);
  EXPECT_THAT(report["cells"], SizeIs(33));
  EXPECT_EQ(report["passed"], 33);
  EXPECT_EQ(report["failed"], 0);
}

TEST_F(SelftestCommand, LossIsCounted) {
  const Result r = run(here_ + "--only v2-v1,rfc8166,loss,several,read");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("client v2, server v1, rfc8166: version 1\n"));
  EXPECT_THAT(r.out, HasSubstr(": 6 passed, 0 failed\n"));
  EXPECT_THAT(r.out,
              HasSubstr(" packets dropped on purpose in 6 cells; in 0 of them none was dropped\n"));
}

TEST_F(SelftestCommand, DamageIsNoticedAndTheCellNamed) {
  const Result r = run(here_ + "--only v1-v1,rfc8166,both,clean,write --damage byte");
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_THAT(r.out, HasSubstr("FAIL v1-v1.rfc8166.both.clean.write: 8 of 8 Calls failed: "));
  EXPECT_THAT(r.out,
              HasSubstr("FAIL v1-v1.rfc8166.both.clean.write: 8 of 8 reverse Calls failed: "));
}

TEST_F(SelftestCommand, HalvesOfTwoProcessesAndTheirRecordings) {
  const TemporaryFolder folder;
  Background server({"selftest", "--listen", server_, "--record", folder.path()});
  ASSERT_TRUE(server.wait_for("listening on " + server_ + " ports 20049 to "));
  // Sequentially: each client starts with the same cell numbers.
  for (int i = 0; i < 2; ++i) {
    const Result r = run("RPCRDMA selftest " + server_ + " --from " + client_ +
                         " --only v2-v2,both,clean --record " + folder.path());
    EXPECT_EQ(r.status, 0) << r.out << r.err;
    EXPECT_THAT(r.out, HasSubstr("11 cells in "));
  }
  server.signal(SIGINT);
  EXPECT_EQ(server.finish(), 0) << server.out;
  EXPECT_THAT(server.out, HasSubstr("22 cells, 0 of them with errors in the server's recording\n"));
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    ++files;
    if (entry.path().filename().string().find(".long-call-") == std::string::npos) continue;
    const Result r = run("RPCRDMA analyze --json " + entry.path().string());
    EXPECT_EQ(r.status, 0) << entry.path() << r.out;
  }
  EXPECT_EQ(files, 22U);
}

TEST_F(SelftestCommand, WhatCannotBe) {
  const auto refused = [](const std::string& arguments, const std::string& part) {
    const Result r = run("RPCRDMA selftest " + arguments);
    EXPECT_EQ(r.status, 2) << arguments;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    EXPECT_THAT(r.err, HasSubstr(part));
    EXPECT_EQ(r.out, "");
  };
  refused("--only sideways", "sideways: valid words are v1, v2, ");
  refused("--only v2-v2,draft-01", "there is no such cell");
  refused("10.0.0.1 --listen 10.0.0.1", "HOST is where the other end listens");
  refused("--listen nowhere", "--listen: ");
  refused("--port 65535 --listen " + server_, "ports are needed from 65535 on");
  refused("--damage all", "--damage");
  refused(server_ + " --from " + client_, "not connected: ");
}

}  // namespace
}  // namespace rpcrdma::e2e
