// Dissects the packet that a frame carries down to the BTH.
#include "ip_numbers.h"
#include "walk.h"

#include <algorithm>

#include <rpcrdma/capture/link.h>
#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::capture {
namespace {

using wire::IcrcKind;
using wire::load_be16;
using Bytes = std::span<const std::uint8_t>;

constexpr std::size_t kIcrcBytes = 4;
constexpr std::size_t kUdpBytes = 8;
constexpr std::size_t kIpv4Bytes = 20;
constexpr std::size_t kIpv6Bytes = 40;
constexpr std::size_t kGrhBytes = 40;
constexpr std::size_t kLrhBytes = 8;
constexpr std::size_t kEthernetBytes = 14;
constexpr std::size_t kSllBytes = 16;
constexpr std::size_t kSll2Bytes = 20;

constexpr std::uint16_t kEtherVlan = 0x8100;
constexpr std::uint16_t kEtherQinq = 0x88a8;

constexpr std::uint8_t kGrhNextIba = 0x1b;  // IBA section 8.3: IBA transport

// Writes in place: reading back a copy just written in pieces would stall the processor.
template <std::size_t kSize>
void set(Address& address, AddressKind kind, const std::uint8_t* p) {
  address.bytes = {};
  std::memcpy(address.bytes.data(), p, kSize);
  address.kind = kind;
}

// `packet` begins where the ICRC coverage begins and may extend beyond the ICRC.
LinkResult transport(Bytes packet, IcrcKind kind, std::size_t bth, std::size_t wire_length,
                     TransportPacket& out) {
  if (wire_length < wire::kBthBytes + kIcrcBytes) return LinkResult::kNotRoce;
  if (packet.size() < bth + wire::kBthBytes) return LinkResult::kCutShort;
  out.kind = kind;
  out.data = packet.first(std::min(packet.size(), bth + wire_length));
  out.bth = bth;
  out.wire_length = wire_length;
  return LinkResult::kRoce;
}

std::uint8_t traffic_class(const std::uint8_t* ipv6_or_grh) {
  return static_cast<std::uint8_t>(load_be16(ipv6_or_grh) >> 4);
}

// The UDP header at `at` of the datagram `ip`, which had `ip_length` bytes on the wire.
LinkResult udp(Bytes ip, IcrcKind kind, std::size_t at, std::size_t ip_length,
               std::uint16_t roce_port, TransportPacket& out) {
  if (ip_length < at + kUdpBytes || ip.size() < at + 4) return LinkResult::kNotRoce;
  const std::uint8_t* const p = ip.data() + at;
  if (load_be16(p + 2) != roce_port) return LinkResult::kNotRoce;
  if (ip.size() < at + kUdpBytes) return LinkResult::kCutShort;
  const std::size_t udp_length = std::min<std::size_t>(load_be16(p + 4), ip_length - at);
  if (udp_length < kUdpBytes) return LinkResult::kNotRoce;
  out.udp_source_port = load_be16(p);
  return transport(ip, kind, at + kUdpBytes, udp_length - kUdpBytes, out);
}

LinkResult udp_in_ipv4(Bytes ip, std::size_t at, std::uint16_t roce_port, TransportPacket& out) {
  const std::uint8_t* const p = ip.data();
  const LinkResult result = udp(ip, IcrcKind::kRoceV2Ipv4, at, load_be16(p + 2), roce_port, out);
  if (result == LinkResult::kRoce) {
    set<4>(out.src, AddressKind::kIpv4, p + 12);
    set<4>(out.dst, AddressKind::kIpv4, p + 16);
    out.dscp_ecn = p[1];
    out.ip_id = load_be16(p + 4);
    out.ttl = p[8];
  }
  return result;
}

LinkResult udp_in_ipv6(Bytes ip, std::size_t at, std::uint16_t roce_port, TransportPacket& out) {
  const std::uint8_t* const p = ip.data();
  const LinkResult result =
      udp(ip, IcrcKind::kRoceV2Ipv6, at, kIpv6Bytes + load_be16(p + 4), roce_port, out);
  if (result == LinkResult::kRoce) {
    set<16>(out.src, AddressKind::kIpv6, p + 8);
    set<16>(out.dst, AddressKind::kIpv6, p + 24);
    out.dscp_ecn = traffic_class(p);
    out.ip_id = 0;
    out.ttl = p[7];
  }
  return result;
}

// Returns whether a Global Route Header leads to a BTH.
bool leads_to_bth(const std::uint8_t* grh) {
  return grh[0] >> 4 == 6 && grh[6] == kGrhNextIba;
}

void take_grh(const std::uint8_t* grh, TransportPacket& out) {
  set<16>(out.src, AddressKind::kGid, grh + 8);
  set<16>(out.dst, AddressKind::kGid, grh + 24);
  out.dscp_ecn = traffic_class(grh);
  out.ip_id = 0;
  out.ttl = grh[7];
  out.udp_source_port = 0;
}

LinkResult roce_v1(Bytes grh, TransportPacket& out) {
  if (grh.size() < kGrhBytes || !leads_to_bth(grh.data())) return LinkResult::kNotRoce;
  const LinkResult result =
      transport(grh, IcrcKind::kRoceV1, kGrhBytes, load_be16(grh.data() + 4), out);
  if (result == LinkResult::kRoce) take_grh(grh.data(), out);
  return result;
}

// Follows a Local Route Header by its Link Next Header (IBA section 7.7).
LinkResult infiniband(Bytes lrh, TransportPacket& out) {
  if (lrh.size() < kLrhBytes) return LinkResult::kNotRoce;
  const std::uint8_t* const p = lrh.data();
  const unsigned next = p[1] & 3;
  const bool global = next == 3;
  if (!global && next != 2) return LinkResult::kNotRoce;
  const std::size_t bth = kLrhBytes + (global ? kGrhBytes : 0);
  // The length counts from the LRH up to the VCRC, so everything after the ICRC is dropped.
  const std::size_t length = std::size_t{load_be16(p + 4) & 0x07ffu} * 4;
  if (length < bth) return LinkResult::kNotRoce;
  if (global && (lrh.size() < bth || !leads_to_bth(p + kLrhBytes))) return LinkResult::kNotRoce;
  const LinkResult result =
      transport(lrh, global ? IcrcKind::kNativeGrh : IcrcKind::kNative, bth, length - bth, out);
  if (result != LinkResult::kRoce) return result;
  if (global) {
    take_grh(p + kLrhBytes, out);
  } else {
    set<2>(out.src, AddressKind::kLid, p + 6);
    set<2>(out.dst, AddressKind::kLid, p + 2);
    out.dscp_ecn = 0;
    out.ip_id = 0;
    out.ttl = 0;
    out.udp_source_port = 0;
  }
  return result;
}

// The plain case, which is most of most captures: RoCEv2 in an IP packet that is not a fragment, in
// Ethernet, with or without VLAN tags. kNotRoce: it is something else, which the walk finds out.
namespace plain {

LinkResult ipv4(Bytes ip, std::uint16_t roce_port, TransportPacket& out) {
  if (ip.size() < kIpv4Bytes || ip[0] >> 4 != 4 || ip[9] != kUdp) return LinkResult::kNotRoce;
  const std::size_t header = std::size_t{ip[0] & 0x0fu} * 4;
  if (header < kIpv4Bytes || (load_be16(ip.data() + 6) & 0x3fff) != 0) return LinkResult::kNotRoce;
  return udp_in_ipv4(ip, header, roce_port, out);
}

LinkResult ipv6(Bytes ip, std::uint16_t roce_port, TransportPacket& out) {
  if (ip.size() < kIpv6Bytes || ip[0] >> 4 != 6 || ip[6] != kUdp) return LinkResult::kNotRoce;
  return udp_in_ipv6(ip, kIpv6Bytes, roce_port, out);
}

// A header of `header` bytes with an ethertype at `type_at`.
LinkResult typed(Bytes data, std::size_t type_at, std::size_t header, std::uint16_t roce_port,
                 TransportPacket& out) {
  if (data.size() < header) return LinkResult::kNotRoce;
  std::uint16_t type = load_be16(data.data() + type_at);
  data = data.subspan(header);
  for (int tags = 0; tags < kMaxTags && (type == kEtherVlan || type == kEtherQinq); ++tags) {
    if (data.size() < 4) return LinkResult::kNotRoce;
    type = load_be16(data.data() + 2);
    data = data.subspan(4);
  }
  if (type == kEtherIpv4) return ipv4(data, roce_port, out);
  return type == kEtherIpv6 ? ipv6(data, roce_port, out) : LinkResult::kNotRoce;
}

LinkResult frame(const Frame& frame, std::uint16_t roce_port, TransportPacket& out) {
  switch (frame.link) {
    case LinkType::kEthernet:
      return typed(frame.data, 12, kEthernetBytes, roce_port, out);
    case LinkType::kLinuxSll:
      return typed(frame.data, 14, kSllBytes, roce_port, out);
    case LinkType::kLinuxSll2:
      return typed(frame.data, 0, kSll2Bytes, roce_port, out);
    case LinkType::kRaw:
    case LinkType::kIpv4:
      return ipv4(frame.data, roce_port, out);
    default:
      return LinkResult::kNotRoce;
  }
}

}  // namespace plain

// Dissects what the walk ended at.
LinkResult at_end(const Walk& walk, std::uint16_t roce_port, TransportPacket& out) {
  switch (walk.end) {
    case WalkEnd::kRoceV2:
      return walk.ip.version == 4 ? udp_in_ipv4(walk.ip.packet, walk.ip.payload, roce_port, out)
                                  : udp_in_ipv6(walk.ip.packet, walk.ip.payload, roce_port, out);
    case WalkEnd::kGrh:
      return roce_v1(walk.rest, out);
    case WalkEnd::kLrh:
      return infiniband(walk.rest, out);
    case WalkEnd::kTcp:
      return LinkResult::kTcp;
    case WalkEnd::kFragment:
      return LinkResult::kFragment;
    case WalkEnd::kUpperPdu:
      return LinkResult::kUpperPdu;
    case WalkEnd::kUnknownLink:
      return LinkResult::kUnknownLink;
    case WalkEnd::kNothing:
    case WalkEnd::kUnread:
    case WalkEnd::kMalformed:
      break;
  }
  return LinkResult::kNotRoce;
}

}  // namespace

LinkResult dissect_link(const Frame& frame, TransportPacket& out, const LinkOptions& options) {
  const LinkResult result = plain::frame(frame, options.roce_port, out);
  if (result != LinkResult::kNotRoce) [[likely]] {
    out.tunnels.count = 0;
    return result;
  }
  Walk walk(options, out.tunnels);
  walk_frame(frame, walk);
  return at_end(walk, options.roce_port, out);
}

LinkResult dissect_datagram(Bytes datagram, const Tunnels& outer, TransportPacket& out,
                            const LinkOptions& options) {
  out.tunnels = outer;
  Walk walk(options, out.tunnels);
  walk_datagram(datagram, walk);
  return at_end(walk, options.roce_port, out);
}

}  // namespace rpcrdma::capture
