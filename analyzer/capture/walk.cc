// Runs the layers of a frame one after another.
#include "walk.h"

#include <rpcrdma/wire/endian.h>

namespace rpcrdma::capture {
namespace {

// Each layer consumes bytes or ends a stack of tags or labels, so no walk is endless; this bounds
// the time that a hostile frame can take.
constexpr int kMostLayers = 64;

void run(Walk& w) {
  for (int i = 0; w.next != nullptr; ++i) {
    if (i == kMostLayers) return w.stop_unread(UnreadKind::kTooDeep);
    const Layer layer = std::exchange(w.next, nullptr);
    layer(w);
  }
  // What cannot be read inside a tunnel is named by the tunnel.
  if (w.end == WalkEnd::kMalformed && w.tunnels.count != 0) {
    const auto kind = static_cast<std::uint32_t>(w.tunnels.kind[w.tunnels.count - 1U]);
    w.stop_unread(UnreadKind::kTunnel, kind | (w.truncated ? kTruncatedTunnel : 0));
  }
}

void set_address(Address& to, const std::uint8_t* from, std::size_t bytes, AddressKind kind) {
  to.bytes = {};
  std::memcpy(to.bytes.data(), from, bytes);
  to.kind = kind;
}

}  // namespace

bool Walk::enter(TunnelKind kind) {
  if (tunnels.count == Tunnels::kMost) {
    stop_unread(UnreadKind::kTooDeep);
    return false;
  }
  if (tunnels.count == 0) {
    tunnels.keyed = 0;
    tunnels.erspan_session = Tunnels::kNoSession;
    tunnels.src.kind = tunnels.dst.kind = AddressKind::kNone;
  }
  if (has_ip && tunnels.src.kind == AddressKind::kNone) {
    const std::uint8_t* const p = ip.packet.data();
    const bool v4 = ip.version == 4;
    const AddressKind address = v4 ? AddressKind::kIpv4 : AddressKind::kIpv6;
    const std::size_t bytes = v4 ? 4 : 16;
    set_address(tunnels.src, p + (v4 ? 12 : 8), bytes, address);
    set_address(tunnels.dst, p + (v4 ? 16 : 24), bytes, address);
  }
  tunnels.kind[tunnels.count] = kind;
  tunnels.key[tunnels.count] = 0;
  ++tunnels.count;
  tags = 0;
  return true;
}

void walk_frame(const Frame& frame, Walk& w) {
  w.tunnels.count = 0;
  w.rest = frame.data;
  w.wire = std::max<std::size_t>(frame.original, frame.data.size());
  w.truncated = frame.data.size() < frame.original;
  w.next = layer_of_link(static_cast<std::uint16_t>(frame.link));
  if (w.next == nullptr) return w.stop(WalkEnd::kUnknownLink);
  run(w);
}

void walk_datagram(std::span<const std::uint8_t> datagram, Walk& w) {
  w.rest = datagram;
  w.wire = datagram.size();
  w.next = any_ip;
  run(w);
}

}  // namespace rpcrdma::capture
