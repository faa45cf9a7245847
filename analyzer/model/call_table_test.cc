#include "call_table.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace rpcrdma::model {
namespace {

constexpr std::uint32_t kHandle = 0x77;

class CallTableTest : public ::testing::Test {
 protected:
  CallRef add(const std::vector<wire::Segment>& targets) {
    const CallRef ref = pool.create();
    Call& call = *pool.get(ref);
    call.message.xid = ++xids;
    call.message.id = xids;
    for (const wire::Segment& target : targets) {
      CallSegment segment;
      segment.target = target;
      call.segments.push_back(segment);
    }
    table.insert(pool, ref);
    return ref;
  }
  void end(CallRef ref) {
    table.erase(pool, ref);
    pool.release(ref);
  }
  SegmentRef find(std::uint64_t offset, std::uint64_t length) {
    return table.find_segment(pool, kHandle, offset, length);
  }
  // `count` segments of 100 bytes, 1000 bytes apart.
  static std::vector<wire::Segment> spread(std::uint32_t count, std::uint64_t from = 0) {
    std::vector<wire::Segment> all;
    for (std::uint32_t i = 0; i < count; ++i) all.push_back({kHandle, 100, from + i * 1000ULL});
    return all;
  }

  CallPool pool;
  CallTable table;
  std::uint32_t xids = 0;
};

TEST_F(CallTableTest, EverySegmentOfOneHandleIsFound) {
  constexpr std::uint32_t kSegments = 5000;
  std::vector<wire::Segment> all = spread(kSegments);
  std::shuffle(all.begin(), all.end(), std::mt19937(1));
  const CallRef ref = add(all);
  for (std::uint32_t i = 0; i < kSegments; ++i) {
    const SegmentRef found = find(all[i].offset + 10, 90);
    ASSERT_EQ(found.call.generation, ref.generation);
    EXPECT_EQ(found.segment, i);
  }
  EXPECT_EQ(find(100, 1).call.generation, 0U);
  EXPECT_EQ(find(4'999'100, 1).call.generation, 0U);
  // One that overruns its segment is joined all the same.
  EXPECT_EQ(find(all[7].offset + 50, 100).segment, 7U);
}

TEST_F(CallTableTest, SegmentsOfSeveralCallsAreFoundUntilTheirCallEnds) {
  std::vector<CallRef> calls;
  for (std::uint64_t i = 0; i < 200; ++i) calls.push_back(add(spread(3, i * 10'000)));
  for (std::uint64_t i = 0; i < 200; i += 2) end(calls[i]);
  for (std::uint64_t i = 0; i < 200; ++i) {
    const SegmentRef found = find(i * 10'000 + 2000, 100);
    if (i % 2 == 0) {
      EXPECT_EQ(found.call.generation, 0U);
    } else {
      EXPECT_EQ(found.call.slot, calls[i].slot);
      EXPECT_EQ(found.segment, 2U);
    }
  }
  for (std::uint64_t i = 1; i < 200; i += 2) end(calls[i]);
  EXPECT_FALSE(table.has_handle(kHandle));
}

TEST_F(CallTableTest, TheNewestCallIsPreferredWhereSegmentsOverlap) {
  add(spread(100));
  const CallRef newer = add(spread(100));
  EXPECT_EQ(find(50'000, 100).call.slot, newer.slot);
  // Only the older one fits.
  const CallRef longer = add({{kHandle, 400, 50'000}});
  add({{kHandle, 50, 50'000}});
  EXPECT_EQ(find(50'000, 300).call.slot, longer.slot);
}

// Handles that are used again and again, each time by a few Calls.
TEST_F(CallTableTest, AHandleOfManyShortCallsStaysFound) {
  CallRef before = add(spread(2));
  for (std::uint64_t i = 1; i < 1000; ++i) {
    const CallRef now = add(spread(2, i * 10'000));
    end(before);
    before = now;
    const SegmentRef found = find(i * 10'000 + 1000, 100);
    ASSERT_EQ(found.call.slot, now.slot);
    ASSERT_EQ(found.segment, 1U);
    ASSERT_FALSE(pool.get(now)->segments[0].indexed);
  }
}

}  // namespace
}  // namespace rpcrdma::model
