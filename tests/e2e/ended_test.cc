// A server that is killed, and one that stops in order: `attach` and `top` report it at once,
// without waiting for its client.
#include "support/background.h"
#include "support/command.h"
#include "support/own_address.h"
#include "support/running_endpoint.h"
#include "support/terminal.h"

#include <csignal>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rpcrdma::e2e {
namespace {

using ::testing::HasSubstr;

class Ended : public ::testing::Test {
 protected:
  Ended() {
    ::setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1);
    server_.emplace(
        std::vector<std::string>{"serve", "--listen", server_address_, "--name", "srv"});
  }
  ~Ended() override { ::unsetenv("XDG_RUNTIME_DIR"); }

  const std::string server_address_ = own_address(1), client_address_ = own_address(2);
  TemporaryFolder folder_;
  std::optional<Background> server_;
};

TEST_F(Ended, AKilledServer) {
  ASSERT_TRUE(server_->wait_for("listening"));
  Background load({"load", server_address_, "--from", client_address_, "--depth", "2", "--duration",
                   "90s", "--name", "ld"});
  Terminal top({"top"});
  ASSERT_TRUE(top.wait_for("2 connections, 2 open")) << top.screen();
  Background reader({"attach", "srv", "--events"});
  ASSERT_TRUE(reader.wait_for("reply"));
  server_->signal(SIGKILL);
  EXPECT_EQ(reader.finish(), 0);
  EXPECT_THAT(reader.out, HasSubstr("rpcrdma: srv ended without closing its connections "
                                    "(killed?); "));
  EXPECT_TRUE(top.wait_for("srv killed? ")) << top.screen();
  EXPECT_TRUE(top.wait_for("no peer")) << top.screen();
  EXPECT_TRUE(top.wait_for("srv was killed or crashed")) << top.screen();
  EXPECT_TRUE(top.wait_for("gone")) << top.screen();
  EXPECT_TRUE(top.wait_for("0 open")) << top.screen();
  top.type("q");
  EXPECT_EQ(top.finish(), 0);
}

// Its clients' Calls stand still: the view says since when, instead of latencies of earlier Calls.
TEST_F(Ended, AServerThatHangs) {
  ASSERT_TRUE(server_->wait_for("listening"));
  Background load({"load", server_address_, "--from", client_address_, "--depth", "2", "--duration",
                   "90s", "--name", "ld"});
  ASSERT_TRUE(wait_for_endpoint("ld"));
  Terminal top({"top", "ld"});
  ASSERT_TRUE(top.wait_for("1 connection, 1 open")) << top.screen();
  server_->signal(SIGSTOP);
  EXPECT_TRUE(top.wait_for("silent 2 s")) << top.screen();
  EXPECT_TRUE(top.wait_for("silent 3 s")) << top.screen();
  server_->signal(SIGCONT);
  top.type("q");
  EXPECT_EQ(top.finish(), 0);
}

TEST_F(Ended, AServerThatStopsInOrder) {
  ASSERT_TRUE(server_->wait_for("listening"));
  Background load({"load", server_address_, "--from", client_address_, "--depth", "2", "--duration",
                   "90s", "--name", "ld"});
  Terminal top({"top", "srv"});
  ASSERT_TRUE(top.wait_for("1 connection, 1 open")) << top.screen();
  Background reader({"attach", "srv", "--events"});
  ASSERT_TRUE(reader.wait_for("reply"));
  server_->signal(SIGTERM);
  EXPECT_EQ(reader.finish(), 0);
  EXPECT_THAT(reader.out, HasSubstr("rpcrdma: srv ended; "));
  EXPECT_TRUE(top.wait_for("srv has ended ")) << top.screen();
  EXPECT_TRUE(top.wait_for("closed")) << top.screen();
  top.type("q");
  EXPECT_EQ(top.finish(), 0);
}

}  // namespace
}  // namespace rpcrdma::e2e
