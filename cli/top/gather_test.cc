// Tests what `rpcrdma top` gathers from hand-written trace events.
#include "sum_histogram.h"
#include "support/trace_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/top/gather.h>

namespace rpcrdma::top {
namespace {

using trace_reader::testing::bytes_of;
using trace_reader::testing::emit_plain_connection;
using trace_reader::testing::TraceBuilder;

constexpr std::int64_t kSecond = 1'000'000'000;

// Builds a Call or a Reply of RPC-over-RDMA version 1 without chunks, of an unknown program.
trace_reader::testing::Bytes message(std::uint32_t xid, bool reply, std::uint32_t credit = 32) {
  const std::uint32_t type = reply ? 1 : 0;
  std::vector<std::uint32_t> words{xid, 1, credit, 0, 0, 0, 0, xid, type};
  if (reply) {
    words.insert(words.end(), {0, 0, 0, 0});
  } else {
    words.insert(words.end(), {2, 0x20525244, 1, 1, 0, 0, 0, 0});
  }
  trace_reader::testing::Bytes bytes;
  for (const std::uint32_t w : words) {
    for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<std::uint8_t>(w >> shift));
  }
  return bytes;
}

class Gathered : public ::testing::Test {
 protected:
  Gathered() { gather_.add("42"); }

  void feed(std::uint32_t endpoint = 0) {
    for (const TraceBuilder::Frame& f : trace_.frames()) {
      capture::Frame frame;
      frame.time_ns = f.time_ns;
      frame.link = capture::LinkType::kUpperPdu;
      frame.data = f.data;
      gather_.frame(endpoint, frame);
    }
    trace_.frames().clear();
  }
  void call(std::uint32_t connection, std::uint32_t xid, std::int64_t takes_ns) {
    send(connection, 0, message(xid, false));
    trace_.now += takes_ns - trace_.step;
    send(connection, 1, message(xid, true));
  }
  void send(std::uint32_t connection, std::uint8_t side,
            const trace_reader::testing::Bytes& bytes) {
    trace::Message m;
    m.side = side;
    m.length = static_cast<std::uint32_t>(bytes.size());
    trace_.emit(connection, m, bytes);
  }
  Shown show(std::size_t rows = 10) {
    feed();
    return gather_.show(view_, rows, 0);
  }

  TraceBuilder trace_;
  Gather gather_;
  View view_;
};

TEST_F(Gathered, RatesAndLatencyOfEachSecond) {
  trace_.begin("nfsd", "client of 192.0.2.2");
  emit_plain_connection(trace_, 1);
  feed();
  gather_.tick(0);
  for (std::uint32_t i = 0; i < 100; ++i) call(1, i + 1, 20'000);
  feed();
  EXPECT_FALSE(show().measured);
  gather_.tick(2 * kSecond);
  const Shown s = show();
  EXPECT_TRUE(s.measured);
  EXPECT_EQ(s.endpoints[0].name, "nfsd");
  EXPECT_EQ(s.endpoints[0].role, "client of 192.0.2.2");
  EXPECT_DOUBLE_EQ(s.rates.calls, 50);
  EXPECT_EQ(s.totals.calls, 100U);
  EXPECT_EQ(s.totals.replies, 100U);
  ASSERT_EQ(s.rows.size(), 1U);
  EXPECT_DOUBLE_EQ(s.rows[0].rates.calls, 50);
  EXPECT_TRUE(s.rows[0].calls_here);
  EXPECT_NEAR(static_cast<double>(s.rows[0].latency.p50_ns), 20'000, 500);
  EXPECT_NEAR(static_cast<double>(s.latency.p99_ns), 20'000, 500);
  // No more events: old latencies expire.
  for (int i = 3; i < 20; ++i) gather_.tick(i * kSecond);
  const Shown later = show();
  EXPECT_EQ(later.rates.calls, 0);
  EXPECT_EQ(later.rows[0].latency.p99_ns, -1);
  EXPECT_EQ(later.totals.calls, 100U);
}

TEST_F(Gathered, TheMostCreditsInEachSecond) {
  trace_.begin();
  emit_plain_connection(trace_, 1);
  gather_.tick(0);
  const auto credits = [&](std::uint32_t in_use, std::uint32_t waiting) {
    trace::Credits c;
    c.requested = 64;
    c.granted = 32;
    c.limit = 32;
    c.in_use = in_use;
    c.waiting = waiting;
    trace_.emit(1, c);
  };
  credits(32, 9);
  credits(5, 0);
  feed();
  gather_.tick(kSecond);
  gather_.tick(2 * kSecond);
  const Shown s = show();
  ASSERT_EQ(s.rows[0].history.size(), 2U);
  EXPECT_EQ(s.rows[0].history[0].in_use, 32U);
  EXPECT_EQ(s.rows[0].history[0].waiting, 9U);
  EXPECT_EQ(s.rows[0].history[1].in_use, 5U);
  EXPECT_EQ(s.rows[0].credits.requested, 64U);
  EXPECT_EQ(s.rows[0].credits.granted, 32U);
  for (int i = 3; i < 400; ++i) gather_.tick(i * kSecond);
  EXPECT_EQ(show().rows[0].history.size(), kHistory);
}

TEST_F(Gathered, CreditsOfCallsThatWereAnsweredAtOnce) {
  trace_.begin();
  emit_plain_connection(trace_, 1);
  gather_.tick(0);
  trace::Credits c;
  c.granted = c.limit = 32;
  c.in_use_most = 7;
  trace_.emit(1, c);
  feed();
  gather_.tick(kSecond);
  EXPECT_EQ(show().rows[0].history.back().in_use, 7U);
  EXPECT_EQ(show().rows[0].credits.in_use, 0U);
}

// A user who starts `top` because a mount hangs is too late to see its Calls being sent.
TEST_F(Gathered, CallsThatHungBeforeTheViewBeganAreFound) {
  trace_.begin();
  emit_plain_connection(trace_, 1);
  trace::Credits c;
  c.granted = c.limit = c.in_use = 32;
  trace_.emit(1, c);
  feed();
  for (int i = 0; i <= 10; ++i) gather_.tick(i * kSecond);
  EXPECT_TRUE(show().findings.empty());
  gather_.tick(11 * kSecond);
  const Shown s = show();
  ASSERT_EQ(s.findings.size(), 1U);
  EXPECT_EQ(s.findings[0].rule, "STALL");
  EXPECT_EQ(s.findings[0].severity, rules::Severity::kWarning);
  EXPECT_THAT(s.findings[0].text, ::testing::StartsWith("32 Calls in flight since before"));
  for (int i = 12; i < 40; ++i) gather_.tick(i * kSecond);
  EXPECT_EQ(show().findings[0].count, 1U);
}

TEST_F(Gathered, CallsFromBeforeTheViewThatAreAnsweredAreNoHang) {
  trace_.begin();
  emit_plain_connection(trace_, 1);
  trace::Credits c;
  c.granted = c.limit = 32;
  for (int i = 0; i < 30; ++i) {
    c.in_use = static_cast<std::uint32_t>(30 - i);
    trace_.emit(1, c);
    feed();
    gather_.tick(i * kSecond);
  }
  EXPECT_TRUE(show().findings.empty());
}

TEST_F(Gathered, AClientsLimitIsNoGrant) {
  trace_.begin();
  emit_plain_connection(trace_, 1);
  trace::Credits c;
  c.requested = c.limit = c.in_use = 8;
  c.granted = 32;
  trace_.emit(1, c);
  const Shown s = show();
  EXPECT_EQ(s.rows[0].credits.granted, 32U);
  EXPECT_EQ(s.rows[0].credits.limit, 8U);
}

TEST_F(Gathered, AnOlderClientsGrantsAreThoseOfItsReplies) {
  trace_.begin();
  emit_plain_connection(trace_, 1);
  call(1, 1, 1000);
  trace_.emit(1, trace_reader::testing::CreditsWithoutLimit{0, {}, 8, 8, 8, 0, 0});
  const Shown s = show();
  EXPECT_EQ(s.rows[0].credits.granted, 32U);
  EXPECT_EQ(s.rows[0].credits.limit, 8U);
}

TEST_F(Gathered, LossIsSummedUp) {
  trace_.begin();
  emit_plain_connection(trace_, 1);
  trace_.lose(5).end();
  const Shown s = show();
  EXPECT_EQ(s.events.emitted, 6U);
  EXPECT_EQ(s.events.received, 1U);
  EXPECT_EQ(s.events.lost, 5U);
}

TEST_F(Gathered, FindingsAreJoinedAndBounded) {
  trace_.begin();
  emit_plain_connection(trace_, 1);
  for (int i = 0; i < 3; ++i) trace_.emit(1, trace::Error{}, bytes_of("no memory"));
  Shown s = show();
  ASSERT_EQ(s.findings.size(), 1U);
  EXPECT_EQ(s.findings[0].text, "no memory");
  EXPECT_EQ(s.findings[0].count, 3U);
  EXPECT_EQ(s.found[0], 3U);
  for (int i = 0; i < 1000; ++i) trace_.emit(1, trace::Error{}, bytes_of(std::to_string(i)));
  s = show();
  EXPECT_EQ(s.findings.size(), Gather::kMostFindings);
  EXPECT_EQ(s.findings[0].text, "999");
  EXPECT_EQ(s.found[0], 1003U);
}

TEST_F(Gathered, BreachesOfRulesAreFindings) {
  trace_.begin();
  emit_plain_connection(trace_, 1);
  call(1, 1, 1000);
  send(1, 0, message(2, false));
  send(1, 1, message(2, true, 0));  // a grant of zero credits
  const Shown s = show();
  ASSERT_FALSE(s.findings.empty());
  EXPECT_EQ(s.findings[0].rule, "FC-02");
  EXPECT_EQ(s.findings[0].connection, 1U);
  EXPECT_FALSE(s.findings[0].text.empty());
}

TEST_F(Gathered, TheSelectionStaysInWhatIsShown) {
  trace_.begin();
  for (std::uint32_t i = 1; i <= 20; ++i) emit_plain_connection(trace_, i);
  view_.sort = Sort::kId;
  Shown s = show(5);
  EXPECT_EQ(view_.selected, 1U);
  EXPECT_EQ(s.connections, 20U);
  ASSERT_EQ(s.rows.size(), 5U);
  view_.move = 7;
  s = show(5);
  EXPECT_EQ(view_.selected, 8U);
  EXPECT_EQ(s.first, 3U);
  EXPECT_EQ(s.rows[4].id, 8U);
  view_.move = 1000;
  s = show(5);
  EXPECT_EQ(view_.selected, 20U);
  EXPECT_EQ(s.rows[4].id, 20U);
  view_.move = -1000;
  s = show(5);
  EXPECT_EQ(view_.selected, 1U);
  EXPECT_EQ(s.first, 0U);
}

TEST_F(Gathered, TheBusiestComesFirst) {
  trace_.begin();
  emit_plain_connection(trace_, 1);
  emit_plain_connection(trace_, 2);
  feed();
  gather_.tick(0);
  call(2, 1, 1000);
  feed();
  gather_.tick(kSecond);
  EXPECT_EQ(show().rows[0].id, 2U);
}

TEST_F(Gathered, WhatIsOverGoesButItsSums) {
  trace_.begin();
  emit_plain_connection(trace_, 1);
  call(1, 1, 1000);
  trace::ConnectionEnd end;
  end.established = 1;
  trace_.emit(1, end);
  feed();
  gather_.tick(0);
  gather_.tick(kSecond);
  ASSERT_EQ(show().rows.size(), 1U);
  EXPECT_STREQ(show().rows[0].state, "closed");
  gather_.tick(kSecond + Gather::kShownClosedNs);
  const Shown s = show();
  EXPECT_TRUE(s.rows.empty());
  EXPECT_EQ(s.totals.calls, 1U);
}

TEST_F(Gathered, AnEndpointThatVanishesLeavesWhatItReported) {
  trace_.begin();
  emit_plain_connection(trace_, 1);
  feed();
  gather_.tick(0);
  gather_.ended(0, "connection reset", 7 * kSecond);
  gather_.tick(kSecond);
  gather_.tick(2 * Gather::kShownClosedNs);
  const Shown s = show();
  EXPECT_TRUE(s.endpoints[0].ended);
  EXPECT_EQ(s.endpoints[0].why, "connection reset");
  ASSERT_EQ(s.rows.size(), 1U);
  EXPECT_STREQ(s.rows[0].state, "gone");
  EXPECT_EQ(s.open, 0U);
  EXPECT_EQ(s.endpoints[0].ended_ns, 7 * kSecond);
  EXPECT_FALSE(s.endpoints[0].in_order);
  ASSERT_EQ(s.findings.size(), 1U);
  EXPECT_EQ(s.findings[0].text,
            "test was killed or crashed: it ended without closing its connections");
}

TEST_F(Gathered, AnEndpointThatStopsInOrderIsNoFinding) {
  trace_.begin();
  emit_plain_connection(trace_, 1);
  trace::ConnectionEnd end;
  end.established = 1;
  trace_.emit(1, end).end();
  feed();
  gather_.ended(0, {}, kSecond);
  const Shown s = show();
  EXPECT_TRUE(s.endpoints[0].in_order);
  EXPECT_TRUE(s.findings.empty());
  EXPECT_STREQ(s.rows[0].state, "closed");
}

// The client notices only after seconds, by its own retries.
TEST_F(Gathered, AtTheOtherEndOfAKilledServerTheConnectionIsNotOpen) {
  trace_.begin("load");
  emit_plain_connection(trace_, 1);
  trace::Connection other = trace_reader::testing::plain_connection();
  other.local_qpn = 0x700;
  emit_plain_connection(trace_, 2, other);
  feed();
  // The server's end of the first connection.
  ASSERT_EQ(gather_.add("43"), 1U);
  trace::Connection server = trace_reader::testing::plain_connection();
  std::swap(server.local, server.peer);
  std::swap(server.local_qpn, server.peer_qpn);
  server.active = 0;
  trace_.begin("serve", "server", 43);
  emit_plain_connection(trace_, 9, server);
  feed(1);
  EXPECT_EQ(show().open, 3U);
  gather_.ended(1, {}, kSecond);
  const Shown s = show();
  EXPECT_EQ(s.open, 1U);
  ASSERT_EQ(s.rows.size(), 3U);
  EXPECT_STREQ(s.rows[0].state, "no peer");
  EXPECT_STREQ(s.rows[1].state, "open");
  EXPECT_STREQ(s.rows[2].state, "gone");
}

// A source that counts in the kernel: sums of all Calls so far, once a second.
class Counted : public Gathered {
 protected:
  void second(std::uint64_t calls, std::uint32_t procedure = 6) {
    trace::ProcedureSums p;
    p.program = 100003;
    p.version = 3;
    p.procedure = procedure;
    p.calls = calls + 1;
    p.replies = calls;
    p.errors = calls / 100;
    p.read_chunk_bytes = 10 * calls;
    p.write_chunk_bytes = 1000 * calls;
    p.max_latency_ns = 60'000'000;
    const std::array<trace::SumBucket, 2> buckets{
        trace::SumBucket{trace::sum_bucket(1'000'000), 0, calls * 9 / 10},
        trace::SumBucket{trace::sum_bucket(50'000'000), 0, calls / 10}};
    trace_.emit(1, p, {reinterpret_cast<const std::uint8_t*>(buckets.data()), sizeof buckets});
    trace::ConnectionSums c;
    c.credit_waits = 3;
    c.flushed = 1;
    trace_.emit(1, c);
    feed();
    gather_.tick(trace_.now);
    trace_.now += kSecond;
  }
};

TEST_F(Counted, RatesLatencyAndProceduresComeFromSums) {
  trace_.begin("kernel", "client of Linux");
  emit_plain_connection(trace_, 1);
  second(1000);
  second(1300);
  second(20, 3);
  const Shown s = show();
  ASSERT_EQ(s.rows.size(), 1U);
  const ShownConnection& c = s.rows[0];
  ASSERT_TRUE(c.counts);
  EXPECT_TRUE(c.open);
  EXPECT_EQ(c.totals.calls, 1301U + 21U);
  EXPECT_EQ(c.totals.chunk_bytes[1], 1'320'000U);
  EXPECT_NEAR(c.rates.calls, 300, 1);
  EXPECT_NEAR(s.rates.calls, 300, 1);
  EXPECT_NEAR(c.rates.chunk_bytes[1], 300'000, 1000);
  EXPECT_EQ(s.totals.calls, c.totals.calls);
  EXPECT_NEAR(static_cast<double>(c.latency.p50_ns), 1e6, 2.5e5);
  EXPECT_NEAR(static_cast<double>(s.latency.p99_ns), 5e7, 1.3e7);
  EXPECT_EQ(c.counts->sums.credit_waits, 3U);
  ASSERT_EQ(c.counts->procedures.size(), 2U);
  EXPECT_EQ(c.counts->procedures[0].name, "NFS v3 READ");
  EXPECT_EQ(c.counts->procedures[0].calls, 1301U);
  EXPECT_EQ(c.counts->procedures[0].errors, 13U);
  EXPECT_EQ(c.counts->procedures[1].name, "NFS v3 LOOKUP");
  EXPECT_TRUE(s.findings.empty());
  // Silence: rates are zero after some seconds, and latencies expire.
  for (int i = 0; i < 12; ++i) gather_.tick(trace_.now + i * kSecond);
  const Shown later = show();
  EXPECT_EQ(later.rates.calls, 0);
  EXPECT_EQ(later.rows[0].latency.p99_ns, -1);
  EXPECT_EQ(later.totals.calls, c.totals.calls);
  EXPECT_TRUE(later.findings.empty());
}

// What an agent publishes: counts of all connections, of closed ones, too.
TEST_F(Gathered, CumulativeCountsOnlyGrow) {
  trace_.begin();
  emit_plain_connection(trace_, 1);
  emit_plain_connection(trace_, 2);
  trace::Credits credits;
  credits.requested = 8;
  credits.granted = 32;
  credits.limit = 8;
  credits.in_use = 3;
  credits.waiting = 1;
  for (const std::uint32_t connection : {1U, 2U}) {
    trace_.emit(connection, credits);
    for (std::uint32_t xid = 1; xid <= 5; ++xid) call(connection, xid, 50'000);
  }
  feed();
  Cumulative c = gather_.cumulative();
  EXPECT_EQ(c.totals.calls, 10U);
  EXPECT_EQ(c.totals.replies, 10U);
  EXPECT_EQ(c.latency.count(), 10U);
  EXPECT_NEAR(static_cast<double>(c.latency.quantile(0.5)), 50e3, 50e3 * 0.02);
  EXPECT_EQ(c.latency_epoch, 0U);
  EXPECT_EQ(c.open, 2U);
  EXPECT_EQ(c.in_use, 6U);
  EXPECT_EQ(c.granted, 64U);
  EXPECT_EQ(c.waiting, 2U);
  trace::ConnectionEnd end;
  end.established = 1;
  trace_.emit(2, end);
  feed();
  gather_.tick(0);
  for (std::int64_t second = 1; second < 40; ++second) gather_.tick(second * kSecond);
  EXPECT_EQ(show().connections, 1U);  // the row of the closed one is gone
  c = gather_.cumulative();
  EXPECT_EQ(c.open, 1U);
  EXPECT_EQ(c.totals.calls, 10U);
  EXPECT_EQ(c.latency.count(), 10U);
  EXPECT_EQ(c.in_use, 3U);
}

TEST(SumHistogram, CountsWhereTheSourceDid) {
  trace_reader::SumLatencies latencies;
  EXPECT_EQ(to_histogram(latencies).count(), 0U);
  latencies.add(0, 1);
  latencies.add(trace::sum_bucket(1'000'000), 7);
  latencies.add(trace::kSumBuckets - 1, 2);
  const base::Histogram h = to_histogram(latencies);
  EXPECT_EQ(h.count(), 10U);
  EXPECT_NEAR(static_cast<double>(h.quantile(0.5)), 1e6, 1e6 / 8);
  EXPECT_EQ(h.min(), 0);
  EXPECT_GT(h.max(), std::int64_t{1} << 47U);
  // More than a bucket holds.
  latencies.add(trace::sum_bucket(5), std::uint64_t{1} << 40U);
  EXPECT_EQ(to_histogram(latencies).count(), 10ULL + 0xffffffffULL);
}

// Outstanding Calls of open connections, and trouble of fabrics and devices.
TEST(GatherCalls, WhereCallsAreAndTheNetwork) {
  Gather gather(rules::Profile::k8166, Follow::kCalls);
  gather.add("42", "host1");
  TraceBuilder trace;
  trace.begin("nfsd", "client");
  emit_plain_connection(trace, 1);
  trace::Call call;
  call.xid = 7;
  trace.emit(1, call);
  trace.emit(1, trace::CreditWait{7, 1, 0, 0});
  trace::Fabric fabric;
  fabric.kind = trace::FabricKind::kTimeout;
  trace.emit(1, fabric);
  for (const TraceBuilder::Frame& f : trace.frames()) {
    capture::Frame frame;
    frame.time_ns = f.time_ns;
    frame.link = capture::LinkType::kUpperPdu;
    frame.data = f.data;
    gather.frame(0, frame);
  }
  host::Devices devices;
  host::DevicePort& port = devices.ports.emplace_back();
  port.device = "mlx5_0";
  port.port = 1;
  port.hw_counters.push_back({"out_of_sequence", 1});
  gather.devices(devices);
  gather.tick(0);
  gather.tick(kSecond);
  View view;
  const Shown s = gather.show(view, 10, 0);
  EXPECT_EQ(s.endpoints[0].name, "host1:nfsd");
  EXPECT_EQ(s.outstanding.of(states::State::kCredit), 1U);
  ASSERT_EQ(s.rows.size(), 1U);
  EXPECT_EQ(s.rows[0].outstanding.of(states::State::kCredit), 1U);
  ASSERT_EQ(s.network.size(), 2U);
  EXPECT_EQ(s.network[0].name, "host1:nfsd");
  EXPECT_EQ(s.network[1].name, "mlx5_0/1");
  EXPECT_EQ(s.network_history.back(), 1U);
}

}  // namespace
}  // namespace rpcrdma::top
