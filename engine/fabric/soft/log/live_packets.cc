#include "live_packets.h"

namespace rpcrdma::soft {

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
