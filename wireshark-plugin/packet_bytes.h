// Builds a frame for the analyzer from a RoCE packet, wherever Wireshark found it: inside tunnels,
// on any link type, reassembled from IP fragments.
#pragma once

#include "wireshark.h"

#include <rpcrdma/capture/source.h>

namespace rpcrdma::wireshark {

// Time of capture: nanoseconds since the epoch.
[[nodiscard]] inline std::int64_t time_of(const packet_info* pinfo) {
  return static_cast<std::int64_t>(pinfo->abs_ts.secs) * 1'000'000'000 + pinfo->abs_ts.nsecs;
}

// These functions return bytes in `frame.data` that are valid until the next of these calls. They
// return false if it is not a packet of a connection.

// A UDP datagram.
[[nodiscard]] bool roce_v2_frame(tvbuff_t* udp, packet_info* pinfo, capture::Frame& frame);
// The payload of ethertype 0x8915: a GRH.
[[nodiscard]] bool roce_v1_frame(tvbuff_t* grh, packet_info* pinfo, capture::Frame& frame);
// An InfiniBand packet from its LRH on.
[[nodiscard]] bool infiniband_frame(tvbuff_t* lrh, packet_info* pinfo, capture::Frame& frame);
// A whole frame with a trace event.
[[nodiscard]] bool event_frame(packet_info* pinfo, capture::Frame& frame);

}  // namespace rpcrdma::wireshark
