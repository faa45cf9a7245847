// The header of one TCP segment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <rpcrdma/capture/ip_packet.h>
#include <rpcrdma/roce/listener.h>

namespace rpcrdma::iwarp {

using Bytes = std::span<const std::uint8_t>;

struct TcpSegment {
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  std::uint32_t sequence = 0;  // of its first byte, SYN included
  std::uint32_t acknowledged = 0;
  bool syn = false, ack = false, fin = false, rst = false;
  Bytes payload;                 // captured bytes
  std::size_t wire_payload = 0;  // bytes on the wire
  std::uint32_t ip_id = 0;       // 0: unknown
  roce::PacketMeta meta;
};

// Returns false if the packet is not a whole TCP header.
[[nodiscard]] bool decode_tcp(const capture::IpPacket& ip, TcpSegment& out);

// How far sequence number `a` is ahead of `b`: -2^31 .. 2^31-1.
[[nodiscard]] constexpr std::int32_t sequence_diff(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>(a - b);
}

}  // namespace rpcrdma::iwarp
