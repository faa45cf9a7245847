// frame() and check_icrc() over one contiguous copy of the packet, as plain as can be, until the
// library has its own.
#include <algorithm>
#include <array>

#include <rpcrdma/soft/frame.h>
#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/icrc.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::soft {
namespace {

std::uint32_t icrc_of(const Path& path, std::uint16_t ip_id, wire::Bytes transport) {
  const bool v6 = path.local.ipv6;
  const std::size_t route = v6 ? 40 : 20;
  std::array<std::uint8_t, 16384> packet;
  std::uint8_t* const ip = packet.data();
  std::fill_n(ip, route + 8, std::uint8_t{0});
  std::uint8_t* const udp = ip + route;
  const auto udp_bytes = static_cast<std::uint16_t>(8 + transport.size() + wire::kIcrcBytes);
  if (v6) {
    ip[0] = 0x60;
    wire::store_be16(ip + 4, udp_bytes);
    ip[6] = 17;
    std::copy_n(path.local.bytes.data(), 16, ip + 8);
    std::copy_n(path.remote.bytes.data(), 16, ip + 24);
  } else {
    ip[0] = 0x45;
    wire::store_be16(ip + 2, static_cast<std::uint16_t>(udp_bytes + 20));
    wire::store_be16(ip + 4, ip_id);
    wire::store_be16(ip + 6, 0x4000);  // don't fragment
    ip[9] = 17;
    std::copy_n(path.local.bytes.data(), 4, ip + 12);
    std::copy_n(path.remote.bytes.data(), 4, ip + 16);
  }
  wire::store_be16(udp, path.udp_source_port);
  wire::store_be16(udp + 2, wire::kRoceUdpPort);
  wire::store_be16(udp + 4, udp_bytes);
  std::copy(transport.begin(), transport.end(), udp + 8);
  return wire::icrc(v6 ? wire::IcrcKind::kRoceV2Ipv6 : wire::IcrcKind::kRoceV2Ipv4,
                    wire::Bytes(packet).first(route + 8 + transport.size()), route + 8);
}

}  // namespace

std::size_t frame(const OutPacket& packet, std::uint16_t ip_id, wire::MutableBytes out) {
  const std::size_t size = packet.size();
  if (out.size() < size + wire::kIcrcBytes) return 0;
  std::uint8_t* p = std::copy_n(packet.header.data(), packet.header_bytes, out.data());
  for (std::size_t i = 0; i < packet.payload_parts; ++i) {
    p = std::copy(packet.payload[i].begin(), packet.payload[i].end(), p);
  }
  std::fill_n(p, packet.pad_bytes, std::uint8_t{0});
  wire::store_icrc(out.data() + size, icrc_of(*packet.path, ip_id, out.first(size)));
  return size + wire::kIcrcBytes;
}

IcrcCheck check_icrc(const Path& path, wire::Bytes datagram, std::optional<std::uint16_t> ip_id) {
  if (datagram.size() < wire::kBthBytes + wire::kIcrcBytes) return IcrcCheck::kBad;
  const std::size_t size = datagram.size() - wire::kIcrcBytes;
  const std::uint32_t expected = icrc_of({path.remote, path.local, path.udp_source_port},
                                         ip_id.value_or(0), datagram.first(size));
  return expected == wire::load_icrc(datagram.data() + size) ? IcrcCheck::kGood : IcrcCheck::kBad;
}

}  // namespace rpcrdma::soft
