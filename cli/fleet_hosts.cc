// rpcrdma fleet hosts: lists the hosts of a fleet.
#include "commands.h"
#include "fleet_command.h"
#include "fleet_json.h"
#include "fleet_watch.h"
#include "input.h"
#include "interrupt.h"
#include "terminal.h"

#include <algorithm>
#include <vector>

#include <fmt/core.h>
#include <poll.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/top/fleet_draw.h>

namespace rpcrdma::cli {

namespace {

// Agents send each second, and rates need two summaries.
constexpr std::int64_t kMeasured = 3 * base::kSecond;

}  // namespace

int fleet_hosts(const FleetOptions& options, const fleet::BusOptions& bus) {
  const auto watch = FleetWatch::start(bus, false);
  if (!watch) {
    complain("fleet hosts: " + watch.error().message);
    return kUnreadable;
  }
  const Interrupt interrupt({});
  const std::int64_t end = base::monotonic_ns() + kMeasured;
  while (!Interrupt::came() && base::monotonic_ns() < end) {
    std::vector<pollfd> fds;
    (*watch)->add_descriptors(fds);
    ::poll(fds.data(), fds.size(), 100);
    (*watch)->take();
  }
  top::FleetShown shown = (*watch)->shown();
  if (!options.host.empty()) {
    std::erase_if(shown.state.hosts,
                  [&](const fleet::HostState& h) { return h.name != options.host; });
  }
  if (shown.state.hosts.empty()) {
    complain(options.host.empty() ? "fleet hosts: no host reports"
                                  : fmt::format("fleet hosts: {} does not report", options.host));
    return kUnreadable;
  }
  if (options.json) {
    for (const fleet::HostState& h : shown.state.hosts) fmt::print("{}\n", host_json(h));
    return kOk;
  }
  for (const top::Line& line : top::draw_hosts(shown, terminal_width(), utf8_wanted())) {
    fmt::print("{}\n", top::plain(line));
  }
  if (!shown.state.refused.latest.empty()) {
    inform("fleet hosts: refused: " + shown.state.refused.latest);
  }
  return kOk;
}

}  // namespace rpcrdma::cli
