// Tests reports with display filters.
#include "captures_for_tests.h"

#include <algorithm>

#include <rpcrdma/report/merge.h>
#include <rpcrdma/report/verdict.h>

namespace rpcrdma::report {
namespace {

using testing::json_of;
using testing::report_of;

std::uint64_t kind(const Report& r, model::Kind k) {
  return r.messages.kinds[static_cast<std::size_t>(k)];
}

bool finds(const Report& r, const char* rule) {
  return std::any_of(r.findings.begin(), r.findings.end(),
                     [&](const Finding& f) { return f.rule == rule; });
}

// Sums Calls, Replies, errors and bytes of all bins.
std::array<std::uint64_t, 5> sums(const TrafficSeries& series) {
  std::array<std::uint64_t, 5> sums{};
  for (std::int64_t n = series.first(); n <= series.last(); ++n) {
    const TrafficBin& b = series.bin(n);
    sums[0] += b.calls;
    sums[1] += b.replies;
    sums[2] += b.errors;
    sums[3] += b.read_bytes;
    sums[4] += b.write_bytes;
  }
  return sums;
}

// The result is the same whether a filter decides at once, at the end of a Call, or later.
TEST(Selection, OfAllMessagesChangesNothing) {
  for (const char* capture :
       {"linux-nfs41.pcap", "linux-nfs3.pcap", "linux-deleg.pcap", "linux-non-rpc.pcap",
        "rules/OPS-02.pcap", "rules/HDR-06.pcap", "rules/CMP-01.pcap", "rules/OPS-05-length.pcap",
        "rules/ERR-01.pcap", "rules/BI-01.pcap", "rules/CAPTURE-lost.pcap"}) {
    const std::string all = json_of(report_of(capture));
    for (const char* filter : {"frame.number > 0", "rpcrdma.latency > 1s || frame.number > 0",
                               "rpcrdma.finding || frame.number > 0", "rpcrdma || !rpcrdma"}) {
      Report r = report_of(capture, filter);
      EXPECT_EQ(r.filter, filter);
      r.filter.clear();
      EXPECT_EQ(json_of(r), all) << capture << " " << filter;
    }
  }
}

TEST(Selection, CountsWhatMatchesAndShowsOfAllConnections) {
  const Report all = report_of("linux-nfs41.pcap");
  const Report r = report_of("linux-nfs41.pcap", "nfs.op == READ");
  EXPECT_EQ(kind(r, model::Kind::kCall), 7U);
  EXPECT_EQ(kind(r, model::Kind::kReply), 7U);
  ASSERT_EQ(r.procedures.size(), 1U);
  const Procedure& read = r.procedures.begin()->second;
  EXPECT_EQ(read.label, "NFS v4 READ");
  EXPECT_EQ(read.calls, 7U);
  EXPECT_EQ(read.total.count(), 7U);
  EXPECT_EQ(r.slowest.list().size(), 7U);
  EXPECT_EQ(sums(r.traffic),
            (std::array<std::uint64_t, 5>{7, 7, 0, read.bytes[0], read.bytes[1] + read.bytes[2]}));
  EXPECT_GT(read.bytes[1], 300000U);
  EXPECT_EQ(r.connections[0].direction[0].calls, all.connections[0].direction[0].calls);
  EXPECT_EQ(r.capture.packets.roce, all.capture.packets.roce);
  EXPECT_EQ(r.credits[0].direction[0].bin(r.credits[0].direction[0].first()).requested_max, 128U);
  EXPECT_EQ(verdict(r).text, "Healthy: 7 Calls, all answered.");
}

TEST(Selection, TakesACallWhoseReplyMatches) {
  const Report of_calls = report_of("linux-nfs41.pcap", "rpcrdma.kind == call && nfs.op == WRITE");
  const Report of_replies =
      report_of("linux-nfs41.pcap", "rpcrdma.kind == reply && nfs.op == WRITE");
  EXPECT_EQ(kind(of_replies, model::Kind::kCall), 4U);
  EXPECT_EQ(of_calls.messages.types, of_replies.messages.types);
  EXPECT_EQ(sums(of_calls.traffic), sums(of_replies.traffic));
}

TEST(Selection, OfNothingSaysSo) {
  const Report r = report_of("linux-nfs41.pcap", "rpcrdma.xid == 1");
  EXPECT_TRUE(r.procedures.empty());
  EXPECT_TRUE(r.edges.open_calls.empty());
  EXPECT_EQ(verdict(r).text, "No message matches the filter.");
}

TEST(Selection, LeavesOutFindingsOnOtherMessages) {
  EXPECT_TRUE(finds(report_of("rules/HDR-06.pcap", "rpcrdma.malformed"), "HDR-06"));
  EXPECT_FALSE(finds(report_of("rules/HDR-06.pcap", "!rpcrdma.malformed"), "HDR-06"));
  // A finding without a message is kept.
  EXPECT_TRUE(finds(report_of("linux-nfs41.pcap", "rpcrdma.xid == 1"), "LINUX-GRANT"));
}

// Some violations are found after the Reply.
TEST(Selection, SeesFindingsThatComeLate) {
  const Report r = report_of("rules/OPS-02.pcap", "rpcrdma.finding == \"OPS-03\"");
  EXPECT_TRUE(finds(r, "OPS-03"));
  EXPECT_EQ(kind(r, model::Kind::kCall), 1U);
  EXPECT_FALSE(finds(report_of("rules/OPS-02.pcap", "rpcrdma.finding == \"HDR-06\""), "OPS-03"));
}

TEST(Selection, MergesWithTheSameFilterOnly) {
  const Report a = report_of("linux-nfs41.pcap", "nfs.op == READ");
  const Report b = report_of("linux-deleg.pcap", "nfs.op == READ");
  const auto same = merge({b, a});
  ASSERT_TRUE(same);
  EXPECT_EQ(same->filter, "nfs.op == READ");
  EXPECT_GE(kind(*same, model::Kind::kCall), 7U);
  for (const Report& other :
       {report_of("linux-deleg.pcap", "nfs.op == WRITE"), report_of("linux-deleg.pcap")}) {
    const auto differ = merge({a, other});
    ASSERT_FALSE(differ);
    EXPECT_NE(differ.error().find("different filters"), std::string::npos);
    EXPECT_NE(differ.error().find("\"nfs.op == READ\""), std::string::npos);
  }
}

// The later report has only the Reply of an RPC that the boundary of two captures separates.
TEST(Selection, JoinsAtACutOnlyCallsThatCount) {
  const auto halves = [](bool counted) {
    Report a;
    a.filter = "nfs";
    a.capture.frames = 5;
    a.capture.first_ns = 1'700'000'000'000'000'000;
    a.capture.last_ns = a.capture.first_ns + 10;
    a.connection_ids = 1;
    Connection& c = a.connections.emplace_back();
    c.id = 1;
    c.speaks = model::Speaks::kRpc;
    c.side[0].address = "10.0.0.1";
    c.side[1].address = "10.0.0.2";
    c.side[0].qpn = 1;
    c.side[1].qpn = 2;
    Report b = a;
    a.connections[0].direction[0] = {.calls = 1, .unmatched_calls = 1};
    b.connections[0].direction[0] = {.unmatched_replies = 1};
    b.capture.first_ns += 20;
    b.capture.last_ns += 20;
    const ProcedureKey key{100003, 3, 6, UINT32_MAX, false};
    if (counted) {
      a.procedures[key].calls = 1;
      a.procedures[key].unmatched = 1;
    }
    OpenCall& open = a.edges.open_calls.emplace_back();
    open.connection = 1;
    open.xid = 7;
    open.frame = 4;
    open.time_ns = a.capture.first_ns;
    open.counted = counted;
    open.procedure = key;
    EarlyReply& reply = b.edges.early_replies.emplace_back();
    reply.connection = 1;
    reply.xid = 7;
    reply.frame = 1;
    reply.time_ns = b.capture.first_ns;
    return *merge({a, b});
  };
  const Report taken = halves(true);
  EXPECT_EQ(taken.connections[0].direction[0].replies, 1U);
  ASSERT_EQ(taken.procedures.size(), 1U);
  EXPECT_EQ(taken.procedures.begin()->second.replies, 1U);
  const Report left = halves(false);
  EXPECT_EQ(left.connections[0].direction[0].replies, 1U);
  EXPECT_EQ(left.connections[0].direction[0].unmatched_calls, 0U);
  EXPECT_TRUE(left.procedures.empty());
  EXPECT_TRUE(left.slowest.list().empty());
}

}  // namespace
}  // namespace rpcrdma::report
