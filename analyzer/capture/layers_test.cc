// Each encapsulation and link type around a RoCE packet: decoded as the bare packet is, truncated
// at every byte, nested in each other.
#include "support/encapsulate.h"

#include <gtest/gtest.h>

#include <rpcrdma/capture/ip_packet.h>
#include <rpcrdma/capture/link.h>
#include <rpcrdma/capture/unread.h>

namespace rpcrdma::capture {
namespace {

using encapsulate::Encapsulation;
using encapsulate::hex;
using encapsulate::Inner;
using FrameBytes = encapsulate::Bytes;

const FrameBytes kBthAndIcrc = hex("04000000 00000011 00000001 01020304 aabbccdd");
const FrameBytes kRoce = encapsulate::operator+(hex("c001 12b7 001c 0000"), kBthAndIcrc);

FrameBytes add(FrameBytes a, const FrameBytes& b) {
  return encapsulate::operator+(std::move(a), b);
}

// The address of the inner frames begins with 2, 4 and 0: a pseudowire without control word must
// not take it for an IP packet or a control word.
Inner inner_v4(const char* mac = "520000000002") {
  return {add(hex(std::string(mac) + " 520000000001 0800 45 02 0030 0000 4000 40 11 0000 0a000001 "
                                     "0a000002"),
              kRoce)};
}
Inner inner_v6() {
  return {add(hex("520000000002 520000000001 86dd 6b900000 001c 11 40 "
                  "fe800000000000000000000000000001 fe800000000000000000000000000002"),
              kRoce)};
}

struct Result {
  FrameBytes data;  // the packet points into it
  LinkResult result = LinkResult::kUnknownLink;
  TransportPacket packet{};
  Unread unread{};
};

// `missing`: bytes at its end that were not captured.
Result read(std::uint32_t link, FrameBytes whole, std::size_t missing = 0) {
  Result r;
  Frame frame;
  frame.link = static_cast<LinkType>(link);
  frame.original = static_cast<std::uint32_t>(whole.size());
  // A separate allocation, so that a sanitizer detects an overread.
  r.data = FrameBytes(whole.begin(), whole.end() - static_cast<std::ptrdiff_t>(missing));
  frame.data = r.data;
  r.result = dissect_link(frame, r.packet);
  r.unread = unread_of(frame, r.result);
  IpPacket ip;
  (void)find_ip(frame, ip);
  return r;
}

std::string types(const Tunnels& t) {
  std::string text;
  for (std::size_t i = 0; i < t.count; ++i) {
    if (i != 0) text += ',';
    text += tunnel_name(t.kind[i]);
  }
  return text;
}

FrameBytes transport_of(const Result& r) {
  const auto t = r.packet.transport();
  return {t.begin(), t.end()};
}

std::vector<Encapsulation> everything() {
  std::vector<Encapsulation> all = encapsulate::tunnels();
  all.insert(all.end(), encapsulate::links().begin(), encapsulate::links().end());
  return all;
}

TEST(Layers, LeadToTheInnerPacket) {
  for (const Encapsulation& e : everything()) {
    SCOPED_TRACE(e.name);
    const Result v4 = read(e.link, e.wrap(inner_v4()));
    ASSERT_EQ(v4.result, LinkResult::kRoce);
    EXPECT_EQ(v4.packet.src.to_string(), "10.0.0.1");
    EXPECT_EQ(v4.packet.dst.to_string(), "10.0.0.2");
    EXPECT_EQ(v4.packet.udp_source_port, 0xc001);
    EXPECT_EQ(v4.packet.ttl, 64);
    EXPECT_EQ(transport_of(v4), kBthAndIcrc);
    EXPECT_TRUE(v4.packet.complete());
    EXPECT_EQ(types(v4.packet.tunnels), e.types);
    const Result v6 = read(e.link, e.wrap(inner_v6()));
    ASSERT_EQ(v6.result, LinkResult::kRoce);
    EXPECT_EQ(v6.packet.src.to_string(), "fe80::1");
    EXPECT_EQ(v6.packet.kind, wire::IcrcKind::kRoceV2Ipv6);
    EXPECT_EQ(transport_of(v6), kBthAndIcrc);
  }
}

TEST(Layers, EveryCutIsSafe) {
  for (const Encapsulation& e : everything()) {
    SCOPED_TRACE(e.name);
    const FrameBytes whole = e.wrap(inner_v4());
    for (std::size_t missing = 1; missing <= whole.size(); ++missing) {
      const Result r = read(e.link, whole, missing);
      if (r.result == LinkResult::kRoce) {
        EXPECT_EQ(r.packet.wire_length, kBthAndIcrc.size());
        const FrameBytes got = transport_of(r);
        EXPECT_TRUE(std::equal(got.begin(), got.end(), kBthAndIcrc.begin()));
      } else if (r.result == LinkResult::kNotRoce && r.unread.kind == UnreadKind::kTunnel) {
        EXPECT_NE(r.unread.detail & kTruncatedTunnel, 0U);
      }
    }
  }
}

// Bytes that lie: each byte of the headers takes the values that lengths and flags mind most.
TEST(Layers, EveryByteMayLie) {
  for (const Encapsulation& e : everything()) {
    const FrameBytes whole = e.wrap(inner_v4());
    for (std::size_t at = 0; at + kBthAndIcrc.size() < whole.size(); ++at) {
      for (const std::uint8_t value : hex("00 01 3f 7f 80 ff")) {
        FrameBytes lying = whole;
        lying[at] = value;
        const Result r = read(e.link, std::move(lying));
        if (r.result != LinkResult::kRoce) continue;
        EXPECT_LE(r.packet.data.data() + r.packet.data.size(), r.data.data() + r.data.size());
        EXPECT_GE(r.packet.data.data(), r.data.data());
      }
    }
  }
}

TEST(Layers, NestInEachOther) {
  for (const Encapsulation& outer : everything()) {
    for (const Encapsulation& inner : encapsulate::tunnels()) {
      if (inner.types.empty()) continue;
      SCOPED_TRACE(outer.name + " around " + inner.name);
      // Only what a frame is wrapped in as a whole can hold another frame.
      const FrameBytes frame = inner.wrap(inner_v4());
      if (frame[12] != 0x08 || frame[13] != 0x00) continue;
      const Result r = read(outer.link, outer.wrap({frame}));
      ASSERT_EQ(r.result, LinkResult::kRoce);
      EXPECT_EQ(types(r.packet.tunnels),
                outer.types + (outer.types.empty() ? "" : ",") + inner.types);
      EXPECT_EQ(transport_of(r), kBthAndIcrc);
    }
  }
}

const Encapsulation& named(const char* name) {
  const auto& all = encapsulate::tunnels();
  return *std::find_if(all.begin(), all.end(),
                       [&](const Encapsulation& e) { return e.name == name; });
}

TEST(Layers, NestToABound) {
  const Encapsulation& vxlan = named("vxlan");
  Inner frame = inner_v4();
  for (std::size_t i = 0; i < Tunnels::kMost; ++i) frame = {vxlan.wrap(frame)};
  const Result deepest = read(1, frame.frame);
  EXPECT_EQ(deepest.result, LinkResult::kRoce);
  EXPECT_EQ(deepest.packet.tunnels.count, Tunnels::kMost);
  const Result deeper = read(1, vxlan.wrap(frame));
  EXPECT_EQ(deeper.result, LinkResult::kNotRoce);
  EXPECT_EQ(unread_name(deeper.unread.kind, deeper.unread.detail), "too many nested tunnels");
}

TEST(Layers, LinkTypesThatNameEachOtherEnd) {
  FrameBytes frame;
  for (int i = 0; i < 1000; ++i) frame = add(frame, hex("0000 0800 c0000000"));
  const Result r = read(192, frame);
  EXPECT_EQ(r.result, LinkResult::kNotRoce);
  EXPECT_EQ(r.unread.kind, UnreadKind::kTooDeep);
}

TEST(Layers, KeysAndOuterAddresses) {
  const Tunnels vxlan = read(1, named("vxlan").wrap(inner_v4())).packet.tunnels;
  EXPECT_TRUE(vxlan.has_key(0));
  EXPECT_EQ(vxlan.key[0], 72U);
  EXPECT_EQ(vxlan.src.to_string(), "192.0.2.1");
  EXPECT_EQ(vxlan.dst.to_string(), "192.0.2.2");
  EXPECT_EQ(vxlan.erspan_session, Tunnels::kNoSession);
  const Tunnels erspan = read(1, named("erspan 2").wrap(inner_v4())).packet.tunnels;
  EXPECT_EQ(erspan.erspan_session, 100);
  EXPECT_FALSE(erspan.has_key(0));
  EXPECT_EQ(read(1, named("erspan 3").wrap(inner_v4())).packet.tunnels.erspan_session, 100);
  const struct {
    const char* name;
    std::uint32_t key;
  } keys[] = {{"geneve", 72},
              {"gre with checksum, key and sequence", 7},
              {"gre in udp", 7},
              {"mpls", 16},
              {"mpls, three labels, entropy", 32},
              {"pppoe", 1},
              {"gtp-u", 72},
              {"cisco metadata", 72},
              {"pbb", 72},
              {"nsh with ethernet", 72},
              {"lisp", 72}};
  for (const auto& k : keys) {
    const Tunnels t = read(1, named(k.name).wrap(inner_v4())).packet.tunnels;
    EXPECT_TRUE(t.has_key(0)) << k.name;
    EXPECT_EQ(t.key[0], k.key) << k.name;
  }
  // Ethernet around MPLS: there is no outer IP packet.
  EXPECT_EQ(read(1, named("mpls").wrap(inner_v4())).packet.tunnels.src.kind, AddressKind::kNone);
  const Tunnels srv6 = read(1, named("srv6 with ip").wrap(inner_v4())).packet.tunnels;
  EXPECT_EQ(srv6.src.to_string(), "2001:db8::1");
}

// The first nibble behind the labels is no proof: a destination address may begin with any.
TEST(Layers, PseudowiresOfAnyAddress) {
  for (const char* mac : {"020000000002", "0c42a1000002", "1c34da000002", "40a6b7000002",
                          "44a842000002", "6805ca000002", "f4521400000a"}) {
    for (const char* name : {"pseudowire", "pseudowire with control word"}) {
      SCOPED_TRACE(std::string(name) + " to " + mac);
      const Result r = read(1, named(name).wrap(inner_v4(mac)));
      ASSERT_EQ(r.result, LinkResult::kRoce);
      EXPECT_EQ(types(r.packet.tunnels), "MPLS,pseudowire");
    }
  }
}

// A frame of less than 48 bytes has its length in the tag; it is padded before the check value.
TEST(Layers, MacsecOfAShortFrame) {
  const Inner f = inner_v4();
  FrameBytes frame = encapsulate::ethernet("88e5", hex("0032 00000001"));
  frame = add(add(frame, f.type()), f.ip());
  frame = add(frame, FrameBytes(30, 0x11));
  const Result r = read(1, frame);
  ASSERT_EQ(r.result, LinkResult::kRoce);
  EXPECT_TRUE(r.packet.complete());
}

TEST(Layers, VxlanOnAnotherPort) {
  const FrameBytes frame =
      encapsulate::in_udp(4800, add(hex("0800000000004800"), inner_v4().frame));
  EXPECT_EQ(read(1, frame).result, LinkResult::kNotRoce);
  Frame f;
  f.data = frame;
  f.original = static_cast<std::uint32_t>(frame.size());
  TransportPacket packet;
  LinkOptions options;
  options.vxlan_ports[0] = 4800;
  EXPECT_EQ(dissect_link(f, packet, options), LinkResult::kRoce);
  EXPECT_EQ(types(packet.tunnels), "VXLAN");
}

// A mirror may truncate: the outer packet ends before the inner one does.
TEST(Layers, MirroredFramesMayBeTruncated) {
  Inner f = inner_v4();
  f.frame.resize(f.frame.size() - 6);
  const Result r = read(1, named("erspan 2").wrap(f));
  ASSERT_EQ(r.result, LinkResult::kRoce);
  EXPECT_FALSE(r.packet.complete());
  EXPECT_EQ(r.packet.wire_length, kBthAndIcrc.size());
}

TEST(Layers, WhatTunnelsCarryWithoutRdmaIsNotUnread) {
  Inner arp = inner_v4();
  arp.frame[12] = 0x08, arp.frame[13] = 0x06;
  const Result r = read(1, named("vxlan").wrap(arp));
  EXPECT_EQ(r.result, LinkResult::kNotRoce);
  EXPECT_EQ(r.unread.kind, UnreadKind::kNothing);
}

TEST(Layers, WhatIsEncryptedIsNamed) {
  const auto name = [](FrameBytes frame) {
    const Result r = read(1, std::move(frame));
    return unread_name(r.unread.kind, r.unread.detail);
  };
  using encapsulate::ethernet;
  using encapsulate::in_udp;
  using encapsulate::ipv4;
  const FrameBytes some(40, 0x77);
  EXPECT_EQ(name(ethernet("88e5", add(hex("0c00 00000001"), some))), "encrypted MACsec");
  EXPECT_EQ(name(ethernet("0800", ipv4(50, some))), "IPsec");
  EXPECT_EQ(name(ethernet("0800", ipv4(115, some))), "L2TP");
  EXPECT_EQ(name(in_udp(51820, some)), "WireGuard");
  EXPECT_EQ(name(in_udp(1701, some)), "L2TP");
  EXPECT_EQ(name(in_udp(4755, some)), "DTLS");
  EXPECT_EQ(name(in_udp(37008, add(hex("01000012 01"), some))), "TZSP");  // IEEE 802.11
  EXPECT_EQ(name(ethernet("8864", add(hex("1100 0001 002a 00fd"), some))),
            "compressed or encrypted PPP");
  // Inside a tunnel too.
  EXPECT_EQ(name(named("vxlan").wrap({ethernet("0800", ipv4(50, some))})), "IPsec");
}

TEST(Layers, FragmentsOfTheOuterDatagramComeFirst) {
  FrameBytes frame = named("vxlan").wrap(inner_v4());
  frame[20] = 0x20;  // more fragments
  const Result r = read(1, frame);
  EXPECT_EQ(r.result, LinkResult::kFragment);
  Frame f;
  f.data = frame;
  f.original = static_cast<std::uint32_t>(frame.size());
  IpPacket ip;
  ASSERT_TRUE(find_ip(f, ip));
  EXPECT_TRUE(ip.fragment());
  EXPECT_EQ(ip.src.to_string(), "192.0.2.1");
  EXPECT_EQ(ip.tunnels.count, 0);
}

TEST(Layers, FragmentsInsideATunnelKeepIt) {
  Inner f = inner_v4();
  f.frame[20] = 0x20;
  const FrameBytes frame = named("erspan 2").wrap(f);
  EXPECT_EQ(read(1, frame).result, LinkResult::kFragment);
  Frame outer;
  outer.data = frame;
  outer.original = static_cast<std::uint32_t>(frame.size());
  IpPacket ip;
  ASSERT_TRUE(find_ip(outer, ip));
  EXPECT_EQ(ip.src.to_string(), "10.0.0.1");
  EXPECT_EQ(types(ip.tunnels), "ERSPAN II");
  EXPECT_EQ(ip.tunnels.erspan_session, 100);
  // The whole datagram, as a reassembly hands it back.
  TransportPacket packet;
  EXPECT_EQ(dissect_datagram(inner_v4().ip(), ip.tunnels, packet), LinkResult::kRoce);
  EXPECT_EQ(packet.tunnels, ip.tunnels);
  const FrameBytes vxlan = named("vxlan").wrap(inner_v4());
  const Inner datagram{vxlan};
  EXPECT_EQ(dissect_datagram(datagram.ip(), ip.tunnels, packet), LinkResult::kRoce);
  EXPECT_EQ(types(packet.tunnels), "ERSPAN II,VXLAN");
}

}  // namespace
}  // namespace rpcrdma::capture
