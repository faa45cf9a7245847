// Finds out what a frame without a RoCE packet carries: tunnels, fragments, iWARP, unknown
// types.
#include "ip_numbers.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <rpcrdma/capture/unread.h>
#include <rpcrdma/wire/endian.h>

namespace rpcrdma::capture {
namespace {

using wire::load_be16;
using Bytes = std::span<const std::uint8_t>;
using Kind = UnreadKind;

struct Entry {
  std::uint16_t value = 0;
  Kind kind = Kind::kNothing;
};
template <std::size_t kSize>
const Entry* find(const Entry (&table)[kSize], std::uint16_t value) {
  const Entry* const at = std::find_if(std::begin(table), std::end(table),
                                       [&](const Entry& e) { return e.value == value; });
  return at == std::end(table) ? nullptr : at;
}

// From IEEE's registry: first the types that carry frames or IP packets, then those known to carry
// no RDMA. Types not in this table are reported by number.
constexpr Entry kEtherTypes[] = {
    {0x8847, Kind::kMpls},
    {0x8848, Kind::kMpls},
    {0x8863, Kind::kNothing},  // PPPoE discovery
    {0x8864, Kind::kPppoe},
    {0x88e5, Kind::kMacsec},
    {0x8926, Kind::kVnTag},
    {0x894f, Kind::kNsh},
    {0x88e7, Kind::kProviderBackbone},
    {0x22f3, Kind::kTrill},
    {0x0806, Kind::kNothing},  // ARP
    {0x8035, Kind::kNothing},  // RARP
    {0x8808, Kind::kNothing},  // MAC control: pause, PFC
    {0x8809, Kind::kNothing},  // LACP
    {0x888e, Kind::kNothing},  // EAPOL
    {0x88a2, Kind::kNothing},  // AoE
    {0x88cc, Kind::kNothing},  // LLDP
    {0x88f7, Kind::kNothing},  // PTP
    {0x8902, Kind::kNothing},  // CFM
    {0x8906, Kind::kNothing},  // FCoE
    {0x8914, Kind::kNothing},  // FIP
    {0x8137, Kind::kNothing},  // IPX
    {0x8899, Kind::kNothing},  // Realtek loop detection
    {0x9000, Kind::kNothing},  // loopback test
};
constexpr std::uint16_t kFirstEtherType = 0x0600;  // below: a length, IEEE 802.3

// IANA's protocol numbers, in IPv4 and in IPv6.
constexpr Entry kInIpv4[] = {{4, Kind::kIpInIp}, {41, Kind::kSixInFour}, {50, Kind::kIpsec},
                             {51, Kind::kIpsec}, {97, Kind::kEtherIp},   {115, Kind::kL2tp},
                             {137, Kind::kMpls}};
constexpr Entry kInIpv6[] = {{4, Kind::kFourInSix}, {41, Kind::kSixInSix}, {50, Kind::kIpsec},
                             {51, Kind::kIpsec},    {97, Kind::kEtherIp},  {115, Kind::kL2tp},
                             {137, Kind::kMpls},    {143, Kind::kSrv6}};
constexpr std::uint8_t kTcp = 6;
constexpr std::uint8_t kGre = 47;

// GRE protocol types of ERSPAN: types I and II, type III.
constexpr std::uint16_t kErspan2 = 0x88be;
constexpr std::uint16_t kErspan3 = 0x22eb;

// By destination port, from IANA's registry; 8472 and 37008 are in use without registration.
constexpr Entry kUdpPorts[] = {
    {4789, Kind::kVxlan},  {8472, Kind::kVxlan},     {4790, Kind::kVxlanGpe},
    {6081, Kind::kGeneve}, {2152, Kind::kGtpU},      {1701, Kind::kL2tp},
    {4500, Kind::kIpsec},  {4754, Kind::kGreInUdp},  {6635, Kind::kMplsInUdp},
    {37008, Kind::kTzsp},  {51820, Kind::kWireGuard}};

std::uint64_t mix(std::uint64_t hash, Bytes bytes) {
  for (const std::uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3ULL;  // FNV-1a
  return hash;
}
constexpr std::uint64_t kSeed = 0xcbf29ce484222325ULL;

// Returns whether a side's first bytes begin MPA (RFC 5044 section 7.1).
bool begins_mpa(Bytes payload) {
  constexpr std::string_view kRequest = "MPA ID Req Frame";
  constexpr std::string_view kReply = "MPA ID Rep Frame";
  const auto begins = [&](std::string_view key) {
    return payload.size() >= key.size() && std::memcmp(payload.data(), key.data(), key.size()) == 0;
  };
  return begins(kRequest) || begins(kReply);
}

// `src` and `dst` are IP addresses.
Unread tcp(Bytes segment, Bytes src, Bytes dst) {
  constexpr std::size_t kHeader = 20;
  if (segment.size() < kHeader) return {};
  // Each end is hashed by itself, so both directions have the same value.
  const std::uint64_t flow =
      mix(mix(kSeed, src), segment.first(2)) + mix(mix(kSeed, dst), segment.subspan(2, 2));
  const auto header = static_cast<std::size_t>(segment[12] >> 4U) * 4;
  const bool mpa = header <= segment.size() && begins_mpa(segment.subspan(header));
  return {mpa ? Kind::kIwarp : Kind::kTcp, 0, flow};
}

Unread udp(Bytes datagram) {
  if (datagram.size() < 4) return {};
  const Entry* const port = find(kUdpPorts, load_be16(datagram.data() + 2));
  return port == nullptr ? Unread{} : Unread{port->kind};
}

Unread gre(Bytes packet) {
  if (packet.size() < 4) return {Kind::kGre};
  const std::uint16_t type = load_be16(packet.data() + 2);
  return {type == kErspan2 || type == kErspan3 ? Kind::kErspan : Kind::kGre};
}

Unread upper(std::uint8_t protocol, Bytes payload, Bytes src, Bytes dst) {
  switch (protocol) {
    case kTcp:
      return tcp(payload, src, dst);
    case kUdp:
      return udp(payload);
    case kGre:
      return gre(payload);
    default:
      return {};
  }
}

Unread ipv4(Bytes ip, LinkResult result) {
  constexpr std::size_t kHeader = 20;
  if (ip.size() < kHeader) return {};
  const std::uint16_t fragment = load_be16(ip.data() + 6);
  const Bytes src = ip.subspan(12, 4), dst = ip.subspan(16, 4);
  const std::uint64_t datagram = mix(mix(mix(kSeed, src), dst), ip.subspan(4, 2));
  if (result == LinkResult::kFragment) return {Kind::kFragment, 0, datagram};
  const std::uint8_t protocol = ip[9];
  if ((fragment & 0x1fff) != 0) {
    return {protocol == kUdp ? Kind::kLaterFragment : Kind::kNothing, 0, datagram};
  }
  if (const Entry* const inner = find(kInIpv4, protocol)) return {inner->kind};
  const std::size_t header = std::size_t{ip[0] & 0x0fU} * 4;
  return header > ip.size() ? Unread{} : upper(protocol, ip.subspan(header), src, dst);
}

Unread ipv6(Bytes ip, LinkResult result) {
  constexpr std::size_t kHeader = 40;
  constexpr std::uint8_t kSegmentRouting = 4;  // RFC 8754
  if (ip.size() < kHeader) return {};
  const Bytes src = ip.subspan(8, 16), dst = ip.subspan(24, 16);
  std::uint8_t next = ip[6];
  std::size_t at = kHeader;
  bool routed = false;
  for (int i = 0; i < kMaxExtensions && at + 8 <= ip.size(); ++i) {
    if (next == kIpv6Fragment) {
      const std::uint64_t datagram = mix(mix(mix(kSeed, src), dst), ip.subspan(at + 4, 4));
      if (result == LinkResult::kFragment) return {Kind::kFragment, 0, datagram};
      if (load_be16(ip.data() + at + 2) >> 3 != 0) return {Kind::kLaterFragment, 0, datagram};
    } else if (next != kHopByHop && next != kRouting && next != kDestinationOptions) {
      break;
    }
    routed |= next == kRouting && ip[at + 2] == kSegmentRouting;
    const std::size_t length = next == kIpv6Fragment ? 8 : (std::size_t{ip[at + 1]} + 1) * 8;
    next = ip[at];
    at += length;
  }
  const Entry* const inner = find(kInIpv6, next);
  if (inner != nullptr) return {routed ? Kind::kSrv6 : inner->kind};
  return at > ip.size() ? Unread{} : upper(next, ip.subspan(at), src, dst);
}

Unread by_ethertype(std::uint16_t type, Bytes payload, LinkResult result) {
  for (int tags = 0; tags < kMaxTags; ++tags) {
    if (type != 0x8100 && type != 0x88a8 && type != 0x9100) break;
    if (payload.size() < 4) return {};
    type = load_be16(payload.data() + 2);
    payload = payload.subspan(4);
  }
  if (type == kEtherIpv4) return ipv4(payload, result);
  if (type == kEtherIpv6) return ipv6(payload, result);
  if (type < kFirstEtherType || type == kEtherRoceV1) return {};
  if (const Entry* const known = find(kEtherTypes, type)) return {known->kind};
  return {Kind::kEtherType, type};
}

Unread typed(Bytes data, std::size_t type_at, std::size_t header, LinkResult result) {
  if (data.size() < header) return {};
  return by_ethertype(load_be16(data.data() + type_at), data.subspan(header), result);
}

Unread any_ip(Bytes ip, LinkResult result) {
  return !ip.empty() && ip[0] >> 4 == 6 ? ipv6(ip, result) : ipv4(ip, result);
}

// See erf() in link.cc.
Unread erf(Bytes data, LinkResult result) {
  constexpr std::size_t kHeader = 16, kExtension = 8, kPad = 2;
  if (data.size() < kHeader) return {};
  const std::uint8_t type = data[8] & 0x7f;
  bool more = (data[8] & 0x80) != 0;
  data = data.subspan(kHeader);
  while (more && data.size() >= kExtension) {
    more = (data[0] & 0x80) != 0;
    data = data.subspan(kExtension);
  }
  switch (type) {
    case 2:
    case 11:
    case 16:
    case 20:
      return data.size() < kPad ? Unread{} : typed(data.subspan(kPad), 12, 14, result);
    case 21:  // InfiniBand
      return {};
    case 22:
      return ipv4(data, result);
    case 23:
      return ipv6(data, result);
    default:
      return {Kind::kErfType, type};
  }
}

// The common types of www.tcpdump.org/linktypes.html.
const char* link_type_name(std::uint32_t type) {
  switch (type) {
    case 0:
      return "BSD loopback";
    case 9:
      return "PPP";
    case 50:
      return "PPP in HDLC framing";
    case 51:
      return "PPPoE";
    case 105:
      return "IEEE 802.11";
    case 108:
      return "OpenBSD loopback";
    case 127:
      return "IEEE 802.11 radiotap";
    case 239:
      return "NFLOG";
    default:
      return nullptr;
  }
}

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::kVxlan:
      return "VXLAN";
    case Kind::kVxlanGpe:
      return "VXLAN-GPE";
    case Kind::kGeneve:
      return "GENEVE";
    case Kind::kGre:
      return "GRE";
    case Kind::kErspan:
      return "ERSPAN";
    case Kind::kGreInUdp:
      return "GRE in UDP";
    case Kind::kMpls:
      return "MPLS";
    case Kind::kMplsInUdp:
      return "MPLS in UDP";
    case Kind::kPppoe:
      return "PPPoE";
    case Kind::kMacsec:
      return "MACsec";
    case Kind::kVnTag:
      return "VN-Tag";
    case Kind::kNsh:
      return "NSH";
    case Kind::kProviderBackbone:
      return "PBB (IEEE 802.1ah)";
    case Kind::kTrill:
      return "TRILL";
    case Kind::kIpInIp:
      return "IP in IP";
    case Kind::kSixInFour:
      return "6in4";
    case Kind::kFourInSix:
      return "4in6";
    case Kind::kSixInSix:
      return "IPv6 in IPv6";
    case Kind::kSrv6:
      return "SRv6";
    case Kind::kEtherIp:
      return "EtherIP";
    case Kind::kGtpU:
      return "GTP-U";
    case Kind::kL2tp:
      return "L2TP";
    case Kind::kTzsp:
      return "TZSP";
    case Kind::kIpsec:
      return "IPsec";
    case Kind::kWireGuard:
      return "WireGuard";
    case Kind::kIwarp:
      return "iWARP";
    case Kind::kFragment:
      return "IP fragments";
    default:
      return "something else";
  }
}

std::uint64_t key_of(Kind kind, std::uint32_t detail) {
  return std::uint64_t{static_cast<std::uint8_t>(kind)} << 32 | detail;
}

}  // namespace

Unread unread_of(const Frame& frame, LinkResult result) {
  if (result == LinkResult::kUnknownLink) {
    return {Kind::kLinkType, static_cast<std::uint32_t>(frame.link)};
  }
  if (result != LinkResult::kNotRoce && result != LinkResult::kFragment) return {};
  switch (frame.link) {
    case LinkType::kEthernet:
      return typed(frame.data, 12, 14, result);
    case LinkType::kLinuxSll:
      return typed(frame.data, 14, 16, result);
    case LinkType::kLinuxSll2:
      return typed(frame.data, 0, 20, result);
    case LinkType::kRaw:
    case LinkType::kRawDlt12:
    case LinkType::kRawDlt14:
      return any_ip(frame.data, result);
    case LinkType::kIpv4:
      return ipv4(frame.data, result);
    case LinkType::kIpv6:
      return ipv6(frame.data, result);
    case LinkType::kErf:
      return erf(frame.data, result);
    case LinkType::kInfiniband:
    case LinkType::kUpperPdu:
      break;
  }
  return {};
}

std::string unread_name(UnreadKind kind, std::uint32_t detail) {
  switch (kind) {
    case Kind::kEtherType:
      return fmt::format("ethertype {:#06x}", detail);
    case Kind::kErfType:
      return fmt::format("ERF type {}", detail);
    case Kind::kLinkType: {
      const char* const name = link_type_name(detail);
      return name == nullptr ? fmt::format("link type {}", detail)
                             : fmt::format("link type {} ({})", detail, name);
    }
    default:
      return kind_name(kind);
  }
}

std::string unread_text(const std::map<std::string, std::uint64_t>& by_name) {
  constexpr std::size_t kNamed = 4;
  std::vector<std::pair<std::string, std::uint64_t>> kinds(by_name.begin(), by_name.end());
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  std::uint64_t more = 0;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const auto& [name, frames] = kinds[i];
    if (i < kNamed) {
      text += fmt::format("{}{} frame{} in {}", i == 0 ? "" : ", ", frames, frames == 1 ? "" : "s",
                          name);
    } else {
      more += frames;
    }
  }
  return more == 0 ? text : fmt::format("{} and {} more", text, more);
}

void UnreadFrames::Flows::add(std::uint64_t flow) {
  if (has(flow)) return;
  ring_[next_] = flow;
  next_ = (next_ + 1) % ring_.size();
  size_ = std::max(size_, next_ == 0 ? ring_.size() : next_);
}

bool UnreadFrames::Flows::has(std::uint64_t flow) const {
  const auto end = ring_.begin() + static_cast<std::ptrdiff_t>(size_);
  return std::find(ring_.begin(), end, flow) != end;
}

void UnreadFrames::note(const Unread& unread) {
  Kind kind = unread.kind;
  switch (kind) {
    case Kind::kNothing:
      return;
    case Kind::kIwarp:
      iwarp_.add(unread.flow);
      break;
    case Kind::kTcp:
      if (!iwarp_.has(unread.flow)) return;
      kind = Kind::kIwarp;
      break;
    case Kind::kFragment:
      fragments_.add(unread.flow);
      break;
    case Kind::kLaterFragment:
      if (!fragments_.has(unread.flow)) return;
      kind = Kind::kFragment;
      break;
    default:
      break;
  }
  const std::uint64_t key = key_of(kind, unread.detail);
  if (const auto at = counts_.find(key); at != counts_.end()) {
    ++at->second;
  } else if (counts_.size() < kMostKinds) {
    counts_.emplace(key, 1);
  } else {
    ++others_;
  }
}

std::map<std::string, std::uint64_t> UnreadFrames::by_name() const {
  std::map<std::string, std::uint64_t> names;
  for (const auto& [key, count] : counts_) {
    names[unread_name(static_cast<Kind>(key >> 32), static_cast<std::uint32_t>(key))] += count;
  }
  if (others_ != 0) names["something else"] += others_;
  return names;
}

}  // namespace rpcrdma::capture
