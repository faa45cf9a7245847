// Walks the headers of a frame, link layer by link layer, down to the BTH.
#include "ip_numbers.h"

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
constexpr std::size_t kErfBytes = 16;

constexpr std::uint16_t kEtherVlan = 0x8100;
constexpr std::uint16_t kEtherQinq = 0x88a8;
constexpr std::uint16_t kEtherQinqOld = 0x9100;

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

// The UDP header at `at` of the datagram `ip`, which had `ip_length` bytes on the wire.
LinkResult udp(Bytes ip, IcrcKind kind, std::size_t at, std::size_t ip_length, bool fragment,
               std::uint16_t udp_port, TransportPacket& out) {
  if (ip_length < at + kUdpBytes || ip.size() < at + 4) return LinkResult::kNotRoce;
  const std::uint8_t* const p = ip.data() + at;
  if (load_be16(p + 2) != udp_port) return LinkResult::kNotRoce;
  if (fragment) return LinkResult::kFragment;
  if (ip.size() < at + kUdpBytes) return LinkResult::kCutShort;
  const std::size_t udp_length = std::min<std::size_t>(load_be16(p + 4), ip_length - at);
  if (udp_length < kUdpBytes) return LinkResult::kNotRoce;
  out.udp_source_port = load_be16(p);
  return transport(ip, kind, at + kUdpBytes, udp_length - kUdpBytes, out);
}

LinkResult ipv4(Bytes ip, std::uint16_t udp_port, TransportPacket& out) {
  if (ip.size() < kIpv4Bytes || ip[0] >> 4 != 4 || ip[9] != kUdp) return LinkResult::kNotRoce;
  const std::size_t header = std::size_t{ip[0] & 0x0fu} * 4;
  if (header < kIpv4Bytes) return LinkResult::kNotRoce;
  const std::uint16_t fragment = load_be16(ip.data() + 6);
  if ((fragment & 0x1fff) != 0) return LinkResult::kNotRoce;  // the port is in the first fragment
  const LinkResult result = udp(ip, IcrcKind::kRoceV2Ipv4, header, load_be16(ip.data() + 2),
                                (fragment & 0x2000) != 0, udp_port, out);
  if (result == LinkResult::kRoce) {
    set<4>(out.src, AddressKind::kIpv4, ip.data() + 12);
    set<4>(out.dst, AddressKind::kIpv4, ip.data() + 16);
    out.dscp_ecn = ip[1];
  }
  return result;
}

std::uint8_t traffic_class(const std::uint8_t* ipv6_or_grh) {
  return static_cast<std::uint8_t>(load_be16(ipv6_or_grh) >> 4);
}

LinkResult ipv6(Bytes ip, std::uint16_t udp_port, TransportPacket& out) {
  if (ip.size() < kIpv6Bytes || ip[0] >> 4 != 6) return LinkResult::kNotRoce;
  const std::size_t length = kIpv6Bytes + load_be16(ip.data() + 4);
  std::uint8_t next = ip[6];
  std::size_t at = kIpv6Bytes;
  bool fragment = false;
  for (int i = 0; next != kUdp; ++i) {
    if (i == kMaxExtensions || ip.size() < at + 8) return LinkResult::kNotRoce;
    const std::uint8_t* const p = ip.data() + at;
    switch (next) {
      case kHopByHop:
      case kRouting:
      case kDestinationOptions:
        at += (std::size_t{p[1]} + 1) * 8;
        break;
      case kIpv6Fragment:
        if (load_be16(p + 2) >> 3 != 0) return LinkResult::kNotRoce;  // the port is in the first
        fragment = true;
        at += 8;
        break;
      default:
        return LinkResult::kNotRoce;
    }
    next = p[0];
  }
  const LinkResult result = udp(ip, IcrcKind::kRoceV2Ipv6, at, length, fragment, udp_port, out);
  if (result == LinkResult::kRoce) {
    set<16>(out.src, AddressKind::kIpv6, ip.data() + 8);
    set<16>(out.dst, AddressKind::kIpv6, ip.data() + 24);
    out.dscp_ecn = traffic_class(ip.data());
  }
  return result;
}

LinkResult any_ip(Bytes ip, std::uint16_t udp_port, TransportPacket& out) {
  return !ip.empty() && ip[0] >> 4 == 6 ? ipv6(ip, udp_port, out) : ipv4(ip, udp_port, out);
}

// Returns whether a Global Route Header leads to a BTH.
bool leads_to_bth(const std::uint8_t* grh) {
  return grh[0] >> 4 == 6 && grh[6] == kGrhNextIba;
}

void take_grh(const std::uint8_t* grh, TransportPacket& out) {
  set<16>(out.src, AddressKind::kGid, grh + 8);
  set<16>(out.dst, AddressKind::kGid, grh + 24);
  out.dscp_ecn = traffic_class(grh);
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
    out.udp_source_port = 0;
  }
  return result;
}

LinkResult by_ethertype(std::uint16_t type, Bytes payload, std::uint16_t udp_port,
                        TransportPacket& out) {
  for (int tags = 0;; ++tags) {
    switch (type) {
      case kEtherIpv4:
        return ipv4(payload, udp_port, out);
      case kEtherIpv6:
        return ipv6(payload, udp_port, out);
      case kEtherRoceV1:
        return roce_v1(payload, out);
      case kEtherVlan:
      case kEtherQinq:
      case kEtherQinqOld:
        if (tags == kMaxTags || payload.size() < 4) return LinkResult::kNotRoce;
        type = load_be16(payload.data() + 2);
        payload = payload.subspan(4);
        break;
      default:
        return LinkResult::kNotRoce;
    }
  }
}

// A header of `header` bytes with an ethertype at `type_at`.
LinkResult typed(Bytes data, std::size_t type_at, std::size_t header, std::uint16_t udp_port,
                 TransportPacket& out) {
  if (data.size() < header) return LinkResult::kNotRoce;
  return by_ethertype(load_be16(data.data() + type_at), data.subspan(header), udp_port, out);
}

LinkResult ethernet(Bytes data, std::uint16_t udp_port, TransportPacket& out) {
  return typed(data, 12, kEthernetBytes, udp_port, out);
}

// Extensible Record Format of Endace cards; the record type names the link layer.
LinkResult erf(Bytes data, std::uint16_t udp_port, TransportPacket& out) {
  enum : std::uint8_t {
    kEth = 2,
    kColorEth = 11,
    kDsmColorEth = 16,
    kColorHashEth = 20,
    kInfiniband = 21,
    kErfIpv4 = 22,
    kErfIpv6 = 23,
  };
  constexpr std::uint8_t kMore = 0x80;
  constexpr std::size_t kExtensionBytes = 8;
  constexpr std::size_t kEthernetPad = 2;
  if (data.size() < kErfBytes) return LinkResult::kNotRoce;
  const std::uint8_t type = data[8] & 0x7f;
  bool more = (data[8] & kMore) != 0;
  data = data.subspan(kErfBytes);
  while (more) {
    if (data.size() < kExtensionBytes) return LinkResult::kNotRoce;
    more = (data[0] & kMore) != 0;
    data = data.subspan(kExtensionBytes);
  }
  switch (type) {
    case kEth:
    case kColorEth:
    case kDsmColorEth:
    case kColorHashEth:
      if (data.size() < kEthernetPad) return LinkResult::kNotRoce;
      return ethernet(data.subspan(kEthernetPad), udp_port, out);
    case kInfiniband:
      return infiniband(data, out);
    case kErfIpv4:
      return ipv4(data, udp_port, out);
    case kErfIpv6:
      return ipv6(data, udp_port, out);
    default:
      return LinkResult::kNotRoce;
  }
}

}  // namespace

LinkResult dissect_link(const Frame& frame, TransportPacket& out, std::uint16_t udp_port) {
  switch (frame.link) {
    case LinkType::kEthernet:
      return ethernet(frame.data, udp_port, out);
    case LinkType::kLinuxSll:
      return typed(frame.data, 14, kSllBytes, udp_port, out);
    case LinkType::kLinuxSll2:
      return typed(frame.data, 0, kSll2Bytes, udp_port, out);
    case LinkType::kRaw:
    case LinkType::kRawDlt12:
    case LinkType::kRawDlt14:
      return any_ip(frame.data, udp_port, out);
    case LinkType::kIpv4:
      return ipv4(frame.data, udp_port, out);
    case LinkType::kIpv6:
      return ipv6(frame.data, udp_port, out);
    case LinkType::kErf:
      return erf(frame.data, udp_port, out);
    case LinkType::kInfiniband:
      return infiniband(frame.data, out);
    case LinkType::kUpperPdu:
      return LinkResult::kUpperPdu;
  }
  return LinkResult::kUnknownLink;
}

}  // namespace rpcrdma::capture
