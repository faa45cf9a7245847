// Tests that a merge of very many reports needs little memory.
#include "support/live_bytes.h"

#include <gtest/gtest.h>

#include <rpcrdma/report/merge.h>
#include <rpcrdma/roce/connections.h>

namespace rpcrdma::report::testing {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::int64_t kSecond = 1'000'000'000;

// An hour of a host: connections that were set up and closed, procedures with their distributions,
// and findings.
tl::expected<Report, std::string> hour(std::size_t number, std::uint32_t connections) {
  Report r;
  r.capture.files = 1;
  r.capture.frames = 100'000;
  r.capture.first_ns = 1'700'000'000 * kSecond + static_cast<std::int64_t>(number) * 3600 * kSecond;
  r.capture.last_ns = r.capture.first_ns + 3599 * kSecond;
  r.connection_ids = connections;
  for (std::uint32_t i = 0; i < connections; ++i) {
    Connection& c = r.connections.emplace_back();
    c.id = i + 1;
    c.speaks = model::Speaks::kRpc;
    c.by_cm = true;
    c.state = roce::State::kClosed;
    c.side[0].address = "2001:db8:0:1:2:3:4:" + std::to_string(i);
    c.side[1].address = "2001:db8::1";
    c.side[0].qpn = static_cast<std::uint32_t>(number) * connections + i;
    c.side[1].qpn = i;
    c.direction[0].calls = c.direction[0].replies = 1000;
    c.side[0].counters.packets = 5000;
    c.first_ns = r.capture.first_ns;
    c.last_ns = r.capture.last_ns - i;
    c.first_frame = 1;
    c.last_frame = r.capture.frames - i;
    ConnectionLatency& latency = r.latencies.connections.emplace_back();
    latency.connection = c.id;
    Finding& f = r.findings.emplace_back();
    f.rule = "STALL";
    f.severity = rules::Severity::kWarning;
    f.connection = c.id;
    f.text = "12 Calls acknowledged and unanswered for 1.5 s, 20 credits left; the oldest is 0x1";
  }
  for (std::uint32_t op = 0; op < 8; ++op) {
    const ProcedureKey key{100003, 4, 1, op, false};
    Procedure& p = r.procedures[key];
    p.label = "NFS v4 operation " + std::to_string(op);
    for (std::int64_t ns = 1000; ns < 1'000'000'000; ns += ns / 2) {
      p.total.add(ns);
      r.latencies.connections[op % connections].direction[0].add(key, ns);
    }
    p.calls = p.replies = p.total.count();
  }
  return r;
}

// Returns the peak of the heap.
std::size_t peak_of_merge(std::size_t reports, std::uint32_t connections) {
  const std::size_t before = heap().live;
  reset_peak();
  const auto whole = merge(reports, [&](std::size_t i) { return hour(i, connections); });
  EXPECT_TRUE(whole) << whole.error();
  if (!whole) return 0;
  EXPECT_EQ(whole->capture.files, reports);
  EXPECT_EQ(whole->connections.size() + whole->not_listed.connections, reports * connections);
  EXPECT_LE(whole->connections.size(), roce::kMaxConnections);
  std::uint64_t calls = whole->not_listed.direction[0].calls;
  for (const Connection& c : whole->connections) calls += c.direction[0].calls;
  EXPECT_EQ(calls, 1000 * reports * connections);
  const std::size_t peak = heap().peak - before;
  ::testing::Test::RecordProperty("peak_mib", static_cast<int>(peak / kMiB));
  return peak;
}

TEST(MergeMemory, TenThousandReportsTakeLessThan200MiB) {
  EXPECT_LT(peak_of_merge(10'000, 20), 200 * kMiB);
}

// The newest connections are listed, as an analysis of the whole would.
TEST(MergeMemory, TheOldestConnectionsAreCountedOnly) {
  constexpr std::size_t kReports = 500;
  const auto whole = merge(kReports, [&](std::size_t i) { return hour(i, 20); });
  ASSERT_TRUE(whole);
  ASSERT_EQ(whole->connections.size(), roce::kMaxConnections);
  EXPECT_EQ(whole->connections.back().id, kReports * 20);
  EXPECT_EQ(whole->connections.front().id, kReports * 20 - roce::kMaxConnections + 1 - 8);
  for (const ConnectionLatency& c : whole->latencies.connections) {
    EXPECT_NE(whole->connection(c.connection), nullptr);
  }
}

}  // namespace
}  // namespace rpcrdma::report::testing
