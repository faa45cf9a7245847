#include "json/ends_json.h"

namespace rpcrdma::report {

namespace {

using ends::kStages;
using ends::kUnknownNs;
using ends::Side;
using ends::Stage;

const char* kind_key(ends::PointKind kind) {
  switch (kind) {
    case ends::PointKind::kClient:
      return "client";
    case ends::PointKind::kServer:
      return "server";
    case ends::PointKind::kWire:
      break;
  }
  return "wire";
}

void sides(JsonWriter& json, const std::array<std::uint64_t, 5>& counts) {
  json.object("sides");
  for (std::size_t i = 0; i < counts.size(); ++i) {
    json.field(ends::side_key(static_cast<Side>(i)), counts.at(i));
  }
  json.end();
}

void source(JsonWriter& json, const ends::Source& s) {
  json.object();
  json.field("file", s.file);
  json.field("reference", s.reference);
  json.field("calls", s.calls);
  json.field("joined", s.joined);
  json.field("lost", s.lost);
  const auto worst = s.clock.worst_bound_ns();
  json.optional("bound_ns", worst.has_value(), worst.value_or(0));
  json.field("crossings", s.clock.crossings);
  json.field("jumps", s.clock.jumps);
  json.field("disordered", s.clock.contradictions);
  json.array("clock");
  for (const ends::ClockStretch& c : s.clock.stretches) {
    json.object();
    json.field("from_ns", c.from_ns);
    json.field("until_ns", c.until_ns);
    json.field("offset_ns", c.offset_ns);
    json.field("drift_ppm", c.drift_ppm);
    json.optional("bound_ns", !c.one_way, c.bound_ns);
    json.end();
  }
  json.end();
  json.end();
}

void connection(JsonWriter& json, const ends::EndsConnection& c) {
  json.object();
  json.field("client", c.client);
  json.field("server", c.server);
  json.field("first_source", c.first_source);
  json.field("connection", c.connection);
  json.array("sources");
  for (const std::uint32_t s : c.sources) json.value(s);
  json.end();
  json.array("kinds");
  for (const ends::PointKind k : c.kinds) json.value(kind_key(k));
  json.end();
  json.optional("smallest_round_trip_ns", c.smallest_round_trip_ns != 0, c.smallest_round_trip_ns);
  json.end();
}

void sum(JsonWriter& json, const char* key, const ends::StageSum& s) {
  json.object(key);
  json.field("calls", s.calls);
  json.field("total_ns", s.total_ns);
  json.field("p50_ns", s.p50_ns);
  json.field("p99_ns", s.p99_ns);
  json.field("max_ns", s.max_ns);
  json.end();
}

void procedure(JsonWriter& json, const ends::ProcedureEnds& p) {
  json.object();
  json.field("connection", p.connection);
  json.field("name", p.name);
  json.field("calls", p.calls);
  sides(json, p.sides);
  sum(json, "all", p.all);
  json.object("stages");
  for (std::size_t i = 0; i < kStages; ++i) {
    if (p.stages.at(i).calls == 0) continue;
    sum(json, ends::stage_key(static_cast<Stage>(i)), p.stages.at(i));
  }
  json.end();
  json.end();
}

void call(JsonWriter& json, const ends::EndsCall& c) {
  json.object();
  json.field("connection", c.connection);
  json.field("xid", c.xid);
  json.field("reverse", c.reverse);
  json.field("name", c.name);
  json.field("begin_ns", c.begin_ns);
  json.field("end_ns", c.end_ns);
  json.optional("bound_ns", c.bound_ns != kUnknownNs, c.bound_ns);
  json.field("unknown_ns", c.unknown_ns);
  json.field("side", ends::side_key(c.side));
  const bool named = c.side != Side::kNone && c.side != Side::kInconclusive;
  json.optional("stage", named, ends::stage_key(c.stage));
  json.array("seen_by");
  for (std::uint32_t i = 0; i < 32; ++i) {
    if ((c.seen_by >> i & 1U) != 0) json.value(i);
  }
  json.end();
  json.object("stages");
  for (std::size_t i = 0; i < kStages; ++i) {
    if (c.took_ns.at(i) == kUnknownNs) continue;
    json.object(ends::stage_key(static_cast<Stage>(i)));
    json.field("began_ns", c.began_ns.at(i));
    json.field("took_ns", c.took_ns.at(i));
    json.end();
  }
  json.end();
  json.end();
}

void contradiction(JsonWriter& json, const ends::Contradiction& c) {
  json.object();
  json.field("what", c.what);
  json.field("connection", c.connection);
  json.field("calls", c.calls);
  json.array("xids");
  for (const std::uint32_t xid : c.xids) json.value(xid);
  json.end();
  json.end();
}

template <typename List, typename Function>
void list(JsonWriter& json, const char* key, const List& all, Function&& f) {
  json.array(key);
  for (const auto& one : all) f(json, one);
  json.end();
}

}  // namespace

void write_ends(JsonWriter& json, const ends::Ends& e) {
  json.object("ends");
  json.field("verdict", e.verdict);
  json.field("calls", e.calls_total);
  json.field("seen_once", e.seen_once);
  json.field("withheld", e.withheld);
  json.field("not_kept", e.not_kept);
  sides(json, e.sides);
  json.array("notes");
  for (const std::string& note : e.notes) json.value(note);
  json.end();
  list(json, "sources", e.sources, source);
  list(json, "connections", e.connections, connection);
  list(json, "procedures", e.procedures, procedure);
  list(json, "slowest", e.slowest, call);
  list(json, "contradictions", e.contradictions, contradiction);
  json.end();
}

}  // namespace rpcrdma::report
