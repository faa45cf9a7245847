// The page of --html: complete, escaped, bounded, and without references to anything outside.
#include "load/page.h"

#include "../../engine/load_ranks/ranks_for_tests.h"

#include <gmock/gmock.h>

namespace rpcrdma::cli {
namespace {

using load_ranks::RawCall;
using load_ranks::Results;
using ::testing::HasSubstr;
using ::testing::Not;

Results many(std::uint32_t ranks, std::size_t calls) {
  std::mt19937_64 random(1);
  Results all;
  for (std::uint32_t i = 0; i < ranks; ++i) {
    const auto raw = load_ranks::random_calls(random, calls, 20 * fabric::kSecond);
    EXPECT_TRUE(merge(all, load_ranks::results_of(i, raw)).has_value());
  }
  return all;
}

std::string page_of(const Results& results) {
  load_ranks::WholeSetup setup;
  setup.pattern = load_ranks::Pattern::kManyToOne;
  setup.epoch = 1'800'000'000'000'000'000;
  const auto whole = load_ranks::derive(setup, results, {});
  return load_page(setup, results, whole, load_ranks::complaints(results, whole));
}

TEST(LoadPage, HasPicturesAndTables) {
  const std::string page = page_of(many(4, 2000));
  for (const char* const part :
       {"Calls per second of all together", "Calls per second of each rank", "Latency over time",
        "Latency by percentile", "Distribution of latency", "Worst windows", "rank 3 (host3)",
        "Fairness (Jain)", "2027-01-15 08:00:00 UTC"}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
  EXPECT_THAT(page, Not(HasSubstr("src=")));
  EXPECT_THAT(page, Not(HasSubstr("url(")));
}

TEST(LoadPage, TextOfPeersIsEscaped) {
  Results results = many(2, 50);
  results.rows[1].host = "<script>alert(1)</script>";
  results.rows[1].state = load_ranks::State::kDead;
  results.rows[1].why = "\"><img src=x>";
  const std::string page = page_of(results);
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, HasSubstr("<b>Incomplete.</b> 1 of 2 ranks did not finish."));
}

TEST(LoadPage, IsBoundedWhateverTheNumberOfRanks) {
  Results results;
  for (std::uint32_t i = 0; i < 3000; ++i) {
    results.rows.push_back(load_ranks::results_of(i, {{fabric::kSecond, 1000}}).rows.front());
  }
  const std::string page = page_of(results);
  EXPECT_LT(page.size(), 2'000'000U);
  EXPECT_THAT(page, HasSubstr("Of 3000 ranks"));
}

TEST(LoadPage, OfNothingIsAPage) {
  EXPECT_THAT(page_of({}), HasSubstr("no rank made a Call"));
}

}  // namespace
}  // namespace rpcrdma::cli
