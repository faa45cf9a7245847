// Finds the IP packet of a frame, for protocols that one frame does not hold whole: IP fragments
// and TCP streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <rpcrdma/capture/address.h>
#include <rpcrdma/capture/link.h>
#include <rpcrdma/capture/source.h>
#include <rpcrdma/capture/tunnels.h>

namespace rpcrdma::capture {

struct IpPacket {
  Address src;
  Address dst;
  std::uint8_t protocol = 0;  // of the payload, after IPv6 extension headers
  std::uint8_t dscp_ecn = 0;  // IPv4 TOS, IPv6 traffic class
  std::uint8_t ttl = 0;       // IPv6: hop limit
  // IPv4: Identification; IPv6: that of the Fragment header, 0 without one.
  std::uint32_t id = 0;
  bool more_fragments = false;
  std::uint32_t fragment_offset = 0;  // of the payload in its datagram, bytes
  // From the IP header to the payload. IPv6: without the Fragment header and what follows it.
  std::span<const std::uint8_t> header;
  std::span<const std::uint8_t> payload;  // captured bytes, without link-layer padding
  std::size_t wire_payload = 0;           // bytes of the payload on the wire
  Tunnels tunnels;                        // around the packet
  [[nodiscard]] bool fragment() const { return more_fragments || fragment_offset != 0; }
};

// Finds the innermost IP packet, or the outermost fragment, since nothing behind a fragment's
// header can be read before the datagram is put together. Returns false if the frame holds no IP
// packet, or if its headers were not captured. `out` points into the frame.
[[nodiscard]] bool find_ip(const Frame& frame, IpPacket& out,
                           const LinkOptions& options = link_options);

// The same in a datagram that was put together from fragments inside the tunnels `outer`.
[[nodiscard]] bool find_ip(std::span<const std::uint8_t> datagram, const Tunnels& outer,
                           IpPacket& out, const LinkOptions& options = link_options);

}  // namespace rpcrdma::capture
