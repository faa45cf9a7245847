// Passes packets to live readers, as Ethernet frames of a pcapng file.
#pragma once

#include "pcapng_log.h"

#include <rpcrdma/base/pcapng/blocks.h>
#include <rpcrdma/soft/packet.h>
#include <rpcrdma/trace/packet_tap.h>

namespace rpcrdma::soft {

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
