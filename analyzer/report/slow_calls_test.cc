#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include <rpcrdma/report/slow_calls.h>

namespace rpcrdma::report {
namespace {

SlowCall call(std::int64_t latency, std::uint64_t frame) {
  SlowCall c;
  c.latency_ns = latency;
  c.frame = frame;
  return c;
}

std::vector<std::pair<std::int64_t, std::uint64_t>> pairs(const SlowCalls& calls) {
  std::vector<std::pair<std::int64_t, std::uint64_t>> list;
  for (const SlowCall& c : calls.list()) list.emplace_back(c.latency_ns, c.frame);
  return list;
}

TEST(SlowCalls, KeepsTheSlowestAndOfThemTheEarliest) {
  SlowCalls s(3);
  for (const auto& c : {call(5, 1), call(9, 4), call(7, 3), call(9, 2), call(7, 1)}) s.offer(c);
  EXPECT_EQ(pairs(s),
            (std::vector<std::pair<std::int64_t, std::uint64_t>>{{9, 2}, {9, 4}, {7, 1}}));
  EXPECT_FALSE(s.wants(7, 2));
  EXPECT_TRUE(s.wants(7, 0));
  EXPECT_TRUE(s.wants(8, 100));
}

TEST(SlowCalls, MergedIsTheListOfBoth) {
  std::mt19937 random(1);
  SlowCalls a(20);
  SlowCalls b(20);
  SlowCalls both(20);
  for (std::uint64_t frame = 1; frame <= 1000; ++frame) {
    const SlowCall c = call(random() % 50, frame);
    (frame % 2 == 0 ? a : b).offer(c);
    both.offer(c);
  }
  SlowCalls ab = a;
  ab.merge(b);
  b.merge(a);
  EXPECT_EQ(pairs(ab), pairs(both));
  EXPECT_EQ(pairs(b), pairs(both));
}

}  // namespace
}  // namespace rpcrdma::report
