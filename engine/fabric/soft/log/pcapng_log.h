// Datagrams as Ethernet frames in the blocks of a pcapng file, for the packet log and live readers.
#pragma once

#include "../udp/ip_headers.h"

#include <cstdint>
#include <string_view>

#include <rpcrdma/base/pcapng/blocks.h>
#include <rpcrdma/soft/packet.h>
#include <rpcrdma/trace/packet_tap.h>

namespace rpcrdma::soft {

using base::Direction;

// A datagram as an Ethernet frame, in two parts.
struct EthernetFrame {
  std::array<std::uint8_t, 14 + kIpv6Bytes + kUdpBytes> headers;
  std::size_t header_bytes = 0;
  wire::Bytes datagram;  // BTH through ICRC

  [[nodiscard]] std::size_t size() const { return header_bytes + datagram.size(); }
};

// `datagram`: at most kMaxDatagramBytes. The MAC addresses are locally administered and contain the
// IP addresses: 02:00 and an IPv4 address, 02 and the end of an IPv6 address. The UDP checksum is
// zero over IPv4, as annex A17 requires, and correct over IPv6.
[[nodiscard]] EthernetFrame ethernet_frame(const Flow& flow, std::uint16_t ip_id,
                                           wire::Bytes datagram);

// Writes a section and its one interface. `end`: see base::PcapngBlocks::section().
void put_head(base::PcapngBlocks& out, std::string_view interface,
              base::PcapngBlocks::End end = base::PcapngBlocks::End::kAny);
void put_packet(base::PcapngBlocks& out, std::int64_t time_ns, Direction direction,
                const EthernetFrame& frame);
// Returns the size of the block that put_packet() appends.
[[nodiscard]] std::size_t packet_block_bytes(const EthernetFrame& frame);

// Passes packets to live readers.
class LivePackets {
 public:
  LivePackets() = default;
  // Null: no readers.
  explicit LivePackets(trace::PacketTap* tap) : tap_(tap) {}

  [[nodiscard]] bool on() const { return tap_ != nullptr && tap_->on(); }
  // As in PacketLog. Call only while on().
  void sent(std::int64_t time_ns, const Path& path, std::uint16_t ip_id, wire::Bytes datagram);
  void received(std::int64_t time_ns, const Path& path, std::uint16_t ip_id, wire::Bytes datagram);

 private:
  void show(std::int64_t time_ns, Direction direction, const Flow& flow, std::uint16_t ip_id,
            wire::Bytes datagram);

  trace::PacketTap* tap_ = nullptr;
  base::PcapngBlocks block_;  // reused, to keep its memory
};

}  // namespace rpcrdma::soft
