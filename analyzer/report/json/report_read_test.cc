// Tests that reports survive a round trip through JSON, and that invalid JSON is rejected with the
// path of the error.
#include "captures_for_tests.h"

#include <functional>

#include <gmock/gmock.h>

#include <rpcrdma/report/merge.h>

namespace rpcrdma::report {
namespace {

using ::testing::HasSubstr;
using testing::json_of;
using testing::report_of;

TEST(ReportRead, WhatWasWrittenIsReadAsTheSame) {
  for (const char* name : {"linux-nfs41.pcap", "linux-nfs3.pcap", "linux-deleg.pcap",
                           "linux-non-rpc.pcap", "roce-icrc-oracle.pcap"}) {
    const std::string text = json_of(report_of(name));
    const auto report = read_json(text);
    ASSERT_TRUE(report) << report.error();
    EXPECT_EQ(json_of(*report), text) << name;
  }
}

TEST(ReportRead, TwoThreadsWriteWhatOneDoes) {
  Report report = report_of("linux-nfs41.pcap");
  for (const std::size_t connections : {1U, 255U, 256U, 257U, 1500U, 4000U}) {
    report.connections.resize(connections, report.connections.front());
    for (std::size_t i = 0; i < connections; ++i) {
      report.connections[i].id = static_cast<std::uint32_t>(i + 1);
    }
    std::string text;
    write_json(
        report, [&](std::string_view piece) { text += piece; }, 2);
    EXPECT_EQ(text, json_of(report)) << connections;
  }
}

TEST(ReportRead, AReportOfNothing) {
  const auto report = read_json(json_of({}));
  ASSERT_TRUE(report) << report.error();
  EXPECT_EQ(json_of(*report), json_of({}));
}

// Returns the error after the first `from` is replaced by `to`.
std::string error_after(const std::string& from, const std::string& to) {
  static const std::string text = json_of(report_of("linux-deleg.pcap"));
  std::string changed = text;
  const auto at = changed.find(from);
  if (at == std::string::npos) return "not found: " + from;
  changed.replace(at, from.size(), to);
  const auto report = read_json(changed);
  return report ? "no error" : report.error();
}

TEST(ReportRead, ErrorsNameTheKey) {
  EXPECT_EQ(error_after("\"total\":", "\"sum\":"), "packets.total: missing");
  EXPECT_EQ(error_after("\"total\":511", "\"total\":-1"),
            "packets.total: expected a non-negative integer");
  EXPECT_EQ(error_after("\"total\":511", "\"total\":18446744073709551616"),
            "packets.total: expected a non-negative integer");
  EXPECT_EQ(error_after("\"id\":1,", "\"id\":\"1\","),
            "connections[0].id: expected an integer from 0 to 4294967295");
  EXPECT_EQ(error_after("\"id\":2,", "\"id\":1,"),
            "connections[1].id: not greater than the ID of the connection before");
  EXPECT_EQ(error_after("\"id\":2,", "\"id\":7,"),
            "connections[1].id: not an ID from 1 to connection_ids");
  EXPECT_EQ(error_after("\"state\":\"closed\"", "\"state\":\"shut\""),
            "connections[0].state: expected \"opening\", \"open\", \"rejected\", \"closed\"");
  EXPECT_EQ(error_after("\"connections\":[{", "\"connections\":[7,{"),
            "connections[0]: expected an object");
  EXPECT_EQ(error_after("\"findings\":[", "\"findings\":7,\"x\":["), "findings: expected a list");
  EXPECT_EQ(error_after("\"truncated\":false", "\"truncated\":0"),
            "capture.truncated: expected true or false");
  EXPECT_EQ(error_after("\"name\":\"", "\"name\":null,\"x\":\""),
            "procedures[0].name: expected a string");
  EXPECT_EQ(error_after("\"first_time_ns\":", "\"first_time_ns\":9223372036854775807,\"x\":"),
            "capture.first_time_ns: expected an integer below 2^62");
  EXPECT_EQ(error_after("\"buckets\":[[", "\"buckets\":[[1,1],["),
            "procedures[0].latency_us: the buckets contradict min_ns and max_ns");
  EXPECT_EQ(error_after("\"shift\":", "\"shift\":63,\"x\":"),
            "series.traffic.shift: expected an integer from 20 to 62");
  EXPECT_THAT(error_after("\"bins\":[{\"bin\":", "\"bins\":[{\"bin\":1,\"x\":"),
              HasSubstr("series.traffic.bins[1]: more than 255 bins after the first"));
}

TEST(ReportRead, OtherTextIsNoReport) {
  const auto error = [](std::string_view text) {
    const auto report = read_json(text);
    return report ? "no error" : report.error();
  };
  EXPECT_THAT(error(""), HasSubstr("not JSON"));
  EXPECT_THAT(error("{} {}"), HasSubstr("not JSON"));
  EXPECT_THAT(error("{\"frame\":1}\n{\"frame\":2}\n"), HasSubstr("not JSON"));
  EXPECT_EQ(error("{\"frame\":1}"), "schema: missing");
  EXPECT_EQ(error("[]"), "schema: missing");
  EXPECT_EQ(error("{\"schema\":\"other\"}"), "schema: expected \"rpcrdma-analysis-2\"");
}

TEST(ReportRead, NestingCostsNoStack) {
  for (const char* piece : {"[", "{\"a\":"}) {
    std::string text = "{\"schema\":\"rpcrdma-analysis-2\",\"packets\":";
    for (int i = 0; i < 1000000; ++i) text += piece;
    EXPECT_FALSE(read_json(text));
  }
  std::string closed = "{\"schema\":";
  closed += std::string(1000000, '[') + std::string(1000000, ']') + "}";
  const auto report = read_json(closed);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error(), "schema: expected a string");
}

TEST(ReportRead, NumbersAtTheirEnds) {
  Report r;
  r.capture.frames = UINT64_MAX;
  r.connection_ids = UINT32_MAX;
  Connection& c = r.connections.emplace_back();
  c.id = UINT32_MAX;
  c.side[0].address = "a\"\\\n\xc3\xa9";
  c.side[0].qpn = 0xffffff;
  c.closed_by = 1;
  c.by_cm = true;
  c.service_id = UINT64_MAX;
  r.findings_omitted = {1, 2, 3};
  const std::string text = json_of(r);
  const auto again = read_json(text);
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ(json_of(*again), text);
  EXPECT_EQ(again->connections[0].side[0].address, c.side[0].address);
  EXPECT_TRUE(again->has_errors());
}

// A grant of zero differs from an unknown grant.
TEST(ReportRead, AGrantOfZero) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  Report r;
  r.capture.frames = 1;
  r.connection_ids = 1;
  Connection& c = r.connections.emplace_back();
  c.id = 1;
  c.side[0].qpn = 17;
  ConnectionCredits& credits = r.credits.emplace_back();
  credits.connection = 1;
  CreditSeries& series = credits.direction[0];
  series.at(0).grant(0);
  series.at(kSecond).request(8, 1);
  series.at(2 * kSecond).grant(0);
  series.at(2 * kSecond).grant(8);
  series.at(3 * kSecond).grant(8);
  const auto again = read_json(json_of(r));
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ(json_of(*again), json_of(r));
  Report later = *again;  // not the same report
  later.capture.frames = 2;
  const auto both = merge({r, later});
  ASSERT_TRUE(both) << both.error();
  for (const Report& read : {*again, *both}) {
    ASSERT_EQ(read.credits.size(), 1U);
    const CreditSeries& s = read.credits[0].direction[0];
    std::vector<CreditBin> bins;
    for (std::int64_t n = s.first(); n <= s.last(); ++n) {
      if (s.bin(n) != CreditBin{}) bins.push_back(s.bin(n));
    }
    EXPECT_EQ(
        bins,
        (std::vector<CreditBin>{
            {0, 0, 0, 0, true}, {8, 0, 0, 1, false}, {0, 0, 8, 0, true}, {0, 8, 8, 0, true}}));
  }
}

// Untrusted data about resent Calls.
TEST(ReportRead, WhatConnectionsLeaveIsBounded) {
  Report r;
  r.connection_ids = 1;
  r.reconnects.ended.resize(rules::kDeparted);
  r.reconnects.ended[0].left.unanswered.resize(rules::kUnanswered);
  r.reconnects.ended[0].left.answered.resize(rules::kAnswered);
  r.reconnects.lost.resize(rules::kLostCallsHandedOver);
  r.reconnects.begun.resize(rules::kBegun);
  for (BegunConnection& b : r.reconnects.begun) b.connection = 1;
  r.reconnects.begun[0].calls.resize(rules::kBegunCalls);
  ASSERT_TRUE(read_json(json_of(r)));
  EXPECT_EQ(json_of(*read_json(json_of(r))), json_of(r));
  const auto error = [&](const std::function<void(Reconnects&)>& change) {
    Report changed = r;
    change(changed.reconnects);
    const auto read = read_json(json_of(changed));
    return read ? "no error" : read.error();
  };
  EXPECT_EQ(error([](Reconnects& x) { x.ended.emplace_back(); }),
            "reconnects.ended: too many entries");
  EXPECT_EQ(error([](Reconnects& x) { x.ended[0].left.unanswered.emplace_back(); }),
            "reconnects.ended[0].unanswered: too many entries");
  EXPECT_EQ(error([](Reconnects& x) { x.ended[0].left.answered.emplace_back(); }),
            "reconnects.ended[0].answered: too many entries");
  EXPECT_EQ(error([](Reconnects& x) { x.lost.emplace_back(); }),
            "reconnects.lost: too many entries");
  EXPECT_EQ(error([](Reconnects& x) { x.begun.push_back(x.begun[1]); }),
            "reconnects.successors: too many entries");
  EXPECT_EQ(error([](Reconnects& x) { x.begun[0].calls.emplace_back(); }),
            "reconnects.successors[0].calls: too many entries");
  EXPECT_EQ(error([](Reconnects& x) { x.begun[0].connection = 2; }),
            "reconnects.successors[0].connection: not an ID from 1 to connection_ids");
  EXPECT_EQ(error([](Reconnects& x) {
              x.begun[0].first_ns = (std::int64_t{1} << 62) - 1;
              for (rules::FirstCall& call : x.begun[0].calls) call.time_ns = x.begun[0].first_ns;
              x.begun[0].calls[3].time_ns += 1;
            }),
            "reconnects.successors[0].calls[3][1]: at a time beyond 2^62 ns");
}

TEST(ReportRead, SumsOfWhatIsNotListed) {
  Report r;
  r.not_listed.connections = 7;
  r.not_listed.packets = 6;
  r.not_listed.messages = 5;
  r.not_listed.chunk_bytes = 4;
  r.not_listed.direction[0].calls = 3;
  r.not_listed.direction[1].unmatched_replies = 2;
  const std::string text = json_of(r);
  const auto again = read_json(text);
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ(json_of(*again), text);
  const auto twice = merge({r, *again});
  ASSERT_TRUE(twice) << twice.error();
  EXPECT_EQ(twice->not_listed.connections, 14U);
  EXPECT_EQ(twice->not_listed.direction[0].calls, 6U);
  EXPECT_EQ(twice->not_listed.direction[1].unmatched_replies, 4U);
}

}  // namespace
}  // namespace rpcrdma::report
