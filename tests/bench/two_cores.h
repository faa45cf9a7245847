// Helpers of benchmarks with two threads on two cores.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace rpcrdma::bench {

// Applies to the calling thread, and to threads that it starts.
void pin_to(unsigned cpu);
void pin_to_all();

struct Percentiles {
  double p50 = 0;
  double p99 = 0;
  double p999 = 0;
};
[[nodiscard]] Percentiles percentiles(std::vector<double>& values);

// Measures the floor of a round trip over loopback: datagrams of `bytes` between two threads on two
// cores, each with a bare UDP socket that it polls without sleep. Appends microseconds for each of
// `rounds`.
void udp_ping_pong(std::size_t bytes, int rounds, std::vector<double>& us);

// Other implementations, if installed; otherwise 0. They run on all cores.
struct FiPingPong {
  double bytes_per_second = 0;
  double round_trip_us = 0;
};
// fi_pingpong -p "udp;ofi_rxd" -e rdm, libfabric's reliable datagrams over UDP.
[[nodiscard]] FiPingPong fi_pingpong(std::size_t bytes, int rounds);
// qperf tcp_bw with messages of 1 MiB, bytes/s.
[[nodiscard]] double qperf_tcp();

}  // namespace rpcrdma::bench
