// The report of the whole: shares, worst windows, partial results, thresholds.
#include "ranks_for_tests.h"

#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <rpcrdma/load_ranks/report.h>

namespace rpcrdma::load_ranks {
namespace {

using fabric::kSecond;
using fabric::Time;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// So many Calls in each second, evenly.
Results rank_with(std::uint32_t rank, const std::vector<std::uint64_t>& per_second,
                  std::uint32_t round = 0) {
  std::vector<RawCall> calls;
  for (std::size_t s = 0; s < per_second.size(); ++s) {
    for (std::uint64_t i = 0; i < per_second[s]; ++i) {
      calls.push_back({static_cast<Time>(s) * kSecond +
                           static_cast<Time>((i + 1) * kSecond / (per_second[s] + 1)),
                       100'000});
    }
  }
  Results r = results_of(rank, calls, round);
  r.rows.front().elapsed = static_cast<Time>(per_second.size()) * kSecond;
  return r;
}

Results together(const std::vector<Results>& parts) {
  Results all;
  for (const Results& part : parts) EXPECT_TRUE(merge(all, part).has_value());
  return all;
}

WholeSetup setup_of(std::uint32_t ranks) {
  WholeSetup setup;
  setup.each.procedures = {"null", "echo", "sink"};
  setup.pattern = Pattern::kManyToOne;
  setup.ranks = ranks;
  return setup;
}

TEST(LoadReport, JainsIndex) {
  EXPECT_DOUBLE_EQ(*jain({5, 5, 5, 5}), 1);
  EXPECT_DOUBLE_EQ(*jain({1, 0, 0, 0}), 0.25);
  EXPECT_NEAR(*jain({1, 2, 3}), 36.0 / (3 * 14), 1e-12);
  EXPECT_FALSE(jain({}).has_value());
  EXPECT_FALSE(jain({0, 0}).has_value());
}

TEST(LoadReport, AFlappingLinkIsFoundBehindASteadilySlowRank) {
  const Results all = together({rank_with(0, {50, 50, 50, 50, 50, 50, 50}),
                                rank_with(1, {10, 10, 10, 10, 10, 10, 10}),
                                rank_with(2, {90, 90, 90, 12, 0, 90, 90})});
  const Whole whole = derive(setup_of(3), all, {});
  ASSERT_NE(whole.slowest, nullptr);
  EXPECT_EQ(whole.slowest->rank, 1U);
  ASSERT_TRUE(whole.second.has_value());
  EXPECT_EQ(whole.second->rank, 2U);
  EXPECT_EQ(whole.second->begin, 4 * kSecond);
  EXPECT_EQ(whole.second->calls, 0U);
  ASSERT_TRUE(whole.five.has_value());
  EXPECT_EQ(whole.five->rank, 2U);
  EXPECT_EQ(whole.five->begin, Time{0});  // 282 Calls: as many as from 2 s on, and earlier
  ASSERT_EQ(whole.worst.size(), 3U);
  EXPECT_EQ(whole.worst[0]->calls, 50U);
  ASSERT_TRUE(whole.all_second.has_value());
  EXPECT_EQ(whole.all_second->begin, 4 * kSecond);
  EXPECT_EQ(whole.all_second->calls, 60U);
  const std::string text = to_text(setup_of(3), all, whole);
  EXPECT_THAT(text, HasSubstr("slowest: rank 1 (host1): 10.0 calls/s, 20 % of the median\n"));
  EXPECT_THAT(text, HasSubstr("worst second: rank 2 (host2): 0.0 calls/s, 0 % of its average, 4 s "
                              "to 5 s\n"));
  EXPECT_THAT(complaints(all, whole), IsEmpty());
}

TEST(LoadReport, ASilentEndIsAWorstWindow) {
  Results r = rank_with(0, {9, 9, 9});
  r.rows.front().elapsed = 5 * kSecond;  // without outcomes in the last two
  const Whole whole = derive(setup_of(1), r, {});
  ASSERT_TRUE(whole.second.has_value());
  EXPECT_EQ(whole.second->begin, 3 * kSecond);
  EXPECT_EQ(whole.second->calls, 0U);
}

TEST(LoadReport, ADeadRankIsNamedAndDoesNotCountAsSlow) {
  Results dead = rank_with(1, {40, 40});
  Row& row = dead.rows.front();
  row.state = State::kDead;
  row.why = "signal 9";
  row.last_heard = 2 * kSecond;
  const Results all =
      together({rank_with(0, {50, 50, 50, 50}), dead, rank_with(2, {50, 50, 50, 50})});
  const Whole whole = derive(setup_of(3), all, {});
  EXPECT_THAT(whole.missing, ElementsAre(&all.rows[1]));
  EXPECT_DOUBLE_EQ(*whole.fairness, 1);
  EXPECT_EQ(whole.fair_ranks, 2U);
  EXPECT_NE(whole.slowest->rank, 1U);
  EXPECT_EQ(whole.second->rank, 0U);  // all are as good; nothing of the time after its death
  EXPECT_THAT(
      complaints(all, whole),
      ElementsAre("rank 1 (host1) is dead, last heard of 2.000 s after the start: signal 9"));
  const std::string text = to_text(setup_of(3), all, whole);
  EXPECT_THAT(text, HasSubstr("INCOMPLETE: 1 of 3 ranks did not finish\n"));
  EXPECT_THAT(text, HasSubstr("the totals have its 80 Calls until then; later ones are not known"));
  EXPECT_THAT(text, HasSubstr("over 2 complete ranks"));
  const auto json = nlohmann::json::parse(to_json(setup_of(3), all, whole));
  EXPECT_EQ(json["complete"], false);
  EXPECT_EQ(json["missing"][0]["rank"], 1);
  EXPECT_EQ(json["missing"][0]["state"], "dead");
  EXPECT_EQ(json["ranks"][1]["last_heard"], 2.0);
  EXPECT_EQ(json["ranks"][1]["start_skew_us"], nullptr);
  EXPECT_EQ(json["ranks"][0]["last_heard"], nullptr);
  EXPECT_EQ(json["calls"], 480);
}

TEST(LoadReport, ARankOfWhichNothingIsKnownIsNotZero) {
  Results lost;
  Row row;
  row.rank = 1;
  row.state = State::kLost;
  row.why = "no result came";
  lost.rows.push_back(row);
  const Results all = together({rank_with(0, {5}), lost});
  const Whole whole = derive(setup_of(2), all, {});
  const std::string text = to_text(setup_of(2), all, whole);
  EXPECT_THAT(text, HasSubstr("rank 1 is lost, nothing was heard from it: no result came"));
  EXPECT_THAT(text, HasSubstr("what it did is not known; the totals do not have it"));
  EXPECT_FALSE(complaints(all, whole).empty());
}

TEST(LoadReport, LimitsHoldForTheWholeAndForEachRank) {
  load::Thresholds limits;
  ASSERT_TRUE(limits.add("p99=1ms").has_value());
  limits.allow_no_errors();
  Results slow = results_of(1, {{kSecond / 2, 5'000'000}});
  slow.rows.front().failed = limits.passed(slow.tally, {});
  std::vector<RawCall> many(1000, RawCall{kSecond / 2, 10'000});
  const Results all = together({results_of(0, many), slow});
  const Whole whole = derive(setup_of(2), all, limits);
  // One Call of a thousand does not exceed the p99 of the whole.
  EXPECT_THAT(whole.result.failed, IsEmpty());
  EXPECT_THAT(complaints(all, whole),
              ElementsAre(HasSubstr("rank 1 (host1): p99 is 5 ms, above 1 ms")));
}

TEST(LoadReport, RoundsAreOneAfterTheOther) {
  const Results all = together({rank_with(0, {10, 10}, 0), rank_with(1, {20, 20}, 0),
                                rank_with(0, {30, 30}, 1), rank_with(1, {0, 40}, 1)});
  const Whole whole = derive(setup_of(2), all, {});
  ASSERT_EQ(whole.rounds.size(), 2U);
  EXPECT_EQ(whole.rounds[1].start, 3 * kSecond);
  EXPECT_EQ(whole.result.elapsed, 4 * kSecond + 20);  // and the skew of rank 1 in both
  EXPECT_EQ(whole.second->rank, 1U);
  EXPECT_EQ(whole.second->round, 1U);
  EXPECT_EQ(whole.second->begin, 3 * kSecond);
  EXPECT_FALSE(whole.all_second.has_value());
  std::vector<std::uint64_t> calls;
  for (const Window& w : whole.series.windows()) calls.push_back(w.calls);
  EXPECT_THAT(calls, ElementsAre(30, 30, 0, 30, 70));
  const auto json = nlohmann::json::parse(to_json(setup_of(2), all, whole));
  EXPECT_EQ(json["rounds"].size(), 2U);
  EXPECT_EQ(json["ranks"].size(), 4U);
  EXPECT_EQ(json["series"]["windows"][4]["calls"], 70);
  EXPECT_THAT(to_text(setup_of(2), all, whole), HasSubstr("rank 1 (host1) in round 1"));
}

TEST(LoadReport, TheSkewHasTheErrorsOfTheClocks) {
  Results a = results_of(0, {{1000, 10}});
  Results b = results_of(1, {{1000, 10}});
  a.rows.front().skew = 100;
  b.rows.front().skew = 400;
  EXPECT_EQ(derive(setup_of(2), together({a, b}), {}).skew, 300 + 2 * 20);
  EXPECT_EQ(derive(setup_of(1), a, {}).skew, 0);
}

TEST(LoadReport, JsonHasTheKeysOfASingleLoad) {
  const Results all = together({rank_with(0, {5, 5}), rank_with(1, {5, 5})});
  const Whole whole = derive(setup_of(2), all, {});
  const auto json = nlohmann::json::parse(to_json(setup_of(2), all, whole));
  const auto single = nlohmann::json::parse(load::to_json({}, {}));
  for (const auto& [key, value] : single.items()) EXPECT_TRUE(json.contains(key)) << key;
  EXPECT_EQ(json["server"], "10.0.1.1 port 20049");
  EXPECT_EQ(json["from"], "2 ranks on 2 hosts, n-to-1");
}

// All keys of objects, however deep, except those of data: reasons and names of parts.
void keys_in(const nlohmann::json& json, std::set<std::string>& keys) {
  for (const auto& [key, value] : json.items()) {
    if (json.is_object()) keys.insert(key);
    if (key != "reasons" && key != "parts_us" && value.is_structured()) keys_in(value, keys);
  }
}

TEST(LoadReport, EachKeyIsDocumentedAndEachDocumentedKeyIsThere) {
  Results dead = rank_with(1, {5, 5});
  dead.rows.front().state = State::kDead;
  const Results all = together(
      {rank_with(0, std::vector<std::uint64_t>(6, 5)), dead, rank_with(2, {1, 1, 1, 1, 1, 1})});
  const Whole whole = derive(setup_of(2), all, {});
  std::set<std::string> keys;
  keys_in(nlohmann::json::parse(to_json(setup_of(2), all, whole)), keys);
  std::ifstream file(RPCRDMA_LOAD_DOCUMENT);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  for (const std::string& key : keys) EXPECT_THAT(text, HasSubstr("`" + key + "`"));
  // The first column of the last table of "From many hosts".
  const std::size_t begin = text.find("| key | meaning |", text.find("`lost` | nothing was heard"));
  std::istringstream table(text.substr(begin, text.find("\n\n", begin) - begin));
  std::set<std::string> documented;
  for (std::string line; std::getline(table, line);) {
    std::string cell = line.substr(0, line.find(" | "));
    for (std::size_t at = 0; (at = cell.find('`', at)) != std::string::npos;) {
      const std::size_t end = cell.find('`', at + 1);
      documented.insert(cell.substr(at + 1, end - at - 1));
      at = end + 1;
    }
  }
  EXPECT_GT(documented.size(), 15U);
  for (const std::string& key : documented) EXPECT_TRUE(keys.contains(key)) << key;
}

}  // namespace
}  // namespace rpcrdma::load_ranks
