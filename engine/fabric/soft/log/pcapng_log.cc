#include "pcapng_log.h"

#include <cstring>

#include <rpcrdma/wire/endian.h>

namespace rpcrdma::soft {
namespace {

constexpr std::uint32_t kSectionHeader = 0x0a0d0d0a;
constexpr std::uint32_t kByteOrderMagic = 0x1a2b3c4d;
constexpr std::uint32_t kInterfaceDescription = 1;
constexpr std::uint32_t kInterfaceStatistics = 5;
constexpr std::uint32_t kEnhancedPacket = 6;

constexpr std::uint16_t kEndOfOptions = 0;
constexpr std::uint16_t kComment = 1;
constexpr std::uint16_t kUserApplication = 4;
constexpr std::uint16_t kInterfaceName = 2;
constexpr std::uint16_t kTimeResolution = 9;
constexpr std::uint16_t kPacketFlags = 2;
constexpr std::uint16_t kReceived = 4;
constexpr std::uint16_t kDropped = 7;

constexpr std::uint16_t kEthernet = 1;  // link type
constexpr std::uint8_t kNanoseconds = 9;
constexpr std::size_t kLongestName = 255;
// Around the frame: block type, lengths, interface, time, flags, end of options.
constexpr std::size_t kPacketBytes = 32 + 8 + 4;

constexpr std::size_t kMacBytes = 6;
constexpr std::size_t kEthernetBytes = 14;
constexpr std::uint16_t kTypeIpv4 = 0x0800;
constexpr std::uint16_t kTypeIpv6 = 0x86dd;

std::size_t padding(std::size_t n) {
  return (4 - n % 4) % 4;
}

class Block {
 public:
  Block(std::vector<std::uint8_t>& out, std::uint32_t type) : out_(out), begin_(out.size()) {
    put(type);
    put(std::uint32_t{0});
  }

  template <typename T>
  void put(T value) {
    std::memcpy(grow(sizeof value), &value, sizeof value);
  }

  void put_bytes(wire::Bytes bytes) {
    if (!bytes.empty()) std::memcpy(grow(bytes.size()), bytes.data(), bytes.size());
  }
  void pad(std::size_t n) { grow(padding(n)); }

  // The upper half comes first, in either byte order.
  void put_time(std::int64_t ns) {
    put(static_cast<std::uint32_t>(static_cast<std::uint64_t>(ns) >> 32));
    put(static_cast<std::uint32_t>(ns));
  }

  void option(std::uint16_t code, wire::Bytes value) {
    put(code);
    put(static_cast<std::uint16_t>(value.size()));
    put_bytes(value);
    pad(value.size());
  }
  void option(std::uint16_t code, std::string_view text) {
    option(code, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  }
  template <typename T>
  void option_number(std::uint16_t code, T value) {
    put(code);
    put(std::uint16_t{sizeof value});
    put(value);
  }

  void end() {
    put(kEndOfOptions);
    put(std::uint16_t{0});
    const auto total = static_cast<std::uint32_t>(out_.size() - begin_ + sizeof(std::uint32_t));
    put(total);
    std::memcpy(out_.data() + begin_ + sizeof total, &total, sizeof total);
  }

 private:
  // Zeros.
  std::uint8_t* grow(std::size_t n) {
    out_.resize(out_.size() + n);
    return out_.data() + out_.size() - n;
  }

  std::vector<std::uint8_t>& out_;
  std::size_t begin_;
};

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
  wire::store_be16(udp + 6, checksum == 0 ? 0xffff : checksum);  // 0 says that there is none
}

std::uint32_t load(const std::uint8_t* p) {
  std::uint32_t value;
  std::memcpy(&value, p, sizeof value);
  return value;
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

void put_section(std::vector<std::uint8_t>& out, std::string_view interface,
                 bool ends_with_statistics) {
  Block section(out, kSectionHeader);
  section.put(kByteOrderMagic);
  section.put(std::uint16_t{1});
  section.put(std::uint16_t{0});
  section.put(std::int64_t{-1});  // the section's length is not known
  section.option(kUserApplication, "rpcrdma");
  if (ends_with_statistics) section.option(kComment, "ends with interface statistics");
  section.end();

  Block description(out, kInterfaceDescription);
  description.put(kEthernet);
  description.put(std::uint16_t{0});
  description.put(std::uint32_t{0});  // frames are never cut
  description.option(kInterfaceName, interface.substr(0, kLongestName));
  description.option_number(kTimeResolution, kNanoseconds);
  description.pad(sizeof kNanoseconds);
  description.end();
}

void put_packet(std::vector<std::uint8_t>& out, std::int64_t time_ns, Direction direction,
                const EthernetFrame& frame) {
  Block packet(out, kEnhancedPacket);
  packet.put(std::uint32_t{0});  // the interface
  packet.put_time(time_ns);
  packet.put(static_cast<std::uint32_t>(frame.size()));  // captured
  packet.put(static_cast<std::uint32_t>(frame.size()));  // on the wire
  packet.put_bytes({frame.headers.data(), frame.header_bytes});
  packet.put_bytes(frame.datagram);
  packet.pad(frame.size());
  packet.option_number(kPacketFlags, static_cast<std::uint32_t>(direction));
  packet.end();
}

void put_statistics(std::vector<std::uint8_t>& out, const LogStatistics& statistics) {
  Block block(out, kInterfaceStatistics);
  block.put(std::uint32_t{0});  // the interface
  block.put_time(statistics.time_ns);
  block.option_number(kReceived, statistics.received);
  block.option_number(kDropped, statistics.dropped);
  block.end();
}

std::size_t packet_block_bytes(const EthernetFrame& frame) {
  return kPacketBytes + frame.size() + padding(frame.size());
}

WholeBlocks whole_blocks(wire::Bytes blocks, std::size_t bytes) {
  WholeBlocks whole;
  while (whole.bytes < blocks.size()) {
    const std::uint8_t* const block = blocks.data() + whole.bytes;
    const std::size_t length = load(block + 4);
    if (length > bytes - whole.bytes) break;
    whole.last = whole.bytes;
    whole.bytes += length;
    if (load(block) == kEnhancedPacket) ++whole.packets;
  }
  return whole;
}

}  // namespace rpcrdma::soft
