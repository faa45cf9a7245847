// What `rpcrdma doctor` finds on a machine: what there is for RDMA, for capturing, for Wireshark.
// Everything can be looked at without rights and where nothing of it exists.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rpcrdma/fabric/error.h>
#include <rpcrdma/verbs/system.h>

namespace rpcrdma::doctor {

// What this build can do; its owner knows.
struct Build {
  bool verbs = false;
  bool live = false;                    // captures from interfaces
  std::vector<std::string> interfaces;  // that it can capture from
};

struct Netdev {
  std::string name;
  std::uint32_t mtu = 0;
  bool up = false;
};

struct Machine {
  verbs::System rdma;
  std::vector<Netdev> netdevs;       // that RDMA devices name
  bool rxe_available = false;        // the running kernel has the module rdma_rxe
  bool rpcbind = false;              // its socket is there
  bool may_capture = false;          // CAP_NET_RAW
  std::string wireshark;             // path of Wireshark or tshark; empty: none
  std::vector<std::string> plugins;  // of this project, where Wireshark looks for them
  std::vector<std::string> extcaps;
};

// `root`: what stands before all paths; `path`: $PATH; `home`: $HOME, empty: none. Error: kSystem,
// there is nothing to look at.
[[nodiscard]] fabric::Expected<Machine> look_at_machine(const std::string& root,
                                                        const std::string& path,
                                                        const std::string& home);

}  // namespace rpcrdma::doctor
