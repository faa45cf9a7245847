// Every rule is found where it is broken, against the side that broke it, and nowhere else.
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

// tests/captures/rules holds what the generator makes: otherwise run make_rule_captures.
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

// A rule that a capture can show has a scene, or stands in uncovered.cc, and not both.
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
