// The plugin together with Wireshark's features: preferences, disabled protocols, Decode As.
#include "lines.h"

#include <gtest/gtest.h>

namespace rpcrdma::wireshark_tests {
namespace {

// Shows everything about all packets except those of the connection manager, whose private data
// only the plugin decodes.
constexpr const char* kAll = " -P -V -Y '!infiniband.mad'";

void expect_as_without(const std::string& name, const std::string& options, const char* what) {
  const std::string file = readable(name);
  const Row with = lines(tshark("TSHARK " + options + " -r " + file + what).out);
  const Row without = lines(tshark("PLAIN -r " + file + what).out);
  EXPECT_GT(without.size(), 1000U);
  EXPECT_EQ(with.size(), without.size());
  for (std::size_t i = 0; i < std::min(with.size(), without.size()); ++i) {
    ASSERT_EQ(with[i], without[i]) << name << " line " << i + 1;
  }
}

class Beside : public ::testing::TestWithParam<std::string> {};

TEST_P(Beside, WithoutPrecedenceTheBuiltInDissectorHasItsMessages) {
  expect_as_without(GetParam(), "-o rpcrdma.precedence:FALSE", kAll);
}

TEST_P(Beside, SwitchedOffItLeavesNoTrace) {
  expect_as_without(GetParam(), "--disable-protocol rpcrdma", " -P -V");
}

TEST_P(Beside, NoFrameHasBothLayers) {
  const std::string heuristic = "--enable-heuristic rpcrdma_infiniband -r " + readable(GetParam());
  const auto ours = fields("-r " + readable(GetParam()) + " -Y rpcrdma -e frame.number");
  EXPECT_EQ(fields(heuristic + " -Y rpcrdma -e frame.number"), ours);
  EXPECT_TRUE(fields(heuristic + " -Y rpcordma -e frame.number").empty());
  EXPECT_TRUE(fields(heuristic + " -o rpcrdma.precedence:FALSE -Y 'rpcordma && rpcrdma' "
                                 "-e frame.number")
                  .empty());
}

INSTANTIATE_TEST_SUITE_P(Linux, Beside,
                         ::testing::Values("linux-nfs3.pcap", "linux-nfs41.pcap",
                                           "linux-deleg.pcap", "linux-non-rpc.pcap"),
                         [](const auto& instance) {
                           std::string name =
                               std::filesystem::path(instance.param).stem().string().substr(6);
                           std::erase(name, '-');
                           return name;
                         });

// If only columns are needed, the plugin writes those of RDMA Reads and Writes without Wireshark's
// dissectors, and keeps less of each message.
TEST(WiresharkLines, AreTheSameWithATreeAndWithout) {
  for (const char* name : {"linux-nfs3.pcap", "linux-nfs41.pcap", "linux-deleg.pcap",
                           "linux-non-rpc.pcap", "rules/RP-02.pcap", "rules/RETX-STORM.pcap",
                           "rules/CONN-LOST-access.pcap", "dialects/ietf-03.pcap"}) {
    const std::string file = readable(name);
    const Row alone = lines(tshark("TSHARK -r " + file).out);
    const Row with_tree = lines(tshark("TSHARK -Y frame -r " + file).out);
    EXPECT_FALSE(alone.empty());
    EXPECT_EQ(alone, with_tree) << name;
  }
}

TEST(DecodeAs, ShowsHeadersOfSendsThatWereNotRecognised) {
  const std::string file = readable("linux-non-rpc.pcap");
  const auto sends = fields("-r " + file + " -Y 'infiniband.bth.opcode == 4' -e frame.number");
  EXPECT_FALSE(sends.empty());
  EXPECT_EQ(fields("-d infiniband,rpcrdma -r " + file + " -Y 'rpcrdma.xid' -e frame.number"),
            sends);
}

}  // namespace
}  // namespace rpcrdma::wireshark_tests
