#include "point_output.h"

#include "side_text.h"
#include "time_of_day.h"

#include <algorithm>

#include <fmt/core.h>

#include <rpcrdma/plot/escape.h>
#include <rpcrdma/report/context.h>
#include <rpcrdma/report/json_writer.h>

namespace rpcrdma::report {

namespace {

using ends::Side;
using ends::Stage;

// The sighting that the others are measured from.
const PlacedSighting& reference_of(const PlacedMessage& m, const ends::Ends& ends) {
  for (const PlacedSighting& p : m.seen) {
    if (p.source < ends.sources.size() && ends.sources[p.source].reference) return p;
  }
  return *std::min_element(
      m.seen.begin(), m.seen.end(),
      [](const PlacedSighting& a, const PlacedSighting& b) { return a.at_ns < b.at_ns; });
}

std::string file_of(const ends::Ends& ends, std::uint32_t source) {
  return source < ends.sources.size() ? plot::escape_terminal(ends.sources[source].file)
                                      : std::string();
}

std::string delta_text(std::int64_t ns) {
  const std::int64_t size = ns < 0 ? -std::max(ns, -INT64_MAX) : ns;
  return fmt::format("{}{}", ns < 0 ? '-' : '+', ns == 0 ? "0" : format_duration(size));
}

std::string points_part(const PlacedMessage& m, const ends::Ends& ends) {
  const PlacedSighting& reference = reference_of(m, ends);
  std::string out;
  for (const PlacedSighting& p : m.seen) {
    const std::string delta = !p.aligned          ? std::string("its clock is not known")
                              : reference.aligned ? delta_text(p.at_ns - reference.at_ns)
                                                  : std::string("+?");
    out += fmt::format("{}{} {:<8}", out.empty() ? "" : "  ", p.point, delta);
  }
  for (const std::string& point : m.unseen) {
    out += fmt::format("  {} {:<8}", point, "-");
  }
  return out;
}

std::string only_part(const PlacedMessage& m, const ends::Ends& ends) {
  if (m.seen.size() > 1) return {};
  if (m.connection == nullptr) {
    return fmt::format(" (only {} shows the connection)", file_of(ends, m.seen[0].source));
  }
  return fmt::format(" (only at: {})", m.seen[0].point);
}

std::string stages_line(const ends::EndsCall& c) {
  std::string out = fmt::format("{:>15} {}", "",
                                format_duration(std::max<std::int64_t>(c.end_ns - c.begin_ns, 0)));
  const char* separator = " = ";
  for (std::size_t i = 0; i < ends::kStages; ++i) {
    if (c.took_ns[i] <= 0) continue;
    const auto stage = static_cast<Stage>(i);
    const bool crossing = stage == Stage::kNetworkThere || stage == Stage::kNetworkBack;
    out +=
        fmt::format("{}{} {}", separator, ends::stage_text(stage), format_duration(c.took_ns[i]));
    if (crossing && c.bound_ns != ends::kUnknownNs) {
      out += fmt::format(" +-{}", format_duration(c.bound_ns));
    }
    separator = " | ";
  }
  if (c.unknown_ns > 0) {
    out += fmt::format("{}not known {}", separator, format_duration(c.unknown_ns));
  }
  return fmt::format("{}; {}{}\n", out, side_text(c),
                     c.contradictory ? ", but the sources contradict each other" : "");
}

void call_field(JsonWriter& json, const PlacedMessage& m) {
  if (m.call == nullptr) return json.null("call");
  const ends::EndsCall& c = *m.call;
  json.object("call");
  json.field("begin_ns", c.begin_ns);
  json.field("end_ns", c.end_ns);
  json.field("side", ends::side_key(c.side));
  const bool named = c.side != Side::kNone && c.side != Side::kInconclusive;
  named ? json.field("stage", ends::stage_key(c.stage)) : json.null("stage");
  json.object("stages_us");
  for (std::size_t i = 0; i < ends::kStages; ++i) {
    json.optional(ends::stage_key(static_cast<Stage>(i)), c.took_ns[i] != ends::kUnknownNs,
                  Decimal{c.took_ns[i], 3});
  }
  json.end();
  json.field("unknown_us", Decimal{c.unknown_ns, 3});
  json.optional("error_at_most_us", c.bound_ns != ends::kUnknownNs, Decimal{c.bound_ns, 3});
  json.field("contradictory", c.contradictory);
  json.end();
}

}  // namespace

std::string points_head_text(const ends::Ends& ends) {
  std::string out;
  for (std::size_t i = 0; i < ends.sources.size(); ++i) {
    const ends::Source& s = ends.sources[i];
    out += file_of(ends, static_cast<std::uint32_t>(i));
    const ends::Source* const day = shows_time_of_day(ends);
    if (s.reference && day != nullptr) {
      out += fmt::format(": the reference; its clock is uptime, so the time of day is that of {}\n",
                         plot::escape_terminal(day->file));
    } else if (s.reference) {
      out += ": the reference of all times\n";
    } else if (s.clock.stretches.empty()) {
      out += ": its clock is not known; its times are its own\n";
    } else {
      const auto bound = s.clock.worst_bound_ns();
      const std::int64_t offset = s.clock.stretches.front().offset_ns;
      const bool other = offset < -kLongestUptimeNs || offset > kLongestUptimeNs;
      out +=
          fmt::format(": clock {}, error {}\n",
                      other ? offset < 0 ? "of the time of day" : "of uptime" : delta_text(offset),
                      bound ? fmt::format("at most {}", format_duration(*bound))
                            : std::string("without a bound"));
    }
  }
  return out;
}

std::string points_head_json(const ends::Ends& ends) {
  JsonWriter json;
  json.object();
  json.array("sources");
  for (const ends::Source& s : ends.sources) {
    const auto bound = s.clock.worst_bound_ns();
    const bool known = !s.clock.stretches.empty();
    json.object();
    json.field("file", plot::escape_terminal(s.file));
    json.field("reference", s.reference);
    json.optional("offset_ns", known, known ? s.clock.stretches.front().offset_ns : 0);
    json.optional("error_at_most_ns", bound.has_value() && !s.reference, bound.value_or(0));
    json.end();
  }
  json.end();
  json.end();
  return json.take();
}

std::string points_text(const PlacedMessage& m, const ends::Ends& ends) {
  std::int64_t first = INT64_MAX;
  for (const PlacedSighting& p : m.seen) first = std::min(first, p.at_ns);
  std::string out = fmt::format("{:<15} {}  {}{}\n", format_clock(time_of_day(ends, first)),
                                points_part(m, ends), m.shown->text, only_part(m, ends));
  if (m.call != nullptr) out += stages_line(*m.call);
  return out;
}

std::string points_json(const PlacedMessage& m, const ends::Ends& ends) {
  const PlacedSighting& reference = reference_of(m, ends);
  JsonWriter json;
  json.object();
  json.optional("shared_connection", m.connection != nullptr, m.connection_index + 1);
  json.array("points");
  for (const PlacedSighting& p : m.seen) {
    json.object();
    json.field("point", p.point);
    json.field("file", file_of(ends, p.source));
    json.field("frame", p.sighting->frame);
    json.optional("aligned_ns", p.aligned, p.at_ns);
    json.field("own_time_ns", p.sighting->time_ns);
    json.optional("delta_us", p.aligned && reference.aligned,
                  Decimal{p.at_ns - reference.at_ns, 3});
    json.end();
  }
  json.end();
  json.array("not_seen_at");
  for (const std::string& point : m.unseen) json.value(point);
  json.end();
  call_field(json, m);
  json.end();
  const std::string own = json.take();
  // Into the object of the message, which ends in "}\n".
  std::string out = m.shown->text;
  if (out.size() < 3) return own;
  out.resize(out.size() - 2);
  return out + ',' + own.substr(1);
}

}  // namespace rpcrdma::report
