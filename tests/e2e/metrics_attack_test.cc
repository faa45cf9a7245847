// Hostile clients of the metrics port: a scrape beside them succeeds while they hold on.
#include "support/background.h"
#include "support/http_client.h"
#include "support/own_address.h"

#include <atomic>
#include <chrono>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

namespace rpcrdma::e2e {
namespace {

using metrics::testing::ask;
using metrics::testing::scrape;
using metrics::testing::TcpConnection;
using ::testing::HasSubstr;

constexpr std::uint16_t kAttackedPort = 9464;
constexpr const char* kBegun = "GET /metrics HTTP/1.1\r\nHost: x\r\n";
constexpr const char* kWhole = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";

class MetricsAttack : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(server_.wait_for("metrics at")) << server_.out; }
  void TearDown() override {
    server_.signal(SIGINT);
    EXPECT_EQ(server_.finish(), 0) << server_.out;
  }
  void expect_scrape() const {
    EXPECT_THAT(scrape(address_, kAttackedPort),
                HasSubstr("rpcrdma_connections{role=\"server\"} 0\n"));
  }

  const std::string address_ = own_address(1);
  Background server_{
      {"serve", "--listen", address_, "--metrics", fmt::format("{}:{}", address_, kAttackedPort)}};
};

TEST_F(MetricsAttack, AHundredSilentClients) {
  std::deque<TcpConnection> silent;
  for (int i = 0; i < 100; ++i) {
    silent.emplace_back(address_, kAttackedPort);
    ASSERT_TRUE(silent.back().up());
    (void)silent.back().send(kBegun);
  }
  for (int i = 0; i < 3; ++i) expect_scrape();
  // The last one still held on; its time ends, too.
  EXPECT_EQ(silent.back().receive(), "");
}

// The server gives each address, and all together, a bounded number of places.
TEST_F(MetricsAttack, SilentClientsOfManyAddresses) {
  std::deque<TcpConnection> silent;
  for (int i = 0; i < 100; ++i) {
    silent.emplace_back(address_, kAttackedPort, own_address(10 + i));
    ASSERT_TRUE(silent.back().up());
  }
  for (int i = 0; i < 3; ++i) expect_scrape();
}

TEST_F(MetricsAttack, AHundredClientsThatDripAndComeBack) {
  std::atomic<bool> ends = false;
  std::atomic<int> dripped = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 100; ++i) {
    threads.emplace_back([&] {
      while (!ends) {
        TcpConnection drip(address_, kAttackedPort);
        (void)drip.send(std::string(kBegun) + "X: ");
        while (!ends && drip.send("a")) {
          ++dripped;
          std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
      }
    });
  }
  while (dripped < 500) std::this_thread::yield();
  for (int i = 0; i < 3; ++i) expect_scrape();
  ends = true;
  for (std::thread& t : threads) t.join();
}

TEST_F(MetricsAttack, AHundredClientsThatNeverRead) {
  std::deque<TcpConnection> deaf;
  for (int i = 0; i < 100; ++i) {
    deaf.emplace_back(address_, kAttackedPort, "", 2048);
    ASSERT_TRUE(deaf.back().up());
    (void)deaf.back().send(kWhole);
  }
  for (int i = 0; i < 3; ++i) expect_scrape();
}

TEST_F(MetricsAttack, HugeHeaders) {
  std::deque<TcpConnection> huge;
  for (int i = 0; i < 20; ++i) {
    huge.emplace_back(address_, kAttackedPort);
    (void)huge.back().send(std::string(kBegun) + "X: " + std::string(1 << 20, 'a'));
  }
  std::string many;
  for (int i = 0; i < 1000; ++i) many += fmt::format("X{}: a\r\n", i);
  EXPECT_EQ(ask(address_, kAttackedPort, "GET /metrics", many).status, 431);
  expect_scrape();
}

}  // namespace
}  // namespace rpcrdma::e2e
