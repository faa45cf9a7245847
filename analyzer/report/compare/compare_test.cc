// Tests comparisons of reports: judgements, counts, findings, limits and hostile text.
#include "../report_for_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <rpcrdma/report/compare.h>
#include <rpcrdma/report/report_json.h>

namespace rpcrdma::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr ProcedureKey kRead{100003, 4, 1, 25, false};
constexpr ProcedureKey kWrite{100003, 4, 1, 38, false};

// Adds Calls whose latencies spread from `ns` to 2 * `ns`.
void add_calls(Report& r, const ProcedureKey& key, const char* label, int n, std::int64_t ns) {
  Procedure& p = r.procedures[key];
  p.label = label;
  for (int i = 0; i < n; ++i) {
    ++p.calls;
    ++p.replies;
    p.total.add(ns + ns * i / n);
  }
  r.messages.kinds[0] += static_cast<std::uint64_t>(n);
  r.messages.kinds[1] += static_cast<std::uint64_t>(n);
}

Report report_of_reads(int n, std::int64_t ns) {
  Report r;
  r.capture.files = 1;
  r.capture.frames = 1000;
  r.capture.first_ns = 1'700'000'000'000'000'000;
  r.capture.last_ns = r.capture.first_ns + 2'000'000'000;
  add_calls(r, kRead, "NFS v4 READ", n, ns);
  return r;
}

void add_finding(Report& r, const char* rule, rules::Severity severity, std::uint64_t count) {
  Finding f;
  f.rule = rule;
  f.severity = severity;
  f.role = "server";
  f.count = count;
  f.text = "the text";
  r.findings.push_back(f);
}

Comparison compared(const Report& a, const Report& b, std::initializer_list<const char*> above = {},
                    std::initializer_list<const char*> on = {}, double margin = 0.1) {
  CompareOptions options;
  options.margin = margin;
  for (const char* text : above) {
    const auto added = options.limits.add_above(text);
    EXPECT_TRUE(added) << added.error();
  }
  for (const char* text : on) {
    const auto added = options.limits.add_on(text);
    EXPECT_TRUE(added) << added.error();
  }
  return compare(a, b, options);
}

const SumChange& sum_of(const Comparison& c, std::string_view key) {
  for (const SumChange& s : c.sums) {
    if (key == s.key) return s;
  }
  ADD_FAILURE() << key;
  return c.sums.front();
}

TEST(Compare, TheSameReportDoesNotDiffer) {
  const Report r = report_of_reads(1000, 1'000'000);
  const Comparison c = compared(r, r, {"p50=0%", "p99=0%", "failed=0%"}, {"slower", "new-note"});
  ASSERT_EQ(c.procedures.size(), 1U);
  EXPECT_EQ(c.procedures[0].judgement, Judgement::kSame);
  EXPECT_DOUBLE_EQ(c.procedures[0].p, 1);
  for (const QuantileChange& q : c.procedures[0].quantiles) {
    EXPECT_DOUBLE_EQ(q.ratio, 1);
    EXPECT_FALSE(q.certain());
  }
  EXPECT_EQ(c.outcome, Outcome::kSame);
  EXPECT_EQ(c.verdict, "No procedure is slower or faster by 10 % or more beyond noise.");
  EXPECT_THAT(c.failed, IsEmpty());
  EXPECT_THAT(c.not_judged, IsEmpty());
}

TEST(Compare, AShiftIsFound) {
  const Report fast = report_of_reads(1000, 1'000'000);
  const Report slow = report_of_reads(1000, 1'500'000);
  const Comparison worse = compared(fast, slow, {"p99=20%", "READ:p50=60%"}, {"slower"});
  EXPECT_EQ(worse.procedures[0].judgement, Judgement::kSlower);
  EXPECT_LT(worse.procedures[0].p, 0.001);
  EXPECT_GT(worse.procedures[0].test->superiority, 0.8);
  EXPECT_EQ(worse.outcome, Outcome::kWorse);
  EXPECT_THAT(worse.verdict, HasSubstr("Slower: NFS v4 READ (p50 +"));
  ASSERT_EQ(worse.failed.size(), 2U);
  EXPECT_THAT(worse.failed[0], HasSubstr("NFS v4 READ: p99 rose by 5"));
  EXPECT_THAT(worse.failed[1], HasSubstr("slower: NFS v4 READ"));

  const Comparison better = compared(slow, fast, {"p99=20%"}, {"slower"});
  EXPECT_EQ(better.procedures[0].judgement, Judgement::kFaster);
  EXPECT_EQ(better.outcome, Outcome::kBetter);
  EXPECT_THAT(better.failed, IsEmpty());
}

TEST(Compare, AShiftBelowTheMarginIsNoJudgement) {
  const Report a = report_of_reads(20000, 1'000'000);
  const Report b = report_of_reads(20000, 1'070'000);
  const Comparison c = compared(a, b);
  EXPECT_EQ(c.procedures[0].judgement, Judgement::kSame);
  EXPECT_LT(c.procedures[0].p, 0.001);
  EXPECT_THAT(result_text(c.procedures[0]), HasSubstr("differs by less"));
  EXPECT_EQ(compared(a, b, {}, {}, 0.02).procedures[0].judgement, Judgement::kSlower);
}

// One Call in twenty is ten times slower: the median does not show it.
TEST(Compare, ASlowTailIsFound) {
  const Report a = report_of_reads(4000, 1'000'000);
  Report b = report_of_reads(4000, 1'000'000);
  add_calls(b, kRead, "NFS v4 READ", 200, 20'000'000);
  const Comparison c = compared(a, b);
  EXPECT_EQ(c.procedures[0].judgement, Judgement::kSlower);
  EXPECT_FALSE(c.procedures[0].quantiles[0].certain() && c.procedures[0].quantiles[0].ratio >= 1.1);
  EXPECT_THAT(c.verdict, HasSubstr("p99 +"));
}

TEST(Compare, BetterAndWorseAtOnceIsMixed) {
  Report a = report_of_reads(4000, 2'000'000);
  Report b = report_of_reads(4000, 1'000'000);
  add_calls(b, kRead, "NFS v4 READ", 400, 50'000'000);
  const Comparison c = compared(a, b);
  EXPECT_EQ(c.procedures[0].judgement, Judgement::kMixed);
  EXPECT_EQ(c.outcome, Outcome::kMixed);
}

TEST(Compare, FewCallsAreNotJudged) {
  const Report a = report_of_reads(19, 1'000'000);
  const Report b = report_of_reads(1000, 5'000'000);
  const Comparison c = compared(a, b, {"READ:p50=10%"}, {"slower"});
  EXPECT_EQ(c.procedures[0].judgement, Judgement::kTooFew);
  EXPECT_EQ(c.outcome, Outcome::kUnclear);
  EXPECT_EQ(c.verdict, "Too few Calls to judge latency.");
  EXPECT_THAT(c.failed, IsEmpty());
  EXPECT_THAT(c.not_judged, ElementsAre("NFS v4 READ p50: too few Calls, 19 and 1000; 20 are "
                                        "needed"));
  EXPECT_THAT(comparison_text(c, {"a", "b"}, {}), HasSubstr("too few Calls to judge"));
  // 100 Calls suffice for p50 but not for p99.
  const Comparison more = compared(report_of_reads(100, 1'000'000), b, {"p99=10%", "p50=10%"});
  EXPECT_EQ(more.procedures[0].judgement, Judgement::kSlower);
  EXPECT_EQ(more.failed.size(), 1U);
  EXPECT_EQ(more.not_judged.size(), 1U);
}

TEST(Compare, AProcedureThatOnlyOneHas) {
  const Report a = report_of_reads(100, 1'000'000);
  Report b = report_of_reads(100, 1'000'000);
  add_calls(b, kWrite, "NFS v4 WRITE", 300, 1'000'000);
  const Comparison added = compared(a, b, {"WRITE:p50=10%", "OPEN:p50=1%"});
  ASSERT_EQ(added.procedures.size(), 2U);
  EXPECT_EQ(added.procedures[0].label, "NFS v4 WRITE");
  EXPECT_EQ(added.procedures[0].judgement, Judgement::kOnlyAfter);
  EXPECT_EQ(added.procedures[1].judgement, Judgement::kSame);
  EXPECT_THAT(added.not_judged, ElementsAre("NFS v4 WRITE p50: no Call is answered in BEFORE",
                                            "OPEN:p50: neither has Calls of this procedure"));
  EXPECT_EQ(compared(b, a).procedures[0].judgement, Judgement::kOnlyBefore);
  EXPECT_EQ(compared(Report(), Report()).outcome, Outcome::kUnclear);
}

TEST(Compare, FindingsAreNewGoneMoreAndFewer) {
  Report a = report_of_reads(1000, 1'000'000);
  Report b = report_of_reads(1000, 1'000'000);
  add_finding(a, "FC-01", rules::Severity::kError, 20);
  add_finding(b, "HDR-02", rules::Severity::kError, 30);
  add_finding(a, "CONN-LOST", rules::Severity::kWarning, 2);
  add_finding(b, "CONN-LOST", rules::Severity::kWarning, 3);
  add_finding(a, "SLOW-PEER", rules::Severity::kNote, 10);
  add_finding(b, "SLOW-PEER", rules::Severity::kNote, 90);
  add_finding(b, "RECONNECT", rules::Severity::kNote, 1);
  const Comparison c = compared(a, b, {}, {"new-error"});
  std::vector<std::string> changes;
  for (const FindingChange& f : c.findings) {
    changes.push_back(std::string(finding_change_name(f.kind)) + " " + f.rule);
  }
  EXPECT_THAT(changes, ElementsAre("new HDR-02", "new RECONNECT", "more SLOW-PEER",
                                   "same CONN-LOST", "gone FC-01"));
  EXPECT_THAT(c.failed, ElementsAre("new error: HDR-02 (server)"));
  EXPECT_THAT(compared(a, b, {}, {"new-warning"}).failed,
              ElementsAre("new error: HDR-02 (server)"));
  EXPECT_EQ(compared(a, b, {}, {"new-note"}).failed.size(), 2U);
  EXPECT_THAT(c.verdict, HasSubstr("1 new error (HDR-02); 1 error gone (FC-01)"));
  EXPECT_THAT(comparison_text(c, {"a", "b"}, {}),
              HasSubstr("new   note RECONNECT, server: 0 before, 1 after (may be chance"));
}

TEST(Compare, CountsAreRelativeToTheirOccasions) {
  Report a = report_of_reads(1000, 1'000'000);
  Report b = report_of_reads(1000, 1'000'000);
  for (Report* r : {&a, &b}) {
    Connection& c = r->connections.emplace_back();
    c.id = r->connection_ids = 1;
    c.speaks = model::Speaks::kRpc;
    c.direction[0].calls = 1000;
    c.direction[0].granted_min = 32;
    c.direction[0].granted_max = 64;
    c.direction[0].in_use_max = r == &a ? 10 : 64;
    c.chunks[1] = 500;
    c.inline_bytes = 100'000;
    c.chunk_bytes[1] = r == &a ? 300'000 : 100'000;
    c.side[0].counters.packets = c.side[1].counters.packets = 5000;
  }
  a.connections[0].side[1].counters.retransmitted = 10;
  b.connections[0].side[1].counters.retransmitted = 60;
  b.procedures[kRead].errors = 3;
  const Comparison c = compared(a, b, {"retransmitted=0.4%", "failed=0.1%"});
  const SumChange& resent = sum_of(c, "retransmitted");
  EXPECT_DOUBLE_EQ(*resent.value[kBefore], 0.001);
  EXPECT_DOUBLE_EQ(*resent.value[kAfter], 0.006);
  EXPECT_EQ(resent.judgement, Judgement::kSlower);
  // Three failed Calls may be chance.
  EXPECT_EQ(sum_of(c, "failed").judgement, Judgement::kSame);
  EXPECT_THAT(c.failed, ElementsAre("Packets retransmitted: 0.1 % before, 0.6 % after; the rise is "
                                    "above 0.4 %"));
  EXPECT_EQ(c.outcome, Outcome::kWorse);
  EXPECT_DOUBLE_EQ(*sum_of(c, "credits_granted_min").value[kAfter], 32);
  EXPECT_DOUBLE_EQ(*sum_of(c, "credits_exhausted").value[kBefore], 0);
  EXPECT_DOUBLE_EQ(*sum_of(c, "credits_exhausted").value[kAfter], 1);
  EXPECT_DOUBLE_EQ(*sum_of(c, "write_chunks").value[kAfter], 0.5);
  EXPECT_DOUBLE_EQ(*sum_of(c, "inline_share").value[kBefore], 0.25);
  EXPECT_DOUBLE_EQ(*sum_of(c, "inline_share").value[kAfter], 0.5);
  EXPECT_DOUBLE_EQ(*sum_of(c, "calls_per_second").value[kAfter], 500);
  // What a source does not show is unknown, not 0.
  b.connections[0].absent = roce::kAbsentRefusals | roce::kAbsentOperations;
  const Comparison unseen = compared(a, b, {"retransmitted=0.4%"});
  EXPECT_FALSE(sum_of(unseen, "retransmitted").value[kAfter]);
  EXPECT_FALSE(sum_of(unseen, "inline_share").value[kAfter]);
  EXPECT_THAT(unseen.not_judged, ElementsAre("retransmitted: not known"));
}

TEST(Compare, NotesWhyTheTwoMayNotBeComparable) {
  Report a = report_of_reads(100, 1'000'000);
  Report b = report_of_reads(100, 1'000'000);
  a.filter = "nfs";
  b.profile = rules::Profile::k5666;
  b.capture.events = b.capture.frames;
  b.capture.dropped = 3;
  const Comparison c = compared(a, b);
  EXPECT_THAT(c.notes,
              ElementsAre("The filters differ: \"nfs\" and none.",
                          HasSubstr("The profiles differ (rfc8166 and rfc5666)"),
                          HasSubstr("BEFORE comes from packets and AFTER from events"),
                          HasSubstr("The capture of AFTER is incomplete"),
                          HasSubstr("is not known for 1 procedure: they count as independent")));
}

TEST(CompareLimits, Refuse) {
  for (const char* bad :
       {"", "p99", "p99=", "p99=20", "p99=-1%", "p99=x%", "p99=1e9%", "p99=nan%", "p98=1%",
        "READ:=1%", ":p99=1%", "READ:failed=1%", "mean=1%", "p99=%", "p99=1%%", "p99=99999999%"}) {
    CompareLimits limits;
    EXPECT_FALSE(limits.add_above(bad)) << bad;
  }
  for (const char* good : {"p99=20%", "p99.9=0.5%", "NFS v4 READ:p50=0%", "failed=1%"}) {
    CompareLimits limits;
    EXPECT_TRUE(limits.add_above(good)) << good;
  }
  CompareLimits limits;
  EXPECT_FALSE(limits.add_on("error"));
}

TEST(CompareLimits, NamesOfProcedures) {
  EXPECT_TRUE(means_procedure("NFS v4 READ", "READ"));
  EXPECT_TRUE(means_procedure("NFS v4 READ", "read"));
  EXPECT_TRUE(means_procedure("NFS v4 READ", "v4 READ"));
  EXPECT_TRUE(means_procedure("NFS v4 READ", "NFS v4 READ"));
  EXPECT_FALSE(means_procedure("NFS v4 READ", "EAD"));
  EXPECT_FALSE(means_procedure("NFS v4 READDIR", "READ"));
  EXPECT_FALSE(means_procedure("READ", "NFS v4 READ"));
  EXPECT_FALSE(means_procedure("NFS v4 READ", ""));
}

TEST(CompareOutput, JsonHasAllOfIt) {
  Report a = report_of_reads(1000, 1'000'000);
  Report b = report_of_reads(1000, 3'000'000);
  add_finding(b, "HDR-02", rules::Severity::kError, 30);
  const auto json =
      nlohmann::json::parse(comparison_json(compared(a, b, {"p50=10%"}), {"a.json", "b.json"}));
  EXPECT_EQ(json["schema"], "rpcrdma-comparison-1");
  EXPECT_EQ(json["outcome"], "worse");
  EXPECT_EQ(json["before"]["name"], "a.json");
  EXPECT_EQ(json["procedures"][0]["judgement"], "slower");
  EXPECT_GT(json["procedures"][0]["quantiles"][0]["ratio_low"], 2.5);
  EXPECT_EQ(json["findings"][0]["change"], "new");
  EXPECT_EQ(json["failed"].size(), 1U);
}

// Text of a report can be anything.
TEST(CompareOutput, HostileTextIsEscaped) {
  const std::string hostile = "<script>\x1b[31m\n\"&'\xff";
  const Report r = report_with(hostile);
  Report other = report_with("x" + hostile);
  other.procedures.clear();
  for (const auto& [a, b] : {std::pair(r, other), std::pair(other, r)}) {
    const Comparison c = compared(a, b, {}, {"new-note"});
    const CompareNames names{hostile, hostile};
    const std::string text = comparison_text(c, names, {false, true, 0});
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    std::string page;
    comparison_html(c, {&a, &b}, names, "1", [&](std::string_view piece) { page += piece; });
    EXPECT_THAT(page, Not(HasSubstr("<script>\x1b")));
    EXPECT_THAT(page, Not(HasSubstr("\x1b")));
    EXPECT_THAT(page, HasSubstr("&lt;script&gt;"));
  }
}

}  // namespace
}  // namespace rpcrdma::report
