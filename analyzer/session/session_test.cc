// A session as its users see it: the order of calls, and the results with and without the rules.
#include "support/model_traffic.h"
#include "support/trace_builder.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/session/session.h>

namespace rpcrdma::session {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

const char* const kBrokenCapture = RPCRDMA_TEST_CAPTURES "/rules/HDR-02.pcap";

// Writes its name to a list that it shares with others.
struct Named final : model::Observer {
  Named(std::string n, std::vector<std::string>& l) : name(std::move(n)), log(l) {}
  void on_message(const model::MessageSeen& event) override {
    log.push_back(name + " " + std::to_string(event.message.id));
  }
  void on_time(std::int64_t) override { ++times; }
  std::string name;
  std::vector<std::string>& log;
  int times = 0;
};

struct Counting final : model::Observer {
  void on_message(const model::MessageSeen&) override { ++messages; }
  void on_call_end(const model::CallEnded&) override { ++ended; }
  std::size_t messages = 0;
  std::size_t ended = 0;
};

struct Events final : trace_reader::Observer {
  void on_event(const trace_reader::Event& event) override { types.push_back(event.type()); }
  std::vector<trace::EventType> types;
};

rules::Findings::Options log_findings(std::vector<std::string>& log) {
  return {.on_occurrence = [&log](const rules::Occurrence& o) {
    log.push_back(std::string(o.rule.name) + " " + std::to_string(o.evidence.message));
  }};
}

void read(Session& session, const std::string& file) {
  const auto source = capture::open_file(file);
  ASSERT_TRUE(source) << source.error().message;
  ASSERT_TRUE(session.pipeline().run(**source, {}, 1));
  session.pipeline().finish();
}

TEST(Session, CallsObserversInOrderWithTheRulesBetweenThem) {
  std::vector<std::string> log;
  Named first("first", log), second("second", log), third("third", log), fourth("fourth", log);
  Session session({.rules = log_findings(log)},
                  {.before_rules = {&first, &second}, .after_rules = {&third, &fourth}});
  read(session, kBrokenCapture);
  session.finish_rules();
  // The second message breaks the rule.
  EXPECT_THAT(log, IsSupersetOf({"first 1", "second 1", "third 1", "fourth 1"}));
  const auto broken = std::find(log.begin(), log.end(), "first 2");
  ASSERT_GE(log.end() - broken, 5);
  EXPECT_THAT(std::vector<std::string>(broken, broken + 5),
              ElementsAre("first 2", "second 2", "HDR-02 2", "third 2", "fourth 2"));
}

TEST(Session, WithoutRulesTheModelSaysTheSame) {
  Counting with, without;
  std::vector<std::string> log;
  Session checked({.rules = log_findings(log)}, {.after_rules = {&with}});
  Session plain({}, {.after_rules = {&without}});
  read(checked, kBrokenCapture);
  read(plain, kBrokenCapture);
  EXPECT_THAT(log, Contains("HDR-02 2"));
  EXPECT_GT(without.messages, 0U);
  EXPECT_EQ(without.messages, with.messages);
  EXPECT_EQ(without.ended, with.ended);
}

TEST(Session, ASessionWithoutObserversFindsToo) {
  Session session({.rules = rules::Findings::Options{}});
  read(session, kBrokenCapture);
  session.finish_rules();
  std::vector<std::string> rules;
  for (const rules::Finding& f : session.findings().list()) rules.push_back(f.rule);
  EXPECT_THAT(rules, Contains("HDR-02"));
}

TEST(Session, PacketsThatWereDroppedWhileCapturingAreAFinding) {
  const auto texts = [](std::uint64_t dropped) {
    Session session({.rules = rules::Findings::Options{}});
    session.pipeline().finish();
    session.finish_rules(dropped);
    std::vector<std::string> found;
    for (const rules::Finding& f : session.findings().list())
      found.push_back(f.rule + ": " + f.text);
    return found;
  };
  EXPECT_THAT(texts(0), IsEmpty());
  EXPECT_THAT(texts(7), ElementsAre("CAPTURE: 7 packets were dropped while capturing"));
}

TEST(Session, EveryObserverOfEventsSeesThem) {
  trace_reader::testing::TraceBuilder trace;
  trace.begin();
  trace_reader::testing::emit_plain_connection(trace, 7);
  const auto file = trace.end().pcapng();
  Events one, other;
  Session session({}, {.events = {&one, &other}});
  const auto source = capture::open_memory(file);
  ASSERT_TRUE(source);
  ASSERT_TRUE(session.pipeline().run(**source, {}, 1));
  session.pipeline().finish();
  EXPECT_THAT(one.types, Contains(trace::EventType::kConnection));
  EXPECT_EQ(other.types, one.types);
  EXPECT_EQ(session.pipeline().events().events, one.types.size());
  EXPECT_EQ(session.context().connections->connection_count(), 1U);
}

TEST(Session, TimePassesForAllWithoutFrames) {
  std::vector<std::string> log;
  Named before("before", log), after("after", log);
  Session session({}, {.before_rules = {&before}, .after_rules = {&after}});
  session.pipeline().time(1'800'000'000'000'000'000);
  EXPECT_EQ(before.times, 1);
  EXPECT_EQ(after.times, 1);
}

// As the tests of rules and timelines build them.
TEST(Session, TakesPacketsWithoutFrames) {
  const model::testing::Traffic traffic = model::testing::make_traffic({.connections = 3});
  Counting seen;
  Session session({}, {.after_rules = {&seen}});
  Pipeline& pipeline = session.pipeline();
  model::testing::play(traffic, [&](const roce::PreparedPacket& p) { pipeline.packet(p); });
  pipeline.finish();
  EXPECT_EQ(seen.ended, traffic.calls.size());
  EXPECT_EQ(pipeline.connections().connection_count(), 3U);
  EXPECT_EQ(session.context().model, &pipeline.model());
  EXPECT_EQ(session.context().connection_id(2), 3U);
}

}  // namespace
}  // namespace rpcrdma::session
