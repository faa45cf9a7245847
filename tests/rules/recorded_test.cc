// Checks that the recording of an endpoint leads to the same findings as the packets of the scene.
#include "registry.h"
#include "run.h"

#include <algorithm>
#include <array>
#include <regex>
#include <set>

#include <gtest/gtest.h>

namespace rpcrdma::scenes {
namespace {

// Rules that depend on PSNs, ICRCs, retries and ECN marks, which an endpoint does not record.
bool shown_by_packets_only(const std::string& rule) {
  constexpr std::array<const char*, 9> kRules{"FC-04", "FC-05", "BI-06",   "OPS-05",    "HDR-11",
                                              "RNR",   "ICRC",  "CAPTURE", "CONGESTION"};
  return std::find(kRules.begin(), kRules.end(), rule) != kRules.end();
}

// Scenes whose packets show what happened, while an endpoint records only the outcome.
bool recorded_otherwise(const RuleScene& scene) {
  constexpr std::array<const char*, 15> kScenes{"OPS-05-response-length",
                                                "CONN-LOST-rejected",
                                                "CONN-LOST-retries",
                                                "CONN-LOST-no-rep",
                                                "CONN-LOST-rnr",
                                                "CONN-LOST-rnr-credit",
                                                "CONN-LOST-gave-up-unacknowledged",
                                                "CONN-LOST-rnr-retries",
                                                "RETX-STORM",
                                                "SLOW-NETWORK",
                                                "SLOW-PEER",
                                                "STALL",
                                                "STALL-unacknowledged",
                                                "CMP-03-rejected",
                                                "FC-04-many"};
  return std::find(kScenes.begin(), kScenes.end(), scene.file()) != kScenes.end();
}

// An endpoint posts more RDMA Reads than its device has in flight, so only its peer's recording
// shows how many were.
bool shown_by_peers_only(const std::string& rule) {
  return rule == "OPS-04";
}

// A side ended the connection without cause by the other. In its own recording the endpoint was
// stopped, which a capture between the two cannot show: see AnEndpointThatIsStoppedIsNotAccused.
bool ends_by_itself(const rules::Finding& f) {
  return f.rule == "CONN-LOST" && f.text.starts_with("a DREQ ended the connection while") &&
         f.text.find("; the sender of the DREQ") == std::string::npos;
}

// Returns the findings without frame numbers, and STALL without its text: only packets show whether
// waiting Calls were acknowledged.
std::multiset<std::string> judged(const Outcome& outcome) {
  static const std::regex kFrame("frame [0-9]+");
  std::multiset<std::string> all;
  for (const rules::Finding& f : outcome.findings) {
    if (shown_by_packets_only(f.rule) || shown_by_peers_only(f.rule) || ends_by_itself(f)) continue;
    all.insert(std::string(rules::severity_name(f.severity)) + " " + f.rule + " " + f.role + " " +
               f.peer + " x" + std::to_string(f.count) + ": " +
               (f.rule == "STALL" ? "" : std::regex_replace(f.text, kFrame, "frame")));
  }
  return all;
}

std::vector<RuleScene> scenes() {
  std::vector<RuleScene> all = all_scenes();
  std::erase_if(all, recorded_otherwise);
  return all;
}

class Recorded : public ::testing::TestWithParam<RuleScene> {};

TEST_P(Recorded, BrokenByEitherEnd) {
  const RuleScene& r = GetParam();
  Scene scene;
  r.breaks(scene);
  const auto packets = judged(run(scene, r.profile));
  EXPECT_EQ(judged(run_recorded(scene, r.profile, kClient, true)), packets);
  EXPECT_EQ(judged(run_recorded(scene, r.profile, kServer, true)), packets);
}

// The responder's recording excludes the path time; the requester cannot determine it.
TEST(ReportedByOneEnd, ASlowPeer) {
  const auto all = all_scenes();
  const auto r = std::find_if(all.begin(), all.end(),
                              [](const RuleScene& s) { return s.file() == "SLOW-PEER"; });
  ASSERT_NE(r, all.end());
  Scene scene;
  r->breaks(scene);
  const auto packets = judged(run(scene, r->profile));
  EXPECT_EQ(packets.size(), 1U);
  EXPECT_EQ(judged(run_recorded(scene, r->profile, kServer, true)), packets);
  EXPECT_TRUE(judged(run_recorded(scene, r->profile, kClient, true)).empty());
}

bool connection_lost(const Outcome& outcome) {
  return std::any_of(outcome.findings.begin(), outcome.findings.end(),
                     [](const rules::Finding& f) { return f.rule == "CONN-LOST"; });
}

// A stopped client ends its connection and its Calls; a stopped server ends the connection.
TEST(ReportedByOneEnd, AnEndpointThatIsStoppedIsNotAccused) {
  for (const Side stopped : {kClient, kServer}) {
    Scene scene;
    Connection& c = scene.connect();
    c.exchange(1);
    c.call(call(2));
    c.disconnect(stopped);
    const auto reported = [&](Side by) {
      return connection_lost(run_recorded(scene, rules::Profile::k8166, by, true));
    };
    EXPECT_TRUE(connection_lost(run(scene, rules::Profile::k8166)));
    EXPECT_FALSE(reported(stopped));
    // The client of a stopped server has lost its connection. If the client stops, the server has
    // lost nothing.
    EXPECT_EQ(reported(kClient), stopped == kServer);
  }
}

TEST(ReportedByOneEnd, ASilentResponder) {
  Scene scene;
  Connection& beside = scene.connect();
  Connection& c = scene.connect();
  for (std::uint32_t xid = 1; xid <= 10; ++xid) c.exchange(xid);
  c.call(call(11));
  scene.wait(20'000'000'000);
  beside.exchange(1);
  for (const Side by : {kClient, kServer}) {
    const Outcome outcome = run_recorded(scene, rules::Profile::k8166, by, true);
    const auto stall = std::find_if(outcome.findings.begin(), outcome.findings.end(),
                                    [](const rules::Finding& f) { return f.rule == "STALL"; });
    ASSERT_NE(stall, outcome.findings.end());
    EXPECT_EQ(stall->role, "server");
    EXPECT_TRUE(stall->text.starts_with(by == kServer ? "1 Call received and unanswered for 20 s"
                                                      : "1 Call unanswered for 20 s"))
        << stall->text;
  }
}

TEST_P(Recorded, KeptByEitherEnd) {
  const RuleScene& r = GetParam();
  Scene scene;
  r.keeps(scene);
  const auto packets = judged(run(scene, r.profile));
  EXPECT_EQ(judged(run_recorded(scene, r.profile, kClient, true)), packets);
  EXPECT_EQ(judged(run_recorded(scene, r.profile, kServer, true)), packets);
}

// Most RNICs do not report the peer's RDMA operations: then there are fewer findings, and no
// others.
TEST_P(Recorded, WithoutThePeersOperations) {
  const RuleScene& r = GetParam();
  for (const auto& play : {r.breaks, r.keeps}) {
    Scene scene;
    play(scene);
    std::set<std::string> found;
    for (const rules::Finding& f : run(scene, r.profile).findings) found.insert(f.rule);
    for (const rules::Finding& f : run_recorded(scene, r.profile, kClient, false).findings) {
      if (shown_by_packets_only(f.rule)) continue;
      EXPECT_EQ(found.count(f.rule), 1U) << f.rule << ": " << f.text;
    }
  }
}

std::string events_test_name(const ::testing::TestParamInfo<RuleScene>& info) {
  std::string name = info.param.file();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-'; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, Recorded, ::testing::ValuesIn(scenes()), events_test_name);

TEST(ReportedWithoutThePeersOperations, WhatRestsOnThemIsInconclusive) {
  for (const RuleScene& r : all_scenes()) {
    if (r.rule != std::string("OPS-03")) continue;
    Scene scene;
    r.breaks(scene);
    const Outcome client = run_recorded(scene, r.profile, kClient, false);
    for (const rules::Finding& f : client.findings) EXPECT_NE(f.rule, "OPS-03");
    bool inconclusive = false;
    for (const rules::Inconclusive& w : client.inconclusive) inconclusive |= w.rule == "OPS-03";
    EXPECT_TRUE(inconclusive);
    // The server records its own operations.
    bool found = false;
    for (const rules::Finding& f : run_recorded(scene, r.profile, kServer, false).findings) {
      found |= f.rule == "OPS-03";
    }
    EXPECT_TRUE(found);
  }
}

RuleScene scene_of(const std::string& file) {
  std::vector<RuleScene> all = all_scenes();
  return *std::ranges::find_if(all, [&](const RuleScene& r) { return r.file() == file; });
}

// The listening side does not know which of its addresses the REQ was for.
TEST(ReportedByAClient, ARefusal) {
  const RuleScene r = scene_of("CONN-LOST-rejected");
  Scene scene;
  r.breaks(scene);
  EXPECT_EQ(judged(run_recorded(scene, r.profile, kClient, true)), judged(run(scene, r.profile)));
}

bool withholds(const Outcome& outcome, const std::string& rule) {
  return std::ranges::any_of(outcome.inconclusive, [&](const auto& w) { return w.rule == rule; });
}

// Many retransmissions in a short conversation are a storm, whatever the packet sizes were.
TEST(ReportedByEitherEnd, AStormIsOneWhateverThePacketsWere) {
  const RuleScene r = scene_of("RETX-STORM");
  Scene scene;
  r.breaks(scene);
  for (const Side side : {kClient, kServer}) {
    const Outcome reported = run_recorded(scene, r.profile, side, true);
    EXPECT_EQ(std::ranges::count(reported.findings, "RETX-STORM", &rules::Finding::rule), 1);
    EXPECT_TRUE(withholds(run_recorded(scene, r.profile, side, false), "RETX-STORM"));
  }
}

TEST(ReportedByEitherEnd, HowLongANetworkHeldItUpIsNotKnown) {
  const RuleScene r = scene_of("SLOW-NETWORK");
  Scene scene;
  r.breaks(scene);
  EXPECT_TRUE(withholds(run_recorded(scene, r.profile, kClient, true), "SLOW-NETWORK"));
}

TEST(ReportedByAPeer, MoreReadsInFlightThanTheDeviceHas) {
  for (const RuleScene& r : all_scenes()) {
    if (!shown_by_peers_only(r.rule)) continue;
    Scene scene;
    r.breaks(scene);
    const auto found = [&](Side side) {
      const Outcome reported = run_recorded(scene, r.profile, side, true);
      return std::ranges::count(reported.findings, std::string(r.rule), &rules::Finding::rule);
    };
    EXPECT_EQ(found(r.guilty == Guilty::kServer ? kClient : kServer), 1);
    EXPECT_EQ(found(r.guilty == Guilty::kServer ? kServer : kClient), 0);
  }
}

}  // namespace
}  // namespace rpcrdma::scenes
