// Frames that may contain RDMA and are not decoded. The headers follow their specifications; the
// content does not matter here.
#include "capture_for_tests.h"

#include <gtest/gtest.h>

#include <rpcrdma/capture/unread.h>

namespace rpcrdma::capture {
namespace {

const std::string kMacsHex = "020000000002 020000000001 ";
const std::string kIpv6Addresses =
    "fe800000000000000000000000000001 fe800000000000000000000000000002";

std::string ipv4(const std::string& protocol, const std::string& payload,
                 const std::string& fragment = "0000") {
  return "45 00 0064 0001 " + fragment + " 40 " + protocol + " 0000 0a000001 0a000002 " + payload;
}
std::string udp(const std::string& port) {
  return "c001 " + port + " 0050 0000";
}

struct Judged {
  LinkResult result;
  Unread unread;
};
Judged judge(LinkType link, const std::string& hex) {
  const ByteVector data = from_hex(hex);
  Frame frame;
  frame.link = link;
  frame.data = data;
  frame.original = static_cast<std::uint32_t>(data.size());
  TransportPacket packet;
  const LinkResult result = dissect_link(frame, packet);
  return {result, unread_of(frame, result)};
}
std::string name(LinkType link, const std::string& hex) {
  const Unread u = judge(link, hex).unread;
  return u.kind == UnreadKind::kNothing ? "" : unread_name(u.kind, u.detail);
}
std::string ethernet(const std::string& hex) {
  return name(LinkType::kEthernet, kMacsHex + hex);
}

TEST(UnreadFrame, IsATunnelByItsUdpPort) {
  EXPECT_EQ(ethernet("0800 " + ipv4("11", udp("12b5"))), "VXLAN");
  EXPECT_EQ(ethernet("0800 " + ipv4("11", udp("2118"))), "VXLAN");  // 8472
  EXPECT_EQ(ethernet("0800 " + ipv4("11", udp("17c1"))), "GENEVE");
  EXPECT_EQ(ethernet("0800 " + ipv4("11", udp("0868"))), "GTP-U");
  EXPECT_EQ(ethernet("0800 " + ipv4("11", udp("9090"))), "TZSP");
  EXPECT_EQ(ethernet("86dd 60000000 0050 11 40 " + kIpv6Addresses + udp("12b5")), "VXLAN");
  EXPECT_EQ(ethernet("0800 " + ipv4("11", udp("0035"))), "");  // DNS
}

TEST(UnreadFrame, IsATunnelByItsIpProtocol) {
  EXPECT_EQ(ethernet("0800 " + ipv4("2f", "0000 0800")), "GRE");
  EXPECT_EQ(ethernet("0800 " + ipv4("2f", "1000 88be")), "ERSPAN II");
  EXPECT_EQ(ethernet("0800 " + ipv4("2f", "1000 22eb")), "ERSPAN III");
  EXPECT_EQ(ethernet("0800 " + ipv4("04", "45")), "IP in IP");
  EXPECT_EQ(ethernet("0800 " + ipv4("29", "60")), "6in4");
  EXPECT_EQ(ethernet("86dd 60000000 0050 04 40 " + kIpv6Addresses), "4in6");
  EXPECT_EQ(ethernet("86dd 60000000 0050 29 40 " + kIpv6Addresses), "IPv6 in IPv6");
  EXPECT_EQ(ethernet("0800 " + ipv4("01", "0800")), "");  // ICMP
}

// A Segment Routing Header (RFC 8754) of one segment, then IPv4.
TEST(UnreadFrame, IsSegmentRouting) {
  EXPECT_EQ(ethernet("86dd 60000000 0050 2b 40 " + kIpv6Addresses +
                     "04 02 04 00 00 00 0000 fe800000000000000000000000000003 45"),
            "SRv6");
}

TEST(UnreadFrame, IsNamedByItsEthertype) {
  EXPECT_EQ(ethernet("8847 00001140"), "MPLS");
  EXPECT_EQ(ethernet("8864 11000001 0050 0021"), "PPPoE");
  EXPECT_EQ(ethernet("88e5 20000000"), "MACsec");
  EXPECT_EQ(ethernet("88e5 2c000000"), "encrypted MACsec");
  EXPECT_EQ(ethernet("8926 00000001 0800"), "VN-Tag");
  EXPECT_EQ(ethernet("8100 0001 8847 00001140"), "MPLS");  // after a VLAN tag
  EXPECT_EQ(ethernet("9998 0000"), "ethertype 0x9998");
  for (const char* ordinary : {"0806 0001", "88cc 0207", "8809 01", "0026 4242"}) {
    EXPECT_EQ(ethernet(ordinary), "") << ordinary;
  }
}

TEST(UnreadFrame, IsOfAnUnknownLinkType) {
  EXPECT_EQ(name(static_cast<LinkType>(105), "00000002 45"), "link type 105 (IEEE 802.11)");
  EXPECT_EQ(name(static_cast<LinkType>(150), "00"), "link type 150 (reserved for private use)");
  EXPECT_EQ(name(static_cast<LinkType>(9999), "00"), "link type 9999");
}

TEST(UnreadFrame, OtherLinksAreLookedIntoAlike) {
  EXPECT_EQ(name(LinkType::kRaw, ipv4("11", udp("12b5"))), "VXLAN");
  EXPECT_EQ(name(LinkType::kLinuxSll, "0000 0001 0006 020000000001 0000 8847 00001140"), "MPLS");
}

TEST(UnreadFrame, RecordsOfErfWithoutAPacketAreNone) {
  const auto erf = [](const std::string& type) {
    return name(LinkType::kErf, "0000000000000000 " + type + " 00 0020 0000 0000" +
                                    "00000000000000000000000000000000");
  };
  EXPECT_EQ(erf("1b"), "");  // provenance
  EXPECT_EQ(erf("30"), "");  // padding
  EXPECT_NE(erf("18"), "");  // raw link
}

TEST(UnreadFrame, RoceIsNone) {
  const Judged j = judge(LinkType::kEthernet,
                         kMacsHex +
                             "0800 45 02 0030 0000 4000 40 11 0000 0a000001 0a000002 "
                             "c001 12b7 001c 0000 04000000 00000011 00000001 01020304 aabbccdd");
  EXPECT_EQ(j.result, LinkResult::kRoce);
}

std::map<std::string, std::uint64_t> counted(const std::vector<std::string>& frames) {
  UnreadFrames all;
  for (const std::string& hex : frames) {
    all.note(judge(LinkType::kEthernet, kMacsHex + "0800 " + hex).unread);
  }
  return all.by_name();
}
using Counts = std::map<std::string, std::uint64_t>;

// The 20 bytes of a TCP header, from port 0xc001 to 20049 or back.
const std::string kToServer = "c001 4e51 00000001 00000000 5018 ffff 0000 0000 ";
const std::string kToClient = "4e51 c001 00000001 00000000 5018 ffff 0000 0000 ";
// "MPA ID Req Frame"
const std::string kRequest = "4d504120494420526571204672616d65";

TEST(UnreadFrames, OfATcpConnectionAreIwarpFromMpaOn) {
  const std::string back = "45 00 0064 0001 0000 40 06 0000 0a000002 0a000001 " + kToClient + "00";
  EXPECT_EQ(counted({ipv4("06", kToServer), ipv4("06", kToServer + kRequest), back,
                     ipv4("06", kToServer + "0044")}),
            (Counts{{"iWARP", 3}}));
  EXPECT_EQ(counted({ipv4("06", kToServer + "0044")}), Counts{});
}

TEST(UnreadFrames, MoreKindsThanAreKeptAreOne) {
  UnreadFrames all;
  for (std::uint32_t type = 0; type < 100; ++type) all.note({UnreadKind::kEtherType, type, 0});
  const Counts counts = all.by_name();
  EXPECT_EQ(counts.size(), 65U);
  EXPECT_EQ(counts.at("something else"), 36U);
}

TEST(UnreadText, NamesTheMostFirst) {
  EXPECT_EQ(unread_text({}), "");
  EXPECT_EQ(unread_text({{"VXLAN", 25}}), "25 frames in VXLAN");
  EXPECT_EQ(unread_text({{"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}, {"e", 5}}),
            "5 frames in e, 4 frames in d, 3 frames in c, 2 frames in b and 1 more");
}

}  // namespace
}  // namespace rpcrdma::capture
