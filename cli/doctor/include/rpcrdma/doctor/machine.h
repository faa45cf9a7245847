// Inspects a machine for `rpcrdma doctor`: RDMA devices and drivers, capturing, Wireshark. Needs no
// privileges, and works where none of these exist.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rpcrdma/base/confinement.h>
#include <rpcrdma/doctor/kernel.h>
#include <rpcrdma/fabric/error.h>
#include <rpcrdma/verbs/system.h>

namespace rpcrdma::doctor {

// The features of this build, set by the program.
struct Build {
  bool verbs = false;
  bool live = false;                    // can capture from interfaces
  std::vector<std::string> interfaces;  // that libpcap can capture from
  KernelProgram kernel = {};
  base::ConfinementSupport confinement = {};
};

struct Netdev {
  std::string name;
  std::uint32_t mtu = 0;
  bool up = false;
};

struct Machine {
  verbs::System rdma;
  std::vector<Netdev> netdevs;  // named by RDMA devices
  bool rxe_available = false;   // the module rdma_rxe is available for the running kernel
  bool rpcbind = false;         // its socket exists
  bool may_capture = false;     // CAP_NET_RAW
  Kernel kernel;
  std::string wireshark;             // path of Wireshark or tshark; empty: none
  std::vector<std::string> plugins;  // files of this project where Wireshark looks for them
  std::vector<std::string> extcaps;
};

// `root`: prefix of all paths; `path`: $PATH; `home`: $HOME, empty: none. Error: kSystem if there
// is nothing to inspect.
[[nodiscard]] fabric::Expected<Machine> look_at_machine(const std::string& root,
                                                        const std::string& path,
                                                        const std::string& home);

}  // namespace rpcrdma::doctor
