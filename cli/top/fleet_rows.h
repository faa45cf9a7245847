// The rows of the view of a fleet: hosts, endpoints, findings, events, each exactly as wide as the
// row that is passed.
#pragma once

#include "row.h"

#include <rpcrdma/top/fleet_shown.h>

namespace rpcrdma::top {

[[nodiscard]] Line host_names(Row row, FleetSort sort);
// `connected`: to the bus; else even a host that reported a moment ago is old.
[[nodiscard]] Line host_row(Row row, const fleet::HostState& host, bool connected, bool selected);
[[nodiscard]] Line endpoint_names(Row row);
[[nodiscard]] Line endpoint_row(Row row, const fleet::HostState& host,
                                const fleet::EndpointState& endpoint, bool connected,
                                bool selected);
[[nodiscard]] Line finding_names(Row row);
[[nodiscard]] Line finding_row(Row row, const FleetFinding& finding, bool selected);
[[nodiscard]] Line event_row(Row row, const fleet::ViewEvent& event, bool selected);

// "ok", "old 5 s", "gone 12 min", "left 3 h": a host's state and its age.
[[nodiscard]] std::string state_text(const fleet::HostState& host, bool connected);

}  // namespace rpcrdma::top
