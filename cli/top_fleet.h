// `rpcrdma top --fleet`: watches the hosts of a fleet on the whole terminal, or prints them once.
#pragma once

#include "bus_option.h"

#include <optional>

namespace rpcrdma::cli {

struct TopFleetOptions {
  BusText bus;
  bool once = false;
  bool json = false;
  std::optional<double> seconds;
};

// Returns the exit status; errors are reported.
[[nodiscard]] int run_top_fleet(const TopFleetOptions& options);

}  // namespace rpcrdma::cli
