// Hundreds of connections, and thousands: `serve` and `load` in a network namespace whose counters
// of lost datagrams are theirs alone.
#include "loopback_up.h"
#include "support/background.h"

#include <sstream>

#include <gmock/gmock.h>
#include <sched.h>

namespace rpcrdma::e2e {
namespace {

using nlohmann::json;

// Once per process.
bool enter_network() {
  static const bool entered = ::unshare(CLONE_NEWNET) == 0 && set_loopback_up();
  return entered;
}

// Datagrams that the kernel dropped because a socket's buffer was full.
std::uint64_t buffer_drops() {
  std::istringstream lines(read_file("/proc/self/net/snmp"));
  std::string names;
  std::string values;
  while (std::getline(lines, names) && std::getline(lines, values)) {
    if (!names.starts_with("Udp:")) continue;
    std::istringstream name(names);
    std::istringstream value(values);
    for (std::string n, v; name >> n && value >> v;) {
      if (n == "RcvbufErrors") return std::stoull(v);
    }
  }
  ADD_FAILURE() << "no such counter";
  return 0;
}

class ManyConnections : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!enter_network()) GTEST_SKIP() << "not permitted to make network namespaces";
  }
  static std::vector<std::string> serving(const std::string& connections) {
    return {"serve",     "--listen", "127.0.0.1", "--max-connections",
            connections, "--json",   "--no-live", "--quiet"};
  }
  static std::vector<std::string> loading(const std::string& from,
                                          const std::vector<std::string>& more) {
    std::vector<std::string> all{"load", "127.0.0.1", "--from", from, "--json", "--no-live"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  static json summary_of(Background& server) {
    server.signal(SIGINT);
    EXPECT_EQ(server.finish(), 0) << server.out;
    // Its last line.
    const std::size_t end = server.out.find_last_not_of('\n');
    const std::size_t before = server.out.rfind('\n', end);
    return try_parse_json(server.out.substr(before == std::string::npos ? 0 : before + 1));
  }
};

TEST_F(ManyConnections, WithoutLossNoPacketIsSentAgain) {
  const std::uint64_t before = buffer_drops();
  Background server(serving("600"));
  ASSERT_TRUE(server.wait_for("listening"));
  const std::vector<std::string> more{"--connections", "300", "--depth", "4", "--count", "9000"};
  Background one(loading("127.0.0.2", more));
  Background two(loading("127.0.0.3", more));
  for (Background* client : {&one, &two}) {
    ASSERT_EQ(client->finish(), 0) << client->out;
    const json r = try_parse_json(client->out);
    EXPECT_EQ(r["calls"], 9000) << r;
    EXPECT_EQ(r["packets_retransmitted"], 0) << r;
  }
  const json s = summary_of(server);
  EXPECT_EQ(s["connections"], 600) << s;
  EXPECT_EQ(s["packets"]["retransmitted"], 0) << s;
  EXPECT_EQ(buffer_drops(), before);
}

TEST_F(ManyConnections, ThousandsOfOneAddressGetAnAnswer) {
  Background server(serving("10000"));
  ASSERT_TRUE(server.wait_for("listening"));
  Background client(
      loading("127.0.0.2", {"--connections", "2000", "--count", "2000", "--size", "64"}));
  ASSERT_EQ(client.finish(), 0) << client.out;
  const json r = try_parse_json(client.out);
  EXPECT_EQ(r["connections"], 2000) << r;
  EXPECT_EQ(r["calls"], 2000) << r;
  EXPECT_EQ(r["errors"], 0) << r;
  EXPECT_EQ(summary_of(server)["connections"], 2000);
}

}  // namespace
}  // namespace rpcrdma::e2e
