// What `rpcrdma fleet WHAT` does: each function is one of its words, and returns the exit status.
#pragma once

#include "bus_option.h"

#include <string>

namespace rpcrdma::cli {

struct FleetOptions {
  std::string what;
  std::string host;  // empty: not given
  BusText bus;
  // For `record`.
  std::string endpoint;  // empty: the host has only one
  std::string duration = "10s";
  std::string size = "256Mi";
  std::string write;  // empty: HOST-ENDPOINT.pcapng
  // Of `hosts` and `findings`.
  bool json = false;
  std::string since = "1h";
  bool follow = false;
};

[[nodiscard]] int fleet_hosts(const FleetOptions& options, const fleet::BusOptions& bus);
[[nodiscard]] int fleet_findings(const FleetOptions& options, const fleet::BusOptions& bus);
[[nodiscard]] int fleet_record(const FleetOptions& options, const fleet::BusOptions& bus);

}  // namespace rpcrdma::cli
