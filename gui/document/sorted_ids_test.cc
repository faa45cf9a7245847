// The list does what a set does, and a shared copy stays as it was.
#include "sorted_ids.h"

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace rpcrdma::gui {
namespace {

using Set = std::set<std::uint64_t>;

void expect_same(const SortedIds& ids, const Set& set) {
  ASSERT_EQ(ids.size(), set.size());
  ASSERT_EQ(ids.empty(), set.empty());
  std::size_t place = 0;
  for (const std::uint64_t id : set) {
    ASSERT_EQ(ids[place], id);
    ASSERT_EQ(ids.lower_bound(id), place);
    ++place;
  }
  if (!set.empty()) {
    EXPECT_EQ(ids.back(), *set.rbegin());
    EXPECT_EQ(ids.lower_bound(*set.rbegin() + 1), set.size());
  }
}

class SortedIdsTest : public ::testing::Test {
 protected:
  // Adds up to `count` IDs between two.
  void add(std::size_t count, std::uint64_t from, std::uint64_t to) {
    Set some;
    for (std::size_t i = 0; i < count; ++i) some.insert(from + random_() % (to - from));
    const std::vector<std::uint64_t> sorted(some.begin(), some.end());
    ids_.add(sorted);
    set_.insert(some.begin(), some.end());
  }

  std::mt19937_64 random_{3};
  SortedIds ids_;
  Set set_;
};

TEST_F(SortedIdsTest, ComesInOrderOrLate) {
  for (std::uint64_t round = 0; round < 40; ++round) {
    add(1000, round * 5000, round * 5000 + 5000);
    if (round % 7 == 3) add(500, 0, round * 5000);
    if (round % 11 == 5) add(20'000, round * 2500, round * 2500 + 40'000);
  }
  expect_same(ids_, set_);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t id = random_() % 200'000;
    EXPECT_EQ(ids_.contains(id), set_.contains(id)) << id;
  }
}

TEST_F(SortedIdsTest, IsCutAnywhere) {
  add(30'000, 0, 100'000);
  for (const std::uint64_t last : {99'999U, 70'000U, 69'998U, 30'001U, 5U, 0U}) {
    ids_.keep_up_to(last);
    set_.erase(set_.upper_bound(last), set_.end());
    expect_same(ids_, set_);
    add(100, last + 1, last + 1000);
    expect_same(ids_, set_);
  }
  ids_.clear();
  expect_same(ids_, {});
}

TEST_F(SortedIdsTest, ASharedCopyStaysAsItWas) {
  add(20'000, 0, 100'000);
  const SortedIds shared = ids_.share();
  const Set before = set_;
  add(5000, 0, 150'000);
  ids_.keep_up_to(90'000);
  set_.erase(set_.upper_bound(90'000), set_.end());
  expect_same(ids_, set_);
  expect_same(shared, before);
}

}  // namespace
}  // namespace rpcrdma::gui
