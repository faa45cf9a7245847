// Tests the tracks of both ends: points, stages and flows.
#include "calls_for_tests.h"
#include "support/timeline_checks.h"

#include <gtest/gtest.h>

#include <rpcrdma/ends/ends.h>
#include <rpcrdma/timeline/perfetto.h>

namespace rpcrdma::timeline {
namespace {

using ends::Side;
using ends::Stage;
using testing::json;
using testing::kMicrosecond;
using testing::kStart;
using testing::read_trace;
using testing::Trace;

void stage(ends::EndsCall& c, Stage which, std::int64_t from_us, std::int64_t to_us) {
  const auto i = static_cast<std::size_t>(which);
  c.began_ns[i] = kStart + from_us * kMicrosecond;
  c.took_ns[i] = (to_us - from_us) * kMicrosecond;
}

ends::EndsCall call_between(std::uint32_t xid, std::int64_t from_us, std::int64_t to_us) {
  ends::EndsCall c;
  c.xid = xid;
  c.name = "NFS v3 READ";
  c.begin_ns = kStart + from_us * kMicrosecond;
  c.end_ns = kStart + to_us * kMicrosecond;
  c.began_ns.fill(ends::kUnknownNs);
  c.took_ns.fill(ends::kUnknownNs);
  c.seen_by = 0b11;
  return c;
}

// All that both kernels show of a Call.
ends::EndsCall whole_call(std::uint32_t xid, std::int64_t from_us) {
  ends::EndsCall c = call_between(xid, from_us, from_us + 100);
  stage(c, Stage::kPost, from_us, from_us + 10);
  stage(c, Stage::kNetworkThere, from_us + 10, from_us + 20);
  stage(c, Stage::kDecode, from_us + 20, from_us + 25);
  stage(c, Stage::kExecute, from_us + 25, from_us + 60);
  stage(c, Stage::kWrite, from_us + 60, from_us + 70);
  stage(c, Stage::kSend, from_us + 70, from_us + 72);
  stage(c, Stage::kNetworkBack, from_us + 72, from_us + 90);
  stage(c, Stage::kWake, from_us + 90, from_us + 100);
  c.bound_ns = 3 * kMicrosecond;
  return c;
}

ends::Ends ends_of(std::vector<ends::EndsCall> calls) {
  ends::Ends e;
  e.sources.resize(2);
  e.sources[0].file = "client.dat";
  e.sources[1].file = "server.dat";
  e.connections.resize(1);
  e.connections[0].client = "10.0.0.2";
  e.connections[0].server = "10.0.0.1";
  e.calls = std::move(calls);
  return e;
}

Trace trace_of(const ends::Ends& ends, std::int64_t shift_ns = 0) {
  std::string text;
  const auto format =
      make_perfetto([&](std::string_view piece) { text += piece; }, &ends, shift_ns);
  format->begin(kStart, Vantage::kNetwork);
  format->end();
  return read_trace(text);
}

std::string process_of(const Trace& trace, const json& event) {
  return trace.processes.at(event["pid"]);
}

TEST(PerfettoEnds, EachPointHasItsGroup) {
  ends::EndsCall c = whole_call(0x77, 5);
  c.side = Side::kServer;
  c.stage = Stage::kExecute;
  const Trace trace = trace_of(ends_of({c}));
  ASSERT_EQ(trace.points.size(), 2U);
  EXPECT_EQ(process_of(trace, trace.points[0]), "both ends 1, client 10.0.0.2");
  EXPECT_EQ(process_of(trace, trace.points[1]), "both ends 1, server 10.0.0.1");
  EXPECT_EQ(trace.points[0]["ts"], 5);
  EXPECT_EQ(trace.points[0]["dur"], 100);
  EXPECT_EQ(trace.points[0]["args"]["xid"], "0x00000077");
  EXPECT_EQ(trace.points[0]["args"]["side"], "server");
  EXPECT_EQ(trace.points[0]["args"]["stage"], "execute");
  EXPECT_EQ(trace.points[0]["args"]["seen_by"], "client.dat, server.dat");
  EXPECT_EQ(trace.points[1]["ts"], 25);
  EXPECT_EQ(trace.points[1]["dur"], 52);
  ASSERT_EQ(trace.stages.size(), 8U);
  std::map<std::string, int> groups;
  for (const json& s : trace.stages) ++groups[process_of(trace, s)];
  EXPECT_EQ(groups["both ends 1, client 10.0.0.2"], 2);
  EXPECT_EQ(groups["both ends 1, network 10.0.0.2 > 10.0.0.1"], 3);
  EXPECT_EQ(groups["both ends 1, server 10.0.0.1"], 3);
  EXPECT_EQ(trace.stages[2]["args"]["stage"], "network_there");
  EXPECT_EQ(trace.stages[2]["args"]["error_at_most_us"], 3);
}

TEST(PerfettoEnds, FlowsLeadThereAndBack) {
  const Trace trace = trace_of(ends_of({whole_call(1, 0)}));
  ASSERT_EQ(trace.flows.size(), 2U);
  const auto& there = trace.flows.at(1);
  const auto& back = trace.flows.at(2);
  ASSERT_EQ(there.size(), 3U);
  ASSERT_EQ(back.size(), 3U);
  EXPECT_EQ(there[0]["name"], "Call");
  EXPECT_EQ(back[0]["name"], "Reply");
  for (const auto& [flow, order] : {std::pair(&there, 0), std::pair(&back, 2)}) {
    EXPECT_EQ((*flow)[static_cast<std::size_t>(order)]["pid"], trace.points[0]["pid"]);
    EXPECT_EQ((*flow)[static_cast<std::size_t>(2 - order)]["pid"], trace.points[1]["pid"]);
  }
}

TEST(PerfettoEnds, AFlowNeedsTwoPoints) {
  ends::EndsCall client_only = call_between(1, 0, 50);
  stage(client_only, Stage::kPost, 0, 10);
  stage(client_only, Stage::kWake, 40, 50);
  EXPECT_TRUE(trace_of(ends_of({client_only})).flows.empty());
  ends::EndsCall no_network = call_between(1, 0, 50);
  stage(no_network, Stage::kExecute, 20, 30);
  const Trace trace = trace_of(ends_of({no_network}));
  ASSERT_EQ(trace.flows.size(), 2U);
  EXPECT_EQ(trace.flows.at(1).size(), 2U);
}

TEST(PerfettoEnds, CallsThatOverlapHaveRows) {
  const Trace trace = trace_of(ends_of({whole_call(1, 0), whole_call(2, 50), whole_call(3, 100)}));
  ASSERT_EQ(trace.points.size(), 6U);
  EXPECT_EQ(trace.points[0]["tid"], 1);
  EXPECT_EQ(trace.points[1]["tid"], 1);
  EXPECT_EQ(trace.points[2]["tid"], 2);
  EXPECT_EQ(trace.points[4]["tid"], 1);
}

TEST(PerfettoEnds, TimesAreThoseOfTheTimeline) {
  const ends::Ends both = ends_of({whole_call(1, 0)});
  EXPECT_EQ(trace_of(both, 2 * kMicrosecond).points[0]["ts"], 2);
  // Time before the begin of the timeline is cut.
  const Trace cut = trace_of(both, -30 * kMicrosecond);
  EXPECT_EQ(cut.points[0]["ts"], 0);
  EXPECT_EQ(cut.points[0]["dur"], 70);
  EXPECT_TRUE(trace_of(both, -1000 * kMicrosecond).points.empty());
}

// Whatever the times are, slices stay nested and flows in order: read_trace() checks it.
TEST(PerfettoEnds, TimesWithoutSense) {
  ends::EndsCall mixed = whole_call(1, 0);
  stage(mixed, Stage::kDecode, 80, 300);
  stage(mixed, Stage::kWake, 2, 3);
  stage(mixed, Stage::kNetworkThere, 90, 95);
  ends::EndsCall backwards = whole_call(2, 20);
  backwards.end_ns = backwards.begin_ns - 5;
  ends::EndsCall far = whole_call(3, 0);
  far.end_ns = INT64_MAX;
  far.began_ns[2] = INT64_MAX - 1;
  far.took_ns[2] = INT64_MAX;
  far.connection = 7;
  const Trace trace = trace_of(ends_of({mixed, backwards, far}), 1000);
  EXPECT_FALSE(trace.points.empty());
}

TEST(PerfettoEnds, NoCallsNoTracks) {
  const Trace trace = trace_of({});
  EXPECT_TRUE(trace.points.empty());
  EXPECT_TRUE(trace.processes.empty());
}

}  // namespace
}  // namespace rpcrdma::timeline
