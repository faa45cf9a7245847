// Checks that each rule's violation is found in its scene, against the side at fault, and nowhere
// else.
#include "registry.h"
#include "run.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rpcrdma::scenes {
namespace {

using ::testing::IsEmpty;

const char* address(Guilty guilty) {
  switch (guilty) {
    case Guilty::kClient:
      return "192.0.2.1";
    case Guilty::kServer:
      return "192.0.2.2";
    case Guilty::kNobody:
      return "";
  }
  return "";
}

std::string describe(const rules::Finding& f) {
  return f.rule + " against \"" + f.peer + "\": " + f.text;
}

class RuleScenes : public ::testing::TestWithParam<RuleScene> {};

TEST_P(RuleScenes, BreakingIsFound) {
  const RuleScene& r = GetParam();
  ASSERT_NE(rules::find_rule(r.rule), nullptr);
  Scene scene;
  r.breaks(scene);
  const Outcome outcome = run(scene, r.profile);
  bool found = false;
  for (const rules::Finding& f : outcome.findings) {
    if (f.rule == r.rule) {
      found = true;
      EXPECT_EQ(f.peer, address(r.guilty)) << describe(f);
      EXPECT_FALSE(f.text.empty());
      continue;
    }
    const auto listed = [&](const std::vector<std::string>& list) {
      return std::find(list.begin(), list.end(), f.rule) != list.end();
    };
    EXPECT_TRUE(listed(r.also) || listed(r.both)) << describe(f);
  }
  EXPECT_TRUE(found) << "not found";
}

TEST_P(RuleScenes, KeepingIsNotFound) {
  const RuleScene& r = GetParam();
  Scene scene;
  r.keeps(scene);
  ASSERT_NE(scene.packets(), 0U);
  for (const rules::Finding& f : run(scene, r.profile).findings) {
    EXPECT_NE(std::find(r.both.begin(), r.both.end(), f.rule), r.both.end()) << describe(f);
  }
}

// tests/captures/rules contains the generator's output: if it does not, run make_rule_captures.
TEST_P(RuleScenes, CommittedCaptureIsTheScene) {
  const RuleScene& r = GetParam();
  Scene scene;
  r.breaks(scene);
  const std::string path = std::string(RPCRDMA_TEST_CAPTURES) + "/rules/" + r.file() + ".pcap";
  std::ifstream in(path, std::ios::binary);
  ASSERT_TRUE(in) << path;
  const Bytes committed{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  EXPECT_TRUE(committed == scene.pcap()) << path;
}

std::string test_name(const ::testing::TestParamInfo<RuleScene>& info) {
  std::string name = info.param.file();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-'; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, RuleScenes, ::testing::ValuesIn(all_scenes()), test_name);

const rules::Finding* find(const Outcome& outcome, const std::string& rule) {
  const auto it = std::find_if(outcome.findings.begin(), outcome.findings.end(),
                               [&](const rules::Finding& f) { return f.rule == rule; });
  return it == outcome.findings.end() ? nullptr : &*it;
}

Outcome run_scene(const std::string& file) {
  const std::vector<RuleScene>& all = all_scenes();
  const auto r = std::find_if(all.begin(), all.end(),
                              [&](const RuleScene& scene) { return scene.file() == file; });
  if (r == all.end()) return {};
  Scene scene;
  r->breaks(scene);
  return run(scene, r->profile);
}

// A one-way Call keeps its credit until a later Call is answered.
TEST(OneWayCalls, AreNotInFlightForEver) {
  Scene scene;
  Connection& c = scene.connect();
  const auto granting = [](Message m) {
    m.credit = 4;
    return m;
  };
  std::uint32_t xid = 1;
  for (int round = 0; round < 4; ++round) {
    if (round != 0) {
      for (int i = 0; i < 3; ++i, ++xid) {
        c.call(call(xid, rpc_call(xid, kPlainProgram, 1, 9, Bytes(16, 0x11))));
      }
    }
    c.call(call(xid));
    c.reply(granting(reply(xid++)));
  }
  scene.wait(2'000'000'000);
  c.disconnect();
  for (const rules::Finding& f : run(scene, rules::Profile::k8166).findings) {
    EXPECT_NE(f.rule, "FC-01") << describe(f);
    if (f.rule != "HDR-10") continue;
    EXPECT_EQ(f.severity, rules::Severity::kNote) << describe(f);
  }
}

// A Reply that its requester acknowledged was not lost.
TEST(AnsweredTwice, OnlyAReplyThatMayBeLostIsSaidToBe) {
  const Outcome not_acknowledged = run_scene("ANSWERED-TWICE");
  const Outcome acknowledged = run_scene("ANSWERED-TWICE-acknowledged");
  const rules::Finding* const may_be_lost = find(not_acknowledged, "ANSWERED-TWICE");
  const rules::Finding* const arrived = find(acknowledged, "ANSWERED-TWICE");
  ASSERT_NE(may_be_lost, nullptr);
  ASSERT_NE(arrived, nullptr);
  EXPECT_NE(may_be_lost->advice.find("may have been lost"), std::string::npos);
  EXPECT_EQ(arrived->advice.find("lost"), std::string::npos) << arrived->advice;
}

TEST(SentAgainWithAnotherXid, IsReportedOnceForEachCallThatWasLost) {
  Scene scene;
  Connection& first = scene.connect();
  first.exchange(1);
  first.call(call(2));
  first.call(call(3));
  first.disconnect();
  Connection& second = scene.connect();
  for (std::uint32_t xid = 4; xid <= 8; ++xid) second.exchange(xid);
  second.disconnect();
  const Outcome outcome = run(scene, rules::Profile::k8166);
  const rules::Finding* const f = find(outcome, "FC-08");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->count, 2U);
}

TEST(Texts, NameWhatIsOneAsOne) {
  const Outcome again = run_scene("RECONNECT");
  const rules::Finding* const reconnect = find(again, "RECONNECT");
  const rules::Finding* const lost = find(again, "CONN-LOST");
  ASSERT_NE(reconnect, nullptr);
  ASSERT_NE(lost, nullptr);
  EXPECT_EQ(reconnect->frames.size(), 1U);
  EXPECT_EQ(lost->text,
            "a DREQ ended the connection while Call 0x00000002 was in flight, sent 20 us before");
  Scene scene;
  ConnectOptions options;
  options.rnr_retry_count = 1;
  Connection& c = scene.connect(options);
  c.exchange(1);
  c.acks = false;
  c.call(call(2));
  c.rnr(kServer);
  const Outcome refused = run(scene, rules::Profile::k8166);
  const rules::Finding* const rnr = find(refused, "RNR");
  ASSERT_NE(rnr, nullptr);
  EXPECT_NE(rnr->text.find("which is retried at most once"), std::string::npos) << rnr->text;
}

// For one refused Send a Receive was due, for the other none was.
TEST(NoReceive, IsReportedForBothSidesWhereBothAreAtFault) {
  Scene scene;
  Connection& c = scene.connect();
  const auto refused = [&](std::uint32_t xid) {
    c.acks = false;
    const std::uint32_t psn = c.psn(kClient);
    c.call(call(xid));
    c.rnr(kServer, psn);
    scene.wait(1'000'000);
    c.resend(kClient, psn);
    c.ack(kServer);
    c.acks = true;
  };
  c.call(call(1));
  Message one_credit = reply(1);
  one_credit.credit = 1;
  c.reply(one_credit);
  refused(2);
  refused(3);
  c.reply(reply(2));
  c.reply(reply(3));
  std::map<std::string, std::uint64_t> blamed;
  for (const rules::Finding& f : run(scene, rules::Profile::k8166).findings) {
    if (f.rule == "RNR") ++blamed[f.peer];
  }
  const std::map<std::string, std::uint64_t> both{{"192.0.2.1", 1}, {"192.0.2.2", 1}};
  EXPECT_EQ(blamed, both);
}

// The end of a connection and its errors must have the same side at fault: otherwise the findings
// would contradict each other.
TEST(ConnectionLost, IsLaidToWhomeverTheErrorsAreLaidTo) {
  // A server may refuse private data, but should not; a violation after which both sides continue
  // is no cause for a later end.
  const std::set<std::string> by_both{"CMP-03-rejected", "CONN-LOST-too-many-calls-before"};
  for (const RuleScene& r : all_scenes()) {
    if (by_both.contains(r.file())) continue;
    Scene scene;
    r.breaks(scene);
    const Outcome outcome = run(scene, r.profile);
    const rules::Finding* const lost = find(outcome, "CONN-LOST");
    if (lost == nullptr || lost->peer.empty()) continue;
    for (const rules::Finding& f : outcome.findings) {
      if (f.severity != rules::Severity::kError || f.connection != lost->connection) continue;
      EXPECT_EQ(f.peer, lost->peer) << r.file() << ": " << describe(*lost) << "; " << describe(f);
    }
  }
}

// The evidence for the violation is incomplete: the side that ended the connection may or may not
// have had cause.
TEST(ConnectionLost, IsLaidToNobodyWhereACauseIsNotCertain) {
  Scene scene;
  Connection& c = scene.connect();
  c.exchange(1);
  c.send(kServer, Bytes(12));  // may contain a grant
  for (std::uint32_t xid = 2; xid <= 40; ++xid) c.call(call(xid));
  c.disconnect(kServer);
  const Outcome outcome = run(scene, rules::Profile::k8166);
  const rules::Finding* const lost = find(outcome, "CONN-LOST");
  ASSERT_NE(lost, nullptr);
  EXPECT_EQ(lost->peer, "") << describe(*lost);
  EXPECT_NE(lost->text.find("may have had cause by a violation of FC-01"), std::string::npos)
      << lost->text;
}

// Each rule that a capture can show has a scene or an entry in uncovered.cc, not both.
TEST(RuleCoverage, EveryRuleHasAScene) {
  std::set<std::string> covered;
  for (const RuleScene& s : all_scenes()) covered.insert(s.rule);
  std::set<std::string> excused;
  for (const char* name : uncovered()) {
    EXPECT_NE(rules::find_rule(name), nullptr) << name;
    EXPECT_EQ(covered.count(name), 0U) << name << " has a scene";
    excused.insert(name);
  }
  std::vector<std::string> missing;
  for (const rules::Rule& r : rules::rules()) {
    const bool shown = r.where != rules::Where::kEndpoint &&
                       (r.level5666 != rules::Level::kOff || r.level8166 != rules::Level::kOff);
    if (shown && covered.count(r.name) == 0 && excused.count(r.name) == 0) {
      missing.emplace_back(r.name);
    }
  }
  EXPECT_THAT(missing, IsEmpty());
}

TEST(RuleCoverage, FilesAreNamedApart) {
  std::map<std::string, int> files;
  for (const RuleScene& s : all_scenes()) EXPECT_EQ(++files[s.file()], 1) << s.file();
}

}  // namespace
}  // namespace rpcrdma::scenes
