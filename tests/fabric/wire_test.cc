// Other programs decode our packets correctly: tcpdump and tshark on the loopback interface, tshark
// and `rpcrdma analyze` on the packets that the provider writes itself.
#include "support/two_peers.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace rpcrdma {
namespace {

using fabric::Operation;
using testing::TwoPeers;

std::string output_of(const std::string& command) {
  std::string text;
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  std::array<char, 4096> buffer;
  for (std::size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    text.append(buffer.data(), n);
  }
  ::pclose(pipe);
  return text;
}

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

struct Folder {
  std::filesystem::path path =
      std::filesystem::path(::testing::TempDir()) / fmt::format("rpcrdma-fabric-{}", ::getpid());
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
};

// Some operations of every kind, and the end of the connection.
void traffic(TwoPeers& p) {
  ASSERT_NO_FATAL_FAILURE(p.connect());
  const fabric::MemoryRegion there = p.server.advertise(0, 100'000);
  p.server.receive(1, 200'000, 4096);
  p.server.receive(2, 200'000, 4096);
  p.client.post(Operation::kSend, 1, 0, 1001);
  p.client.post(Operation::kWrite, 2, 0, 50'001, there);
  p.client.post(Operation::kRead, 3, 100'000, 70'000, there);
  p.client.post(Operation::kSendInvalidate, 4, 0, 3000, {}, there.handle);
  ASSERT_TRUE(p.until([&] { return p.client.done.size() == 4 && p.server.done.size() == 2; }));
  p.client.connection->disconnect();
  ASSERT_TRUE(p.until([&] { return !p.server.events.empty() && !p.client.events.empty(); }));
}

// Expects tshark to find RoCE in each of `packets`, and nothing malformed.
void tshark_understands(const std::string& file, std::size_t packets) {
  const std::string tshark = "tshark -n -r " + file + " ";
  EXPECT_EQ(lines(output_of(tshark + "-Y infiniband 2>/dev/null")), packets) << file;
  EXPECT_EQ(output_of(tshark + "-Y '_ws.malformed || ip.checksum.status == 0' 2>/dev/null"), "");
}

#ifdef RPCRDMA_COMMAND
void all_icrcs_are_good(const std::string& file, std::size_t packets) {
  const std::string text =
      output_of(std::string(RPCRDMA_COMMAND) + " analyze --json " + file + " 2>/dev/null");
  const auto report = nlohmann::json::parse(text, nullptr, false);
  ASSERT_FALSE(report.is_discarded()) << text;
  EXPECT_EQ(report["packets"]["roce"], packets);
  EXPECT_EQ(report["packets"]["icrc_good"], packets);
  EXPECT_EQ(report["packets"]["malformed"], 0);
  EXPECT_EQ(report["packets"]["retransmitted"], 0);
  ASSERT_EQ(report["connections"].size(), 1U);
  EXPECT_EQ(report["connections"][0]["setup"], "cm");
  EXPECT_EQ(report["connections"][0]["state"], "closed");
}
#endif

TEST(FabricWire, WhatTheProviderWritesIsWhatAWireWouldCarry) {
  const Folder folder;
  soft::ProviderOptions options;
  options.pcapng = (folder.path / "packets").string();
  options.adapter.mtu = 1024;
  std::size_t packets = 0;
  {
    TwoPeers p(options, 1U << 20);
    ASSERT_NO_FATAL_FAILURE(traffic(p));
    const auto counters = p.client.provider->counters().udp;
    packets = counters.sent_packets + counters.received_packets;
  }
  ASSERT_GT(packets, 30U);
  const std::string file = options.pcapng + ".client";
  tshark_understands(file, packets);
#ifdef RPCRDMA_COMMAND
  all_icrcs_are_good(file, packets);
#endif
}

TEST(FabricWire, TcpdumpOnLoopbackSeesEachPacketInExactModeNeedsCaptureRights) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can capture";
  const Folder folder;
  const std::string file = (folder.path / "loopback.pcap").string();
  // It reports on stderr when it listens, and ends when it has the requested number of packets, or
  // on a signal.
  const std::string filter =
      fmt::format("udp port 4791 and host {}", testing::own_address(2).to_string());
  std::FILE* const tcpdump = ::popen(
      fmt::format("exec tcpdump -i lo -U -Z root -w {} '{}' 2>&1", file, filter).c_str(), "r");
  ASSERT_NE(tcpdump, nullptr);
  std::array<char, 512> line{};
  std::string said;
  while (said.find("listening on") == std::string::npos &&
         std::fgets(line.data(), line.size(), tcpdump) != nullptr) {
    said += line.data();
  }
  ASSERT_NE(said.find("listening on"), std::string::npos) << said;
  soft::ProviderOptions options;
  options.udp.exact = true;
  options.adapter.mtu = 1024;
  std::size_t packets = 0;
  {
    TwoPeers p(options, 1U << 20);
    ASSERT_NO_FATAL_FAILURE(traffic(p));
    packets = p.client.provider->counters().udp.sent_packets +
              p.server.provider->counters().udp.sent_packets;
  }
  // -U: tcpdump writes each packet at once.
  const std::string count = "tshark -n -r " + file + " 2>/dev/null";
  for (int tries = 0; tries < 100 && lines(output_of(count)) < packets; ++tries) continue;
  (void)output_of("pkill -INT -f '[t]cpdump -i lo -U -Z root -w " + file + "'");
  ::pclose(tcpdump);
  tshark_understands(file, packets);
#ifdef RPCRDMA_COMMAND
  all_icrcs_are_good(file, packets);
#endif
}

}  // namespace
}  // namespace rpcrdma
