// The RPC transports of this host's clients, as /sys/kernel/sunrpc states them (Linux 5.14 and
// later): the present state of each, beside what mountstats counts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/base/error.h>
#include <rpcrdma/host/device_counters.h>

namespace rpcrdma::host {

struct SunrpcTransport {
  std::uint64_t number = 0;
  std::string protocol;     // "rdma", "tcp", "local"
  std::string destination;  // dstaddr; empty: not stated
  std::string source;       // srcaddr, of TCP only
  // Of xprt_info, in its order; empty while the transport is not connected.
  std::vector<Counter> info;
  std::vector<std::string> states;  // of xprt_state: "CONNECTED", "BOUND"

  // Credits, of RDMA only: the kernel keeps them as a congestion window, in units of 256.
  static constexpr std::uint64_t kWindowUnit = 256;
};
struct SunrpcSwitch {
  std::uint64_t number = 0;
  std::vector<Counter> info;  // of xprt_switch_info
  std::vector<SunrpcTransport> transports;
};
struct Sunrpc {
  std::vector<SunrpcSwitch> switches;  // ordered by number, and so are their transports
  std::uint64_t left_out = 0;          // folders and fields beyond the bounds or not valid
};

// Reads them anew. Error: /sys/kernel/sunrpc/xprt-switches is absent or unreadable, in one line.
[[nodiscard]] base::Expected<Sunrpc> read_sunrpc(const std::string& sys = "/sys");

}  // namespace rpcrdma::host
