#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <rpcrdma/load/interval.h>

namespace rpcrdma::load {
namespace {

constexpr IntervalTime kThird{1'438'869'961'225'999'999, 3'000'000'000, 500'000'000};

Interval busy() {
  Interval i;
  i.calls = 4;
  i.errors = 1;
  i.bytes = 8192;
  for (const fabric::Time us : {10, 20, 30, 1000}) i.latency.add(us * fabric::kMicrosecond);
  i.credits = 32;
  i.connections = 1;
  return i;
}

TEST(Interval, JsonHasRatesOfTheIntervalAndItsLatencies) {
  Interval both = busy();
  both.merge(busy());
  const auto json = nlohmann::json::parse(interval_json(both, kThird));
  EXPECT_EQ(json["time"], 1438869961.225);
  EXPECT_EQ(json["elapsed"], 3.0);
  EXPECT_EQ(json["seconds"], 0.5);
  EXPECT_EQ(json["calls"], 8);
  EXPECT_EQ(json["errors"], 2);
  EXPECT_EQ(json["calls_per_second"], 16.0);
  EXPECT_EQ(json["bytes"], 16384);
  EXPECT_EQ(json["bytes_per_second"], 32768.0);
  EXPECT_NEAR(json["latency_us"]["p50"].get<double>(), 20, 0.02);
  EXPECT_NEAR(json["latency_us"]["p95"].get<double>(), 1000, 1);
  EXPECT_NEAR(json["latency_us"]["max"].get<double>(), 1000, 1);
  EXPECT_EQ(json["credits"], 64);
  EXPECT_EQ(json["connections"], 2);
}

TEST(Interval, WithoutCallsNoLatencyIsInvented) {
  const auto json = nlohmann::json::parse(interval_json({}, kThird));
  EXPECT_TRUE(json["latency_us"]["p50"].is_null());
  EXPECT_EQ(interval_line({}, kThird), "3.0 s: 0.0 calls/s, 0 B/s, 0 failed");
}

TEST(Interval, LineEndsWithLatencies) {
  EXPECT_THAT(interval_line(busy(), kThird),
              ::testing::StartsWith("3.0 s: 8.0 calls/s, 16.4 kB/s, 1 failed, p50 20 us, p99 1"));
}

}  // namespace
}  // namespace rpcrdma::load
