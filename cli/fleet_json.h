// The state of a fleet as JSON, for scripts (docs/fleet.md).
#pragma once

#include <string>

#include <rpcrdma/fleet/summary.h>
#include <rpcrdma/top/fleet_shown.h>

namespace rpcrdma::cli {

// One line, without its end.
[[nodiscard]] std::string fleet_json(const top::FleetShown& shown);
// One line for each host.
[[nodiscard]] std::string host_json(const fleet::HostState& host);
[[nodiscard]] std::string finding_json(const top::FleetFinding& finding);

}  // namespace rpcrdma::cli
