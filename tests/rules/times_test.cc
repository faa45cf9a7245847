// Tests what a report says about time: stalls that ended, outages, the user's limits, and the
// verdict's sentence on time.
#include "exchanges.h"
#include "run.h"
#include "time_scenes.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/capture/source.h>
#include <rpcrdma/report/analysis.h>
#include <rpcrdma/report/merge.h>
#include <rpcrdma/report/report_json.h>
#include <rpcrdma/report/verdict.h>

namespace rpcrdma::scenes::times {
namespace {

using report::Health;
using report::Report;
using report::Verdict;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Report report_of_bytes(const Bytes& capture, std::vector<report::SlowLimit> limits = {}) {
  report::Analysis analysis({.limits = std::move(limits)});
  const auto source = capture::open_memory(capture);
  EXPECT_TRUE(source);
  if (!source) return {};
  EXPECT_TRUE(analysis.pipeline().run(**source, nullptr, 1));
  analysis.pipeline().finish();
  analysis.finish((*source)->stats());
  return analysis.report();
}

Report report_of(const Scene& scene, std::vector<report::SlowLimit> limits = {}) {
  return report_of_bytes(scene.pcap(), std::move(limits));
}

std::vector<report::Finding> findings(const Report& r, const std::string& rule) {
  std::vector<report::Finding> list;
  for (const report::Finding& f : r.findings) {
    if (f.rule == rule) list.push_back(f);
  }
  return list;
}

TEST(Stalled, AServerThatStoodStillForAPartOfTheCaptureIsNotHealthy) {
  for (const auto& [before, still, after, text] :
       {std::tuple(kSecond, 3 * kSecond / 2, 3 * kSecond / 2, "for 1.5 s"),
        std::tuple(2 * kSecond, 6 * kSecond, kSecond, "for 6 s")}) {
    Scene s;
    Connection& c = s.connect();
    std::uint32_t xid = 1;
    ordinary(s, c, xid, before);
    stopped(s, c, xid, still);
    ordinary(s, c, xid, after);
    const Report r = report_of(s);
    const Verdict v = report::verdict(r);
    EXPECT_EQ(v.health, Health::kWarnings);
    EXPECT_THAT(v.text, AllOf(HasSubstr("all answered"), HasSubstr(text), HasSubstr(" to ")));
    EXPECT_GE(v.numbers.longest_silence_ns, still);
    ASSERT_FALSE(v.evidence.empty());
    ASSERT_EQ(findings(r, "STALL").size(), 1U);
    EXPECT_NE(findings(r, "STALL")[0].spans[0].until_ns, 0);
  }
}

// The latency of Calls that waited for the first stall does not make the second one usual.
TEST(Stalled, EachStallOfManyIsFound) {
  Scene s;
  Connection& c = s.connect();
  std::uint32_t xid = 1;
  for (int i = 0; i < 4; ++i) {
    ordinary(s, c, xid, kSecond / 5);
    stopped(s, c, xid, 2 * kSecond);
  }
  const auto stalls = findings(report_of(s), "STALL");
  ASSERT_EQ(stalls.size(), 1U);
  EXPECT_EQ(stalls[0].count, 4U);
  EXPECT_EQ(stalls[0].spans.size(), 4U);
}

TEST(Stalled, AnIdleClientIsNot) {
  Scene s;
  Connection& c = s.connect();
  std::uint32_t xid = 1;
  ordinary(s, c, xid, kSecond / 5);
  s.wait(6 * kSecond);
  ordinary(s, c, xid, kSecond / 5);
  const Verdict v = report::verdict(report_of(s));
  EXPECT_EQ(v.health, Health::kHealthy);
  EXPECT_THAT(v.sentence(), Not(HasSubstr("silence")));
}

// The capture of an endpoint that was stopped: what its client sent meanwhile arrives at once.
TEST(StoodStill, PacketsThatWaitedShowTheCapturePointsStall) {
  Scene s;
  Connection& c = s.connect();
  std::uint32_t xid = 1;
  ordinary(s, c, xid, kSecond / 5);
  s.wait(3 * kSecond / 2);
  stopped(s, c, xid, 0);
  ordinary(s, c, xid, kSecond / 5);
  const Report r = report_of(s);
  const auto stalls = findings(r, "STALL");
  ASSERT_EQ(stalls.size(), 1U);
  EXPECT_THAT(stalls[0].text, StartsWith("the capture point stood still for 1.5 s"));
  EXPECT_EQ(stalls[0].peer, "");
  EXPECT_EQ(report::verdict(r).health, Health::kWarnings);
}

TEST(StoodStill, IsNotReportedForALossBehindAPause) {
  for (const bool refused : {true, false}) {
    Scene s;
    Connection& c = s.connect();
    std::uint32_t xid = 1;
    ordinary(s, c, xid, kSecond / 5);
    s.wait(3 * kSecond / 2);
    const std::uint32_t first = c.psn(kClient);
    c.acks = false;
    c.call(call(xid));
    if (refused) {
      c.nak(kServer, wire::NakCode::kPsnSequence, first);  // the server asks for it at once
    } else {
      s.wait(70 * kMillisecond);  // a timeout
    }
    c.resend(kClient, first);
    c.ack(kServer);
    c.acks = true;
    c.reply(reply(xid++));
    ordinary(s, c, xid, kSecond / 5);
    EXPECT_EQ(findings(report_of(s), "STALL").size(), 0U) << refused;
  }
}

// A capture point that sees each packet twice.
TEST(StoodStill, IsNotReportedWherePacketsAreCopied) {
  Scene s;
  Connection& c = s.connect();
  c.acks = false;
  for (std::uint32_t xid = 1; xid <= 12; ++xid) {
    if (xid == 11) s.wait(3 * kSecond / 2);
    const std::uint32_t psn = c.psn(kClient);
    c.call(call(xid));
    c.resend(kClient, psn);
    c.ack(kServer);
    s.wait(kMillisecond);
    c.reply(reply(xid));
    c.ack(kClient);
  }
  EXPECT_EQ(findings(report_of(s), "STALL").size(), 0U);
}

TEST(TimeSentence, NamesTheProcedureItsLatencyAndTheShareOfTheServer) {
  Scene s;
  Connection& c = s.connect();
  std::uint32_t xid = 1;
  ordinary(s, c, xid, kSecond / 5);
  const Verdict v = report::verdict(report_of(s));
  EXPECT_EQ(v.text, "Healthy: 40 Calls, all answered.");
  EXPECT_EQ(v.time, "program 400123 v1 procedure 1 p50 1.02 ms (99 % in the server), max 1.02 ms.");
  ASSERT_EQ(v.numbers.procedures.size(), 1U);
  EXPECT_EQ(v.numbers.procedures[0].calls, 40U);
}

// One Call of three seconds among 40 is not the procedure's latency, but it is the longest silence.
TEST(TimeSentence, NamesTheLongestSilence) {
  Scene s;
  Connection& c = s.connect();
  std::uint32_t xid = 1;
  ordinary(s, c, xid, kSecond / 10);
  c.call(call(xid));
  s.wait(900 * kMillisecond);  // too short for STALL
  c.reply(reply(xid++));
  ordinary(s, c, xid, kSecond / 10);
  const Verdict v = report::verdict(report_of(s));
  EXPECT_EQ(v.health, Health::kHealthy);
  EXPECT_THAT(v.time,
              HasSubstr("longest silence of the server 900 ms on connection 1 (from 08:00:00"));
  EXPECT_THAT(v.time, HasSubstr(", 1 Call in flight)."));
}

const std::vector<report::SlowLimit> kLimits{{"", 2 * kMillisecond}, {"READ", kMillisecond}};

Scene two_connections() {
  Scene s;
  for (int i = 0; i < 2; ++i) {
    Connection& c = s.connect();
    for (std::uint32_t xid = 1; xid <= 10; ++xid) {
      c.call(call(xid));
      if (xid <= 3) s.wait((i + 4) * kMillisecond);
      c.reply(reply(xid));
    }
  }
  return s;
}

TEST(SlowCalls, AreCountedByConnectionAndClient) {
  const Report r = report_of(two_connections(), kLimits);
  const auto slow = findings(r, "SLOW-CALL");
  ASSERT_EQ(slow.size(), 3U);
  std::vector<std::string> texts;
  for (const report::Finding& f : slow) {
    EXPECT_EQ(f.severity, rules::Severity::kWarning);
    texts.push_back(std::to_string(f.connection) + ": " + f.text);
  }
  std::sort(texts.begin(), texts.end());
  EXPECT_THAT(texts[0], StartsWith("0: client 192.0.2.1, 2 connections: 6 of 20 Calls above 2 ms, "
                                   "the worst 5.02 ms in frame "));
  EXPECT_THAT(texts[1], StartsWith("1: 3 of 10 Calls above 2 ms, the worst 4.02 ms in frame "));
  EXPECT_THAT(texts[2], StartsWith("2: 3 of 10 Calls above 2 ms, the worst 5.02 ms in frame "));
  const Verdict v = report::verdict(r);
  EXPECT_EQ(v.health, Health::kWarnings);
  EXPECT_EQ(v.numbers.slow, 6U);
  EXPECT_THAT(v.time, HasSubstr("; 6 of 20 Calls above 2 ms; no READ to compare with the limit"));
}

TEST(SlowCalls, WithinTheLimitAreNoFinding) {
  const Report r = report_of(two_connections(), {{"", kSecond}});
  EXPECT_TRUE(findings(r, "SLOW-CALL").empty());
  EXPECT_THAT(report::verdict(r).time, HasSubstr("; none of 20 Calls above 1.000 s"));
}

TEST(SlowCalls, WithoutAnAnswerAreSlowOnceTheyWaitedLonger) {
  Scene s;
  Connection& beside = s.connect();
  Connection& c = s.connect();
  c.exchange(1);
  c.call(call(2));
  s.wait(kSecond);
  beside.exchange(1);
  c.disconnect(kServer);
  // That of the connection, and that of the client.
  auto slow = findings(report_of(s, kLimits), "SLOW-CALL");
  ASSERT_EQ(slow.size(), 2U);
  std::erase_if(slow, [](const report::Finding& f) { return f.connection == 0; });
  ASSERT_EQ(slow.size(), 1U);
  EXPECT_THAT(slow[0].text, AllOf(StartsWith("1 of 2 Calls above 2 ms, the worst 1.000 s"),
                                  HasSubstr("; 1 without an answer")));
}

// Splits a capture before frame `at`.
std::pair<Bytes, Bytes> split(const Bytes& capture, std::uint64_t at) {
  constexpr std::size_t kHeader = 24, kRecord = 16;
  std::size_t place = kHeader;
  for (std::uint64_t frame = 1; frame < at; ++frame) {
    std::uint32_t bytes = 0;
    std::memcpy(&bytes, &capture[place + 8], 4);
    place += kRecord + bytes;
  }
  const auto begin = capture.begin();
  Bytes later(begin, begin + kHeader);
  later.insert(later.end(), begin + static_cast<std::ptrdiff_t>(place), capture.end());
  return {Bytes(begin, begin + static_cast<std::ptrdiff_t>(place)), later};
}

std::string json_text(const Report& r) {
  std::string text;
  report::write_json(r, [&](std::string_view piece) { text += piece; });
  return text;
}

Report read_back(const Report& r) {
  auto read = report::read_json(json_text(r));
  EXPECT_TRUE(read) << read.error();
  return read ? std::move(*read) : Report{};
}

TEST(SlowCalls, AreJoinedByAMerge) {
  const Bytes whole = two_connections().pcap();
  const Report all = report_of_bytes(whole, kLimits);
  const auto [earlier, later] = split(whole, all.connections[1].first_frame);
  auto merged = report::merge(
      {read_back(report_of_bytes(earlier, kLimits)), read_back(report_of_bytes(later, kLimits))});
  ASSERT_TRUE(merged) << merged.error();
  ASSERT_EQ(findings(*merged, "SLOW-CALL").size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(findings(*merged, "SLOW-CALL")[i].text, findings(all, "SLOW-CALL")[i].text);
    EXPECT_EQ(findings(*merged, "SLOW-CALL")[i].frames, findings(all, "SLOW-CALL")[i].frames);
  }
  EXPECT_EQ(report::verdict(*merged).sentence(), report::verdict(all).sentence());
}

Scene outage(std::uint16_t reason = 8) {
  Scene s;
  times::outage(s, reason);
  return s;
}

TEST(Outages, AreStatedWithLengthAndCause) {
  const Report r = report_of(outage());
  const auto list = findings(r, "OUTAGE");
  ASSERT_EQ(list.size(), 1U);
  EXPECT_THAT(
      list[0].text,
      AllOf(StartsWith("7.000 s between the loss of connection 1 (closed by the server in "
                       "frame "),
            HasSubstr(" and the first Reply of its successor, connection 4 (frame "),
            HasSubstr("; the server refused 2 requests for a connection meanwhile, the first in "
                      "frame "),
            HasSubstr(": invalid service ID (reason 8): nothing listens on port 20049")));
  ASSERT_EQ(list[0].spans.size(), 1U);
  EXPECT_EQ(list[0].connection, 1U);
  const Verdict v = report::verdict(r);
  EXPECT_EQ(v.health, Health::kWarnings);
  EXPECT_THAT(v.sentence(), HasSubstr("7.000 s between the loss of connection 1"));
  EXPECT_EQ(v.numbers.outages, 1U);
  EXPECT_GE(v.numbers.longest_outage_ns, 7 * kSecond);
  EXPECT_EQ(report::verdict(read_back(r)).sentence(), v.sentence());
}

TEST(Outages, AreFoundByAMerge) {
  const Bytes whole = outage().pcap();
  const Report all = report_of_bytes(whole);
  for (std::size_t at = 1; at < all.connections.size(); ++at) {
    const auto [earlier, later] = split(whole, all.connections[at].first_frame);
    auto merged =
        report::merge({read_back(report_of_bytes(earlier)), read_back(report_of_bytes(later))});
    ASSERT_TRUE(merged) << merged.error();
    ASSERT_EQ(findings(*merged, "OUTAGE").size(), 1U);
    EXPECT_EQ(findings(*merged, "OUTAGE")[0].text, findings(all, "OUTAGE")[0].text);
  }
}

// A client that unmounts, and mounts again later.
TEST(Outages, AreNotWhatNobodyMissed) {
  Scene s;
  for (int i = 0; i < 2; ++i) {
    Connection& c = s.connect();
    for (std::uint32_t xid = 1; xid <= 10; ++xid) c.exchange(xid);
    c.disconnect();
    s.wait(60 * kSecond);
  }
  EXPECT_TRUE(findings(report_of(s), "OUTAGE").empty());
}

// One of two connections of a mount is lost.
TEST(Outages, AreNoneWhileAnotherConnectionServes) {
  Scene s;
  Connection& beside = s.connect();
  beside.exchange(1);
  Connection& c = s.connect();
  c.exchange(1);
  c.call(call(2));
  c.disconnect(kServer);
  for (std::uint32_t xid = 2; xid <= 10; ++xid) {
    beside.exchange(xid);
    s.wait(kSecond);
  }
  Connection& next = s.connect();
  next.exchange(1);
  beside.exchange(11);
  EXPECT_TRUE(findings(report_of(s), "OUTAGE").empty());
}

TEST(Outages, WithoutASuccessorLastUntilTheEnd) {
  Scene s;
  Connection& c = s.connect();
  c.exchange(1);
  c.call(call(2));
  c.disconnect(kServer);
  s.wait(3 * kSecond);
  ConnectOptions options;
  options.reject = 28;
  s.connect(options);
  const auto list = findings(report_of(s), "OUTAGE");
  ASSERT_EQ(list.size(), 1U);
  EXPECT_THAT(list[0].text,
              AllOf(StartsWith("3.000 s between"), HasSubstr("and the end of the capture"),
                    HasSubstr("; 1 of its Calls has no answer; the server refused 1 request for"),
                    HasSubstr("consumer reject")));
  EXPECT_EQ(list[0].spans[0].until_ns, 0);
}

TEST(OneDirection, AnswersAreNotJudged) {
  for (const Side missing : {kServer, kClient}) {
    Scene s;
    ConnectOptions options;
    options.in_capture = false;
    Connection& c = s.connect(options);
    c.acks = false;
    for (std::uint32_t xid = 1; xid <= 3; ++xid) {
      if (missing == kClient) s.lose_next();
      c.call(call(xid));
      if (missing == kServer) s.lose_next();
      c.reply(reply(xid));
    }
    const Verdict v = report::verdict(report_of(s));
    EXPECT_NE(v.health, Health::kHealthy);
    EXPECT_THAT(v.sentence(), Not(HasSubstr("all answered")));
    EXPECT_THAT(v.sentence(),
                HasSubstr(missing == kServer
                              ? "3 Calls; only one direction of connection 1 is in the capture, so "
                                "answers cannot be judged"
                              : "3 Replies; only one direction of connection 1 is in the capture, "
                                "so answers cannot be judged"));
  }
}

TEST(VerdictNumbers, HaveTheRateOfRetransmissions) {
  Scene s;
  Connection& c = s.connect();
  for (std::uint32_t xid = 1; xid <= 10; ++xid) {
    const std::uint32_t psn = c.psn(kServer);
    c.call(call(xid));
    c.acks = false;
    c.reply(reply(xid));
    s.wait(2 * kMillisecond);
    c.resend(kServer, psn);
    c.ack(kClient);
    c.acks = true;
  }
  const Verdict v = report::verdict(report_of(s));
  ASSERT_TRUE(v.numbers.resends);
  EXPECT_EQ(v.numbers.resends->role, "server");
  EXPECT_EQ(v.numbers.resends->retransmitted, 10U);
  EXPECT_THAT(v.time, HasSubstr("; the server 192.0.2.2 retransmitted 10 of "));
}

TEST(VerdictKinds, NameEachState) {
  Scene s;
  s.connect().exchange(1);
  EXPECT_STREQ(verdict_kind(report::verdict(report_of(s))), "healthy");
  EXPECT_STREQ(verdict_kind(report::verdict(Report{})), "nothing");
  const Verdict broken = report::verdict(report_of(outage()));
  EXPECT_STREQ(verdict_kind(broken), "warnings");
}

}  // namespace
}  // namespace rpcrdma::scenes::times
