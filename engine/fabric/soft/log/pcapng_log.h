// The few pcapng blocks (draft-ietf-opsawg-pcapng section 4) that a log of packets consists of, in
// this host's byte order.
#pragma once

#include "../udp/ip_headers.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace rpcrdma::soft {

enum class Direction : std::uint32_t { kInbound = 1, kOutbound = 2 };  // as epb_flags has it

// A datagram as an Ethernet frame, in two parts.
struct EthernetFrame {
  std::array<std::uint8_t, 14 + kIpv6Bytes + kUdpBytes> headers;
  std::size_t header_bytes = 0;
  wire::Bytes datagram;  // BTH through ICRC

  [[nodiscard]] std::size_t size() const { return header_bytes + datagram.size(); }
};

// `datagram`: at most kMaxDatagramBytes. The MAC addresses are locally administered ones that tell
// the IP addresses: 02:00 and an IPv4 address, 02 and the end of an IPv6 address. The checksum of
// UDP is zero over IPv4, as annex A17 wants it, and right over IPv6.
[[nodiscard]] EthernetFrame ethernet_frame(const Flow& flow, std::uint16_t ip_id,
                                           wire::Bytes datagram);

struct LogStatistics {
  std::int64_t time_ns = 0;
  std::uint64_t received = 0;  // packets, those that were lost among them
  std::uint64_t dropped = 0;
};

// Each appends to `out`. `ends_with_statistics`: a reader that finds none at the end says that the
// file was not closed.
void put_section(std::vector<std::uint8_t>& out, std::string_view interface,
                 bool ends_with_statistics = false);
void put_packet(std::vector<std::uint8_t>& out, std::int64_t time_ns, Direction direction,
                const EthernetFrame& frame);
void put_statistics(std::vector<std::uint8_t>& out, const LogStatistics& statistics);

// What put_statistics() appends.
inline constexpr std::size_t kStatisticsBytes = 52;
// What put_packet() appends.
[[nodiscard]] std::size_t packet_block_bytes(const EthernetFrame& frame);

// How much at the front of `blocks` is whole blocks, if no more than `bytes` of them is there, and
// how many packets are in it.
struct WholeBlocks {
  std::size_t bytes = 0;
  std::uint64_t packets = 0;
  std::size_t last = 0;  // where the last of the whole blocks begins
};
[[nodiscard]] WholeBlocks whole_blocks(wire::Bytes blocks, std::size_t bytes);

}  // namespace rpcrdma::soft
