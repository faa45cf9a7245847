// The contents of `rpcrdma top --fleet` at one moment, and its user's settings. Plain values: the
// fleet's state comes from fleet::View, findings from the bus; both are drawn by fleet_draw.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <rpcrdma/fleet/view.h>
#include <rpcrdma/rules/finding.h>
#include <rpcrdma/top/keys.h>

namespace rpcrdma::top {

// A finding that an agent published.
struct FleetFinding {
  std::int64_t wall_ns = 0;  // since the epoch, on the host's clock
  std::string host;
  std::string endpoint;
  rules::Severity severity = rules::Severity::kNote;
  std::string rule;
  std::string peer;  // side at fault
  std::uint64_t count = 0;
  std::string text;
  std::string advice;
};

struct FleetShown {
  std::string server;  // of the bus, as the user named it
  fleet::FleetState state;
  std::vector<FleetFinding> findings;  // newest first
  std::uint64_t findings_dropped = 0;  // older ones that are not kept
  std::uint64_t findings_refused = 0;  // messages that are no findings, or are forged
};

enum class FleetPage : std::uint8_t { kHosts, kEndpoints, kFindings, kEvents, kHelp };
enum class FleetSort : std::uint8_t { kName, kCalls, kLatency, kWaiting, kFindings };
inline constexpr std::size_t kFleetSorts = 5;

struct FleetView {
  FleetPage page = FleetPage::kHosts;
  FleetSort sort = FleetSort::kName;
  bool paused = false;
  bool quit = false;
  std::string host;       // the selected one; empty: the first
  std::string only_host;  // page of endpoints: of this host; empty: all
  std::size_t row = 0;    // selected row of the other pages
};

// The hosts in the order of the view.
[[nodiscard]] std::vector<const fleet::HostState*> sorted_hosts(const FleetShown& shown,
                                                                FleetSort sort);

// `shown`: what is on the screen.
void press(FleetView& view, Key key, const FleetShown& shown);

}  // namespace rpcrdma::top
