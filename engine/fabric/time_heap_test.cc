#include <map>
#include <random>
#include <utility>

#include <gtest/gtest.h>

#include <rpcrdma/fabric/time_heap.h>

namespace rpcrdma::fabric {
namespace {

std::uint32_t pop(TimeHeap& heap) {
  const std::uint32_t first = heap.first();
  heap.remove(first);
  return first;
}

TEST(TimeHeap, TheFirstIsTheEarliestAndAmongEqualsTheOneSetFirst) {
  TimeHeap heap;
  EXPECT_EQ(heap.first_time(), kNever);
  heap.set(3, 20);
  heap.set(1, 10);
  heap.set(2, 10);
  heap.set(0, 10);
  EXPECT_EQ(heap.first_time(), 10);
  EXPECT_EQ(pop(heap), 1U);
  EXPECT_EQ(pop(heap), 2U);
  EXPECT_EQ(pop(heap), 0U);
  EXPECT_EQ(pop(heap), 3U);
  EXPECT_TRUE(heap.empty());
}

TEST(TimeHeap, WhatIsMovedComesBehindItsEquals) {
  TimeHeap heap;
  heap.set(1, 5);
  heap.set(2, 10);
  heap.set(1, 10);
  heap.set(2, 10);  // same time: it keeps its place
  EXPECT_EQ(pop(heap), 2U);
  EXPECT_EQ(pop(heap), 1U);
}

TEST(TimeHeap, NeverIsNotKept) {
  TimeHeap heap;
  heap.set(7, kNever);
  EXPECT_TRUE(heap.empty());
  heap.set(7, 1);
  heap.set(7, kNever);
  EXPECT_TRUE(heap.empty());
}

TEST(TimeHeap, WhatIsHastenedOnlyComesSooner) {
  TimeHeap heap;
  heap.hasten(1, kNever);
  EXPECT_TRUE(heap.empty());
  heap.hasten(1, 10);
  heap.hasten(1, 20);
  EXPECT_EQ(heap.first_time(), 10);
  heap.hasten(1, 5);
  EXPECT_EQ(heap.first_time(), 5);
}

// Compared with a linear search in a map.
TEST(TimeHeap, AgreesWithASearch) {
  TimeHeap heap;
  std::map<std::uint32_t, std::pair<Time, int>> model;
  std::minstd_rand random(3);
  for (int order = 0; order < 20'000; ++order) {
    const auto number = static_cast<std::uint32_t>(random() % 200);
    const auto time = static_cast<Time>(random() % 50);
    if (random() % 3 == 0) {
      heap.remove(number);
      model.erase(number);
    } else {
      heap.set(number, time);
      const auto found = model.find(number);
      if (found == model.end() || found->second.first != time) model[number] = {time, order};
    }
    ASSERT_EQ(heap.size(), model.size());
    if (model.empty()) continue;
    auto first = model.begin();
    for (auto it = model.begin(); it != model.end(); ++it) {
      if (it->second < first->second) first = it;
    }
    ASSERT_EQ(heap.first(), first->first);
    ASSERT_EQ(heap.first_time(), first->second.first);
  }
}

}  // namespace
}  // namespace rpcrdma::fabric
