// Draws the pages of `rpcrdma top --fleet`.
#include "fleet_rows.h"
#include "values.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include <rpcrdma/plot/escape.h>
#include <rpcrdma/plot/units.h>
#include <rpcrdma/top/fleet_draw.h>

namespace rpcrdma::top {

namespace {

using fleet::HostState;
using plot::Unit;
using Side = Row::Side;

constexpr std::size_t kFleetHead = 6;  // lines above the rows: title, sums, column names

class FleetDrawer {
 public:
  FleetDrawer(const FleetShown& shown, const FleetView& view, std::size_t width, bool utf8)
      : s_(shown), view_(view), f_(shown.state), width_(width), utf8_(utf8) {}

  void screen(std::size_t height);
  void all();
  void only_hosts();
  [[nodiscard]] std::vector<Line> take() { return std::move(lines_); }

 private:
  [[nodiscard]] Row row() const { return {width_, utf8_}; }
  void add(Line line) { lines_.push_back(std::move(line)); }
  void blank() { add(row().take()); }
  void title(bool live);
  void hosts_line();
  void calls_line();
  void chunks_line();
  void bus_line();
  void head(bool live) {
    title(live);
    hosts_line();
    calls_line();
    chunks_line();
    bus_line();
  }
  void heading(const std::string& text);
  void wrapped(const std::string& text, std::size_t lines, Style style);
  // Adds `rows` lines, of which the selected one is visible.
  template <typename Draw>
  void table(std::size_t rows, std::size_t count, std::size_t selected, const char* none,
             const Draw& draw);
  void hosts_page(std::size_t height);
  void host_detail(const HostState& h);
  void endpoints_page(std::size_t height);
  void findings_page(std::size_t height);
  void events_page(std::size_t height);
  void events(std::size_t rows);
  void help();
  void keys();

  const FleetShown& s_;
  const FleetView& view_;
  const fleet::FleetState& f_;
  std::size_t width_;
  bool utf8_;
  std::vector<Line> lines_;
};

void FleetDrawer::title(bool live) {
  std::string state = f_.connected ? "" : " BUS DISCONNECTED ";
  const Style style = state.empty() ? Style::kWarning : Style::kBad;
  if (live && view_.paused) state += " PAUSED ";
  const std::string right =
      fmt::format(" {}  {} UTC ", plural(f_.hosts.size(), "host"), clock_text(f_.wall_ns));
  Row r = row();
  r.put(" rpcrdma top  ", Style::kBar);
  if (r.left() > right.size() + state.size()) {
    r.cell(s_.server, r.left() - state.size() - right.size(), Side::kLeft, Style::kBar);
    r.put(state, style).put(right, Style::kBar);
  } else {
    r.put(state, style);
  }
  add(r.take(Style::kBar));
}

void FleetDrawer::hosts_line() {
  const fleet::FleetTotals& t = f_.totals;
  Row r = row();
  r.cell(" Hosts", 10, Side::kLeft, Style::kBold);
  r.put(fmt::format("{} reporting", t.hosts), t.hosts != 0 ? Style::kGood : Style::kPlain);
  r.put("  ").put(fmt::format("{} old", t.old_hosts),
                  t.old_hosts != 0 ? Style::kBad : Style::kPlain);
  r.put(fmt::format("  {} left", t.left_hosts));
  r.put(fmt::format("   {}  {}", plural(t.endpoints, "endpoint"),
                    plural(t.connections, "connection")));
  if (t.recordings != 0) r.put(fmt::format("  {}", plural(t.recordings, "recording")));
  add(r.take());
}

void FleetDrawer::calls_line() {
  const fleet::FleetTotals& t = f_.totals;
  Row r = row();
  r.cell(" Calls", 10, Side::kLeft, Style::kBold);
  r.cell(t.rates ? plot::format_value(Unit::kPerSecond, rounded(t.rates->calls)) : "-", 10,
         Side::kLeft);
  r.put("p50 ").cell(duration_text(t.latency.p50_ns), 8, Side::kLeft);
  r.put("p99 ").cell(duration_text(t.latency.p99_ns), 8, Side::kLeft);
  r.put("use/grant ")
      .cell(fmt::format("{}/{}", brief(t.credits.in_use), brief(t.credits.granted)), 12,
            Side::kLeft);
  r.put(fmt::format("waiting {}", brief(t.credits.waiting)),
        t.credits.waiting != 0 ? Style::kWarning : Style::kPlain);
  add(r.take());
}

void FleetDrawer::chunks_line() {
  const fleet::FleetTotals& t = f_.totals;
  Row r = row();
  r.cell(" Chunks", 10, Side::kLeft, Style::kBold);
  const auto bytes = [&](const char* name, double fleet::ViewRates::*which) {
    r.put(name).put(" ").cell(
        t.rates ? plot::format_value(Unit::kBytesPerSecond, (*t.rates).*which) : "-", 13,
        Side::kLeft);
  };
  bytes("Read", &fleet::ViewRates::read_bytes);
  bytes("Write", &fleet::ViewRates::write_bytes);
  bytes("Reply", &fleet::ViewRates::reply_bytes);
  add(r.take());
}

// Says what is missing from the picture.
void FleetDrawer::bus_line() {
  const fleet::ViewRefusals& no = f_.refused;
  Row r = row();
  r.cell(" Bus", 10, Side::kLeft, Style::kBold);
  if (f_.connected) {
    r.put("connected", Style::kGood);
  } else {
    r.put("disconnected: " + f_.bus, Style::kBad);
  }
  const auto count = [&](std::uint64_t n, const char* what) {
    if (n != 0) r.put("  ").put(fmt::format("{} {}", what, brief(n)), Style::kWarning);
  };
  r.put(fmt::format("  summaries {}", brief(f_.totals.received)));
  count(f_.totals.lost, "lost");
  count(no.malformed + no.wrong_host + no.hosts + s_.findings_refused, "refused");
  count(no.other_schema, "other version");
  count(no.undelivered, "not taken");
  count(no.histograms, "without latencies");
  add(r.take());
}

void FleetDrawer::heading(const std::string& text) {
  Row r = row();
  const char* const glyph = utf8_ ? "─" : "-";
  r.put(glyph, Style::kDim).put(" ").put(text, Style::kBold).put(" ").fill(glyph, Style::kDim);
  add(r.take());
}

void FleetDrawer::wrapped(const std::string& text, std::size_t lines, Style style) {
  const std::size_t width = width_ > 2 ? width_ - 2 : 0;
  std::string_view rest = text;
  for (std::size_t i = 0; i < lines; ++i) {
    std::size_t end = rest.size();
    if (end > width) {
      end = rest.rfind(' ', width);
      if (end == std::string_view::npos || end == 0 || i + 1 == lines) end = rest.size();
    }
    add(row().put(" ").put(rest.substr(0, end), style).take());
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

template <typename Draw>
void FleetDrawer::table(std::size_t rows, std::size_t count, std::size_t selected, const char* none,
                        const Draw& draw) {
  const std::size_t first = rows != 0 && selected >= rows ? selected + 1 - rows : 0;
  for (std::size_t i = first; i < first + rows; ++i) {
    if (i < count) {
      add(draw(i, i == selected));
    } else if (i == 0) {
      add(row().put(" ").put(none, Style::kDim).take());
    } else {
      blank();
    }
  }
}

void FleetDrawer::events(std::size_t rows) {
  table(rows, f_.events.size(), f_.events.size(), "nothing has happened",
        [&](std::size_t i, bool) { return event_row(row(), f_.events[i], false); });
}

// Reports what is lost, late or wrong with a host.
void FleetDrawer::host_detail(const HostState& h) {
  heading(h.name);
  Row r = row();
  r.put(fmt::format(" agent {}  {} summaries", h.version.empty() ? "?" : h.version, h.received));
  const auto count = [&](std::uint64_t n, const char* what, Style style) {
    if (n != 0) r.put("  ").put(fmt::format("{} {}", what, n), style);
  };
  count(h.lost, "lost", Style::kWarning);
  count(h.late, "late", Style::kPlain);
  count(h.repeated, "repeated", Style::kPlain);
  count(h.restarts, "restarts", Style::kPlain);
  count(h.agent.reconnects, "reconnects", Style::kPlain);
  count(h.recordings, "recordings", Style::kPlain);
  if (!h.fresh) r.put(fmt::format("  last state {} UTC", clock_text(h.heard_wall_ns)), Style::kBad);
  add(r.take());
  add(row()
          .put(" ")
          .put(h.problem.empty() ? "no problem" : h.problem,
               h.problem.empty() ? Style::kDim : Style::kBad)
          .take());
}

void FleetDrawer::hosts_page(std::size_t height) {
  constexpr std::size_t kWithEvents = 24;
  const std::size_t events_rows =
      height >= kWithEvents ? std::min<std::size_t>(3 + (height - kWithEvents) / 4, 12) : 0;
  const std::size_t below = 1 + (events_rows == 0 ? 0 : events_rows + 1 + 3);
  const std::size_t rows = height > kFleetHead + below ? height - kFleetHead - below : 0;
  head(true);
  const std::vector<const HostState*> hosts = sorted_hosts(s_, view_.sort);
  const auto found = std::ranges::find(hosts, view_.host, &HostState::name);
  const std::size_t at = found == hosts.end() ? 0 : static_cast<std::size_t>(found - hosts.begin());
  add(host_names(row(), view_.sort));
  table(rows, hosts.size(), at, "no host yet", [&](std::size_t i, bool selected) {
    return host_row(row(), *hosts[i], f_.connected, selected);
  });
  if (events_rows != 0) {
    if (at < hosts.size()) {
      host_detail(*hosts[at]);
    } else {
      heading("No host");
      blank();
      blank();
    }
    heading("Events");
    events(events_rows);
  }
  keys();
}

void FleetDrawer::endpoints_page(std::size_t height) {
  struct One {
    const HostState* host;
    const fleet::EndpointState* endpoint;
  };
  std::vector<One> all;
  for (const HostState* const h : sorted_hosts(s_, view_.sort)) {
    if (!view_.only_host.empty() && h->name != view_.only_host) continue;
    for (const fleet::EndpointState& e : h->endpoints) all.push_back({h, &e});
  }
  head(true);
  add(endpoint_names(row()));
  const std::size_t below = 3;
  const std::size_t rows = height > kFleetHead + below ? height - kFleetHead - below : 0;
  const std::size_t at = all.empty() ? 0 : std::min(view_.row, all.size() - 1);
  table(rows, all.size(), at, "no endpoint", [&](std::size_t i, bool selected) {
    return endpoint_row(row(), *all[i].host, *all[i].endpoint, f_.connected, selected);
  });
  if (all.empty()) {
    blank();
    blank();
  } else {
    const fleet::EndpointState& e = *all[at].endpoint;
    heading(fmt::format("{} on {}", e.name, all[at].host->name));
    Row r = row();
    r.put(fmt::format(" {}  process {}", e.role.empty() ? "no role" : e.role, e.process));
    if (!e.user.empty()) r.put(fmt::format(" of {}", e.user));
    if (e.events_lost != 0) {
      r.put(fmt::format("  {} trace events lost", brief(e.events_lost)), Style::kBad);
    }
    if (!e.recordings.empty()) r.put("  writes " + e.recordings.front().file);
    if (!e.why.empty()) r.put("  " + e.why, Style::kBad);
    add(r.take());
  }
  keys();
}

void FleetDrawer::findings_page(std::size_t height) {
  constexpr std::size_t kAround = 11;
  const std::size_t rows = height > kAround ? height - kAround : 0;
  title(true);
  hosts_line();
  bus_line();
  heading(fmt::format("Findings: {}{}, newest first", s_.findings.size(),
                      s_.findings_dropped == 0
                          ? std::string()
                          : fmt::format(" of {}", s_.findings.size() + s_.findings_dropped)));
  add(finding_names(row()));
  const std::size_t at = s_.findings.empty() ? 0 : std::min(view_.row, s_.findings.size() - 1);
  table(rows, s_.findings.size(), at, "no findings so far",
        [&](std::size_t i, bool selected) { return finding_row(row(), s_.findings[i], selected); });
  if (s_.findings.empty()) {
    for (std::size_t i = 0; i < 5; ++i) blank();
  } else {
    const FleetFinding& f = s_.findings[at];
    heading(fmt::format("{} on {}{}", f.endpoint, f.host, f.peer.empty() ? "" : ": " + f.peer));
    wrapped(f.text, 2, Style::kPlain);
    wrapped(f.advice, 2, Style::kDim);
  }
  keys();
}

void FleetDrawer::events_page(std::size_t height) {
  constexpr std::size_t kAround = 5;
  const std::size_t rows = height > kAround ? height - kAround : 0;
  title(true);
  hosts_line();
  bus_line();
  heading(f_.events_dropped == 0 ? std::string("Events, newest first")
                                 : fmt::format("Events, newest first; {} older ones are not kept",
                                               brief(f_.events_dropped)));
  const std::size_t at = f_.events.empty() ? 0 : std::min(view_.row, f_.events.size() - 1);
  table(rows, f_.events.size(), at, "nothing has happened",
        [&](std::size_t i, bool selected) { return event_row(row(), f_.events[i], selected); });
  keys();
}

void FleetDrawer::help() {
  constexpr std::array kLines{
      " q, Ctrl-C      quit",
      " j k, arrows    select a row; PgUp, PgDn, Home, End jump",
      " s              sort hosts by name, calls/s, p99, waiting Calls, findings",
      " Enter          the endpoints of the selected host",
      " e              all endpoints",
      " f              findings, with advice on the selected one",
      " v              events: hosts that joined, vanished, came back; restarts",
      " p, space       pause the display; summaries are still read",
      " ?              this page; any key closes it",
      "",
      " STATE          ok: its state is at most 3 s old; old: the bus is",
      "                disconnected; gone: no summary for so long; left: its agent",
      "                stopped. Only hosts that are ok count in the sums.",
      " p50 p99        merged histograms of Calls of about the last 10 s",
      " USE/GRANT      credits in use / granted by the peers",
      " WAIT           Calls that wait for a credit",
      " E/W            findings: errors / warnings, since the agent started",
      " LOST           summaries that never came; rates and latencies stay right",
  };
  title(true);
  blank();
  for (const char* line : kLines) add(row().put(line).take());
}

void FleetDrawer::keys() {
  constexpr std::array<const char*, kFleetSorts> kNames{"name", "calls/s", "p99", "waiting",
                                                        "findings"};
  Row r = row();
  // At 80 columns the last one does not fit.
  const auto key = [&](const std::string& name, const std::string& what) {
    if (r.left() < name.size() + what.size() + 2) return;
    r.put(" ").put(name, Style::kBold).put(" ").put(what).put(" ");
  };
  const auto page = [&](const char* name, FleetPage of, const char* what) {
    key(name, view_.page == of ? "hosts" : what);
  };
  key("q", "quit");
  if (view_.page == FleetPage::kHosts) {
    key("s", fmt::format("sort: {}", kNames[static_cast<std::size_t>(view_.sort)]));
    key("Enter", "open");
  }
  page("e", FleetPage::kEndpoints, "endpoints");
  page("f", FleetPage::kFindings, "findings");
  page("v", FleetPage::kEvents, "events");
  key("?", "help");
  key("p", view_.paused ? "resume" : "pause");
  add(r.take());
}

void FleetDrawer::screen(std::size_t height) {
  switch (view_.page) {
    case FleetPage::kHosts:
      hosts_page(height);
      break;
    case FleetPage::kEndpoints:
      endpoints_page(height);
      break;
    case FleetPage::kFindings:
      findings_page(height);
      break;
    case FleetPage::kEvents:
      events_page(height);
      break;
    case FleetPage::kHelp:
      help();
      break;
  }
  while (lines_.size() < height) blank();
  lines_.resize(height);
}

void FleetDrawer::only_hosts() {
  add(host_names(row(), FleetSort::kName));
  for (const HostState& h : f_.hosts) add(host_row(row(), h, f_.connected, false));
}

void FleetDrawer::all() {
  head(false);
  only_hosts();
  heading("Endpoints");
  add(endpoint_names(row()));
  for (const HostState& h : f_.hosts) {
    for (const fleet::EndpointState& e : h.endpoints) {
      add(endpoint_row(row(), h, e, f_.connected, false));
    }
  }
  for (const HostState& h : f_.hosts) {
    if (!h.problem.empty()) add(row().put(fmt::format(" {}: {}", h.name, h.problem)).take());
  }
  if (!f_.refused.latest.empty()) {
    add(row().put(fmt::format(" refused: {}", f_.refused.latest)).take());
  }
  heading("Events");
  for (const fleet::ViewEvent& e : f_.events) add(event_row(row(), e, false));
  heading(fmt::format("Findings: {}", s_.findings.size()));
  for (const FleetFinding& f : s_.findings) add(finding_row(row(), f, false));
}

}  // namespace

std::vector<Line> draw(const FleetShown& shown, const FleetView& view, const Size& size,
                       bool utf8) {
  FleetDrawer d(shown, view, size.width, utf8);
  d.screen(size.height);
  return d.take();
}

std::vector<Line> draw_plain(const FleetShown& shown, std::size_t width, bool utf8) {
  const FleetView view;
  FleetDrawer d(shown, view, width, utf8);
  d.all();
  return d.take();
}

std::vector<Line> draw_hosts(const FleetShown& shown, std::size_t width, bool utf8) {
  const FleetView view;
  FleetDrawer d(shown, view, width, utf8);
  d.only_hosts();
  return d.take();
}

}  // namespace rpcrdma::top
