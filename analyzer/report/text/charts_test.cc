#include "charts.h"

#include "report_for_tests.h"

#include <gtest/gtest.h>

namespace rpcrdma::report {
namespace {

TEST(Charts, CreditsHoldUntilOthersAreSeen) {
  const auto charts = credit_charts(report_with("x"), 9);
  ASSERT_EQ(charts.size(), 1U);
  ASSERT_EQ(charts[0].series.size(), 3U);
  const auto& [requested, granted, in_use] =
      std::tie(charts[0].series[0], charts[0].series[1], charts[0].series[2]);
  EXPECT_EQ(requested.points.front().y, 128);
  EXPECT_EQ(requested.points.back().y, 128);
  // The second bin has no Reply, so its 0 is not a grant.
  ASSERT_EQ(granted.points.size(), 1U);
  EXPECT_EQ(granted.points[0].y, 64);
  // Bins without a Call show no credits in use.
  EXPECT_EQ(in_use.points.front().y, 1);
  EXPECT_EQ(in_use.points[1].y, 0);
  EXPECT_EQ(in_use.points.back().y, 0);
  EXPECT_EQ(charts[0].description, "Requested 128, granted 64 to 64, at most 2 in use.");
}

TEST(Charts, TheConnectionsThatMatterComeFirst) {
  Report r = report_with("x");
  r.connections.push_back(r.connections[0]);
  r.connections[1].id = 2;
  r.connections[1].malformed = 7;
  r.credits.push_back(r.credits[0]);
  r.credits[1].connection = 2;
  const auto charts = credit_charts(r, 1);
  ASSERT_EQ(charts.size(), 1U);
  EXPECT_EQ(charts[0].title, "Credits of connection 2");
  EXPECT_EQ(count_credit_charts(r), 2U);
}

TEST(Charts, RatesAreOfASecond) {
  const Report r = report_with("x");
  const plot::Chart chart = call_rate_chart(r);
  ASSERT_EQ(chart.series.size(), 1U);  // no errors
  const double width = static_cast<double>(r.traffic.width_ns()) / 1e9;
  EXPECT_DOUBLE_EQ(chart.series[0].points[0].y, 2 / width);
  EXPECT_EQ(chart.series[0].points[1].y, 0);
  EXPECT_EQ(*chart.x_end, 2);
}

TEST(Charts, TheMapHasACellForTheCall) {
  const plot::HeatMap map = latency_map(report_with("x"));
  // 3 ms is between 2^21 and 2^22 ns.
  ASSERT_EQ(map.y.size(), 2U);
  EXPECT_DOUBLE_EQ(map.y[0], 2097152e-9);
  EXPECT_DOUBLE_EQ(map.y[1], 4194304e-9);
  double sum = 0;
  for (const double cell : map.cells) sum += cell;
  EXPECT_EQ(sum, 1);
  EXPECT_EQ(map.cells.size(), map.x.size() - 1);
}

TEST(Charts, ASlowCallIsDrawnOnce) {
  // The Call is in the list of all and in that of its procedure, and is drawn once.
  EXPECT_EQ(slow_calls_chart(report_with("x")).series[0].points.size(), 1U);
}

TEST(Charts, TheHistogramHasEveryCall) {
  const plot::Histogram h = latency_histogram(report_with("x"));
  ASSERT_EQ(h.buckets.size(), 1U);
  EXPECT_LE(h.buckets[0].low, 3e-3);
  EXPECT_GT(h.buckets[0].high, 3e-3);
}

}  // namespace
}  // namespace rpcrdma::report
