// How the captures of a batch are analyzed, as plain values that the plan keeps: every process that
// takes a share uses the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rpcrdma::batch {

struct Settings {
  std::string profile = "rfc8166";
  std::string dialect = "auto";  // of RPC-over-RDMA version 2
  bool check_icrc = true;
  std::string filter;                      // as the user wrote it; empty: none
  std::vector<std::string> slow;           // limits, as the user wrote them
  std::vector<std::uint16_t> vxlan_ports;  // besides the usual ones
  std::uint32_t slice = 16;                // files of a unit, at most, if they do not overlap
  std::uint32_t scan = 2000;  // frames of a file in which the plan looks for its hosts; 0: all
  friend bool operator==(const Settings&, const Settings&) = default;
};

}  // namespace rpcrdma::batch
