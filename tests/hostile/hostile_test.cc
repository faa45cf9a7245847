// Breaks every rule that a peer can break against an endpoint, and checks the endpoint's answer,
// that it survives and serves other peers meanwhile, and that the analyzer names the rule and the
// side at fault.
#include "matrix.h"
#include "page.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rpcrdma::hostile {
namespace {

using ::testing::IsEmpty;

class Hostile : public ::testing::TestWithParam<HostileScene> {};

TEST_P(Hostile, IsWithstood) {
  const Row row = play(GetParam());
  EXPECT_EQ(row.answer, GetParam().answer);
}

std::string test_name(const ::testing::TestParamInfo<HostileScene>& info) {
  std::string name = info.param.rule + (info.param.server ? "_server_" : "_client_");
  std::replace(name.begin(), name.end(), '-', '_');
  return name + std::to_string(info.index);
}

INSTANTIATE_TEST_SUITE_P(All, Hostile, ::testing::ValuesIn(all_scenes()), test_name);

TEST(HostileMatrix, EveryRuleHasASceneOrAReason) {
  std::set<std::string> played;
  for (const HostileScene& s : all_scenes()) {
    EXPECT_NE(rules::find_rule(s.rule), nullptr) << s.rule;
    EXPECT_NE(s.server == nullptr, s.client == nullptr) << s.rule << ": " << s.did;
    played.insert(s.rule);
  }
  std::set<std::string> unseen;
  for (const Unseen& u : all_unseen()) {
    EXPECT_NE(rules::find_rule(u.rule), nullptr) << u.rule;
    EXPECT_EQ(played.count(u.rule), 0U) << u.rule << " has a scene";
    unseen.insert(u.rule);
  }
  std::size_t all = 0;
  std::vector<std::string> missing;
  for (const rules::Rule& r : rules::rules()) {
    if (!of_specification(r)) continue;
    ++all;
    if (played.count(r.name) + unseen.count(r.name) == 0) missing.emplace_back(r.name);
  }
  EXPECT_EQ(all, 96U);
  EXPECT_THAT(missing, IsEmpty());
}

// docs/hostile.md holds the results of the scenes. After an intended change:
// RPCRDMA_WRITE_EXPECTED=1 build/release/bin/hostile_test --gtest_filter=HostileMatrix.*
TEST(HostileMatrix, ThePageShowsWhatTheScenesGive) {
  const std::string path = std::string(RPCRDMA_TEST_CAPTURES) + "/../../docs/hostile.md";
  const std::string now = page();
  if (std::getenv("RPCRDMA_WRITE_EXPECTED") != nullptr) {
    std::ofstream(path, std::ios::binary) << now;
    return;
  }
  std::ifstream in(path, std::ios::binary);
  ASSERT_TRUE(in) << path;
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), now);
}

}  // namespace
}  // namespace rpcrdma::hostile
