// Tests merges of reports: connections, Calls in flight, findings and sums.
#include "captures_for_tests.h"
#include "connection_join.h"

#include <algorithm>

#include <rpcrdma/report/merge.h>

namespace rpcrdma::report {
namespace {

using testing::json_of;
using testing::report_of;

constexpr std::int64_t kMergeStart = 1700000000000000000;

// Returns a report of `frames` frames, one per second, that starts at second `from`.
Report part(std::int64_t from, std::uint64_t frames) {
  Report r;
  r.capture.files = 1;
  r.capture.frames = frames;
  r.capture.first_ns = kMergeStart + from * 1000000000;
  r.capture.last_ns = r.capture.first_ns + static_cast<std::int64_t>(frames) * 1000000000;
  return r;
}

Connection& connect(Report& r, std::uint32_t client_qp, std::uint32_t server_qp) {
  Connection& c = r.connections.emplace_back();
  c.id = ++r.connection_ids;
  c.speaks = model::Speaks::kRpc;
  c.side[0].address = "10.0.0.2";
  c.side[1].address = "10.0.0.1";
  if (client_qp != 0) c.side[0].qpn = client_qp;
  if (server_qp != 0) c.side[1].qpn = server_qp;
  c.side[0].counters.packets = c.side[1].counters.packets = 10;
  c.roles = Roles::kLikely;
  c.first_frame = 1;
  c.last_frame = r.capture.frames;
  return c;
}

const ProcedureKey kRead{100003, 3, 6, UINT32_MAX, false};

void leave_open(Report& r, std::uint32_t xid, std::uint64_t frame) {
  Direction& d = r.connections.back().direction[0];
  ++d.calls;
  ++d.unmatched_calls;
  Procedure& p = r.procedures[kRead];
  p.label = "NFS v3 READ";
  ++p.calls;
  ++p.unmatched;
  OpenCall& c = r.edges.open_calls.emplace_back();
  c.connection = r.connections.back().id;
  c.xid = xid;
  c.frame = frame;
  c.time_ns = r.capture.last_ns;
  c.procedure = kRead;
}

EarlyReply& reply_early(Report& r, std::uint32_t xid, std::uint64_t frame) {
  ++r.connections.back().direction[0].unmatched_replies;
  EarlyReply& e = r.edges.early_replies.emplace_back();
  e.connection = r.connections.back().id;
  e.xid = xid;
  e.frame = frame;
  e.time_ns = r.capture.first_ns;
  return e;
}

Report merged(std::vector<Report> reports) {
  auto whole = merge(std::move(reports));
  EXPECT_TRUE(whole) << whole.error();
  return whole ? std::move(*whole) : Report{};
}

TEST(Merge, OneReportStaysAsItIs) {
  const Report r = report_of("linux-deleg.pcap");
  EXPECT_EQ(json_of(merged({r})), json_of(r));
  EXPECT_EQ(json_of(merged({r, Report{}})), json_of(r));
}

TEST(Merge, ACallIsAnsweredInTheNextReport) {
  Report a = part(0, 10);
  connect(a, 17, 18);
  leave_open(a, 7, 9);
  leave_open(a, 8, 10);
  Report b = part(12, 5);
  connect(b, 17, 18);
  reply_early(b, 7, 2);
  const Report whole = merged({b, a});
  ASSERT_EQ(whole.connections.size(), 1U);
  const Direction& d = whole.connections[0].direction[0];
  EXPECT_EQ(d.replies, 1U);
  EXPECT_EQ(d.unmatched_calls, 1U);
  EXPECT_EQ(d.unmatched_replies, 0U);
  EXPECT_EQ(whole.connections[0].side[0].counters.packets, 20U);
  EXPECT_EQ(whole.connections[0].last_frame, 15U);
  const Procedure& p = whole.procedures.at(kRead);
  EXPECT_EQ(p.replies, 1U);
  EXPECT_EQ(p.unmatched, 1U);
  EXPECT_EQ(p.total.max(), 2000000000);
  ASSERT_EQ(whole.slowest.list().size(), 1U);
  EXPECT_EQ(whole.slowest.list()[0].frame, 9U);
  EXPECT_EQ(whole.slowest.list()[0].reply_frame, 12U);
  ASSERT_EQ(whole.edges.open_calls.size(), 1U);
  EXPECT_EQ(whole.edges.open_calls[0].xid, 8U);
  EXPECT_TRUE(whole.edges.early_replies.empty());
}

TEST(Merge, AnErrorAnswersToo) {
  Report a = part(0, 10);
  connect(a, 17, 18);
  leave_open(a, 7, 9);
  Report b = part(12, 5);
  connect(b, 17, 18);
  EarlyReply& e = reply_early(b, 7, 2);
  e.rdma_error = e.failed = true;
  const Report whole = merged({a, b});
  EXPECT_EQ(whole.connections[0].direction[0].errors, 1U);
  EXPECT_EQ(whole.connections[0].direction[0].replies, 0U);
  EXPECT_EQ(whole.procedures.at(kRead).errors, 1U);
}

TEST(Merge, AnotherConnectionDoesNotAnswer) {
  Report a = part(0, 10);
  connect(a, 17, 18);
  leave_open(a, 7, 9);
  Report b = part(12, 5);
  connect(b, 17, 19);
  reply_early(b, 7, 2);
  const Report whole = merged({a, b});
  ASSERT_EQ(whole.connections.size(), 2U);
  EXPECT_EQ(whole.connections[1].id, 2U);
  EXPECT_EQ(whole.connections[0].direction[0].unmatched_calls, 1U);
  EXPECT_EQ(whole.connections[1].direction[0].unmatched_replies, 1U);
}

TEST(Merge, AConnectionThatWasClosedDoesNotGoOn) {
  Report a = part(0, 10);
  connect(a, 17, 18).state = roce::State::kClosed;
  Report b = part(12, 5);
  connect(b, 17, 18);
  EXPECT_EQ(merged({a, b}).connections.size(), 2U);
}

TEST(Merge, ASetUpWithTheSameQpsEndsTheOldConnection) {
  Report a = part(0, 10);
  connect(a, 17, 18);
  leave_open(a, 7, 9);
  Report b = part(12, 5);
  connect(b, 17, 30).by_cm = true;
  const Report whole = merged({a, b});
  ASSERT_EQ(whole.connections.size(), 2U);
  EXPECT_EQ(whole.connections[0].state, roce::State::kClosed);
  EXPECT_TRUE(whole.edges.open_calls.empty());
}

TEST(Merge, OneDirectionIsEnoughToKnowAConnection) {
  Report a = part(0, 10);
  connect(a, 17, 18);
  Report b = part(12, 5);
  connect(b, 0, 18);
  connect(b, 0, 18).side[1].qpn = 99;
  const Report whole = merged({a, b});
  ASSERT_EQ(whole.connections.size(), 2U);
  EXPECT_EQ(whole.connections[0].side[0].qpn, 17U);
  EXPECT_EQ(whole.connections[0].side[0].counters.packets, 20U);
  EXPECT_EQ(whole.connections[1].id, 2U);
  EXPECT_EQ(whole.connection_ids, 2U);
}

// The part that knows which side is the client decides, be it the earlier or the later one.
TEST(Merge, SidesThatWereTakenForEachOther) {
  for (const bool later_knows : {false, true}) {
    Report a = part(0, 10);
    connect(a, 17, 18).roles = later_knows ? Roles::kUnknown : Roles::kCertain;
    leave_open(a, 7, 9);
    Report b = part(12, 5);
    Connection& c = connect(b, 17, 18);
    reply_early(b, 7, 2);
    c.roles = later_knows ? Roles::kCertain : Roles::kUnknown;
    b.credits.emplace_back().connection = 1;
    b.credits[0].direction[0].at(b.capture.first_ns).grant(64);
    flip(later_knows ? a.connections[0] : b.connections[0]);
    if (later_knows) {
      a.edges.open_calls[0].reverse = true;
    } else {
      b.edges.early_replies[0].reverse = true;
      std::swap(b.credits[0].direction[0], b.credits[0].direction[1]);
    }
    const Report whole = merged({a, b});
    ASSERT_EQ(whole.connections.size(), 1U);
    EXPECT_EQ(whole.connections[0].side[0].address, "10.0.0.2");
    EXPECT_EQ(whole.connections[0].roles, Roles::kCertain);
    EXPECT_EQ(whole.connections[0].direction[0].replies, 1U) << later_knows;
    EXPECT_FALSE(whole.credits.at(0).direction[0].empty());
    EXPECT_TRUE(whole.credits.at(0).direction[1].empty());
  }
}

Finding finding(const char* rule, std::uint32_t connection, std::uint64_t frame) {
  Finding f;
  f.rule = rule;
  f.severity = rules::Severity::kError;
  f.peer = "10.0.0.1";
  f.connection = connection;
  f.frames = {frame};
  f.text = "text";
  return f;
}

TEST(Merge, EqualFindingsAreOne) {
  Report a = part(0, 10);
  connect(a, 17, 18);
  a.findings = {finding("HDR-06", 1, 3)};
  Report b = part(12, 5);
  connect(b, 17, 18);
  connect(b, 19, 20);
  b.findings = {finding("HDR-06", 2, 4), finding("HDR-06", 1, 5)};
  b.inconclusive.push_back({{"FC-01", 2, 3, "why"}, false});
  const Report whole = merged({a, b});
  ASSERT_EQ(whole.findings.size(), 2U);
  EXPECT_EQ(whole.findings[0].count, 2U);
  EXPECT_EQ(whole.findings[0].frames, (std::vector<std::uint64_t>{3, 15}));
  EXPECT_EQ(whole.findings[1].connection, 2U);
  EXPECT_EQ(whole.findings[1].frames, (std::vector<std::uint64_t>{14}));
  ASSERT_EQ(whole.inconclusive.size(), 1U);
  EXPECT_EQ(whole.inconclusive[0].connection, 2U);
}

TEST(Merge, TotalsAreConcludedAgain) {
  Report a = part(0, 10);
  a.capture.packets.lost_capture = 2;
  conclude(a);
  Report b = part(12, 5);
  b.capture.packets.lost_capture = 3;
  conclude(b);
  const Report whole = merged({a, b});
  ASSERT_EQ(whole.findings.size(), 1U);
  EXPECT_EQ(whole.findings[0].text,
            "5 packets that their receiver acknowledged are not in the capture");
}

TEST(Merge, MoreProceduresThanAreKept) {
  Report a = part(0, 10);
  Report b = part(12, 5);
  for (std::uint32_t i = 0; i < 700; ++i) {
    a.procedures[{i, 1, 1, UINT32_MAX, false}].calls = 1;
    b.procedures[{i + 600, 1, 1, UINT32_MAX, false}].calls = 1;
  }
  const Report whole = merged({a, b});
  EXPECT_EQ(whole.procedures.size(), kMaxProcedures + 1);
  const Procedure& others = whole.procedures.at(ProcedureKey::others(false));
  EXPECT_EQ(others.label, "all others");
  EXPECT_EQ(others.calls, 1300 - kMaxProcedures);
}

TEST(Merge, ProfilesMustBeTheSame) {
  Report a = part(0, 10);
  a.profile = rules::Profile::k5666;
  EXPECT_FALSE(merge({a, part(12, 5)}));
}

TEST(Merge, TooManyIds) {
  Report a = part(0, 10);
  a.connection_ids = UINT32_MAX;
  Report b = part(12, 5);
  connect(b, 1, 2);
  EXPECT_FALSE(merge({a, b}));
}

TEST(Merge, HowReportsAreGroupedDoesNotMatter) {
  std::vector<Report> parts;
  for (std::int64_t i = 0; i < 4; ++i) {
    Report r = part(20 * i, 10);
    Connection& c = connect(r, 17, 18);
    c.by_cm = i == 0;
    // The Call of report 0 is answered in report 3, each other Call in the next report.
    if (i == 0) leave_open(r, 99, 1);
    if (i == 3) reply_early(r, 99, 4);
    if (i > 0) reply_early(r, static_cast<std::uint32_t>(i), 2);
    leave_open(r, static_cast<std::uint32_t>(i + 1), 9);
    if (i % 2 == 1) connect(r, 30, static_cast<std::uint32_t>(40 + i));
    conclude(r);
    parts.push_back(r);
  }
  const std::string all = json_of(merged(parts));
  const auto& p = parts;
  EXPECT_EQ(json_of(merged({merged({p[0], p[1]}), merged({p[2], p[3]})})), all);
  EXPECT_EQ(json_of(merged({p[0], merged({p[1], merged({p[2], p[3]})})})), all);
  EXPECT_EQ(json_of(merged({merged({merged({p[0], p[1]}), p[2]}), p[3]})), all);
  std::reverse(parts.begin(), parts.end());
  EXPECT_EQ(json_of(merged(parts)), all);
  EXPECT_EQ(merged(parts).connections[0].direction[0].replies, 4U);
}

}  // namespace
}  // namespace rpcrdma::report
