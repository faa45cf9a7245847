// Tests of dissect_link(): each link layer with a valid packet, truncated at every byte, and
// with wrong lengths.
#include "capture_for_tests.h"

#include <gtest/gtest.h>

#include <rpcrdma/capture/link.h>

namespace rpcrdma::capture {
namespace {

using wire::IcrcKind;

// A BTH (SEND Only, QP 0x11, PSN 1), 4 bytes of payload, an ICRC: 20 bytes.
const ByteVector kTransport = from_hex("04000000 00000011 00000001 01020304 aabbccdd");
// UDP from 0xc001 to 4791, 28 bytes.
const ByteVector kUdp = from_hex("c001 12b7 001c 0000");
// IPv4, 48 bytes, TOS 2, 10.0.0.1 to 10.0.0.2.
const ByteVector kIpv4 = from_hex("45 02 0030 0000 4000 40 11 0000 0a000001 0a000002");
// IPv6, traffic class 0xb9, payload of 28 bytes, fe80::1 to fe80::2.
const ByteVector kIpv6 = from_hex(
    "6b900000 001c 11 40 fe800000000000000000000000000001 fe800000000000000000000000000002");
// GRH, traffic class 0x12, PayLen 20, next header 0x1b.
const ByteVector kGrh = from_hex(
    "61200000 0014 1b 40 fe800000000000000000000000000003 fe800000000000000000000000000004");
const ByteVector kMacs = from_hex("020000000002 020000000001");

struct Dissected {
  ByteVector data;  // the packet points into this
  LinkResult result = LinkResult::kUnknownLink;
  TransportPacket packet{};
};

Dissected dissect(LinkType link, ByteVector data, std::uint16_t port = 4791) {
  Dissected d{.data = std::move(data)};
  Frame frame;
  frame.link = link;
  frame.data = d.data;
  frame.original = static_cast<std::uint32_t>(d.data.size());
  d.result = dissect_link(frame, d.packet, {.roce_port = port, .vxlan_ports = {}});
  return d;
}

ByteVector bytes(std::span<const std::uint8_t> s) {
  return {s.begin(), s.end()};
}

void expect_ipv4(const Dissected& d) {
  ASSERT_EQ(d.result, LinkResult::kRoce);
  EXPECT_EQ(d.packet.src.to_string(), "10.0.0.1");
  EXPECT_EQ(d.packet.dst.to_string(), "10.0.0.2");
  EXPECT_EQ(d.packet.kind, IcrcKind::kRoceV2Ipv4);
  EXPECT_EQ(d.packet.udp_source_port, 0xc001);
  EXPECT_EQ(d.packet.dscp_ecn, 2);
  EXPECT_EQ(bytes(d.packet.transport()), kTransport);
  EXPECT_EQ(d.packet.wire_length, 20u);
  EXPECT_TRUE(d.packet.complete());
}

ByteVector ethernet(const std::string& types, const ByteVector& payload) {
  return kMacs + from_hex(types) + payload;
}

TEST(Link, EthernetIpv4) {
  const ByteVector frame = ethernet("0800", kIpv4 + kUdp + kTransport);
  const Dissected d = dissect(LinkType::kEthernet, frame);
  expect_ipv4(d);
  EXPECT_EQ(bytes(d.packet.data), kIpv4 + kUdp + kTransport);
  EXPECT_EQ(d.packet.bth, 28u);
}

TEST(Link, PaddingAndFcsAreCutOff) {
  expect_ipv4(dissect(LinkType::kEthernet,
                      ethernet("0800", kIpv4 + kUdp + kTransport + ByteVector(10, 0))));
}

TEST(Link, VlanTags) {
  expect_ipv4(dissect(LinkType::kEthernet,
                      ethernet("88a8 0001 9100 0002 8100 0003 0800", kIpv4 + kUdp + kTransport)));
}

TEST(Link, EightTagsAreTheMost) {
  std::string tags;
  for (int i = 0; i < 8; ++i) tags += "81000001";
  const ByteVector ip = kIpv4 + kUdp + kTransport;
  EXPECT_EQ(dissect(LinkType::kEthernet, ethernet(tags + "0800", ip)).result, LinkResult::kRoce);
  EXPECT_EQ(dissect(LinkType::kEthernet, ethernet(tags + "81000001" + "0800", ip)).result,
            LinkResult::kNotRoce);
}

TEST(Link, LinuxCooked) {
  const ByteVector ip = kIpv4 + kUdp + kTransport;
  expect_ipv4(dissect(LinkType::kLinuxSll, from_hex("0000 0001 0006 0200000000010000 0800") + ip));
  expect_ipv4(dissect(LinkType::kLinuxSll2,
                      from_hex("0800 0000 00000002 0001 00 06 0200000000010000") + ip));
}

TEST(Link, RawIp) {
  const ByteVector v4 = kIpv4 + kUdp + kTransport;
  const ByteVector v6 = kIpv6 + kUdp + kTransport;
  for (const LinkType link : {LinkType::kRaw, LinkType::kRawDlt12, LinkType::kRawDlt14}) {
    expect_ipv4(dissect(link, v4));
    EXPECT_EQ(dissect(link, v6).result, LinkResult::kRoce);
  }
  expect_ipv4(dissect(LinkType::kIpv4, v4));
  EXPECT_EQ(dissect(LinkType::kIpv4, v6).result, LinkResult::kNotRoce);
  EXPECT_EQ(dissect(LinkType::kIpv6, v6).result, LinkResult::kRoce);
  EXPECT_EQ(dissect(LinkType::kIpv6, v4).result, LinkResult::kNotRoce);
}

TEST(Link, ErfEthernet) {
  const ByteVector frame = from_hex("0000") + ethernet("0800", kIpv4 + kUdp + kTransport);
  const ByteVector time(8, 0);
  for (const char* type : {"02", "0b", "10", "14"}) {
    expect_ipv4(dissect(LinkType::kErf, time + from_hex(type) + ByteVector(7, 0) + frame));
  }
  // The upper bit of the type announces extension headers; each says whether another follows.
  const ByteVector extensions = from_hex("8500000000000000 0500000000000000");
  expect_ipv4(
      dissect(LinkType::kErf, time + from_hex("82") + ByteVector(7, 0) + extensions + frame));
  EXPECT_EQ(
      dissect(LinkType::kErf, time + from_hex("82") + ByteVector(7, 0) + from_hex("85")).result,
      LinkResult::kNotRoce);
}

TEST(Link, ErfIp) {
  const ByteVector head = ByteVector(8, 0) + from_hex("16") + ByteVector(7, 0);
  expect_ipv4(dissect(LinkType::kErf, head + kIpv4 + kUdp + kTransport));
}

TEST(Link, Ipv6) {
  const ByteVector ip = kIpv6 + kUdp + kTransport;
  const Dissected d = dissect(LinkType::kEthernet, ethernet("86dd", ip));
  ASSERT_EQ(d.result, LinkResult::kRoce);
  EXPECT_EQ(d.packet.src.to_string(), "fe80::1");
  EXPECT_EQ(d.packet.dst.to_string(), "fe80::2");
  EXPECT_EQ(d.packet.src.kind, AddressKind::kIpv6);
  EXPECT_EQ(d.packet.kind, IcrcKind::kRoceV2Ipv6);
  EXPECT_EQ(d.packet.dscp_ecn, 0xb9);
  EXPECT_EQ(bytes(d.packet.data), ip);
  EXPECT_EQ(d.packet.bth, 48u);
}

// Inserts extension headers between IPv6 and UDP; `first` is the type of the first one.
ByteVector with_extensions(std::uint8_t first, const ByteVector& extensions) {
  ByteVector ip = kIpv6;
  ip[5] = static_cast<std::uint8_t>(ip[5] + extensions.size());
  ip[6] = first;
  return ip + extensions + kUdp + kTransport;
}

TEST(Link, Ipv6ExtensionHeadersAreWalked) {
  // Hop-by-hop of 8 bytes, routing of 16, destination options of 8, then UDP.
  const ByteVector ip = with_extensions(
      0, from_hex("2b00000000000000 3c01000000000000 0000000000000000 1100000000000000"));
  const Dissected d = dissect(LinkType::kIpv6, ip);
  ASSERT_EQ(d.result, LinkResult::kRoce);
  EXPECT_EQ(d.packet.bth, 80u);
  EXPECT_EQ(bytes(d.packet.data), ip);
  EXPECT_EQ(bytes(d.packet.transport()), kTransport);
}

TEST(Link, Ipv6ExtensionHeadersAreBounded) {
  ByteVector eight;
  for (int i = 0; i < 7; ++i) eight = eight + from_hex("3c00000000000000");
  const ByteVector last = from_hex("1100000000000000");
  EXPECT_EQ(dissect(LinkType::kIpv6, with_extensions(60, eight + last)).result, LinkResult::kRoce);
  EXPECT_EQ(
      dissect(LinkType::kIpv6, with_extensions(60, eight + from_hex("3c00000000000000") + last))
          .result,
      LinkResult::kNotRoce);
}

TEST(Link, Ipv6ExtensionBeyondThePacket) {
  EXPECT_EQ(dissect(LinkType::kIpv6, with_extensions(60, from_hex("11ff000000000000"))).result,
            LinkResult::kNotRoce);
}

TEST(Link, Ipv6Fragments) {
  EXPECT_EQ(dissect(LinkType::kIpv6, with_extensions(44, from_hex("1100000100000000"))).result,
            LinkResult::kFragment);
  EXPECT_EQ(dissect(LinkType::kIpv6, with_extensions(44, from_hex("1100000900000000"))).result,
            LinkResult::kFragment);
  // ICMPv6 carries no RDMA.
  EXPECT_EQ(dissect(LinkType::kIpv6, with_extensions(44, from_hex("3a00000900000000"))).result,
            LinkResult::kNotRoce);
}

TEST(Link, Ipv6AtomicFragmentIsAWholeDatagram) {
  const Dissected d = dissect(LinkType::kIpv6, with_extensions(44, from_hex("1100000000000007")));
  EXPECT_EQ(d.result, LinkResult::kRoce);
  EXPECT_EQ(d.packet.bth, 56U);
}

TEST(Link, Ipv4Fragments) {
  ByteVector ip = kIpv4 + kUdp + kTransport;
  ip[6] = 0x20;
  EXPECT_EQ(dissect(LinkType::kIpv4, ip).result, LinkResult::kFragment);
  EXPECT_EQ(dissect(LinkType::kIpv4, ip, 4792).result, LinkResult::kNotRoce);
  // Later fragments have no port: they may belong to any datagram of UDP.
  ip[7] = 0x01;
  EXPECT_EQ(dissect(LinkType::kIpv4, ip, 4792).result, LinkResult::kFragment);
  ip[9] = 1;  // ICMP
  EXPECT_EQ(dissect(LinkType::kIpv4, ip).result, LinkResult::kNotRoce);
}

TEST(Link, Ipv4OptionsBelongToTheIcrc) {
  ByteVector ip = kIpv4;
  ip[0] = 0x46;
  ip[3] = 0x34;
  const ByteVector whole = ip + from_hex("01010100") + kUdp + kTransport;
  const Dissected d = dissect(LinkType::kIpv4, whole);
  expect_ipv4(d);
  EXPECT_EQ(d.packet.bth, 32u);
  EXPECT_EQ(bytes(d.packet.data), whole);
}

TEST(Link, OnlyTheDestinationPortCounts) {
  ByteVector answer = kIpv4 + from_hex("12b7 c001 001c 0000") + kTransport;
  EXPECT_EQ(dissect(LinkType::kIpv4, answer).result, LinkResult::kNotRoce);
}

TEST(Link, AnotherPortOnRequest) {
  const ByteVector ip = kIpv4 + from_hex("c001 12b8 001c 0000") + kTransport;
  EXPECT_EQ(dissect(LinkType::kIpv4, ip).result, LinkResult::kNotRoce);
  expect_ipv4(dissect(LinkType::kIpv4, ip, 4792));
}

TEST(Link, UdpLengthIsHeldWithinTheDatagram) {
  ByteVector ip = kIpv4 + kUdp + kTransport + ByteVector(8, 0);
  ip[20 + 5] = 0xff;  // 255 bytes of UDP in 28 of IP payload
  expect_ipv4(dissect(LinkType::kIpv4, ip));
}

TEST(Link, ImpossibleLengths) {
  const ByteVector good = kIpv4 + kUdp + kTransport;
  ByteVector ip = good;
  ip[3] = 27;  // no room for UDP
  EXPECT_EQ(dissect(LinkType::kIpv4, ip).result, LinkResult::kNotRoce);
  ip = good;
  ip[0] = 0x44;  // a header of 16 bytes
  EXPECT_EQ(dissect(LinkType::kIpv4, ip).result, LinkResult::kNotRoce);
  ip = good;
  ip[25] = 7;  // UDP shorter than its header
  EXPECT_EQ(dissect(LinkType::kIpv4, ip).result, LinkResult::kNotRoce);
  ip = good;
  ip[25] = 23;  // one byte less than BTH and ICRC need
  EXPECT_EQ(dissect(LinkType::kIpv4, ip).result, LinkResult::kNotRoce);
}

TEST(Link, CapturesCutShort) {
  const ByteVector whole = kIpv4 + kUdp + kTransport;
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    const Dissected d = dissect(LinkType::kIpv4,
                                {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    const LinkResult expected = size < 24   ? LinkResult::kNotRoce   // no ports
                                : size < 40 ? LinkResult::kCutShort  // no whole BTH
                                            : LinkResult::kRoce;
    EXPECT_EQ(d.result, expected) << size;
    if (expected != LinkResult::kRoce) continue;
    EXPECT_EQ(d.packet.wire_length, 20u);
    EXPECT_EQ(d.packet.transport().size(), size - 28);
    EXPECT_EQ(d.packet.complete(), size == whole.size());
  }
}

TEST(Link, RoceV1) {
  const ByteVector packet = kGrh + kTransport;
  const Dissected d = dissect(LinkType::kEthernet, ethernet("8915", packet + ByteVector(6, 0)));
  ASSERT_EQ(d.result, LinkResult::kRoce);
  EXPECT_EQ(d.packet.kind, IcrcKind::kRoceV1);
  EXPECT_EQ(d.packet.src.kind, AddressKind::kGid);
  EXPECT_EQ(d.packet.src.to_string(), "fe80::3");
  EXPECT_EQ(d.packet.dst.to_string(), "fe80::4");
  EXPECT_EQ(d.packet.dscp_ecn, 0x12);
  EXPECT_EQ(d.packet.udp_source_port, 0);
  EXPECT_EQ(bytes(d.packet.data), packet);
  EXPECT_EQ(bytes(d.packet.transport()), kTransport);
  EXPECT_TRUE(d.packet.complete());
}

TEST(Link, GrhThatLeadsElsewhere) {
  ByteVector grh = kGrh;
  grh[6] = 0x3b;
  EXPECT_EQ(dissect(LinkType::kEthernet, ethernet("8915", grh + kTransport)).result,
            LinkResult::kNotRoce);
}

// LRH: LNH 2, DLID 4, 7 words (28 bytes) up to the VCRC, SLID 261.
const ByteVector kLrh = from_hex("00 02 0004 0007 0105");

TEST(Link, NativeInfiniband) {
  const ByteVector packet = kLrh + kTransport;
  const Dissected d = dissect(LinkType::kInfiniband, packet + from_hex("eeee"));
  ASSERT_EQ(d.result, LinkResult::kRoce);
  EXPECT_EQ(d.packet.kind, IcrcKind::kNative);
  EXPECT_EQ(d.packet.src.to_string(), "lid 261");
  EXPECT_EQ(d.packet.dst.to_string(), "lid 4");
  EXPECT_EQ(bytes(d.packet.data), packet);
  EXPECT_EQ(bytes(d.packet.transport()), kTransport);
  EXPECT_TRUE(d.packet.complete());
}

TEST(Link, NativeInfinibandWithGrh) {
  const ByteVector lrh = from_hex("00 03 0004 0011 0105");  // 17 words
  const ByteVector packet = lrh + kGrh + kTransport;
  const Dissected d = dissect(LinkType::kInfiniband, packet + from_hex("eeee"));
  ASSERT_EQ(d.result, LinkResult::kRoce);
  EXPECT_EQ(d.packet.kind, IcrcKind::kNativeGrh);
  EXPECT_EQ(d.packet.src.to_string(), "fe80::3");
  EXPECT_EQ(bytes(d.packet.data), packet);
  EXPECT_EQ(d.packet.bth, 48u);
}

TEST(Link, NativeInfinibandInErf) {
  const ByteVector head = ByteVector(8, 0) + from_hex("15") + ByteVector(7, 0);
  EXPECT_EQ(dissect(LinkType::kErf, head + kLrh + kTransport).result, LinkResult::kRoce);
}

TEST(Link, InfinibandThatIsNoTransport) {
  ByteVector lrh = kLrh;
  lrh[1] = 0;  // raw
  EXPECT_EQ(dissect(LinkType::kInfiniband, lrh + kTransport).result, LinkResult::kNotRoce);
  lrh = kLrh;
  lrh[5] = 1;  // shorter than the LRH
  EXPECT_EQ(dissect(LinkType::kInfiniband, lrh + kTransport).result, LinkResult::kNotRoce);
}

TEST(Link, OtherTraffic) {
  EXPECT_EQ(dissect(LinkType::kEthernet, ethernet("0806", ByteVector(28, 0))).result,
            LinkResult::kNotRoce);
  ByteVector tcp = kIpv4 + kUdp + kTransport;
  tcp[9] = 6;
  EXPECT_EQ(dissect(LinkType::kIpv4, tcp).result, LinkResult::kTcp);
}

TEST(Link, UnknownLinkTypes) {
  const ByteVector ip = kIpv4 + kUdp + kTransport;
  EXPECT_EQ(dissect(LinkType::kUpperPdu, ip).result, LinkResult::kUpperPdu);
  EXPECT_EQ(dissect(static_cast<LinkType>(9999), ip).result, LinkResult::kUnknownLink);
}

TEST(Link, EveryCutOfEveryKindIsSafe) {
  const std::vector<std::pair<LinkType, ByteVector>> frames = {
      {LinkType::kEthernet, ethernet("8100 0001 0800", kIpv4 + kUdp + kTransport)},
      {LinkType::kEthernet, ethernet("8915", kGrh + kTransport)},
      {LinkType::kLinuxSll, from_hex("0000 0001 0006 0200000000010000 86dd") + kIpv6 + kUdp},
      {LinkType::kLinuxSll2,
       from_hex("0800 0000 00000002 0001 00 06 0200000000010000") + kIpv4 + kUdp + kTransport},
      {LinkType::kIpv6, with_extensions(0, from_hex("2b00000000000000 1100000000000000"))},
      {LinkType::kErf, ByteVector(8, 0) + from_hex("95") + ByteVector(15, 0) + kLrh + kTransport},
      {LinkType::kInfiniband, from_hex("00 03 0004 0011 0105") + kGrh + kTransport},
  };
  for (const auto& [link, whole] : frames) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      // A separate allocation, so that a sanitizer detects an overread.
      const ByteVector cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      const Dissected d = dissect(link, cut);
      EXPECT_FALSE(d.result == LinkResult::kRoce && d.packet.complete());
    }
  }
}

}  // namespace
}  // namespace rpcrdma::capture
