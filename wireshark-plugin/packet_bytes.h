// The bytes of a RoCE packet, wherever in a frame Wireshark found it, as a frame that the analyzer
// takes: behind tunnels, on any link type, put together from IP fragments.
#pragma once

#include "wireshark.h"

#include <rpcrdma/capture/source.h>

namespace rpcrdma::wireshark {

// When the frame was captured: nanoseconds since the epoch.
[[nodiscard]] inline std::int64_t time_of(const packet_info* pinfo) {
  return static_cast<std::int64_t>(pinfo->abs_ts.secs) * 1'000'000'000 + pinfo->abs_ts.nsecs;
}

// All three leave in `frame.data` bytes that stay valid until the next of these calls. False: this
// is no packet of a connection.

// A UDP datagram.
[[nodiscard]] bool roce_v2_frame(tvbuff_t* udp, packet_info* pinfo, capture::Frame& frame);
// What follows ethertype 0x8915: a GRH.
[[nodiscard]] bool roce_v1_frame(tvbuff_t* grh, packet_info* pinfo, capture::Frame& frame);
// A packet of InfiniBand, from its LRH on.
[[nodiscard]] bool infiniband_frame(tvbuff_t* lrh, packet_info* pinfo, capture::Frame& frame);
// All of a frame in which a program tells its events.
[[nodiscard]] bool event_frame(packet_info* pinfo, capture::Frame& frame);

}  // namespace rpcrdma::wireshark
