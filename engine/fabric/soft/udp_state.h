// What both directions of a UDP socket share.
#pragma once

#include <ctime>

#include <rpcrdma/soft/packet_log.h>
#include <rpcrdma/soft/udp_socket.h>

namespace rpcrdma::soft {

struct UdpShared {
  int fd = -1;
  fabric::Address local;
  PacketLog* log = nullptr;
  UdpCounters counters;
};

inline std::int64_t wall_clock_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace rpcrdma::soft
