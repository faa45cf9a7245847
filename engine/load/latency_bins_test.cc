// Tests latencies over time: their bins, and that their number is bounded.
#include <random>

#include <gtest/gtest.h>

#include <rpcrdma/load/latency_bins.h>

namespace rpcrdma::load {
namespace {

constexpr fabric::Time kMs = fabric::kMillisecond;

std::uint64_t count(const LatencyBins& b) {
  std::uint64_t all = 0;
  for (const auto& [n, counts] : b.bins()) {
    for (const std::uint32_t c : counts) all += c;
  }
  return all;
}

TEST(LatencyBins, CountByBucket) {
  LatencyBins b;
  b.add(5 * kMs, 0);
  b.add(5 * kMs, 1023);
  b.add(5 * kMs, 1024);
  b.add(5 * kMs, 3000);
  b.add(5 * kMs, 3'600'000 * kMs);
  ASSERT_EQ(b.bins().size(), 1U);
  const LatencyBins::Counts& counts = b.bins().begin()->second;
  EXPECT_EQ(counts[0], 2U);
  EXPECT_EQ(counts[1], 1U);
  EXPECT_EQ(counts[2], 1U);
  EXPECT_EQ(counts[23], 1U);
}

TEST(LatencyBins, AreBounded) {
  LatencyBins b;
  for (fabric::Time t = 0; t < 100'000 * kMs; t += 7 * kMs) {
    b.add(t, 1000);
    ASSERT_LE(b.bins().rbegin()->first - b.bins().begin()->first, LatencyBins::kMost - 1);
  }
  EXPECT_EQ(count(b), 14286U);
  EXPECT_EQ(b.shift(), 31U);  // 100 s in bins of 2.1 s
  b.add(INT64_MAX, 1000);
  EXPECT_LE(b.bins().size(), 2U);
  EXPECT_EQ(count(b), 14287U);
}

TEST(LatencyBins, OfPartsAreThoseOfTheWhole) {
  std::mt19937_64 random(2);
  LatencyBins whole;
  LatencyBins a;
  LatencyBins b;
  for (int i = 0; i < 3000; ++i) {
    const fabric::Time ended = 9'000'000 * kMs + static_cast<fabric::Time>(random() % 5000) * kMs;
    const auto latency = static_cast<fabric::Time>(random() % 1'000'000);
    whole.add(ended, latency);
    (i < 100 ? a : b).add(ended, latency);
  }
  LatencyBins nothing;
  a.merge(nothing);
  nothing.merge(a);
  nothing.merge(b);
  EXPECT_EQ(nothing.shift(), whole.shift());
  EXPECT_EQ(nothing.bins(), whole.bins());
}

}  // namespace
}  // namespace rpcrdma::load
