// For tests: joined Calls whose times are known.
#pragma once

#include "ends_rows.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace rpcrdma::gui::made {

inline constexpr std::int64_t kEndsBegin = 1'700'000'000'000'000'000;

// All stages of a Call one after the other, each `step_ns` long, apart from executing, which takes
// `execute_ns`, and a stretch behind it that no source shows.
inline ends::EndsCall made_call(std::uint32_t xid, std::int64_t begin_ns, std::int64_t step_ns,
                                std::int64_t execute_ns, std::int64_t unknown_ns = 0) {
  ends::EndsCall call;
  call.xid = xid;
  call.program = 100003;
  call.version = 3;
  call.procedure = 7;
  call.name = "NFS v3 WRITE";
  call.begin_ns = begin_ns;
  std::int64_t now = begin_ns;
  for (std::size_t i = 0; i < ends::kStages; ++i) {
    const bool execute = static_cast<ends::Stage>(i) == ends::Stage::kExecute;
    call.began_ns[i] = now;
    call.took_ns[i] = execute ? execute_ns : step_ns;
    now += call.took_ns[i];
    if (execute) now += unknown_ns;
  }
  call.end_ns = now;
  call.unknown_ns = unknown_ns;
  call.bound_ns = 1500;
  call.seen_by = 3;
  return call;
}

// `count` Calls, a millisecond apart. Every tenth waits for the server to execute it, others for
// the network, and some are READs.
inline ends::Ends made_ends(std::uint32_t count, std::uint32_t first_xid = 1) {
  ends::Ends all;
  for (const bool client : {true, false}) {
    ends::Source source;
    source.file = client ? "client.dat" : "server.dat";
    source.reference = client;
    source.calls = source.joined = count;
    if (!client) {
      ends::ClockStretch stretch;
      stretch.from_ns = kEndsBegin;
      stretch.until_ns = kEndsBegin + 60'000'000'000;
      stretch.offset_ns = -1'000'000'000;
      stretch.drift_ppm = 12;
      stretch.bound_ns = 1500;
      source.clock.stretches = {stretch};
      source.clock.crossings = 2 * std::uint64_t{count};
    }
    all.sources.push_back(source);
  }
  ends::EndsConnection connection;
  connection.client = "10.0.0.1";
  connection.server = "10.0.0.2";
  connection.connection = 1;
  connection.sources = {0, 1};
  connection.kinds = {ends::PointKind::kClient, ends::PointKind::kServer};
  connection.smallest_round_trip_ns = 40'000;
  all.connections.push_back(connection);
  ends::ProcedureEnds writes, reads;
  writes.name = "NFS v3 WRITE";
  reads.name = "NFS v3 READ";
  all.calls.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::int64_t begin = kEndsBegin + std::int64_t{i} * 1'000'000;
    const bool slow = i % 10 == 3;
    const bool far = i % 10 == 7;
    ends::EndsCall call = made_call(first_xid + i, begin, 20'000 + std::int64_t{i % 7} * 1000,
                                    slow ? 20'000'000 + i : 50'000, i % 5 == 0 ? 90'000 : 0);
    if (slow) {
      call.side = ends::Side::kServer;
      call.stage = ends::Stage::kExecute;
    } else if (far) {
      const auto there = static_cast<std::size_t>(ends::Stage::kNetworkThere);
      for (std::size_t s = there + 1; s < ends::kStages; ++s) call.began_ns[s] += 5'000'000;
      call.took_ns[there] += 5'000'000;
      call.end_ns += 5'000'000;
      call.side = ends::Side::kNetwork;
      call.stage = ends::Stage::kNetworkThere;
    }
    if (i % 3 == 1) call.name = "NFS v3 READ";
    ends::ProcedureEnds& sum = i % 3 == 1 ? reads : writes;
    const auto add = [](ends::StageSum& to, std::int64_t ns) {
      ++to.calls;
      to.total_ns += ns;
      to.max_ns = std::max(to.max_ns, ns);
      to.p50_ns = to.p50_ns == 0 ? ns : to.p50_ns;
      to.p99_ns = to.max_ns;
    };
    ++sum.calls;
    ++sum.sides.at(static_cast<std::size_t>(call.side));
    ++all.sides.at(static_cast<std::size_t>(call.side));
    add(sum.all, call.end_ns - call.begin_ns);
    for (std::size_t s = 0; s < ends::kStages; ++s) add(sum.stages[s], call.took_ns[s]);
    all.calls.push_back(std::move(call));
  }
  all.procedures = {reads, writes};
  all.calls_total = count;
  all.verdict = "The server: 1 of 10 Calls waited for it to execute (median 20 ms).";
  return all;
}

}  // namespace rpcrdma::gui::made
