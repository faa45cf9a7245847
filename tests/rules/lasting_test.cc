// Tests lasting faults: they are found while they last, with their beginning and end, and usual
// behaviour is not reported.
#include "registry.h"
#include "run.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/capture/source.h>
#include <rpcrdma/report/analysis.h>
#include <rpcrdma/report/merge.h>
#include <rpcrdma/report/report_json.h>
#include <rpcrdma/report/verdict.h>
#include <rpcrdma/rules/checker.h>

namespace rpcrdma::scenes {
namespace {

using report::Report;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::int64_t kStart = 1'800'000'000 * kSecond;  // of a scene

Bytes case_file(const std::string& name) {
  const std::string path = std::string(RPCRDMA_TEST_CAPTURES) + "/cases/" + name + ".pcap";
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

Report report_of(const Bytes& capture) {
  report::Analysis analysis;
  const auto source = capture::open_memory(capture);
  EXPECT_TRUE(source);
  if (!source) return {};
  EXPECT_TRUE(analysis.pipeline().run(**source, nullptr, 1));
  analysis.pipeline().finish();
  analysis.finish((*source)->stats());
  return analysis.report();
}

const report::Finding* find(const Report& r, const std::string& rule) {
  const auto it = std::find_if(r.findings.begin(), r.findings.end(),
                               [&](const report::Finding& f) { return f.rule == rule; });
  return it == r.findings.end() ? nullptr : &*it;
}

// A finding while a scene is read, with its time by the capture's clock.
struct LiveFinding {
  std::int64_t at_ns = 0;
  std::string rule, text;
  rules::ReportPhase phase = rules::ReportPhase::kFound;
  rules::Span span;
};

std::vector<LiveFinding> seen_while_read(const Scene& scene) {
  std::vector<LiveFinding> seen;
  std::int64_t now = 0;
  session::Session session(
      {.rules = rules::Findings::Options{
           rules::Profile::k8166, [&](const rules::Occurrence& o) {
             seen.push_back({now, o.rule.name, o.text, o.evidence.phase, o.evidence.span});
           }}});
  const Bytes file = scene.pcap();
  const auto source = capture::open_memory(file);
  capture::Frame frame;
  while (*(*source)->next(frame)) {
    now = frame.time_ns;
    session.pipeline().frame(frame);
  }
  return seen;
}

const LiveFinding* find(const std::vector<LiveFinding>& seen, const std::string& rule,
                        rules::ReportPhase phase = rules::ReportPhase::kFound) {
  const auto it = std::find_if(seen.begin(), seen.end(), [&](const LiveFinding& t) {
    return t.rule == rule && t.phase == phase;
  });
  return it == seen.end() ? nullptr : &*it;
}

// A second of ordinary Calls.
void healthy_second(Scene& s, Connection& c, std::uint32_t& xid) {
  constexpr int kCalls = 50;
  for (int i = 0; i < kCalls; ++i) {
    c.exchange(xid++);
    s.wait(kSecond / kCalls - 40'000);
  }
}

// A second in which the network loses each Call once.
void lossy_second(Scene& s, Connection& c, std::uint32_t& xid) {
  constexpr int kCalls = 10;
  for (int i = 0; i < kCalls; ++i) {
    const std::uint32_t psn = c.psn(kClient);
    c.acks = false;
    c.call(call(xid));
    s.wait(5 * kMillisecond);
    c.resend(kClient, psn);
    c.ack(kServer);
    c.acks = true;
    c.reply(reply(xid++));
    s.wait(kSecond / kCalls - 5 * kMillisecond - 60'000);
  }
}

TEST(Hung, ThirtyTwoCallsForNinetySeconds) {
  const Report r = report_of(case_file("hung-32-calls-90s"));
  const report::Finding* const f = find(r, "STALL");
  ASSERT_NE(f, nullptr);
  EXPECT_THAT(f->text, StartsWith("32 Calls acknowledged and unanswered for 90 s, no credit left"));
  EXPECT_EQ(f->role, "server");
  EXPECT_EQ(f->severity, rules::Severity::kWarning);
  ASSERT_EQ(f->spans.size(), 1U);
  EXPECT_EQ(f->spans[0].until_ns, 0);
  const report::Verdict v = report::verdict(r);
  EXPECT_EQ(v.health, report::Health::kWarnings);
  EXPECT_THAT(v.text, Not(HasSubstr("Healthy")));
  EXPECT_THAT(v.text, HasSubstr("32 Calls acknowledged and unanswered for 90 s"));
}

TEST(Hung, ACallAgesUntilItsQueuePairIsUsedAgain) {
  const Report r = report_of(case_file("b56-same-qpn-reused-no-dreq"));
  const report::Finding* const f = find(r, "CONN-LOST");
  ASSERT_NE(f, nullptr);
  EXPECT_THAT(f->text, HasSubstr("sent 30 s before"));
}

TEST(Hung, AReadChunkThatIsNotReadIsSaidToBe) {
  const Report r = report_of(case_file("b07-write-never-read"));
  const report::Finding* const f = find(r, "STALL");
  ASSERT_NE(f, nullptr);
  EXPECT_THAT(f->text, HasSubstr("0 of 2048 bytes of its Read chunks read"));
  EXPECT_EQ(f->role, "server");
}

TEST(Hung, CallsInFlightWhenTheCaptureEndsAreNobodysFault) {
  Scene s;
  Connection& beside = s.connect();
  Connection& c = s.connect();
  for (std::uint32_t xid = 1; xid <= 20; ++xid) c.exchange(xid);
  for (std::uint32_t xid = 21; xid <= 25; ++xid) c.call(call(xid));
  s.wait(900 * kMillisecond);
  beside.exchange(1);
  const Report r = report_of(s.pcap());
  EXPECT_EQ(find(r, "STALL"), nullptr);
  EXPECT_EQ(report::verdict(r).health, report::Health::kHealthy);
}

TEST(Hung, IsFoundWhileNothingComes) {
  Scene s;
  Connection& c = s.connect();
  for (std::uint32_t xid = 1; xid <= 20; ++xid) c.exchange(xid);
  c.call(call(21));
  std::vector<std::string> seen;
  session::Session session(
      {.rules = rules::Findings::Options{rules::Profile::k8166, [&](const rules::Occurrence& o) {
                                           if (o.evidence.phase != rules::ReportPhase::kFound)
                                             return;
                                           seen.push_back(o.rule.name);
                                         }}});
  session::Pipeline& pipeline = session.pipeline();
  const Bytes file = s.pcap();
  const auto source = capture::open_memory(file);
  capture::Frame frame;
  while (*(*source)->next(frame)) pipeline.frame(frame);
  pipeline.time(frame.time_ns + kSecond / 2);
  EXPECT_TRUE(seen.empty());
  pipeline.time(frame.time_ns + 2 * kSecond);
  EXPECT_EQ(seen, std::vector<std::string>{"STALL"});
  pipeline.time(frame.time_ns + 10 * kSecond);
  EXPECT_EQ(seen.size(), 1U);
}

// An idle connection, and a responder that is slow but steady.
TEST(Stalls, NothingIsFoundOfWhatIsUsual) {
  Scene idle;
  std::uint32_t xid = 1;
  Connection& c = idle.connect();
  for (int i = 0; i < 20; ++i) {
    c.exchange(xid++);
    idle.wait(30 * kSecond);
  }
  EXPECT_EQ(find(report_of(idle.pcap()), "STALL"), nullptr);

  Scene slow;
  Connection& d = slow.connect();
  for (xid = 1; xid <= 40; ++xid) {
    d.call(call(xid));
    slow.wait(3 * kSecond);
    d.reply(reply(xid));
  }
  EXPECT_EQ(find(report_of(slow.pcap()), "STALL"), nullptr);
}

// The responder answers a Call late, but sends reverse Calls in the meantime.
TEST(Stalls, AResponderThatCallsIsNotSilent) {
  Scene s;
  Connection& c = s.connect();
  for (std::uint32_t xid = 1; xid <= 10; ++xid) c.exchange(xid);
  c.call(call(11));
  for (std::uint32_t xid = 0x51; xid < 0x51 + 40; ++xid) {
    c.send(kServer, call(xid, nfs4::callback_call(xid)));
    s.wait(500 * kMillisecond);
    c.send(kClient, reply(xid));
  }
  c.reply(reply(11));
  EXPECT_EQ(find(report_of(s.pcap()), "STALL"), nullptr);
}

TEST(Stalls, HaveABeginningAndAnEnd) {
  Scene s;
  Connection& c = s.connect();
  std::uint32_t xid = 1;
  for (int i = 0; i < 5; ++i) healthy_second(s, c, xid);
  c.call(call(xid));
  s.wait(6 * kSecond);
  c.reply(reply(xid++));
  for (int i = 0; i < 5; ++i) healthy_second(s, c, xid);
  const Report r = report_of(s.pcap());
  const report::Finding* const f = find(r, "STALL");
  ASSERT_NE(f, nullptr);
  EXPECT_THAT(f->text, StartsWith("1 Call acknowledged and unanswered for 6 s"));
  ASSERT_EQ(f->spans.size(), 1U);
  EXPECT_NEAR(static_cast<double>(f->spans[0].since_ns - kStart), 5e9, 1e7);
  EXPECT_NEAR(static_cast<double>(f->spans[0].until_ns - kStart), 11e9, 1e7);
  EXPECT_EQ(report::verdict(r).health, report::Health::kWarnings);
}

// The share over its whole life is too small to show the storm.
TEST(Lately, AStormLateInAHealthyLifeIsFoundWhileItLasts) {
  Scene s;
  Connection& c = s.connect();
  std::uint32_t xid = 1;
  constexpr int kBefore = 100;
  for (int i = 0; i < kBefore; ++i) healthy_second(s, c, xid);
  for (int i = 0; i < 20; ++i) lossy_second(s, c, xid);
  for (int i = 0; i < kBefore; ++i) healthy_second(s, c, xid);
  c.disconnect();
  const std::vector<LiveFinding> seen = seen_while_read(s);
  const LiveFinding* const begin = find(seen, "RETX-STORM");
  ASSERT_NE(begin, nullptr);
  EXPECT_LE(begin->at_ns - kStart, (kBefore + 15) * kSecond);
  EXPECT_NEAR(static_cast<double>(begin->span.since_ns - kStart), kBefore * 1e9, 1.1e9);
  const LiveFinding* const end = find(seen, "RETX-STORM", rules::ReportPhase::kEnds);
  ASSERT_NE(end, nullptr);
  EXPECT_NEAR(static_cast<double>(end->span.until_ns - kStart), (kBefore + 20) * 1e9, 1.1e9);
  const Report r = report_of(s.pcap());
  const report::Finding* const f = find(r, "RETX-STORM");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->count, 1U);
  ASSERT_EQ(f->spans.size(), 1U);
  EXPECT_EQ(f->spans[0].until_ns, end->span.until_ns);
  EXPECT_THAT(f->text, HasSubstr("retransmitted 200 of "));
}

TEST(Lately, ALossNowAndThenIsNoStorm) {
  Scene s;
  Connection& c = s.connect();
  std::uint32_t xid = 1;
  for (int i = 0; i < 60; ++i) {
    healthy_second(s, c, xid);
    const std::uint32_t psn = c.psn(kClient);
    c.acks = false;
    c.call(call(xid));
    s.wait(5 * kMillisecond);
    c.resend(kClient, psn);
    c.ack(kServer);
    c.acks = true;
    c.reply(reply(xid++));
  }
  EXPECT_EQ(find(seen_while_read(s), "RETX-STORM"), nullptr);
}

TEST(Lately, NoReceiveIsFoundWhileItLastsAndOnceAgainLater) {
  Scene s;
  Connection& c = s.connect();
  std::uint32_t xid = 1;
  const auto refused = [&] {
    const std::uint32_t psn = c.psn(kClient);
    c.acks = false;
    c.call(call(xid));
    c.rnr(kServer);
    s.wait(kMillisecond);
    c.resend(kClient, psn);
    c.ack(kServer);
    c.acks = true;
    c.reply(reply(xid++));
  };
  for (int i = 0; i < 30; ++i) healthy_second(s, c, xid);
  for (int i = 0; i < 5; ++i) refused();
  for (int i = 0; i < 30; ++i) healthy_second(s, c, xid);
  refused();
  for (int i = 0; i < 30; ++i) healthy_second(s, c, xid);
  const Report r = report_of(s.pcap());
  const report::Finding* const f = find(r, "RNR");
  ASSERT_NE(f, nullptr);
  EXPECT_THAT(f->text, StartsWith("5 RNR NAKs"));
  EXPECT_EQ(f->count, 2U);
  ASSERT_EQ(f->spans.size(), 2U);
  EXPECT_NE(f->spans[0].until_ns, 0);
  EXPECT_THAT(rules::spans_text(f->spans), HasSubstr("and 1 more time"));
}

TEST(Lately, StarvationLateInAHealthyLifeIsFound) {
  Scene s;
  Connection& c = s.connect();
  std::uint32_t xid = 1;
  for (int i = 0; i < 100; ++i) healthy_second(s, c, xid);
  const auto ask = [&] {
    Message m = call(xid++);
    m.credit = 32;
    c.call(m);
  };
  const auto answer = [&](std::uint32_t of) {
    Message m = reply(of);
    m.credit = 2;
    c.reply(m);
  };
  ask();
  answer(xid - 1);
  ask();
  for (int i = 0; i < 2000; ++i) {
    ask();
    s.wait(10 * kMillisecond);
    answer(xid - 2);
  }
  const std::vector<LiveFinding> seen = seen_while_read(s);
  const LiveFinding* const found = find(seen, "CREDIT-STARVED");
  ASSERT_NE(found, nullptr);
  EXPECT_LE(found->at_ns - kStart, 115 * kSecond);
}

TEST(Lately, AResponderThatGetsSlowIsFound) {
  Scene s;
  Connection& c = s.connect();
  std::uint32_t xid = 1;
  for (int i = 0; i < 200; ++i) healthy_second(s, c, xid);
  for (int i = 0; i < 60; ++i) {
    c.call(call(xid));
    s.wait(200 * kMillisecond);
    c.reply(reply(xid++));
  }
  const std::vector<LiveFinding> seen = seen_while_read(s);
  const LiveFinding* const found = find(seen, "SLOW-PEER");
  ASSERT_NE(found, nullptr);
  EXPECT_LE(found->at_ns - kStart, 215 * kSecond);
}

std::vector<Bytes> halves(const Bytes& capture, std::size_t frames) {
  constexpr std::ptrdiff_t kFileHeader = 24;
  constexpr std::ptrdiff_t kRecordHeader = 16;
  std::ptrdiff_t at = kFileHeader;
  for (std::size_t i = 0; i < frames; ++i) {
    std::uint32_t bytes = 0;
    std::memcpy(&bytes, capture.data() + at + 8, 4);
    at += kRecordHeader + bytes;
  }
  Bytes second(capture.begin(), capture.begin() + kFileHeader);
  second.insert(second.end(), capture.begin() + at, capture.end());
  return {Bytes(capture.begin(), capture.begin() + at), second};
}

TEST(LastingInParts, AStormThatGoesOnIsOne) {
  Scene s;
  Connection& c = s.connect();
  std::uint32_t xid = 1;
  for (int i = 0; i < 10; ++i) healthy_second(s, c, xid);
  for (int i = 0; i < 10; ++i) lossy_second(s, c, xid);
  const std::size_t cut = s.packets();
  for (int i = 0; i < 10; ++i) lossy_second(s, c, xid);
  for (int i = 0; i < 30; ++i) healthy_second(s, c, xid);
  const std::vector<Bytes> parts = halves(s.pcap(), cut);
  std::vector<Report> reports;
  for (const Bytes& part : parts) {
    std::string json;
    report::write_json(report_of(part), [&](std::string_view piece) { json += piece; });
    auto read = report::read_json(json);
    ASSERT_TRUE(read) << read.error();
    reports.push_back(std::move(*read));
  }
  const auto whole = report::merge(std::move(reports));
  ASSERT_TRUE(whole);
  const report::Finding* const f = find(*whole, "RETX-STORM");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->count, 1U);
  ASSERT_EQ(f->spans.size(), 1U);
  EXPECT_NEAR(static_cast<double>(f->spans[0].since_ns - kStart), 10e9, 1.1e9);
  EXPECT_NEAR(static_cast<double>(f->spans[0].until_ns - kStart), 30e9, 1.1e9);
}

TEST(LastingInParts, WhatHangsUntilTheNextPartAnswersIsOver) {
  Scene s;
  Connection& beside = s.connect();
  Connection& c = s.connect();
  for (std::uint32_t xid = 1; xid <= 10; ++xid) c.exchange(xid);
  c.call(call(11));
  s.wait(20 * kSecond);
  beside.exchange(1);
  const std::size_t cut = s.packets();
  s.wait(20 * kSecond);
  c.reply(reply(11));
  c.exchange(12);
  const std::vector<Bytes> parts = halves(s.pcap(), cut);
  const auto whole = report::merge({report_of(parts[0]), report_of(parts[1])});
  ASSERT_TRUE(whole);
  const report::Finding* const f = find(*whole, "STALL");
  ASSERT_NE(f, nullptr);
  ASSERT_EQ(f->spans.size(), 1U);
  EXPECT_NEAR(static_cast<double>(f->spans[0].until_ns - f->spans[0].since_ns), 40e9, 1e8);
}

}  // namespace
}  // namespace rpcrdma::scenes
