// Checks what Linux's tracepoints, which have fields of messages but no bytes, lead to: rules that
// rest on what they do not show stay silent, and nothing else is found than in the packets.
#include "registry.h"
#include "run.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace rpcrdma::scenes {
namespace {

std::set<std::string> rules_of(const Outcome& outcome) {
  std::set<std::string> names;
  for (const rules::Finding& f : outcome.findings) names.insert(f.rule);
  return names;
}

class Tracepoints : public ::testing::TestWithParam<RuleScene> {};

TEST_P(Tracepoints, ShowNothingElseThanPackets) {
  const RuleScene& r = GetParam();
  for (const auto& play : {r.breaks, r.keeps}) {
    Scene scene;
    play(scene);
    const std::set<std::string> in_packets = rules_of(run(scene, r.profile));
    for (const Side side : {kClient, kServer}) {
      const Outcome outcome = run_tracepoints(scene, r.profile, side);
      for (const rules::Finding& f : outcome.findings) {
        const rules::Rule* const rule = rules::find_rule(f.rule);
        ASSERT_NE(rule, nullptr);
        EXPECT_TRUE(rules::is_judged_from(*rule, roce::Origin::kKernelTracepoints))
            << f.rule << ": " << f.text;
        EXPECT_TRUE(in_packets.contains(f.rule)) << f.rule << ": " << f.text;
      }
      // A rule that is not judged leaves no open question either.
      for (const rules::Inconclusive& w : outcome.inconclusive) {
        EXPECT_TRUE(
            rules::is_judged_from(*rules::find_rule(w.rule), roce::Origin::kKernelTracepoints))
            << w.rule << ": " << w.reason;
      }
    }
  }
}

std::string scene_name(const ::testing::TestParamInfo<RuleScene>& info) {
  std::string name = info.param.file();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-'; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, Tracepoints, ::testing::ValuesIn(all_scenes()), scene_name);

Outcome tracepoints_of(const std::string& file, Side side) {
  const auto all = all_scenes();
  const auto r = std::ranges::find_if(all, [&](const RuleScene& s) { return s.file() == file; });
  EXPECT_NE(r, all.end()) << file;
  Scene scene;
  r->breaks(scene);
  return run_tracepoints(scene, r->profile, side);
}

// Grants are in the client's tracepoints, and requests in the server's.
TEST(ShownByTracepoints, MoreCallsThanGrantedInThoseOfTheClientAlone) {
  EXPECT_TRUE(rules_of(tracepoints_of("FC-01", kClient)).contains("FC-01"));
  EXPECT_FALSE(rules_of(tracepoints_of("FC-01", kServer)).contains("FC-01"));
}

TEST(ShownByTracepoints, ARefusedCall) {
  for (const Side side : {kClient, kServer}) {
    EXPECT_TRUE(rules_of(tracepoints_of("CALL-REFUSED", side)).contains("CALL-REFUSED"));
  }
}

// A client's tracepoints show no acknowledgment: its Calls may still be on their way.
TEST(ShownByTracepoints, ASilenceOfTheServerIsItsFaultInItsOwnAlone) {
  const auto role = [](Side side) {
    const Outcome outcome = tracepoints_of("STALL", side);
    const auto f = std::ranges::find(outcome.findings, "STALL", &rules::Finding::rule);
    return f != outcome.findings.end() ? f->role : "no finding";
  };
  EXPECT_EQ(role(kClient), "");
  EXPECT_EQ(role(kServer), "server");
}

TEST(ShownByTracepoints, OffsetsOfLinux) {
  EXPECT_TRUE(rules_of(tracepoints_of("LINUX-XID-OFFSET", kClient)).contains("LINUX-XID-OFFSET"));
}

TEST(ShownByTracepoints, NoRuleThatRestsOnBytes) {
  std::size_t judged = 0;
  for (const rules::Rule& r : rules::rules()) {
    const bool bytes = (r.needs & rules::kBytes) != 0;
    const bool shown = rules::is_judged_from(r, roce::Origin::kKernelTracepoints);
    EXPECT_FALSE(bytes && shown) << r.name;
    judged += shown ? 1 : 0;
    EXPECT_FALSE(rules::is_judged_from(r, roce::Origin::kKernelSums)) << r.name;
  }
  EXPECT_GT(judged, 10U);
}

}  // namespace
}  // namespace rpcrdma::scenes
