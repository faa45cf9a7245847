// IP, and the tunnels by IP protocol, UDP port and GRE protocol type.
#include "ip_numbers.h"
#include "walk.h"

#include <rpcrdma/wire/endian.h>

namespace rpcrdma::capture {
namespace {

using wire::load_be16;
using wire::load_be24;
using wire::load_be32;
using Bytes = std::span<const std::uint8_t>;
using Kind = UnreadKind;

// VXLAN (RFC 7348) and VXLAN-GPE, which are alike but for the next protocol.
void vxlan(Walk& w) {
  constexpr std::uint8_t kHasVni = 0x08, kNextProtocol = 0x04;
  const bool generic = !w.rest.empty() && (w.rest[0] & kNextProtocol) != 0;
  if (!w.enter(generic ? TunnelKind::kVxlanGpe : TunnelKind::kVxlan)) return;
  const std::uint8_t* const p = w.take(8);
  if (p == nullptr) return;
  if ((p[0] & kHasVni) == 0) return w.stop_in_tunnel();
  w.key(load_be24(p + 4));
  if (generic) return by_nsh_protocol(w, p[3]);
  w.next = ethernet;
}

// RFC 8926.
void geneve(Walk& w) {
  if (!w.enter(TunnelKind::kGeneve)) return;
  const std::uint8_t* const p = w.take(8);
  if (p == nullptr) return;
  const std::size_t options = (p[0] & 0x3fU) * 4;
  if (p[0] >> 6 != 0) return w.stop_in_tunnel();
  w.key(load_be24(p + 4));
  if (w.take(options) != nullptr) by_ethertype(w, load_be16(p + 2));
}

// 3GPP TS 29.281.
void gtp_u(Walk& w) {
  constexpr std::uint8_t kVersion1 = 0x30, kVersionMask = 0xf0, kOptional = 0x07, kExtension = 0x04;
  constexpr std::uint8_t kData = 0xff;
  if (!w.enter(TunnelKind::kGtpU)) return;
  const std::uint8_t* p = w.take(8);
  if (p == nullptr) return;
  if ((p[0] & kVersionMask) != kVersion1) return w.stop_in_tunnel();
  if (p[1] != kData) return w.stop(WalkEnd::kNothing);
  const std::uint8_t flags = p[0];
  w.key(load_be32(p + 4));
  w.limit(load_be16(p + 2));
  if ((flags & kOptional) != 0) {
    p = w.take(4);
    if (p == nullptr) return;
    std::uint8_t next = (flags & kExtension) != 0 ? p[3] : 0;
    for (int i = 0; next != 0; ++i) {
      const std::size_t length = w.rest.empty() ? 0 : std::size_t{w.rest[0]} * 4;
      if (length == 0 || i == kMaxExtensions) return w.stop_in_tunnel();
      p = w.take(length);
      if (p == nullptr) return;
      next = p[length - 1];
    }
  }
  w.next = any_ip;
}

// TaZmen Sniffer Protocol: tagged fields, then the frame.
void tzsp(Walk& w) {
  constexpr std::uint8_t kVersion = 1, kReceived = 0, kToTransmit = 1, kPadding = 0, kEnd = 1;
  constexpr std::uint16_t kEthernet = 1;
  if (!w.enter(TunnelKind::kTzsp)) return;
  const std::uint8_t* const p = w.take(4);
  if (p == nullptr) return;
  if (p[0] != kVersion || load_be16(p + 2) != kEthernet) return w.stop_in_tunnel();
  if (p[1] != kReceived && p[1] != kToTransmit) return w.stop(WalkEnd::kNothing);
  for (;;) {
    const std::uint8_t* const field = w.take(1);
    if (field == nullptr) return;
    if (*field == kPadding) continue;
    if (*field == kEnd) break;
    const std::uint8_t* const length = w.take(1);
    if (length == nullptr || w.take(*length) == nullptr) return;
  }
  w.next = ethernet;
}

// Generic UDP Encapsulation: an IP protocol behind a header, or (version 1) IP itself.
void gue(Walk& w) {
  constexpr std::uint8_t kControl = 0x20;
  if (!w.enter(TunnelKind::kGue)) return;
  if (w.rest.empty()) return w.stop_in_tunnel();
  if (w.rest[0] >> 6 == 1) {
    w.next = any_ip;
    return;
  }
  const std::uint8_t* const p = w.take(4);
  if (p == nullptr) return;
  if (p[0] >> 6 != 0) return w.stop_in_tunnel();
  if ((p[0] & kControl) != 0) return w.stop(WalkEnd::kNothing);
  if (p[1] == kUdp || p[1] == kIpTcp) return w.stop_in_tunnel();  // without an IP header
  if (w.take((p[0] & 0x1fU) * 4) != nullptr) by_ip_protocol(w, p[1]);
}

void lisp(Walk& w) {
  constexpr std::uint8_t kHasInstance = 0x08;
  if (!w.enter(TunnelKind::kLisp)) return;
  const std::uint8_t* const p = w.take(8);
  if (p == nullptr) return;
  if ((p[0] & kHasInstance) != 0) w.key(load_be24(p + 4));
  w.next = any_ip;
}

void mpls_in_udp(Walk& w) {
  mpls_labels(w, TunnelKind::kMplsInUdp);
}

// Type I has no header of its own. Types I and II have the same protocol type; type II comes with
// sequence numbers, of most devices.
bool has_erspan_header(Bytes frame, bool sequenced) {
  constexpr std::size_t kHeader = 8;
  if (frame.empty()) return sequenced;
  if (frame[0] >> 4 != 1) return false;
  return sequenced ||
         (frame.size() > kHeader && !carries_frame(frame) && carries_frame(frame.subspan(kHeader)));
}

void erspan(Walk& w, bool sequenced) {
  const bool header = has_erspan_header(w.rest, sequenced);
  if (!w.enter(header ? TunnelKind::kErspan2 : TunnelKind::kErspan1)) return;
  if (header) {
    const std::uint8_t* const p = w.take(8);
    if (p == nullptr) return;
    w.tunnels.erspan_session = load_be16(p + 2) & 0x3ff;
  }
  w.next = ethernet;
}

void erspan3(Walk& w) {
  constexpr std::uint16_t kSubheader = 1, kTypeMask = 0x1f, kIpPacket = 2;
  if (!w.enter(TunnelKind::kErspan3)) return;
  const std::uint8_t* const p = w.take(12);
  if (p == nullptr) return;
  if (p[0] >> 4 != 2) return w.stop_in_tunnel();
  w.tunnels.erspan_session = load_be16(p + 2) & 0x3ff;
  const std::uint16_t flags = load_be16(p + 10);
  if ((flags & kSubheader) != 0 && w.take(8) == nullptr) return;
  w.next = (flags >> 10 & kTypeMask) == kIpPacket ? any_ip : ethernet;
}

// PPTP (RFC 2637): PPP behind a header of its own.
void enhanced_gre(Walk& w, std::uint16_t flags, TunnelKind kind) {
  constexpr std::uint16_t kSequence = 0x1000, kAcknowledgment = 0x0080;
  if (!w.enter(kind)) return;
  const std::size_t more =
      ((flags & kSequence) != 0 ? 4U : 0U) + ((flags & kAcknowledgment) != 0 ? 4U : 0U);
  const std::uint8_t* const p = w.take(8 + more);
  if (p == nullptr) return;
  w.key(load_be16(p + 6));
  w.next = ppp;
}

// RFC 2784 and RFC 2890.
void gre_header(Walk& w, TunnelKind kind) {
  constexpr std::uint16_t kChecksum = 0x8000, kRouting = 0x4000, kKey = 0x2000, kSequence = 0x1000;
  constexpr std::uint16_t kVersionMask = 7, kErspan = 0x88be, kErspan3 = 0x22eb, kKeepalive = 0;
  constexpr std::uint16_t kFirstEtherType = 0x0600;
  if (w.rest.size() < 4) {
    if (w.enter(kind)) w.stop_in_tunnel();
    return;
  }
  const std::uint16_t flags = load_be16(w.rest.data()), type = load_be16(w.rest.data() + 2);
  if ((flags & kVersionMask) == 1) return enhanced_gre(w, flags, kind);
  const std::size_t key_at = (flags & kChecksum) != 0 ? 8U : 4U;
  const std::size_t header =
      key_at + ((flags & kKey) != 0 ? 4U : 0U) + ((flags & kSequence) != 0 ? 4U : 0U);
  if ((flags & (kVersionMask | kRouting)) != 0 || w.rest.size() < header) {
    const TunnelKind mirror = type == kErspan3 ? TunnelKind::kErspan3 : TunnelKind::kErspan2;
    if (w.enter(type == kErspan || type == kErspan3 ? mirror : kind)) w.stop_in_tunnel();
    return;
  }
  const std::uint8_t* const p = w.take(header);
  if (type == kErspan) return erspan(w, (flags & kSequence) != 0);
  if (type == kErspan3) return erspan3(w);
  if (!w.enter(kind)) return;
  if ((flags & kKey) != 0) w.key(load_be32(p + key_at));
  if (type == kKeepalive) return w.stop(WalkEnd::kNothing);
  if (type < kFirstEtherType) return w.stop_in_tunnel();
  by_ethertype(w, type);
}

void gre(Walk& w) {
  gre_header(w, TunnelKind::kGre);
}

void gre_in_udp(Walk& w) {
  gre_header(w, TunnelKind::kGreInUdp);
}

void ip_in_ip(Walk& w) {
  const bool v4 = w.ip.version == 4;
  const TunnelKind plain = v4 ? TunnelKind::kIpInIp : TunnelKind::kFourInSix;
  if (w.enter(w.ip.segment_routed ? TunnelKind::kSrv6 : plain)) w.next = ipv4;
}

void ipv6_in_ip(Walk& w) {
  const bool v4 = w.ip.version == 4;
  const TunnelKind plain = v4 ? TunnelKind::kSixInFour : TunnelKind::kSixInSix;
  if (w.enter(w.ip.segment_routed ? TunnelKind::kSrv6 : plain)) w.next = ipv6;
}

// RFC 8986 section 9: Ethernet as the payload of IP.
void ethernet_in_ip(Walk& w) {
  if (w.enter(TunnelKind::kSrv6)) w.next = ethernet;
}

// RFC 3378.
void ether_ip(Walk& w) {
  constexpr std::uint8_t kVersion = 3;
  if (!w.enter(TunnelKind::kEtherIp)) return;
  const std::uint8_t* const p = w.take(2);
  if (p == nullptr) return;
  if (p[0] >> 4 != kVersion) return w.stop_in_tunnel();
  w.next = ethernet;
}

void tcp(Walk& w) {
  w.stop(WalkEnd::kTcp);
}

// By destination port, from IANA's registry; 8472 and 37008 are in use without registration.
constexpr LayerEntry kByUdpPort[] = {
    {4789, vxlan},
    {8472, vxlan},
    {4790, vxlan},
    {6081, geneve},
    {2152, gtp_u},
    {4754, gre_in_udp},
    {6635, mpls_in_udp},
    {37008, tzsp},
    {6080, gue},
    {4341, lisp},
    {1701, nullptr, Kind::kL2tp},
    {4500, nullptr, Kind::kIpsec},
    {4755, nullptr, Kind::kDtls},
    {6636, nullptr, Kind::kDtls},
    {51820, nullptr, Kind::kWireGuard},
};

const LayerEntry* by_udp_port(const LinkOptions& options, std::uint16_t port) {
  static constexpr LayerEntry kMoreVxlan{0, vxlan};
  const auto& more = options.vxlan_ports;
  if (port != 0 && std::find(more.begin(), more.end(), port) != more.end()) return &kMoreVxlan;
  return find_layer(kByUdpPort, port);
}

void udp(Walk& w) {
  constexpr std::size_t kHeader = 8;
  if (w.rest.size() < 4) return w.stop(WalkEnd::kMalformed);
  const std::uint16_t port = load_be16(w.rest.data() + 2);
  if (port == w.options.roce_port) return w.stop(WalkEnd::kRoceV2);
  const LayerEntry* const tunnel = by_udp_port(w.options, port);
  if (tunnel == nullptr) return w.stop(WalkEnd::kNothing);
  if (w.rest.size() < kHeader) {
    if (tunnel->layer == nullptr) return follow(w, *tunnel);
    (void)w.take(w.rest.size());
    w.next = tunnel->layer;  // which names itself and finds nothing
    return;
  }
  const std::uint16_t length = load_be16(w.take(kHeader) + 4);
  if (length >= kHeader) w.limit(length - kHeader);
  follow(w, *tunnel);
}

// IANA's protocol numbers.
constexpr LayerEntry kByProtocol[] = {
    {kUdp, udp},
    {kIpTcp, tcp},
    {47, gre},
    {4, ip_in_ip},
    {41, ipv6_in_ip},
    {97, ether_ip},
    {137, mpls},
    {143, ethernet_in_ip},
    {50, nullptr, Kind::kIpsec},
    {51, nullptr, Kind::kIpsec},
    {115, nullptr, Kind::kL2tp},
};

// The first fragment shows the UDP port, unless the fragment is tiny.
bool fragment_may_carry_rdma(const Walk& w) {
  const LayerEntry* const known = find_layer(kByProtocol, w.ip.protocol);
  if (known == nullptr || known->layer == nullptr) return false;
  if (w.ip.protocol != kUdp || w.ip.fragment_offset != 0 || w.rest.size() < 4) return true;
  const std::uint16_t port = load_be16(w.rest.data() + 2);
  return port == w.options.roce_port || by_udp_port(w.options, port) != nullptr;
}

void found_ip(Walk& w) {
  w.has_ip = true;
  w.limit(w.ip.length);
  if (w.take(w.ip.payload) == nullptr) return;
  if (w.ip.fragment()) {
    w.stop(fragment_may_carry_rdma(w) ? WalkEnd::kFragment : WalkEnd::kNothing);
    return;
  }
  by_ip_protocol(w, w.ip.protocol);
}

}  // namespace

bool parse_ipv4(Bytes bytes, IpView& ip) {
  constexpr std::size_t kHeader = 20;
  if (bytes.size() < kHeader || bytes[0] >> 4 != 4) return false;
  const std::uint8_t* const p = bytes.data();
  const std::size_t header = std::size_t{p[0] & 0x0fu} * 4;
  if (header < kHeader) return false;
  const std::uint16_t fragment = load_be16(p + 6);
  ip.packet = bytes;
  ip.length = load_be16(p + 2);
  ip.header = ip.payload = header;
  ip.version = 4;
  ip.protocol = p[9];
  ip.more_fragments = (fragment & 0x2000) != 0;
  ip.segment_routed = false;
  ip.id = load_be16(p + 4);
  ip.fragment_offset = (fragment & 0x1fffU) * 8;
  return true;
}

bool parse_ipv6(Bytes bytes, IpView& ip) {
  constexpr std::size_t kHeader = 40;
  constexpr std::uint8_t kSegmentRouting = 4;
  if (bytes.size() < kHeader || bytes[0] >> 4 != 6) return false;
  ip.packet = bytes;
  ip.length = kHeader + load_be16(bytes.data() + 4);
  ip.version = 6;
  ip.more_fragments = ip.segment_routed = false;
  ip.id = ip.fragment_offset = 0;
  std::uint8_t next = bytes[6];
  std::size_t at = kHeader, header = kHeader;
  for (int i = 0;; ++i) {
    const bool extension = next == kHopByHop || next == kRouting || next == kDestinationOptions ||
                           next == kIpv6Fragment;
    if (!extension) break;
    if (i == kMaxExtensions || bytes.size() < at + 8) return false;
    const std::uint8_t* const p = bytes.data() + at;
    if (next == kIpv6Fragment) {
      const std::uint16_t fragment = load_be16(p + 2);
      ip.id = load_be32(p + 4);
      ip.more_fragments = (fragment & 1) != 0;
      ip.fragment_offset = fragment & 0xfff8U;
      header = at;
      at += 8;
      next = p[0];
      if (ip.fragment()) break;  // offsets count from here
      continue;
    }
    ip.segment_routed |= next == kRouting && p[2] == kSegmentRouting;
    at += (std::size_t{p[1]} + 1) * 8;
    header = at;
    next = p[0];
  }
  ip.protocol = next;
  ip.header = header;
  ip.payload = at;
  return true;
}

void ipv4(Walk& w) {
  if (!parse_ipv4(w.rest, w.ip)) return w.stop(WalkEnd::kMalformed);
  found_ip(w);
}

void ipv6(Walk& w) {
  IpView ip;
  if (!parse_ipv6(w.rest, ip)) return w.stop(WalkEnd::kMalformed);
  w.ip = ip;
  found_ip(w);
}

void any_ip(Walk& w) {
  if (!w.rest.empty() && w.rest[0] >> 4 == 6) return ipv6(w);
  ipv4(w);
}

void by_ip_protocol(Walk& w, std::uint8_t protocol) {
  const LayerEntry* const known = find_layer(kByProtocol, protocol);
  if (known == nullptr) return w.stop(WalkEnd::kNothing);
  follow(w, *known);
}

}  // namespace rpcrdma::capture
