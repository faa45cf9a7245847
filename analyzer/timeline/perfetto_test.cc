// Tests the tracks, slices and counters of the Trace Event Format.
#include "calls_for_tests.h"
#include "support/timeline_checks.h"

#include <rpcrdma/timeline/perfetto.h>

namespace rpcrdma::timeline {
namespace {

using testing::add_read;
using testing::call;
using testing::json;
using testing::kOfServer;
using testing::kStart;
using testing::read_trace;
using testing::Trace;
using testing::Written;

std::string row_of(const Trace& trace, const json& slice) {
  return trace.threads.at({slice["pid"], slice["tid"]});
}

TEST(Perfetto, ACallIsASliceFromSendToReply) {
  Written w(make_perfetto);
  model::Call c = call(1, 5);
  ++c.message.time_ns;  // tests nanosecond resolution
  add_read(c, 7, 9);
  w.begin(c);
  w.end(c, 12);
  const Trace trace = read_trace(w.text());
  EXPECT_EQ(trace.processes.at(1), "connection 1: 10.0.0.2.17 > 10.0.0.1.18");
  ASSERT_EQ(trace.calls.size(), 1U);
  const json& slice = trace.calls[0];
  EXPECT_EQ(slice["name"], "NFS v3 WRITE");
  EXPECT_EQ(slice["ts"], 5.001);
  EXPECT_EQ(slice["dur"], 6.999);
  EXPECT_EQ(row_of(trace, slice), "forward Calls 1");
  const json& args = slice["args"];
  EXPECT_EQ(args["xid"], "0x00001001");
  EXPECT_EQ(args["ended"], "replied");
  EXPECT_EQ(args["outcome"], "ok");
  EXPECT_EQ(args["requested"], 32);
  EXPECT_EQ(args["granted"], 16);
  EXPECT_EQ(args["call_to_first_operation_us"], 1.999);
  EXPECT_EQ(args["operations_us"], 2);
  EXPECT_EQ(args["last_operation_to_reply_us"], 3);
  ASSERT_EQ(trace.operations.size(), 1U);
  const json& read = trace.operations[0];
  EXPECT_EQ(read["name"], "RDMA Read");
  EXPECT_EQ(read["tid"], slice["tid"]);
  EXPECT_EQ(read["ts"], 7);
  EXPECT_EQ(read["dur"], 2);
  EXPECT_EQ(read["args"]["offset"], "0xffff888000001000");
}

TEST(Perfetto, CallsThatOverlapHaveRows) {
  Written w(make_perfetto);
  model::Call first = call(1, 0);
  model::Call second = call(2, 1);
  model::Call third = call(3, 5);
  w.begin(first);
  w.begin(second);
  w.end(first, 4);
  w.begin(third);
  w.end(second, 6);
  w.end(third, 7);
  const Trace trace = read_trace(w.text());
  ASSERT_EQ(trace.calls.size(), 3U);
  EXPECT_EQ(row_of(trace, trace.calls[0]), "forward Calls 1");
  EXPECT_EQ(row_of(trace, trace.calls[1]), "forward Calls 2");
  EXPECT_EQ(row_of(trace, trace.calls[2]), "forward Calls 1");
}

TEST(Perfetto, DirectionsHaveRowsOfTheirOwn) {
  Written w(make_perfetto);
  model::Call forward = call(1, 0);
  model::Call reverse = call(2, 1);
  w.begin(forward);
  w.begin(reverse, kOfServer);
  w.end(reverse, 3, kOfServer);
  w.end(forward, 4);
  const Trace trace = read_trace(w.text());
  ASSERT_EQ(trace.calls.size(), 2U);
  EXPECT_EQ(row_of(trace, trace.calls[0]), "reverse Calls 1");
  EXPECT_EQ(row_of(trace, trace.calls[1]), "forward Calls 1");
}

// The client becomes known while a Call is in flight.
TEST(Perfetto, RowsAreNamedAgain) {
  Written w(make_perfetto);
  Origin known = testing::kOfClient;
  model::Call first = call(1, 0);
  w.begin(first);
  w.end(first, 1);
  known.reverse = true;
  w->changed(w.connection(), 1, kStart);
  model::Call second = call(2, 2);
  w.begin(second, known);
  w.end(second, 3, known);
  const Trace trace = read_trace(w.text());
  EXPECT_EQ(trace.calls[0]["tid"], trace.calls[1]["tid"]);
  EXPECT_EQ(row_of(trace, trace.calls[1]), "reverse Calls 1");
  EXPECT_EQ(trace.processes.at(1), "connection 1: 10.0.0.1.18 > 10.0.0.2.17");
}

TEST(Perfetto, ReadsOutstandingTogetherLieAbreast) {
  Written w(make_perfetto);
  model::Call c = call(1, 0);
  add_read(c, 1, 4);
  add_read(c, 2, 5);
  add_read(c, 3, 6);
  add_read(c, 5, 8);
  w.begin(c);
  w.end(c, 10);
  const Trace trace = read_trace(w.text());
  ASSERT_EQ(trace.operations.size(), 4U);
  EXPECT_EQ(row_of(trace, trace.operations[0]), "forward Calls 1");
  EXPECT_EQ(row_of(trace, trace.operations[1]), "forward Calls 1: overlapping operations 1");
  EXPECT_EQ(row_of(trace, trace.operations[2]), "forward Calls 1: overlapping operations 2");
  EXPECT_EQ(row_of(trace, trace.operations[3]), "forward Calls 1");
  for (const json& o : trace.operations) EXPECT_EQ(o["dur"], 3);
}

TEST(Perfetto, MoreReadsThanRowsDoNotOverlap) {
  Written w(make_perfetto);
  model::Call c = call(1, 0);
  for (int i = 0; i < 1000; ++i) add_read(c, 1 + i % 3, 1500 + i);
  w.begin(c);
  w.end(c, 3000);
  const Trace trace = read_trace(w.text());
  EXPECT_EQ(trace.operations.size(), 1000U);
}

TEST(Perfetto, AllAtOneTime) {
  Written w(make_perfetto);
  model::Call first = call(1, 3);
  add_read(first, 3, 3);
  add_read(first, 3, 3);
  w.begin(first);
  w.end(first, 3);
  model::Call second = call(2, 3);
  add_read(second, 3, 4);
  w.begin(second);
  w.end(second, 5);
  const Trace trace = read_trace(w.text());
  EXPECT_EQ(trace.calls[0]["dur"], 0);
  EXPECT_EQ(trace.calls[1]["dur"], 2);
}

TEST(Perfetto, AClockThatStepsBack) {
  Written w(make_perfetto);
  model::Call first = call(1, 100);
  w.begin(first);
  w.end(first, 90);
  model::Call second = call(2, 50);
  add_read(second, 40, 70);
  add_read(second, 60, 30);
  w.begin(second);
  w.end(second, 200);
  model::Call third = call(3, -500);
  w.begin(third);
  w.end(third, -400);
  const Trace trace = read_trace(w.text());
  ASSERT_EQ(trace.calls.size(), 3U);
  EXPECT_EQ(trace.calls[0]["dur"], 0);
  EXPECT_EQ(trace.calls[0]["args"]["latency_us"], -10);
  // The slice starts when its row is free.
  EXPECT_EQ(trace.calls[1]["ts"], 100);
  EXPECT_EQ(trace.calls[2]["dur"], 0);
}

TEST(Perfetto, AFilterLeavesNoSlice) {
  Written w(make_perfetto);
  model::Call left = call(1, 0);
  w.begin(left);
  w->call_ended({left, nullptr, testing::kOfClient, kStart + 1}, false);
  model::Call shown = call(2, 3);
  w.begin(shown);
  w.end(shown, 4);
  const Trace trace = read_trace(w.text());
  ASSERT_EQ(trace.calls.size(), 1U);
  EXPECT_EQ(trace.calls[0]["args"]["xid"], "0x00001002");
  EXPECT_EQ(row_of(trace, trace.calls[0]), "forward Calls 1");
}

TEST(Perfetto, CountersShowChanges) {
  Written w(make_perfetto);
  const model::Credits ledger{32, 16, 2};
  w->credits(ledger, testing::kOfClient, kStart + 1000);
  w->credits(ledger, testing::kOfClient, kStart + 2000);
  w->credits({32, 16, 1}, testing::kOfClient, kStart + 3000);
  w->credits(ledger, kOfServer, kStart + 3000);
  w->closed(w.connection(), kStart + 4000);
  const Trace trace = read_trace(w.text());
  ASSERT_EQ(trace.counters.size(), 5U);
  EXPECT_EQ(trace.counters[0]["name"], "credits forward");
  EXPECT_EQ(trace.counters[0]["args"], json({{"requested", 32}, {"granted", 16}, {"in_use", 2}}));
  EXPECT_EQ(trace.counters[1]["ts"], 3);
  EXPECT_EQ(trace.counters[2]["name"], "credits reverse");
  for (const std::size_t last : {3U, 4U}) {
    EXPECT_EQ(trace.counters[last]["ts"], 4);
    EXPECT_EQ(trace.counters[last]["args"],
              json({{"requested", 0}, {"granted", 0}, {"in_use", 0}}));
  }
}

TEST(Perfetto, CountersAreInOrderOfTime) {
  Written w(make_perfetto);
  w->credits({32, 16, 2}, testing::kOfClient, kStart + 3000);
  w->credits({32, 16, 1}, testing::kOfClient, kStart + 1000);
  w->closed(w.connection(), kStart + 2000);
  const Trace trace = read_trace(w.text());
  ASSERT_EQ(trace.counters.size(), 3U);
  for (const json& counter : trace.counters) EXPECT_EQ(counter["ts"], 3);
}

TEST(Perfetto, WhatWasTheOtherDirectionGoesOnThere) {
  Written w(make_perfetto);
  roce::Connection other = testing::connection();
  other.index = 1;
  w->opened(other, -1, kStart);
  model::Call c = call(1, 0);
  const Origin there{1, 0, 0, false};
  w.begin(c, there);
  w->joined(w.connection(), other, kStart + 1000);
  w->changed(w.connection(), 1, kStart + 1000);
  const Origin here{0, 1, 1, false};
  w.end(c, 5, here);
  model::Call next = call(2, 6);
  w.begin(next, here);
  w.end(next, 7, here);
  const Trace trace = read_trace(w.text());
  ASSERT_EQ(trace.calls.size(), 2U);
  for (const json& slice : trace.calls) {
    EXPECT_EQ(slice["pid"], 1);
    EXPECT_EQ(row_of(trace, slice), "forward Calls 1");
  }
  EXPECT_EQ(trace.processes.at(2), "connection 2: one direction of connection 1");
}

TEST(Perfetto, NothingAtAll) {
  std::string text;
  const auto format = make_perfetto([&](std::string_view piece) { text += piece; });
  format->begin(0, Vantage::kNetwork);
  format->end();
  EXPECT_TRUE(read_trace(text).instants.empty());
}

}  // namespace
}  // namespace rpcrdma::timeline
