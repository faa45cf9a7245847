// Finds the IP packet of a frame.
#include "walk.h"

#include <algorithm>

#include <rpcrdma/capture/ip_packet.h>

namespace rpcrdma::capture {
namespace {

bool found(const Walk& walk, IpPacket& out) {
  const IpView& ip = walk.ip;
  if (!walk.has_ip || ip.length < ip.payload || ip.packet.size() < ip.payload) return false;
  const std::uint8_t* const p = ip.packet.data();
  const bool v4 = ip.version == 4;
  out.src = v4 ? make_ipv4(p + 12) : make_ipv6(p + 8);
  out.dst = v4 ? make_ipv4(p + 16) : make_ipv6(p + 24);
  out.protocol = ip.protocol;
  out.dscp_ecn = v4 ? p[1] : static_cast<std::uint8_t>(p[0] << 4 | p[1] >> 4);
  out.ttl = v4 ? p[8] : p[7];
  out.id = ip.id;
  out.more_fragments = ip.more_fragments;
  out.fragment_offset = ip.fragment_offset;
  out.header = ip.packet.first(std::min(ip.header, ip.packet.size()));
  out.payload = ip.packet.subspan(ip.payload, std::min(ip.packet.size(), ip.length) - ip.payload);
  out.wire_payload = ip.length - ip.payload;
  return true;
}

}  // namespace

bool find_ip(const Frame& frame, IpPacket& out, const LinkOptions& options) {
  Walk walk(options, out.tunnels);
  walk_frame(frame, walk);
  return found(walk, out);
}

bool find_ip(std::span<const std::uint8_t> datagram, const Tunnels& outer, IpPacket& out,
             const LinkOptions& options) {
  out.tunnels = outer;
  Walk walk(options, out.tunnels);
  walk_datagram(datagram, walk);
  return found(walk, out);
}

}  // namespace rpcrdma::capture
