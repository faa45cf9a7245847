// Wraps frames as mirror ports, overlay networks and capture drivers do: one function for each
// encapsulation and link type that capture::dissect_link() reads. The formats are written down here
// a second time, from their specifications, independently of the reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace rpcrdma::encapsulate {

using Bytes = std::vector<std::uint8_t>;

inline Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

inline Bytes hex(std::string_view text) {
  Bytes bytes;
  int high = -1;
  for (const char c : text) {
    if (c == ' ') continue;
    const int digit = c <= '9' ? c - '0' : c - 'a' + 10;
    if (high < 0) {
      high = digit;
    } else {
      bytes.push_back(static_cast<std::uint8_t>(high << 4 | digit));
      high = -1;
    }
  }
  return bytes;
}

inline Bytes u16(std::size_t v) {
  return {static_cast<std::uint8_t>(v >> 8), static_cast<std::uint8_t>(v)};
}
inline Bytes le16(std::size_t v) {
  return {static_cast<std::uint8_t>(v), static_cast<std::uint8_t>(v >> 8)};
}

// An Ethernet frame without VLAN tags, and the IP packet in it.
struct Inner {
  Bytes frame;
  [[nodiscard]] Bytes ip() const { return {frame.begin() + 14, frame.end()}; }
  [[nodiscard]] Bytes type() const { return {frame.begin() + 12, frame.begin() + 14}; }
  [[nodiscard]] bool v6() const { return type() == hex("86dd"); }
};

inline Bytes ethernet(std::string_view type, const Bytes& payload) {
  return hex("020000000002 020000000001") + hex(type) + payload;
}
// 192.0.2.1 to 192.0.2.2.
inline Bytes ipv4(std::uint8_t protocol, const Bytes& payload) {
  return hex("4500") + u16(20 + payload.size()) + hex("0001 4000 40") + Bytes{protocol} +
         hex("0000 c0000201 c0000202") + payload;
}
// 2001:db8::1 to 2001:db8::2.
inline Bytes ipv6(std::uint8_t next, const Bytes& payload) {
  return hex("60000000") + u16(payload.size()) + Bytes{next, 64} +
         hex("20010db8000000000000000000000001 20010db8000000000000000000000002") + payload;
}
inline Bytes udp(std::uint16_t port, const Bytes& payload) {
  return hex("c350") + u16(port) + u16(8 + payload.size()) + hex("0000") + payload;
}
inline Bytes in_udp(std::uint16_t port, const Bytes& payload) {
  return ethernet("0800", ipv4(17, udp(port, payload)));
}
inline Bytes in_gre(std::string_view header, const Bytes& payload) {
  return ethernet("0800", ipv4(47, hex(header) + payload));
}
// A Segment Routing Header with as many segments.
inline Bytes segment_routing(std::uint8_t next, std::uint8_t segments, const Bytes& payload) {
  Bytes header{next, static_cast<std::uint8_t>(segments * 2), 4, 0,
               static_cast<std::uint8_t>(segments - 1)};
  header = header + hex("000000");
  for (std::uint8_t i = 0; i < segments; ++i) {
    header = header + hex("20010db8000000000000000000000009");
  }
  return ethernet("86dd", ipv6(43, header + payload));
}
inline std::uint8_t ip_protocol(const Inner& f) {
  return f.v6() ? 41 : 4;
}
inline Bytes ppp(const Inner& f) {
  return hex(f.v6() ? "0057" : "0021") + f.ip();
}

struct Encapsulation {
  std::string name;
  std::uint32_t link = 1;
  // The types of its tunnels around an IPv4 packet, as reports name them, joined by commas.
  std::string types;
  std::function<Bytes(const Inner&)> wrap;
};

inline const std::vector<Encapsulation>& tunnels() {
  constexpr std::uint32_t kEthernet = 1;
  static const Bytes icv(16, 0x11);
  static const std::vector<Encapsulation> all = {
      {"vxlan", kEthernet, "VXLAN",
       [](const Inner& f) { return in_udp(4789, hex("0800000000004800") + f.frame); }},
      {"vxlan of Linux's first port", kEthernet, "VXLAN",
       [](const Inner& f) { return in_udp(8472, hex("0800000000004800") + f.frame); }},
      {"vxlan over ip6", kEthernet, "VXLAN",
       [](const Inner& f) {
         return ethernet("86dd", ipv6(17, udp(4789, hex("0800000000004800") + f.frame)));
       }},
      {"vxlan, outer and inner vlan", kEthernet, "VXLAN",
       [](const Inner& f) {
         Bytes tagged = f.frame;
         const Bytes tag = hex("8100 0007");
         tagged.insert(tagged.begin() + 12, tag.begin(), tag.end());
         return ethernet("8100",
                         hex("0064 0800") + ipv4(17, udp(4789, hex("0800000000004800") + tagged)));
       }},
      {"vxlan-gpe with ip", kEthernet, "VXLAN-GPE",
       [](const Inner& f) {
         return in_udp(4790, hex("0c0000") + Bytes{f.v6() ? std::uint8_t{2} : std::uint8_t{1}} +
                                 hex("00004800") + f.ip());
       }},
      {"vxlan-gpe with ethernet", kEthernet, "VXLAN-GPE",
       [](const Inner& f) { return in_udp(4790, hex("0c000003 00004800") + f.frame); }},
      {"geneve", kEthernet, "GENEVE",
       [](const Inner& f) { return in_udp(6081, hex("00006558 00004800") + f.frame); }},
      {"geneve with options", kEthernet, "GENEVE",
       [](const Inner& f) {
         return in_udp(6081, hex("03406558 00004800 0102800200000000 11223344") + f.frame);
       }},
      {"geneve with ip", kEthernet, "GENEVE",
       [](const Inner& f) {
         return in_udp(6081, hex("0000") + f.type() + hex("00004800") + f.ip());
       }},
      {"gre with ip", kEthernet, "GRE",
       [](const Inner& f) { return ethernet("0800", ipv4(47, hex("0000") + f.type() + f.ip())); }},
      {"gre with checksum, key and sequence", kEthernet, "GRE",
       [](const Inner& f) { return in_gre("b000 6558 12340000 00000007 00000001", f.frame); }},
      {"gre with ethernet", kEthernet, "GRE",
       [](const Inner& f) { return in_gre("0000 6558", f.frame); }},
      {"gre over ip6", kEthernet, "GRE",
       [](const Inner& f) {
         return ethernet("86dd", ipv6(47, hex("2000 6558 00000007") + f.frame));
       }},
      {"pptp", kEthernet, "GRE",
       [](const Inner& f) {
         const Bytes payload = hex("ff03") + ppp(f);
         return ethernet("0800", ipv4(47, hex("3081 880b") + u16(payload.size()) +
                                              hex("0005 00000001 00000002") + payload));
       }},
      {"erspan 1", kEthernet, "ERSPAN I",
       [](const Inner& f) { return in_gre("0000 88be", f.frame); }},
      {"erspan 2", kEthernet, "ERSPAN II",
       [](const Inner& f) { return in_gre("1000 88be 00000001 1001 0064 00000000", f.frame); }},
      {"erspan 2 without sequence", kEthernet, "ERSPAN II",
       [](const Inner& f) { return in_gre("0000 88be 1001 0064 00000000", f.frame); }},
      {"erspan 3", kEthernet, "ERSPAN III",
       [](const Inner& f) {
         return in_gre("1000 22eb 00000001 2001 0064 00001234 0000 0000", f.frame);
       }},
      {"erspan 3 with subheader", kEthernet, "ERSPAN III",
       [](const Inner& f) {
         return in_gre("1000 22eb 00000001 2001 0064 00001234 0000 0001 1400000000000000", f.frame);
       }},
      {"erspan 3 with ip", kEthernet, "ERSPAN III",
       [](const Inner& f) {
         return in_gre("1000 22eb 00000001 2001 0064 00001234 0000 0800", f.ip());
       }},
      {"mpls", kEthernet, "MPLS",
       [](const Inner& f) { return ethernet("8847", hex("00010140") + f.ip()); }},
      {"mpls, three labels, entropy", kEthernet, "MPLS",
       [](const Inner& f) {
         return ethernet("8847", hex("00010040 00020040 00007040 12345140") + f.ip());
       }},
      {"pseudowire with control word", kEthernet, "MPLS,pseudowire",
       [](const Inner& f) { return ethernet("8847", hex("00010140 00000000") + f.frame); }},
      {"pseudowire", kEthernet, "MPLS,pseudowire",
       [](const Inner& f) { return ethernet("8848", hex("00010140") + f.frame); }},
      {"mpls in udp", kEthernet, "MPLS in UDP",
       [](const Inner& f) { return in_udp(6635, hex("00010140") + f.ip()); }},
      {"mpls in gre", kEthernet, "GRE,MPLS",
       [](const Inner& f) { return in_gre("0000 8847 00010140", f.ip()); }},
      {"mpls in ip", kEthernet, "MPLS",
       [](const Inner& f) { return ethernet("0800", ipv4(137, hex("00010140") + f.ip())); }},
      {"gre in udp", kEthernet, "GRE in UDP",
       [](const Inner& f) { return in_udp(4754, hex("2000 6558 00000007") + f.frame); }},
      {"gue", kEthernet, "GUE,IP in IP",
       [](const Inner& f) {
         return in_udp(6080, Bytes{0, ip_protocol(f)} + hex("0000") + f.ip());
       }},
      {"lisp", kEthernet, "LISP",
       [](const Inner& f) { return in_udp(4341, hex("0800000000004800") + f.ip()); }},
      {"pppoe", kEthernet, "PPPoE",
       [](const Inner& f) {
         const Bytes p = ppp(f);
         return ethernet("8864", hex("1100 0001") + u16(p.size()) + p + hex("00000000"));
       }},
      {"ip in ip4", kEthernet, "IP in IP",
       [](const Inner& f) { return ethernet("0800", ipv4(ip_protocol(f), f.ip())); }},
      {"ip in ip6", kEthernet, "4in6",
       [](const Inner& f) { return ethernet("86dd", ipv6(ip_protocol(f), f.ip())); }},
      {"etherip", kEthernet, "EtherIP",
       [](const Inner& f) { return ethernet("0800", ipv4(97, hex("3000") + f.frame)); }},
      {"srv6 with ip", kEthernet, "SRv6",
       [](const Inner& f) { return segment_routing(ip_protocol(f), 1, f.ip()); }},
      {"srv6 of three segments with ethernet", kEthernet, "SRv6",
       [](const Inner& f) { return segment_routing(143, 3, f.frame); }},
      {"srv6 without its header", kEthernet, "SRv6",
       [](const Inner& f) { return ethernet("86dd", ipv6(143, f.frame)); }},
      {"gtp-u", kEthernet, "GTP-U",
       [](const Inner& f) {
         return in_udp(2152, hex("30ff") + u16(f.ip().size()) + hex("00000048") + f.ip());
       }},
      {"gtp-u with extensions", kEthernet, "GTP-U",
       [](const Inner& f) {
         return in_udp(2152, hex("34ff") + u16(f.ip().size() + 12) +
                                 hex("00000048 00000085 01100185 01100100") + f.ip());
       }},
      {"vn-tag", kEthernet, "VN-Tag",
       [](const Inner& f) { return ethernet("8926", hex("00010002") + f.type() + f.ip()); }},
      {"e-tag", kEthernet, "E-Tag (IEEE 802.1BR)",
       [](const Inner& f) { return ethernet("893f", hex("000000010000") + f.type() + f.ip()); }},
      {"cisco metadata", kEthernet, "Cisco metadata",
       [](const Inner& f) { return ethernet("8909", hex("0101 0001 0048") + f.type() + f.ip()); }},
      {"macsec", kEthernet, "MACsec",
       [](const Inner& f) {
         return ethernet("88e5", hex("0000 00000001") + f.type() + f.ip() + icv);
       }},
      {"macsec with sci", kEthernet, "MACsec",
       [](const Inner& f) {
         return ethernet("88e5", hex("2000 00000001 0200000000010001") + f.type() + f.ip() + icv);
       }},
      {"tzsp", kEthernet, "TZSP",
       [](const Inner& f) { return in_udp(37008, hex("01000001 0a0101 00 01") + f.frame); }},
      {"nsh with ethernet", kEthernet, "NSH",
       [](const Inner& f) {
         return ethernet("894f", hex("0fc6 01 03 00004801") + Bytes(16, 0) + f.frame);
       }},
      {"nsh with ip in vxlan-gpe", kEthernet, "VXLAN-GPE,NSH",
       [](const Inner& f) {
         return in_udp(4790, hex("0c000004 00004800 0fc2 02") +
                                 Bytes{f.v6() ? std::uint8_t{2} : std::uint8_t{1}} +
                                 hex("00004801") + f.ip());
       }},
      {"pbb", kEthernet, "PBB (IEEE 802.1ah)",
       [](const Inner& f) { return ethernet("88a8", hex("0001 88e7 00000048") + f.frame); }},
      {"trill", kEthernet, "TRILL",
       [](const Inner& f) { return ethernet("22f3", hex("0040 0001 0002 00000000") + f.frame); }},
      {"fabric path", kEthernet, "FabricPath",
       [](const Inner& f) { return ethernet("8903", hex("0040") + f.frame); }},
      {"snap", kEthernet, "",
       [](const Inner& f) {
         const Bytes p = hex("aaaa03 000000") + f.type() + f.ip();
         return hex("020000000002 020000000001") + u16(p.size()) + p;
       }},
      {"fcs", kEthernet, "", [](const Inner& f) { return f.frame + hex("deadbeef"); }},
  };
  return all;
}

inline const std::vector<Encapsulation>& links() {
  static const std::vector<Encapsulation> all = {
      {"null", 0, "",
       [](const Inner& f) { return hex(f.v6() ? "1e000000" : "02000000") + f.ip(); }},
      {"null, big endian", 0, "",
       [](const Inner& f) { return hex(f.v6() ? "0000001c" : "00000002") + f.ip(); }},
      {"loop", 108, "",
       [](const Inner& f) { return hex(f.v6() ? "00000018" : "00000002") + f.ip(); }},
      {"ppp", 9, "", [](const Inner& f) { return hex("ff03") + ppp(f); }},
      {"ppp, compressed fields", 9, "",
       [](const Inner& f) { return hex(f.v6() ? "57" : "21") + f.ip(); }},
      {"ppp in hdlc", 50, "", [](const Inner& f) { return hex("ff03") + ppp(f) + hex("1234"); }},
      {"cisco hdlc as ppp", 50, "", [](const Inner& f) { return hex("0f00") + f.type() + f.ip(); }},
      {"cisco hdlc", 104, "", [](const Inner& f) { return hex("8f00") + f.type() + f.ip(); }},
      {"pppd", 166, "", [](const Inner& f) { return hex("01 03") + ppp(f); }},
      {"ppp with direction", 204, "", [](const Inner& f) { return hex("00 ff03") + ppp(f); }},
      {"pppoe link", 51, "PPPoE",
       [](const Inner& f) {
         const Bytes p = ppp(f);
         return hex("1100 0001") + u16(p.size()) + p;
       }},
      {"raw", 101, "", [](const Inner& f) { return f.ip(); }},
      {"enc", 109, "", [](const Inner& f) { return hex("02000000 00000000 00000000") + f.ip(); }},
      {"ppi", 192, "",
       [](const Inner& f) { return hex("0000 1000 01000000 0300040011223344") + f.frame; }},
      {"mpls link", 219, "MPLS", [](const Inner& f) { return hex("00010140") + f.ip(); }},
      {"ipnet", 226, "",
       [](const Inner& f) {
         return hex("01 02 0002 00000114 00000001 00000000 00000000 00000000") + f.ip();
       }},
      {"nflog", 239, "",
       [](const Inner& f) {
         return hex("0200 0000") + hex("0800 0100 0800 0100") + hex("0500 0a00 61 000000") +
                le16(4 + f.ip().size()) + hex("0900") + f.ip();
       }},
      {"nflog, big endian", 239, "",
       [](const Inner& f) {
         return hex("0200 0000") + hex("0008 0001 0800 0100") + u16(4 + f.ip().size()) +
                hex("0009") + f.ip();
       }},
      {"netanalyzer", 240, "",
       [](const Inner& f) { return hex("00000000") + f.frame + hex("deadbeef"); }},
      {"netanalyzer, transparent", 241, "",
       [](const Inner& f) { return hex("00000000 55555555555555d5") + f.frame + hex("deadbeef"); }},
      {"ipoib", 242, "",
       [](const Inner& f) {
         return Bytes(24, 0) + hex("fe800000000000000002c90300001234") + f.type() + hex("0000") +
                f.ip();
       }},
      {"pktap", 258, "",
       [](const Inner& f) { return hex("10000000 01000000 01000000 65746830") + f.frame; }},
      {"mpacket", 274, "",
       [](const Inner& f) { return hex("55555555555555d5") + f.frame + hex("deadbeef"); }},
      {"mpacket that can be interrupted", 274, "",
       [](const Inner& f) { return hex("55555555555555e6") + f.frame + hex("deadbeef"); }},
  };
  return all;
}

}  // namespace rpcrdma::encapsulate
