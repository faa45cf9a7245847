#include "support/trace_builder.h"

#include <gtest/gtest.h>

#include <rpcrdma/trace/upper_pdu.h>
#include <rpcrdma/trace_reader/sums.h>

namespace rpcrdma::trace_reader {
namespace {

using testing::Bytes;
using testing::TraceBuilder;

Bytes buckets_of(std::initializer_list<trace::SumBucket> buckets) {
  Bytes bytes;
  for (const trace::SumBucket& b : buckets) {
    const auto* at = reinterpret_cast<const std::uint8_t*>(&b);
    bytes.insert(bytes.end(), at, at + sizeof b);
  }
  return bytes;
}

Sums sums_of(const TraceBuilder& trace) {
  Sums sums;
  trace.for_each([&](std::span<const std::uint8_t> frame, const roce::PacketMeta&) {
    const auto view = trace::view_event(*trace::event_in_pdu(frame));
    sums.take(view->header.connection, *view);
  });
  return sums;
}

trace::ProcedureSums reads(std::uint64_t calls, std::uint64_t replies) {
  trace::ProcedureSums sums;
  sums.program = 100003;
  sums.version = 4;
  sums.procedure = 1;
  sums.calls = calls;
  sums.replies = replies;
  sums.latency_ns = replies * 1000;
  return sums;
}

TEST(Sums, LatestEventReplacesThoseBeforeIt) {
  TraceBuilder trace;
  trace.step = 1'000'000'000;
  trace.begin().emit(7, reads(10, 9)).emit(7, reads(30, 28));
  const Sums sums = sums_of(trace);
  ASSERT_EQ(sums.procedures().size(), 1U);
  const auto& [key, of] = *sums.procedures().begin();
  EXPECT_EQ(key, (ProcedureKey{7, 0, 100003, 4, 1}));
  EXPECT_EQ(of.latest.sums.calls, 30U);
  EXPECT_EQ(of.before.sums.calls, 10U);
  EXPECT_EQ(of.per_second(&trace::ProcedureSums::calls, of.latest_ns), 20.0);
  // The source is silent while nothing grows.
  EXPECT_EQ(of.per_second(&trace::ProcedureSums::calls, of.latest_ns + 10'000'000'000), 0.0);
}

TEST(Sums, OneEventHasNoRate) {
  TraceBuilder trace;
  trace.begin().emit(7, reads(10, 9));
  const Sums sums = sums_of(trace);
  const auto& of = sums.procedures().begin()->second;
  EXPECT_FALSE(of.per_second(&trace::ProcedureSums::calls, of.latest_ns));
}

TEST(Sums, SourceThatBeginsAgainHasNoRate) {
  TraceBuilder trace;
  trace.step = 1'000'000'000;
  trace.begin().emit(7, reads(100, 100)).emit(7, reads(5, 5));
  const Sums sums = sums_of(trace);
  const auto& of = sums.procedures().begin()->second;
  EXPECT_EQ(of.latest.sums.calls, 5U);
  EXPECT_FALSE(of.has_before);
  EXPECT_FALSE(of.per_second(&trace::ProcedureSums::calls, of.latest_ns));
}

TEST(Sums, ConnectionsAndRequestersAreApart) {
  TraceBuilder trace;
  trace::ProcedureSums reverse = reads(1, 1);
  reverse.side = 1;
  trace::ConnectionSums waits;
  waits.credit_waits = 3;
  trace.begin().emit(1, reads(10, 9)).emit(2, reads(4, 4)).emit(1, reverse).emit(1, waits);
  Sums sums = sums_of(trace);
  EXPECT_EQ(sums.procedures().size(), 3U);
  ASSERT_EQ(sums.connections().size(), 1U);
  EXPECT_EQ(sums.connections().at(1).latest.credit_waits, 3U);
  sums.forget(1);
  EXPECT_TRUE(sums.connections().empty());
  ASSERT_EQ(sums.procedures().size(), 1U);
  EXPECT_EQ(sums.procedures().begin()->first.connection, 2U);
}

TEST(Sums, QuantilesComeFromTheBuckets) {
  const std::uint32_t fast = trace::sum_bucket(1000), slow = trace::sum_bucket(1'000'000);
  const SumLatencies all = SumLatencies::read(buckets_of({{fast, 0, 90}, {slow, 0, 10}}));
  EXPECT_EQ(all.count(), 100U);
  for (const auto& [q, near] : {std::pair{0.5, 1000.0}, {0.9, 1000.0}, {0.91, 1e6}, {1.0, 1e6}}) {
    EXPECT_NEAR(static_cast<double>(*all.quantile(q)), near, near / 4) << q;
  }
  EXPECT_FALSE(SumLatencies{}.quantile(0.5));
}

TEST(Sums, RecentLatenciesAreThoseSinceTheEventBefore) {
  const std::uint32_t fast = trace::sum_bucket(1000), slow = trace::sum_bucket(1'000'000);
  TraceBuilder trace;
  trace.begin().emit(7, reads(10, 10), buckets_of({{fast, 0, 10}}));
  trace.emit(7, reads(14, 14), buckets_of({{fast, 0, 10}, {slow, 0, 4}}));
  const Sums sums = sums_of(trace);
  const SumLatencies recent = recent_latencies(sums.procedures().begin()->second);
  EXPECT_EQ(recent.count(), 4U);
  EXPECT_GT(*recent.quantile(0), 900'000U);
}

// A recording may contain anything.
TEST(Sums, HostileCountsAreBounded) {
  const SumLatencies all = SumLatencies::read(
      buckets_of({{UINT32_MAX, 0, 5}, {trace::kSumBuckets, 0, 5}, {3, 0, UINT64_MAX}, {3, 0, 2}}));
  EXPECT_EQ(all.count(), UINT64_MAX);
  EXPECT_EQ(all.quantile(1.0), 3U);
  const Bytes odd(sizeof(trace::SumBucket) - 1, 0xff);
  EXPECT_EQ(SumLatencies::read(odd).count(), 0U);

  Sums sums;
  TraceBuilder trace;
  trace.begin();
  for (std::uint32_t i = 0; i < 8200; ++i) trace.emit(i, reads(1, 1));
  sums = sums_of(trace);
  EXPECT_EQ(sums.procedures().size(), 8192U);
  EXPECT_EQ(sums.omitted(), 8U);
}

TEST(Sums, ConnectionsAddUp) {
  ProcedureCount all{reads(10, 10), SumLatencies::read(buckets_of({{5, 0, 10}}))};
  ProcedureCount other{reads(2, 1), SumLatencies::read(buckets_of({{5, 0, 1}}))};
  other.sums.max_latency_ns = 99;
  add(all, other);
  EXPECT_EQ(all.sums.calls, 12U);
  EXPECT_EQ(all.sums.max_latency_ns, 99U);
  EXPECT_EQ(all.latencies.count(), 11U);
}

}  // namespace
}  // namespace rpcrdma::trace_reader
