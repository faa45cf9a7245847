// Tests where the time axis of charts is cut.
#include "text/time_window.h"

#include "report_for_tests.h"
#include "text/charts.h"

#include <gtest/gtest.h>

namespace rpcrdma::report {
namespace {

constexpr std::int64_t kWindowStart = 1'700'000'000'000'000'000;
constexpr std::int64_t kWindowSecond = 1'000'000'000;

Report capture_of(std::int64_t seconds) {
  Report r;
  r.capture.frames = 10;
  r.capture.first_ns = kWindowStart;
  r.capture.last_ns = kWindowStart + seconds * kWindowSecond;
  return r;
}

void traffic(Report& r, std::int64_t from_s, std::int64_t to_s) {
  for (std::int64_t ms = from_s * 1000; ms < to_s * 1000; ms += 100) {
    TrafficBin& bin = r.traffic.at(kWindowStart + ms * 1'000'000);
    ++bin.calls;
    bin.add_latency(1'000'000);
  }
}

TEST(TimeWindow, ALongIdleTimeIsCut) {
  Report r = capture_of(120);
  traffic(r, 0, 5);
  const plot::Window w = time_window(r);
  EXPECT_EQ(w.begin, 0);
  EXPECT_EQ(w.end, 120);
  ASSERT_EQ(w.cuts.size(), 1U);
  EXPECT_NEAR(w.cuts[0].from, 5, 1);
  EXPECT_EQ(w.cuts[0].to, 120);
}

TEST(TimeWindow, CutsBeforeBetweenAndBehind) {
  Report r = capture_of(300);
  traffic(r, 90, 95);
  traffic(r, 190, 195);
  const plot::Window w = time_window(r);
  ASSERT_EQ(w.cuts.size(), 3U);
  EXPECT_EQ(w.cuts[0].from, 0);
  EXPECT_NEAR(w.cuts[1].from, 95, 3);
  EXPECT_NEAR(w.cuts[1].to, 190, 3);
  EXPECT_EQ(w.cuts[2].to, 300);
}

TEST(TimeWindow, AShortPauseStays) {
  Report r = capture_of(60);
  traffic(r, 0, 30);
  traffic(r, 35, 60);
  EXPECT_TRUE(time_window(r).cuts.empty());
}

// The clients waited for an answer.
TEST(TimeWindow, AStandstillStays) {
  Report r = capture_of(100);
  traffic(r, 0, 5);
  traffic(r, 95, 100);
  ASSERT_EQ(time_window(r).cuts.size(), 1U);
  r.traffic.at(kWindowStart + 95 * kWindowSecond).add_latency(91 * kWindowSecond);
  EXPECT_TRUE(time_window(r).cuts.empty());
}

TEST(TimeWindow, CallsInFlightAtTheEndAreWaitedFor) {
  Report r = capture_of(100);
  traffic(r, 0, 5);
  r.edges.open_calls.emplace_back();
  EXPECT_TRUE(time_window(r).cuts.empty());
}

TEST(TimeWindow, OfACaptureOfOneMoment) {
  Report r = capture_of(0);
  r.traffic.at(kWindowStart).calls = 1;
  const plot::Window w = time_window(r);
  EXPECT_GT(w.end, w.begin);
  EXPECT_TRUE(w.cuts.empty());
}

TEST(TimeWindow, AllChartsHaveTheSame) {
  Report r = report_with("x");
  r.capture.last_ns += 100 * kWindowSecond;
  // A map needs ten Calls.
  for (int i = 1; i < 10; ++i) {
    r.procedures.begin()->second.total.add(3'000'000);
    r.latencies.connections[0].direction[0].add(r.procedures.begin()->first, 3'000'000);
  }
  const plot::Window w = time_window(r);
  ASSERT_FALSE(w.cuts.empty());
  const auto same = [&](const std::optional<plot::Window>& x) {
    return x && x->begin == w.begin && x->end == w.end && x->cuts.size() == w.cuts.size() &&
           x->cuts[0].from == w.cuts[0].from && x->cuts[0].to == w.cuts[0].to;
  };
  for (const plot::Chart& chart :
       {call_rate_chart(r), byte_rate_chart(r), outstanding_chart(r), trouble_chart(r),
        congestion_chart(r), latency_chart(r), slow_calls_chart(r), credit_charts(r, 1).at(0)}) {
    EXPECT_TRUE(same(chart.window)) << chart.title;
  }
  EXPECT_TRUE(same(latency_map(r).window));
  ASSERT_EQ(connection_maps(r).size(), 1U);
  ASSERT_EQ(procedure_maps(r).size(), 1U);
  EXPECT_TRUE(same(connection_maps(r)[0].window));
  EXPECT_TRUE(same(procedure_maps(r)[0].window));
}

}  // namespace
}  // namespace rpcrdma::report
