#include "tcp_segment.h"

#include <rpcrdma/wire/endian.h>

namespace rpcrdma::iwarp {

bool decode_tcp(const capture::IpPacket& ip, TcpSegment& out) {
  constexpr std::size_t kHeader = 20;
  constexpr std::uint8_t kTcp = 6;
  const Bytes tcp = ip.payload;
  if (ip.protocol != kTcp || ip.fragment() || tcp.size() < kHeader) return false;
  const std::size_t header = std::size_t{tcp[12]} / 16 * 4;
  if (header < kHeader || header > ip.wire_payload) return false;
  out.source_port = wire::load_be16(tcp.data());
  out.destination_port = wire::load_be16(tcp.data() + 2);
  out.sequence = wire::load_be32(tcp.data() + 4);
  out.acknowledged = wire::load_be32(tcp.data() + 8);
  const std::uint8_t flags = tcp[13];
  out.fin = (flags & 0x01) != 0;
  out.syn = (flags & 0x02) != 0;
  out.rst = (flags & 0x04) != 0;
  out.ack = (flags & 0x10) != 0;
  out.payload = header < tcp.size() ? tcp.subspan(header) : Bytes{};
  out.wire_payload = ip.wire_payload - header;
  out.ip_id = ip.id;
  return true;
}

}  // namespace rpcrdma::iwarp
