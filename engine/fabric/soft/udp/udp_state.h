// State that both directions of a UDP socket share.
#pragma once

#include "../log/pcapng_log.h"

#include <rpcrdma/base/clock.h>
#include <rpcrdma/soft/packet_log.h>
#include <rpcrdma/soft/udp_socket.h>

namespace rpcrdma::soft {

class PortShare;

struct UdpShared {
  int fd = -1;
  fabric::Address local;
  PacketLog* log = nullptr;
  LivePackets live;
  UdpCounters counters;
  PortShare* port = nullptr;  // null: the port is not shared

  // Returns whether there is a log or a live reader.
  [[nodiscard]] bool watched() const { return log != nullptr || live.on(); }
  // As in PacketLog.
  void show_sent(const Path& path, std::uint16_t ip_id, wire::Bytes datagram) {
    const std::int64_t now = base::wall_clock_ns();
    if (log != nullptr) log->sent(now, path, ip_id, datagram);
    if (live.on()) live.sent(now, path, ip_id, datagram);
  }
  void show_received(const Path& path, std::uint16_t ip_id, wire::Bytes datagram) {
    const std::int64_t now = base::wall_clock_ns();
    if (log != nullptr) log->received(now, path, ip_id, datagram);
    if (live.on()) live.received(now, path, ip_id, datagram);
  }
};

}  // namespace rpcrdma::soft
