// Counts a packet in the tunnels of its sender: see Side::tunnels.
#pragma once

#include <cstdint>

#include <rpcrdma/roce/connection.h>

namespace rpcrdma::roce {

[[gnu::noinline]] inline void count_tunnels(Side& sender, const capture::Tunnels& tunnels,
                                            std::uint64_t frame) {
  for (TunnelsSeen& seen : sender.tunnels) {
    if (!(seen.tunnels == tunnels)) continue;
    ++seen.packets;
    return;
  }
  if (sender.tunnels.size() < kMaxTunnelsSeen) sender.tunnels.push_back({tunnels, 1, frame});
}

// Inlined, because most packets are in no tunnel.
[[gnu::always_inline]] inline void note_tunnels(Side& sender, const capture::Tunnels& tunnels,
                                                std::uint64_t frame) {
  if (tunnels.count != 0) [[unlikely]]
    count_tunnels(sender, tunnels, frame);
}

}  // namespace rpcrdma::roce
