#include "fleet_rows.h"

#include "values.h"

#include <algorithm>

#include <fmt/core.h>

#include <rpcrdma/plot/units.h>

namespace rpcrdma::top {

namespace {

using fleet::EndpointEnd;
using fleet::EndpointState;
using fleet::HostPresence;
using fleet::HostState;
using plot::Unit;
using Side = Row::Side;

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::size_t kWideRow = 100;
constexpr std::size_t kState = 11;
constexpr std::size_t kFound = 7;

std::string age_text(std::int64_t ns) {
  const std::int64_t s = ns / kSecondNs;
  if (s < 100) return fmt::format("{} s", s);
  if (s < 100 * 60) return fmt::format("{} min", s / 60);
  return fmt::format("{} h", s / 3600);
}

// Columns: each has the same width in names and rows.
std::size_t host_width(std::size_t width) {
  return width >= kWideRow ? std::min<std::size_t>(16 + (width - kWideRow) / 3, 40) : 14;
}

std::size_t endpoint_width(std::size_t width) {
  return width >= kWideRow ? std::min<std::size_t>(14 + (width - kWideRow) / 4, 32) : 13;
}

std::string calls_text(const std::optional<fleet::ViewRates>& rates) {
  return rates ? plot::format_value(Unit::kCount, rounded(rates->calls)) : "-";
}

std::string credits_text(const fleet::CreditSums& c) {
  return fmt::format("{}/{}", brief(c.in_use), brief(c.granted));
}

std::string few(std::uint64_t n) {
  return n < 1000 ? std::to_string(n) : "999+";
}

std::string found_text(const fleet::ViewFindings& f) {
  return fmt::format("{}/{}", few(f.errors), few(f.warnings));
}

Style found_style(const fleet::ViewFindings& f, Style style) {
  return f.errors != 0 ? Style::kBad : f.warnings != 0 ? Style::kWarning : style;
}

// Appends cells that are set off by a blank.
class Cells {
 public:
  Cells(Row& row, Style base, bool keep) : row_(row), base_(base), keep_(keep) {}

  void left(const std::string& text, std::size_t width) { cell(text, width, Side::kLeft, base_); }
  void left(const std::string& text, std::size_t width, Style style) {
    cell(text, width, Side::kLeft, style);
  }
  void right(const std::string& text, std::size_t width) { cell(text, width, Side::kRight, base_); }
  void right(const std::string& text, std::size_t width, Style style) {
    cell(text, width, Side::kRight, style);
  }

 private:
  void cell(const std::string& text, std::size_t width, Side side, Style style) {
    row_.put(" ", base_).cell(text, width, side, keep_ ? base_ : style);
  }

  Row& row_;
  Style base_;
  bool keep_;  // ignore the styles of cells
};

void measured(Cells& cells, const std::optional<fleet::ViewRates>& rates,
              const fleet::ViewLatency& latency, const fleet::CreditSums& credits) {
  cells.right(calls_text(rates), 8);
  cells.right(duration_text(latency.p50_ns), 7);
  cells.right(duration_text(latency.p99_ns), 7);
  cells.right(credits_text(credits), 9);
}

void measured_names(Row& r, FleetSort sort) {
  const auto style = [&](FleetSort of) { return of == sort ? Style::kSelected : Style::kBar; };
  r.put(" ", Style::kBar).cell("CALLS/s", 8, Side::kRight, style(FleetSort::kCalls));
  r.put(" ", Style::kBar).cell("p50", 7, Side::kRight, Style::kBar);
  r.put(" ", Style::kBar).cell("p99", 7, Side::kRight, style(FleetSort::kLatency));
  r.put(" ", Style::kBar).cell("USE/GRANT", 9, Side::kRight, Style::kBar);
}

// Old state is dim as a whole, so that no colour claims to be of now.
Style base_style(bool fresh, bool selected) {
  return selected ? Style::kSelected : fresh ? Style::kPlain : Style::kDim;
}

Style severity_style(rules::Severity severity) {
  return severity == rules::Severity::kError     ? Style::kBad
         : severity == rules::Severity::kWarning ? Style::kWarning
                                                 : Style::kDim;
}

}  // namespace

std::string state_text(const HostState& host, bool connected) {
  if (host.fresh) return "ok";
  const char* const word = host.presence == HostPresence::kLeft                  ? "left"
                           : connected && host.presence == HostPresence::kSilent ? "gone"
                                                                                 : "old";
  return fmt::format("{} {}", word, age_text(host.age_ns));
}

Line host_names(Row r, FleetSort sort) {
  const std::size_t width = r.left();
  const auto style = [&](FleetSort of) { return of == sort ? Style::kSelected : Style::kBar; };
  r.put(" ", Style::kBar).cell("HOST", host_width(width), Side::kLeft, style(FleetSort::kName));
  r.put(" ", Style::kBar).cell("STATE", kState, Side::kLeft, Style::kBar);
  r.put(" ", Style::kBar).cell("EP", 3, Side::kRight, Style::kBar);
  if (width >= kWideRow) r.put(" ", Style::kBar).cell("CONN", 6, Side::kRight, Style::kBar);
  measured_names(r, sort);
  r.put(" ", Style::kBar).cell("WAIT", 4, Side::kRight, style(FleetSort::kWaiting));
  r.put(" ", Style::kBar).cell("E/W", kFound, Side::kRight, style(FleetSort::kFindings));
  if (width >= kWideRow) r.put(" ", Style::kBar).cell("LOST", 6, Side::kRight, Style::kBar);
  if (width >= kWideRow) r.put("  PROBLEM", Style::kBar);
  return r.take(Style::kBar);
}

Line host_row(Row r, const HostState& h, bool connected, bool selected) {
  const std::size_t width = r.left();
  const Style base = base_style(h.fresh, selected);
  Cells cells(r, base, selected || !h.fresh);
  cells.left(h.name, host_width(width));
  const Style state = h.presence == HostPresence::kLeft ? Style::kDim : Style::kBad;
  r.put(" ", base).cell(state_text(h, connected), kState, Side::kLeft,
                        selected  ? base
                        : h.fresh ? Style::kGood
                                  : state);
  cells.right(std::to_string(h.running), 3);
  if (width >= kWideRow) cells.right(brief(h.connections), 6);
  measured(cells, h.rates, h.latency, h.credits);
  cells.right(few(h.credits.waiting), 4, h.credits.waiting != 0 ? Style::kWarning : base);
  cells.right(found_text(h.findings), kFound, found_style(h.findings, base));
  if (width >= kWideRow) {
    cells.right(brief(h.lost), 6, h.lost != 0 ? Style::kWarning : base);
    r.put("  ", base).put(h.problem, selected ? base : Style::kBad);
  }
  return r.take(base);
}

Line endpoint_names(Row r) {
  const std::size_t width = r.left();
  r.put(" ", Style::kBar).cell("HOST", endpoint_width(width), Side::kLeft, Style::kBar);
  r.put(" ", Style::kBar).cell("ENDPOINT", endpoint_width(width), Side::kLeft, Style::kBar);
  r.put(" ", Style::kBar).cell("STATE", kState, Side::kLeft, Style::kBar);
  measured_names(r, FleetSort::kName);
  if (width >= kWideRow) {
    r.put(" ", Style::kBar).cell("CONN", 6, Side::kRight, Style::kBar);
    r.put(" ", Style::kBar).cell("WAIT", 4, Side::kRight, Style::kBar);
    r.put(" ", Style::kBar).cell("E/W", kFound, Side::kRight, Style::kBar);
    r.put("  ROLE", Style::kBar);
  }
  return r.take(Style::kBar);
}

Line endpoint_row(Row r, const HostState& h, const EndpointState& e, bool connected,
                  bool selected) {
  const std::size_t width = r.left();
  const bool runs = e.end == EndpointEnd::kNone;
  const Style base = base_style(h.fresh && runs, selected);
  Cells cells(r, base, selected || !h.fresh);
  cells.left(h.name, endpoint_width(width));
  cells.left(e.name, endpoint_width(width));
  const char* const end = e.end == EndpointEnd::kKilled    ? "killed?"
                          : e.end == EndpointEnd::kRefused ? "refused"
                                                           : "ended";
  const bool good = h.fresh && runs;
  r.put(" ", base).cell(h.fresh && !runs ? end : state_text(h, connected), kState, Side::kLeft,
                        selected ? base
                        : good   ? Style::kGood
                                 : Style::kBad);
  measured(cells, e.rates, e.latency, e.credits);
  if (width >= kWideRow) {
    cells.right(brief(e.connections), 6);
    cells.right(few(e.credits.waiting), 4, e.credits.waiting != 0 ? Style::kWarning : base);
    cells.right(found_text(e.findings), kFound, found_style(e.findings, base));
    r.put("  ", base).put(e.role, base);
  }
  return r.take(base);
}

Line finding_names(Row r) {
  const std::size_t width = r.left();
  r.put(" LAST      ", Style::kBar).cell("HOST", endpoint_width(width), Side::kLeft, Style::kBar);
  r.put(" ", Style::kBar).cell("ENDPOINT", endpoint_width(width), Side::kLeft, Style::kBar);
  r.put(" SEVERITY RULE     TIMES  WHAT", Style::kBar);
  return r.take(Style::kBar);
}

Line finding_row(Row r, const FleetFinding& f, bool selected) {
  const std::size_t width = r.left();
  const Style base = base_style(true, selected);
  r.put(" ", base).cell(clock_text(f.wall_ns), 9, Side::kLeft, base);
  Cells cells(r, base, selected);
  cells.left(f.host, endpoint_width(width));
  cells.left(f.endpoint, endpoint_width(width));
  cells.left(rules::severity_name(f.severity), 8, severity_style(f.severity));
  cells.left(f.rule.empty() ? "event" : f.rule, 7);
  std::string times = "x";
  times += brief(f.count);
  cells.right(times, 6);
  r.put("  ", base).put(f.text, base);
  return r.take(base);
}

Line event_row(Row r, const fleet::ViewEvent& e, bool selected) {
  using Kind = fleet::ViewEvent::Kind;
  const Style base = base_style(true, selected);
  const Style style = selected                ? base
                      : e.kind == Kind::kBad  ? Style::kBad
                      : e.kind == Kind::kGood ? Style::kGood
                                              : Style::kPlain;
  r.put(" ", base).cell(clock_text(e.wall_ns), 9, Side::kLeft, base);
  if (!e.host.empty()) r.put(e.host, base).put(": ", base);
  r.put(e.text, style);
  if (e.count > 1) r.put(fmt::format(" (x{})", brief(e.count)), base);
  return r.take(base);
}

}  // namespace rpcrdma::top
