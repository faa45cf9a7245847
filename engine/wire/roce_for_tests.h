// For the tests of this folder: reads the RoCEv2 packets of a capture of Ethernet frames with IPv4,
// stored as a classic pcap file in this host's byte order.
#pragma once

#include <cstdint>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/error.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::wire {

struct CapturedPacket {
  std::size_t frame = 0;         // counts from 1, as Wireshark does
  std::vector<std::uint8_t> ip;  // from the IPv4 header through the ICRC
  std::size_t bth = 0;           // offset in `ip`

  [[nodiscard]] Bytes transport() const { return Bytes(ip).subspan(bth); }
};

inline std::vector<CapturedPacket> roce_packets(const std::string& file) {
  std::ifstream in(std::string(RPCRDMA_TEST_CAPTURES "/") + file, std::ios::binary);
  const std::vector<std::uint8_t> data{std::istreambuf_iterator<char>(in), {}};
  if (data.size() < 24) throw std::runtime_error("no capture " + file);
  std::vector<CapturedPacket> packets;
  std::size_t number = 0;
  for (std::size_t at = 24; at + 16 <= data.size();) {
    const std::size_t length = __builtin_bswap32(load_be32(data.data() + at + 8));
    const Bytes frame = Bytes(data).subspan(at + 16, length);
    at += 16 + length;
    ++number;
    if (frame.size() < 42 || load_be16(frame.data() + 12) != 0x0800) continue;
    const Bytes ip = frame.subspan(14);
    const std::size_t header = std::size_t{ip[0] & 0x0fU} * 4;
    if (ip[9] != 17 || load_be16(ip.data() + header + 2) != kRoceUdpPort) continue;
    const Bytes datagram = ip.first(load_be16(ip.data() + 2));
    packets.push_back({number, {datagram.begin(), datagram.end()}, header + 8});
  }
  return packets;
}

}  // namespace rpcrdma::wire
