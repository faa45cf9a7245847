// Finds the InfiniBand transport packet in a captured frame: of any link type of base::LinkType, in
// VLANs and tunnels (tunnels.h); IPv4 and IPv6 with UDP port 4791 (RoCEv2), ethertype 0x8915
// (RoCEv1), native InfiniBand.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <rpcrdma/capture/address.h>
#include <rpcrdma/capture/source.h>
#include <rpcrdma/capture/tunnels.h>
#include <rpcrdma/wire/icrc.h>

namespace rpcrdma::capture {

enum class LinkResult : std::uint8_t {
  kRoce,     // `out` is filled
  kNotRoce,  // something else, or undecidable
  // A fragment of an IP datagram that may carry RoCE or iWARP: to port 4791, to the port of a
  // tunnel, or of TCP or a tunnel of IP. Later fragments do not show their port.
  kFragment,
  kTcp,          // a TCP segment, which may be iWARP: see ip_packet.h
  kCutShort,     // RoCE, but captured without a whole BTH
  kUnknownLink,  // the link type is none of those above
  kUpperPdu,     // not a packet but a trace event of a program: see analyzer/trace
};

struct TransportPacket {
  Address src;
  Address dst;
  std::uint16_t udp_source_port = 0;  // 0 when there is no UDP
  std::uint8_t dscp_ecn = 0;          // IPv4 TOS, IPv6 and GRH traffic class
  std::uint16_t ip_id = 0;            // IPv4: Identification; 0 otherwise
  std::uint8_t ttl = 0;               // or hop limit; 0 without IP
  wire::IcrcKind kind = wire::IcrcKind::kRoceV2Ipv4;
  // From the first byte that the ICRC covers (see wire/icrc.h) to the captured end of the ICRC. The
  // lengths in the IP header, GRH or LRH exclude link-layer padding and trailers.
  std::span<const std::uint8_t> data;
  std::size_t bth = 0;          // offset of the BTH in `data`
  std::size_t wire_length = 0;  // bytes from the BTH through the ICRC, on the wire
  Tunnels tunnels;              // around the packet
  [[nodiscard]] std::span<const std::uint8_t> transport() const { return data.subspan(bth); }
  // The whole packet, ICRC included, was captured.
  [[nodiscard]] bool complete() const { return data.size() - bth == wire_length; }
};

struct LinkOptions {
  std::uint16_t roce_port = 4791;              // UDP destination port of RoCEv2, in both directions
  std::array<std::uint16_t, 4> vxlan_ports{};  // besides 4789 and 8472; 0: unused
};

// The options of this process. A program sets them before a thread reads frames.
inline LinkOptions link_options;

[[nodiscard]] LinkResult dissect_link(const Frame& frame, TransportPacket& out,
                                      const LinkOptions& options = link_options);

// The same for an IP datagram that was put together from fragments inside the tunnels `outer`
// (IpPacket::tunnels).
[[nodiscard]] LinkResult dissect_datagram(std::span<const std::uint8_t> datagram,
                                          const Tunnels& outer, TransportPacket& out,
                                          const LinkOptions& options = link_options);

}  // namespace rpcrdma::capture
