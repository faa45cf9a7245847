// Finds the InfiniBand transport packet in a captured frame: Ethernet (VLAN, QinQ), Linux SLL and
// SLL2, raw IP, ERF, native InfiniBand; IPv4 and IPv6 with UDP port 4791 (RoCEv2), ethertype 0x8915
// (RoCEv1).
#pragma once

#include <cstddef>
#include <cstdint>

#include <rpcrdma/capture/address.h>
#include <rpcrdma/capture/source.h>
#include <rpcrdma/wire/icrc.h>

namespace rpcrdma::capture {

enum class LinkResult : std::uint8_t {
  kRoce,     // `out` is filled
  kNotRoce,  // something else, or undecidable
  // The first fragment of an IP datagram to port 4791 (RoCE forbids them). Later fragments do not
  // show their port and are kNotRoce.
  kFragment,
  kCutShort,     // RoCE, but captured without a whole BTH
  kUnknownLink,  // the link type is none of those above
  kUpperPdu,     // not a packet but a trace event of a program: see analyzer/trace
};

struct TransportPacket {
  Address src;
  Address dst;
  std::uint16_t udp_source_port = 0;  // 0 when there is no UDP
  std::uint8_t dscp_ecn = 0;          // IPv4 TOS, IPv6 and GRH traffic class
  wire::IcrcKind kind = wire::IcrcKind::kRoceV2Ipv4;
  // From the first byte that the ICRC covers (see wire/icrc.h) to the captured end of the ICRC. The
  // lengths in the IP header, GRH or LRH exclude link-layer padding and trailers.
  std::span<const std::uint8_t> data;
  std::size_t bth = 0;          // offset of the BTH in `data`
  std::size_t wire_length = 0;  // bytes from the BTH through the ICRC, on the wire
  [[nodiscard]] std::span<const std::uint8_t> transport() const { return data.subspan(bth); }
  // The whole packet, ICRC included, was captured.
  [[nodiscard]] bool complete() const { return data.size() - bth == wire_length; }
};

// `udp_port`: the UDP destination port of RoCEv2, in both directions of a connection.
[[nodiscard]] LinkResult dissect_link(const Frame& frame, TransportPacket& out,
                                      std::uint16_t udp_port = 4791);

}  // namespace rpcrdma::capture
