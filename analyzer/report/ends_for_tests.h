// Both ends of two Calls, as three sources show them: one that the server executed slowly, and one
// with a part that no source shows.
#pragma once

#include <string>

#include <rpcrdma/ends/ends.h>

namespace rpcrdma::report::testing {

inline constexpr std::int64_t kEndsStart = 1'700'000'000'000'000'000;

inline void set_stage(ends::EndsCall& c, ends::Stage stage, std::int64_t from_us,
                      std::int64_t took_us) {
  const auto i = static_cast<std::size_t>(stage);
  c.began_ns[i] = c.begin_ns + from_us * 1000;
  c.took_ns[i] = took_us * 1000;
}

// Times are microseconds from kEndsStart.
inline ends::EndsCall ends_call(std::uint32_t xid, std::int64_t from_us, std::int64_t took_us) {
  ends::EndsCall c;
  c.xid = xid;
  c.program = 100003;
  c.version = 3;
  c.procedure = 7;
  c.name = "NFS v3 WRITE";
  c.begin_ns = kEndsStart + from_us * 1000;
  c.end_ns = c.begin_ns + took_us * 1000;
  c.began_ns.fill(ends::kUnknownNs);
  c.took_ns.fill(ends::kUnknownNs);
  c.seen_by = 0b111;
  return c;
}

// `text` stands wherever text comes from outside.
inline ends::Ends ends_with(const std::string& text) {
  using ends::Side;
  using ends::Stage;
  ends::Ends e;
  e.sources.resize(3);
  e.sources[0].file = "client.dat";
  e.sources[0].reference = true;
  e.sources[1].file = text;
  e.sources[1].clock.stretches = {
      {kEndsStart, kEndsStart + 1'000'000'000, -1'000'000'000, 50.0, 2'500, false}};
  e.sources[1].clock.crossings = 4;
  e.sources[2].file = "wire.pcap";
  for (std::uint32_t i = 0; i < 3; ++i) {
    e.sources[i].calls = e.sources[i].joined = 2;
    e.sources[i].files = {i};
  }
  ends::EndsConnection& c = e.connections.emplace_back();
  c.client = text;
  c.server = "10.0.0.1";
  c.sources = {0, 1, 2};
  c.kinds = {ends::PointKind::kClient, ends::PointKind::kServer, ends::PointKind::kWire};
  c.shown_as = {{0, 1}, {1, 4}, {2, 2}};
  c.smallest_round_trip_ns = 12'000;
  ends::EndsCall slow = ends_call(0x1001, 100, 20'000);
  set_stage(slow, Stage::kSlot, 0, 0);
  set_stage(slow, Stage::kPost, 0, 40);
  set_stage(slow, Stage::kNetworkThere, 40, 10);
  set_stage(slow, Stage::kDecode, 50, 50);
  set_stage(slow, Stage::kRead, 100, 300);
  set_stage(slow, Stage::kExecute, 400, 19'500);
  set_stage(slow, Stage::kSend, 19'900, 40);
  set_stage(slow, Stage::kNetworkBack, 19'940, 10);
  set_stage(slow, Stage::kWake, 19'950, 50);
  slow.bound_ns = 2'500;
  slow.side = Side::kServer;
  slow.stage = Stage::kExecute;
  slow.name = text;
  ends::EndsCall open = ends_call(0x1002, 5'000, 900);
  set_stage(open, Stage::kPost, 0, 100);
  set_stage(open, Stage::kExecute, 500, 300);
  open.unknown_ns = 500'000;
  open.side = Side::kInconclusive;
  open.name = text;
  e.slowest = {slow, open};
  e.calls = {slow, open};
  ends::ProcedureEnds p;
  p.name = text;
  p.calls = 2;
  p.stages[static_cast<std::size_t>(Stage::kExecute)] = {2, 19'800'000, 300'000, 19'500'000,
                                                         19'500'000};
  p.all = {2, 20'900'000, 900'000, 20'000'000, 20'000'000};
  p.sides = {0, 0, 0, 1, 1};
  e.procedures.push_back(p);
  e.contradictions.push_back({text, 0, {0x1002}, 1});
  e.calls_total = 2;
  e.sides = p.sides;
  e.verdict = text;
  e.accused = Side::kServer;
  e.notes = {text};
  return e;
}

}  // namespace rpcrdma::report::testing
