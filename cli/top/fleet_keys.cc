// Applies keys to the view of a fleet, and orders its hosts.
#include <algorithm>
#include <tuple>

#include <rpcrdma/top/fleet_shown.h>

namespace rpcrdma::top {

namespace {

constexpr std::ptrdiff_t kScreen = 10;      // lines of PgUp and PgDn
constexpr std::ptrdiff_t kEnd = 1'000'000;  // more than any number of rows

std::ptrdiff_t rows_of(Key key) {
  switch (key) {
    case Key::kUp:
      return -1;
    case Key::kDown:
      return 1;
    case Key::kPageUp:
      return -kScreen;
    case Key::kPageDown:
      return kScreen;
    case Key::kFirst:
      return -kEnd;
    case Key::kLast:
      return kEnd;
    default:
      return 0;
  }
}

std::size_t moved_row(std::size_t at, std::ptrdiff_t by, std::size_t count) {
  if (count == 0) return 0;
  const auto last = static_cast<std::ptrdiff_t>(count) - 1;
  const auto from = std::min(static_cast<std::ptrdiff_t>(at), last);
  return static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(from + by, 0, last));
}

std::size_t rows_on(const FleetView& view, const FleetShown& shown) {
  if (view.page == FleetPage::kFindings) return shown.findings.size();
  if (view.page == FleetPage::kEvents) return shown.state.events.size();
  std::size_t count = 0;
  for (const fleet::HostState& h : shown.state.hosts) {
    if (view.only_host.empty() || h.name == view.only_host) count += h.endpoints.size();
  }
  return count;
}

// A page's key shows it, or the hosts again.
void turn_to(FleetView& view, FleetPage page) {
  view.page = view.page == page ? FleetPage::kHosts : page;
  view.row = 0;
}

double calls_of(const fleet::HostState& h) {
  return h.rates ? h.rates->calls : 0;
}

}  // namespace

std::vector<const fleet::HostState*> sorted_hosts(const FleetShown& shown, FleetSort sort) {
  std::vector<const fleet::HostState*> hosts;
  hosts.reserve(shown.state.hosts.size());
  for (const fleet::HostState& h : shown.state.hosts) hosts.push_back(&h);
  // What a host did some time ago does not compete with what others do now.
  const auto by = [&](auto value) {
    std::ranges::stable_sort(hosts, [&](const fleet::HostState* a, const fleet::HostState* b) {
      return std::make_tuple(a->fresh, value(*a)) > std::make_tuple(b->fresh, value(*b));
    });
  };
  switch (sort) {
    case FleetSort::kName:
      break;
    case FleetSort::kCalls:
      by(calls_of);
      break;
    case FleetSort::kLatency:
      by([](const fleet::HostState& h) { return h.latency.p99_ns; });
      break;
    case FleetSort::kWaiting:
      by([](const fleet::HostState& h) { return h.credits.waiting; });
      break;
    case FleetSort::kFindings:
      by([](const fleet::HostState& h) {
        return std::make_pair(h.findings.errors, h.findings.warnings);
      });
      break;
  }
  return hosts;
}

void press(FleetView& view, Key key, const FleetShown& shown) {
  if (key == Key::kQuit) {
    view.quit = true;
  } else if (view.page == FleetPage::kHelp) {
    view.page = FleetPage::kHosts;
  } else if (key == Key::kHelp) {
    view.page = FleetPage::kHelp;
  } else if (key == Key::kPause) {
    view.paused = !view.paused;
  } else if (key == Key::kFindings) {
    turn_to(view, FleetPage::kFindings);
  } else if (key == Key::kEvents) {
    turn_to(view, FleetPage::kEvents);
  } else if (key == Key::kEndpoints) {
    view.only_host.clear();
    turn_to(view, FleetPage::kEndpoints);
  } else if (key == Key::kSort && view.page == FleetPage::kHosts) {
    view.sort = static_cast<FleetSort>((static_cast<std::size_t>(view.sort) + 1) % kFleetSorts);
  } else if (view.page != FleetPage::kHosts) {
    view.row = moved_row(view.row, rows_of(key), rows_on(view, shown));
  } else {
    const std::vector<const fleet::HostState*> hosts = sorted_hosts(shown, view.sort);
    if (hosts.empty()) return;
    const auto at = std::ranges::find(hosts, view.host, &fleet::HostState::name);
    const std::size_t from = at == hosts.end() ? 0 : static_cast<std::size_t>(at - hosts.begin());
    view.host = hosts[moved_row(from, rows_of(key), hosts.size())]->name;
    if (key != Key::kOpen) return;
    view.only_host = view.host;
    turn_to(view, FleetPage::kEndpoints);
  }
}

}  // namespace rpcrdma::top
