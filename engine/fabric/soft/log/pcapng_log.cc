#include "pcapng_log.h"

#include <cstring>

#include <rpcrdma/wire/endian.h>

namespace rpcrdma::soft {
namespace {

constexpr std::size_t kLongestName = 255;  // of an interface's name

constexpr std::size_t kMacBytes = 6;
constexpr std::size_t kEthernetBytes = 14;
constexpr std::uint16_t kTypeIpv4 = 0x0800;
constexpr std::uint16_t kTypeIpv6 = 0x86dd;

void put_mac(std::uint8_t* mac, const fabric::Address& address) {
  mac[0] = 0x02;  // locally administered
  mac[1] = 0;
  if (address.ipv6) {
    std::memcpy(mac + 1, address.bytes.data() + 11, 5);
  } else {
    std::memcpy(mac + 2, address.bytes.data(), 4);
  }
}

void put_ipv4_checksum(std::uint8_t* ip) {
  wire::store_be16(ip + 10, checksum_end(checksum_add(0, {ip, kIpv4Bytes})));
}

void put_udp_checksum(std::uint8_t* udp, const Flow& flow, wire::Bytes datagram) {
  std::uint64_t sum = kUdp + kUdpBytes + datagram.size();
  sum = checksum_add(sum, flow.from.bytes);
  sum = checksum_add(sum, flow.to.bytes);
  sum = checksum_add(sum, {udp, kUdpBytes});
  const std::uint16_t checksum = checksum_end(checksum_add(sum, datagram));
  wire::store_be16(udp + 6, checksum == 0 ? 0xffff : checksum);  // 0 would mean: no checksum
}

}  // namespace

EthernetFrame ethernet_frame(const Flow& flow, std::uint16_t ip_id, wire::Bytes datagram) {
  EthernetFrame frame;
  frame.datagram = datagram;
  std::uint8_t* const ethernet = frame.headers.data();
  put_mac(ethernet, flow.to);
  put_mac(ethernet + kMacBytes, flow.from);
  wire::store_be16(ethernet + 2 * kMacBytes, flow.from.ipv6 ? kTypeIpv6 : kTypeIpv4);

  const IpHeaders headers = ip_headers(flow, ip_id, datagram.size());
  std::uint8_t* const ip = ethernet + kEthernetBytes;
  std::memcpy(ip, headers.bytes.data(), headers.size);
  frame.header_bytes = kEthernetBytes + headers.size;
  if (flow.from.ipv6) {
    put_udp_checksum(ip + kIpv6Bytes, flow, datagram);
  } else {
    put_ipv4_checksum(ip);
  }
  return frame;
}

void put_head(base::PcapngBlocks& out, std::string_view interface, base::PcapngBlocks::End end) {
  out.section(end);
  base::Interface description;
  description.name = interface.substr(0, kLongestName);
  out.interface(description);
}

void put_packet(base::PcapngBlocks& out, std::int64_t time_ns, Direction direction,
                const EthernetFrame& frame) {
  out.packet(time_ns, {frame.headers.data(), frame.header_bytes}, frame.datagram, direction);
}

std::size_t packet_block_bytes(const EthernetFrame& frame) {
  return base::PcapngBlocks::packet_bytes(frame.size(), Direction::kInbound);
}

void LivePackets::sent(std::int64_t time_ns, const Path& path, std::uint16_t ip_id,
                       wire::Bytes datagram) {
  show(time_ns, Direction::kOutbound, {path.local, path.remote, path.udp_source_port}, ip_id,
       datagram);
}

void LivePackets::received(std::int64_t time_ns, const Path& path, std::uint16_t ip_id,
                           wire::Bytes datagram) {
  show(time_ns, Direction::kInbound, {path.remote, path.local, path.udp_source_port}, ip_id,
       datagram);
}

void LivePackets::show(std::int64_t time_ns, Direction direction, const Flow& flow,
                       std::uint16_t ip_id, wire::Bytes datagram) {
  if (datagram.size() > kMaxDatagramBytes) return;  // cannot have been on a wire
  block_.clear();
  put_packet(block_, time_ns, direction, ethernet_frame(flow, ip_id, datagram));
  tap_->emit(time_ns, block_.bytes());
}

}  // namespace rpcrdma::soft
