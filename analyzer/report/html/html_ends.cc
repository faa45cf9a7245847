// Both ends of the Calls: the verdict, the clocks, and where the time of each procedure went.
#include "html.h"
#include "text/side_text.h"
#include "text/time_of_day.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include <rpcrdma/report/context.h>

namespace rpcrdma::report::html {

namespace {

using Align = Table::Align;
using ends::Side;
using ends::Stage;

constexpr std::array kLanes{Side::kClient, Side::kNetwork, Side::kServer};

std::size_t lane_of(Stage stage) {
  const auto* const at = std::find(kLanes.begin(), kLanes.end(), ends::side_of(stage));
  return static_cast<std::size_t>(at - kLanes.begin());
}

// Calls that blame a side, or leave it open.
std::uint64_t slow_calls(const ends::Ends& e) {
  std::uint64_t n = 0;
  for (std::size_t side = 1; side < e.sides.size(); ++side) n += e.sides[side];
  return n;
}

std::string ends_verdict(const ends::Ends& e) {
  if (e.verdict.empty()) return {};
  const bool judged = !e.connections.empty() && e.withheld < e.calls_total;
  const char* const style = e.accused != Side::kNone       ? "warning"
                            : judged && slow_calls(e) == 0 ? "good"
                                                           : "note";
  return fmt::format("<p class=\"verdict {}\">{}</p>\n", style, text(e.verdict));
}

std::string ends_notes(const ends::Ends& e) {
  if (e.notes.empty()) return {};
  std::string out = "<ul>\n";
  for (const std::string& note : e.notes) out += fmt::format("<li>{}</li>\n", text(note));
  return out + "</ul>\n";
}

std::string ends_contradictions(const ends::Ends& e) {
  std::string out;
  for (std::size_t i = 0; i < std::min(e.contradictions.size(), kMostOfGroup); ++i) {
    const ends::Contradiction& c = e.contradictions[i];
    std::string xids;
    for (const std::uint32_t xid : c.xids) {
      xids += fmt::format("{}{:#010x}", xids.empty() ? "" : ", ", xid);
    }
    out += fmt::format(
        "<article class=\"finding warning\">\n<h3><span class=\"tag\">contradiction</span></h3>\n"
        "<p>{} <span class=\"small\">({} Call{}{}{})</span></p>\n</article>\n",
        text(c.what), c.calls, c.calls == 1 ? "" : "s", xids.empty() ? "" : ", XID ", xids);
  }
  if (e.contradictions.size() > kMostOfGroup) {
    out +=
        aside(fmt::format("And {} more contradictions.", e.contradictions.size() - kMostOfGroup));
  }
  return out;
}

const char* kind_text(ends::PointKind kind) {
  switch (kind) {
    case ends::PointKind::kClient:
      return "client";
    case ends::PointKind::kServer:
      return "server";
    case ends::PointKind::kWire:
      return "wire";
  }
  return "";
}

std::string points_text(const ends::Ends& e, std::size_t source) {
  std::array<bool, 3> seen{};
  for (const ends::EndsConnection& c : e.connections) {
    for (std::size_t i = 0; i < std::min(c.sources.size(), c.kinds.size()); ++i) {
      if (c.sources[i] == source) seen[static_cast<std::size_t>(c.kinds[i])] = true;
    }
  }
  std::string out;
  for (std::size_t k = 0; k < seen.size(); ++k) {
    if (!seen[k]) continue;
    out += fmt::format("{}{}", out.empty() ? "" : ", ", kind_text(static_cast<ends::PointKind>(k)));
  }
  return out;
}

std::string signed_duration(std::int64_t ns) {
  return ns < 0 ? fmt::format("-{}", format_duration(ns == INT64_MIN ? INT64_MAX : -ns))
                : fmt::format("+{}", format_duration(ns));
}

void clock_cells(Table& table, const ends::Source& s) {
  if (s.reference || s.clock.stretches.empty()) {
    table.cell(s.reference ? "reference" : "not known");
    for (int i = 0; i < 2; ++i) table.cell("", 0);
    return;
  }
  const ends::ClockStretch& first = s.clock.stretches.front();
  const auto bound = s.clock.worst_bound_ns();
  const bool day = first.offset_ns < -kLongestUptimeNs;
  const bool uptime = first.offset_ns > kLongestUptimeNs;
  table.cell(day      ? "time of day"
             : uptime ? "uptime"
                      : signed_duration(first.offset_ns),
             static_cast<double>(first.offset_ns));
  table.cell(fmt::format("{:+.1f} ppm", first.drift_ppm), first.drift_ppm);
  table.cell(bound ? format_duration(*bound) : "no bound", bound ? static_cast<double>(*bound) : 0);
}

std::string clocks(const ends::Ends& e) {
  Table table("Sources and their clocks");
  table.column("Source", Align::kLeft)
      .column("Sees", Align::kLeft)
      .column("Clock", Align::kRight, "What to add to its times, at its begin")
      .column("Drift", Align::kRight, "By how much that grows")
      .column("Error at most", Align::kRight, "By causality: no message arrives before it was sent")
      .column("Messages", Align::kRight, "That the clock was aligned by")
      .column("Steps", Align::kRight, "Jumps of a clock")
      .column("Unexplained", Align::kRight, "Messages that no clock explains")
      .column("Lost", Align::kRight, "Events or packets known to be missing")
      .column("Calls", Align::kRight)
      .column("Joined", Align::kRight, "Calls that another source shows too");
  for (std::size_t i = 0; i < std::min(e.sources.size(), kMostFiles); ++i) {
    const ends::Source& s = e.sources[i];
    table.row();
    table.cell(s.file);
    table.cell(points_text(e, i));
    clock_cells(table, s);
    for (const std::uint64_t n :
         {s.clock.crossings, s.clock.jumps, s.clock.contradictions, s.lost, s.calls, s.joined}) {
      table.count(n);
    }
  }
  return table.take();
}

std::string shared_connections(const ends::Ends& e) {
  Table table("Connections that several sources show");
  table.column("Client", Align::kLeft)
      .column("Server", Align::kLeft)
      .column("Seen by", Align::kLeft)
      .column("Smallest round trip", Align::kRight, "Without the time of the server");
  for (std::size_t i = 0; i < std::min(e.connections.size(), kMostConnections); ++i) {
    const ends::EndsConnection& c = e.connections[i];
    table.row();
    table.cell(c.client);
    table.cell(c.server);
    std::string seen;
    for (std::size_t k = 0; k < std::min(c.sources.size(), c.kinds.size()); ++k) {
      const std::string file =
          c.sources[k] < e.sources.size() ? e.sources[c.sources[k]].file : std::string();
      seen += fmt::format("{}{} ({})", seen.empty() ? "" : ", ", kind_text(c.kinds[k]), file);
    }
    table.cell(seen);
    const auto ns = static_cast<std::int64_t>(
        std::min<std::uint64_t>(c.smallest_round_trip_ns, static_cast<std::uint64_t>(INT64_MAX)));
    table.cell(ns != 0 ? format_duration(ns) : "", static_cast<double>(ns));
  }
  return table.take();
}

std::string sides_text(const ends::ProcedureEnds& p) {
  std::string out = fmt::format("{} Call{}", p.calls, p.calls == 1 ? "" : "s");
  for (const Side side : kLanes) {
    const std::uint64_t n = p.sides[static_cast<std::size_t>(side)];
    if (n != 0) out += fmt::format(", {} by the {}", n, ends::side_key(side));
  }
  const std::uint64_t open = p.sides[static_cast<std::size_t>(Side::kInconclusive)];
  if (open != 0) out += fmt::format(", {} inconclusive", open);
  const std::uint64_t none = p.sides[static_cast<std::size_t>(Side::kNone)];
  if (none != 0) out += fmt::format(", {} without a side to blame", none);
  return out;
}

void sum_cells(Table& table, const ends::StageSum& s, std::int64_t total_ns) {
  table.count(s.calls);
  constexpr std::uint64_t kCallsForP99 = 100;
  const auto duration = [&](std::int64_t ns, std::uint64_t least) {
    s.calls >= least ? table.cell(format_duration(ns), static_cast<double>(ns)) : table.cell("", 0);
  };
  duration(s.p50_ns, 1);
  duration(s.p99_ns, kCallsForP99);
  duration(s.max_ns, 1);
  duration(s.total_ns, 1);
  const double share =
      total_ns > 0 ? static_cast<double>(s.total_ns) / static_cast<double>(total_ns) : 0;
  s.calls != 0 ? table.cell(fmt::format("{:.1f} %", 100 * share), share) : table.cell("", 0);
}

std::string stage_table(const ends::ProcedureEnds& p) {
  std::string nothing;
  Table table("Stages of the Calls of one procedure");
  table.column("Stage", Align::kLeft)
      .column("Side", Align::kLeft)
      .column("Calls", Align::kRight, "In which it is known")
      .column("p50", Align::kRight)
      .column("p99", Align::kRight)
      .column("max", Align::kRight)
      .column("sum", Align::kRight)
      .column("Time", Align::kRight, "Part of the time of all Calls together");
  for (std::size_t i = 0; i < ends::kStages; ++i) {
    const auto stage = static_cast<Stage>(i);
    if (p.stages[i].calls == 0) continue;
    if (p.stages[i].total_ns == 0) {
      nothing += fmt::format("{}{}", nothing.empty() ? "" : "; ", ends::stage_text(stage));
      continue;
    }
    table.row();
    table.cell(ends::stage_text(stage));
    table.cell(ends::side_key(ends::side_of(stage)));
    sum_cells(table, p.stages[i], p.all.total_ns);
  }
  table.row();
  table.cell("whole Call");
  table.cell("");
  sum_cells(table, p.all, p.all.total_ns);
  return table.take() +
         (nothing.empty() ? nothing : aside("No time at all: " + text(nothing) + "."));
}

double to_seconds(std::int64_t ns) {
  return static_cast<double>(ns) / 1e9;
}

plot::WaterfallRow row_of(const ends::Ends& e, const ends::EndsCall& c) {
  plot::WaterfallRow row;
  const std::int64_t whole = c.end_ns - c.begin_ns;
  row.label = fmt::format("{:#010x} {}", c.xid, format_clock(time_of_day(e, c.begin_ns)));
  row.end = to_seconds(whole);
  row.note = fmt::format("{}, {}{}", format_duration(whole), side_text(c),
                         c.contradictory ? ", contradictory" : "");
  for (std::size_t i = 0; i < ends::kStages; ++i) {
    if (c.began_ns[i] == ends::kUnknownNs || c.took_ns[i] <= 0) continue;
    const auto stage = static_cast<Stage>(i);
    const std::int64_t from = c.began_ns[i] - c.begin_ns;
    plot::Step& step = row.steps.emplace_back();
    step.begin = to_seconds(std::max<std::int64_t>(from, 0));
    step.end = to_seconds(from + c.took_ns[i]);
    step.lane = lane_of(stage);
    const bool crossing = stage == Stage::kNetworkThere || stage == Stage::kNetworkBack;
    const std::string error = crossing && c.bound_ns != ends::kUnknownNs
                                  ? fmt::format(", give or take {}", format_duration(c.bound_ns))
                                  : std::string();
    step.note = fmt::format("{}: {}{}, from {}", ends::stage_text(stage),
                            format_duration(c.took_ns[i]), error, signed_duration(from));
  }
  std::stable_sort(row.steps.begin(), row.steps.end(),
                   [](const plot::Step& a, const plot::Step& b) { return a.begin < b.begin; });
  return row;
}

// For readers who do not see the picture.
std::string described(const plot::WaterfallRow& row) {
  std::string out = fmt::format("XID {}, {}", row.label, row.note);
  for (const plot::Step& s : row.steps) out += "; " + s.note;
  return out + ". ";
}

plot::Waterfall waterfall_of(const ends::Ends& e, const ends::ProcedureEnds& p) {
  plot::Waterfall w;
  w.title = fmt::format("The slowest Calls of {}", p.name);
  for (const Side side : kLanes) w.lanes.emplace_back(ends::side_key(side));
  w.unknown = "not known";
  for (const ends::EndsCall& c : e.slowest) {
    if (c.connection != p.connection || c.name != p.name || c.end_ns <= c.begin_ns) continue;
    if (w.rows.size() == kMostSpans) break;
    w.rows.push_back(row_of(e, c));
    w.description += described(w.rows.back());
  }
  return w;
}

std::string procedure_ends(const ends::Ends& e, const ends::ProcedureEnds& p, std::size_t number) {
  std::string where;
  if (e.connections.size() > 1 && p.connection < e.connections.size()) {
    const ends::EndsConnection& c = e.connections[p.connection];
    where = fmt::format(", {} to {}", c.client, c.server);
  }
  Stack stack(fmt::format("ends{}", number));
  stack.add(waterfall_of(e, p));
  return fmt::format("<h3 class=\"part\">{}</h3>\n", text(p.name + where)) + aside(sides_text(p)) +
         stage_table(p) + (stack.empty() ? std::string() : stack.take());
}

// The procedures whose Calls took the most time come first.
std::string all_procedures(const ends::Ends& e) {
  std::vector<const ends::ProcedureEnds*> rows;
  for (const ends::ProcedureEnds& p : e.procedures) rows.push_back(&p);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto* a, const auto* b) { return a->all.total_ns > b->all.total_ns; });
  std::string out;
  const std::size_t shown = std::min(rows.size(), kMostEnds);
  for (std::size_t i = 0; i < shown; ++i) {
    if (i == kOpenPictures) out += "<details><summary>More procedures</summary>\n";
    out += procedure_ends(e, *rows[i], i);
  }
  if (shown > kOpenPictures) out += "</details>\n";
  if (rows.size() > shown) {
    out += aside(fmt::format("And {} more procedures that took less time.", rows.size() - shown));
  }
  return out;
}

std::string totals(const ends::Ends& e) {
  std::string out = fmt::format("{} Call{}", e.calls_total, e.calls_total == 1 ? "" : "s");
  const auto add = [&](std::uint64_t n, const char* what) {
    if (n != 0) out += fmt::format("; {} {}", n, what);
  };
  add(e.seen_once, "seen by one source only");
  add(e.withheld, "not judged");
  add(e.not_kept, "beyond the limit, not joined");
  return aside(out + ".");
}

}  // namespace

std::string both_ends(const ends::Ends& e) {
  std::string body = ends_verdict(e) + ends_notes(e) + ends_contradictions(e) + clocks(e);
  if (ends::any(e)) {
    body += shared_connections(e) + totals(e) + all_procedures(e) +
            aside(
                "Stages are by the clock of the reference. Where the times of two clocks meet, "
                "in the network, the error is at most the bound above. Hatched time is known to "
                "have passed, but no source shows in what.");
  }
  return body.empty() ? body : section("ends", "Both ends", body);
}

}  // namespace rpcrdma::report::html
