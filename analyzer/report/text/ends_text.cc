#include "text/ends_text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <rpcrdma/plot/escape.h>

namespace rpcrdma::report {

namespace {

using ends::kStages;
using ends::kUnknownNs;
using ends::Side;
using ends::Stage;
using plot::escape_terminal;

constexpr std::size_t kProceduresShown = 12;
constexpr std::size_t kSlowestShown = 5;
constexpr std::size_t kConnectionsNamed = 8;

// "12.3 ms"; "-12 us" for an offset.
std::string duration(std::int64_t ns) {
  const double value = static_cast<double>(ns);
  const double size = std::abs(value);
  if (size < 1e3) return fmt::format("{} ns", ns);
  if (size < 1e6) return fmt::format("{:.3g} us", value / 1e3);
  if (size < 1e9) return fmt::format("{:.3g} ms", value / 1e6);
  return fmt::format("{:.6g} s", value / 1e9);
}

// Short, for a column.
std::string cell(std::int64_t ns) {
  if (ns == kUnknownNs) return "-";
  return ns == 0 ? "0" : duration(ns);
}

// Words of a column, at most 8 characters.
const char* column(Stage stage) {
  switch (stage) {
    case Stage::kSlot:
      return "slot";
    case Stage::kCredit:
      return "credit";
    case Stage::kPost:
      return "post";
    case Stage::kNetworkThere:
      return "there";
    case Stage::kDecode:
      return "decode";
    case Stage::kRead:
      return "Read";
    case Stage::kExecute:
      return "execute";
    case Stage::kWrite:
      return "Write";
    case Stage::kSend:
      return "send";
    case Stage::kNetworkBack:
      return "back";
    case Stage::kWake:
      return "wake";
  }
  return "";
}

std::string clock_text(const ends::Ends& e, const ends::Source& s) {
  if (s.joined == 0) return "no Call of it is in another source";
  if (s.reference) return "the reference";
  if (s.clock.stretches.empty()) return "not aligned";
  const ends::ClockStretch& first = s.clock.stretches.front();
  std::string text = fmt::format("{} {}", first.offset_ns < 0 ? "ahead by" : "behind by",
                                 duration(std::abs(first.offset_ns)));
  double drift = 0;
  for (const ends::ClockStretch& c : s.clock.stretches) {
    if (std::abs(c.drift_ppm) > std::abs(drift)) drift = c.drift_ppm;
  }
  if (std::abs(drift) >= 0.05) text += fmt::format(", drift {:.1f} ppm", drift);
  const auto bound = s.clock.worst_bound_ns();
  text += bound ? fmt::format(", right within {}", duration(*bound))
                : std::string(", with no bound: one direction only");
  if (s.clock.jumps != 0) text += fmt::format(", {} jumps", s.clock.jumps);
  const auto index = static_cast<std::uint32_t>(&s - e.sources.data());
  std::uint64_t trip = 0;
  for (const ends::EndsConnection& c : e.connections) {
    const bool here = std::count(c.sources.begin(), c.sources.end(), index) != 0;
    if (!here || c.smallest_round_trip_ns == 0) continue;
    trip = trip == 0 ? c.smallest_round_trip_ns : std::min(trip, c.smallest_round_trip_ns);
  }
  if (trip != 0) {
    text += fmt::format("; smallest round trip {}", duration(static_cast<std::int64_t>(trip)));
  }
  return text;
}

std::array<bool, kStages> shown_stages(const ends::Ends& e) {
  std::array<bool, kStages> shown{};
  for (const ends::ProcedureEnds& p : e.procedures) {
    for (std::size_t i = 0; i < kStages; ++i) shown.at(i) |= p.stages.at(i).max_ns != 0;
  }
  return shown;
}

void header(const std::string& what, const std::array<bool, kStages>& shown, std::string& out) {
  fmt::format_to(std::back_inserter(out), "{} {:>8}", what, "all");
  for (std::size_t i = 0; i < kStages; ++i) {
    if (shown.at(i)) {
      fmt::format_to(std::back_inserter(out), " {:>8}", column(static_cast<Stage>(i)));
    }
  }
  out += "  side\n";
}

std::string side_of_procedure(const ends::ProcedureEnds& p) {
  std::string text;
  for (std::size_t i = 1; i < p.sides.size(); ++i) {
    if (p.sides.at(i) == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", ends::side_key(static_cast<Side>(i)),
                        p.sides.at(i));
  }
  return text.empty() ? "-" : text;
}

void procedures(const ends::Ends& e, bool all, std::string& out) {
  if (e.procedures.empty()) return;
  const auto shown = shown_stages(e);
  header(fmt::format("  {:<25} {:>6}", "Medians of stages", "Calls"), shown, out);
  const std::size_t most = all ? e.procedures.size() : kProceduresShown;
  for (std::size_t n = 0; n < std::min(most, e.procedures.size()); ++n) {
    const ends::ProcedureEnds& p = e.procedures[n];
    fmt::format_to(std::back_inserter(out), "  {:<25} {:>6} {:>8}", escape_terminal(p.name),
                   p.calls, cell(p.all.p50_ns));
    for (std::size_t i = 0; i < kStages; ++i) {
      if (!shown.at(i)) continue;
      const ends::StageSum& s = p.stages.at(i);
      fmt::format_to(std::back_inserter(out), " {:>8}", s.calls == 0 ? "-" : cell(s.p50_ns));
    }
    out += "  " + side_of_procedure(p) + '\n';
  }
  if (most < e.procedures.size()) {
    fmt::format_to(std::back_inserter(out), "  and {} more (--all lists them)\n",
                   e.procedures.size() - most);
  }
}

void slowest(const ends::Ends& e, bool all, std::string& out) {
  if (e.slowest.empty()) return;
  const auto shown = shown_stages(e);
  header(fmt::format("  {:<32}", "Slowest Calls"), shown, out);
  const std::size_t most = all ? e.slowest.size() : kSlowestShown;
  for (std::size_t n = 0; n < std::min(most, e.slowest.size()); ++n) {
    const ends::EndsCall& c = e.slowest[n];
    const std::string name = fmt::format("{} {:#x}", escape_terminal(c.name), c.xid);
    fmt::format_to(std::back_inserter(out), "  {:<32} {:>8}", name, cell(c.end_ns - c.begin_ns));
    for (std::size_t i = 0; i < kStages; ++i) {
      if (shown.at(i)) fmt::format_to(std::back_inserter(out), " {:>8}", cell(c.took_ns.at(i)));
    }
    out += c.side == Side::kNone ? "  -\n" : fmt::format("  {}\n", ends::side_key(c.side));
  }
}

}  // namespace

std::string ends_text(const ends::Ends& e, bool all, bool colour) {
  std::string out = colour ? "\033[1mBoth ends\033[0m\n" : "Both ends\n";
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "  verdict    {}\n", escape_terminal(e.verdict));
  for (const ends::Source& s : e.sources) {
    fmt::format_to(to, "  clock      of {}: {}\n", escape_terminal(s.file), clock_text(e, s));
  }
  const std::uint64_t open = e.seen_once + e.withheld;
  fmt::format_to(to, "  joined     {} of {} Calls", e.calls_total - e.seen_once, e.calls_total);
  if (open != 0) {
    fmt::format_to(to, "; {} seen by one source only, {} not judged", e.seen_once, e.withheld);
  }
  out += '\n';
  for (std::size_t i = 0; i < std::min(e.connections.size(), kConnectionsNamed); ++i) {
    const ends::EndsConnection& c = e.connections[i];
    std::string points;
    for (const std::uint32_t s : c.sources) {
      points +=
          fmt::format("{}{}", points.empty() ? "" : " -> ", escape_terminal(e.sources[s].file));
    }
    fmt::format_to(to, "  points     {} - {}: {}\n", escape_terminal(c.client),
                   escape_terminal(c.server), points);
  }
  if (e.connections.size() > kConnectionsNamed) {
    fmt::format_to(to, "  points     and of {} more connections\n",
                   e.connections.size() - kConnectionsNamed);
  }
  for (const std::string& note : e.notes) {
    fmt::format_to(to, "  note       {}\n", escape_terminal(note));
  }
  for (const ends::Contradiction& c : e.contradictions) {
    std::string xids;
    for (const std::uint32_t xid : c.xids) {
      xids += fmt::format("{}{:#x}", xids.empty() ? "" : ", ", xid);
    }
    fmt::format_to(to, "  warning    {} ({} Call{}; XID {}{})\n", escape_terminal(c.what), c.calls,
                   c.calls == 1 ? "" : "s", xids, c.calls > c.xids.size() ? ", ..." : "");
  }
  procedures(e, all, out);
  slowest(e, all, out);
  out += '\n';
  return out;
}

}  // namespace rpcrdma::report
