#include "call_shape.h"

#include <gtest/gtest.h>

namespace rpcrdma::rules {
namespace {

// A READ with `chunks` Write chunks of one segment each.
CallShape reads(std::uint32_t chunks, std::uint32_t length = 1000) {
  model::Call call;
  for (std::uint32_t i = 0; i < chunks; ++i) {
    call.message.write_counts.push_back(1);
    call.message.write_segments.push_back({i + 1, length, 0});
  }
  return shape_of(call);
}

ShapeRange range(std::initializer_list<CallShape> shapes) {
  ShapeRange r;
  for (const CallShape& s : shapes) r.add(s);
  return r;
}

TEST(CallShape, CountsChunksSegmentsAndBytes) {
  model::Call call;
  call.message.reads = {{0, {1, 100, 0}}, {0, {2, 50, 0}}, {60, {3, 8, 0}}};
  call.message.has_reply_chunk = true;
  call.message.reply_segments = {{4, 512, 0}, {5, 512, 0}};
  const CallShape s = shape_of(call);
  EXPECT_EQ(s.of[CallShape::kReadChunks], 2U);
  EXPECT_EQ(s.of[CallShape::kReadBytes], 158U);
  EXPECT_EQ(s.of[CallShape::kWriteChunks], 0U);
  EXPECT_EQ(s.of[CallShape::kReplyChunks], 1U);
  EXPECT_EQ(s.of[CallShape::kReplyBytes], 1024U);
  EXPECT_EQ(s.of[CallShape::kSegments], 5U);
  EXPECT_EQ(s.room(), 1024U);
}

TEST(Difference, IsWhatEachRefusedCallHasMoreOf) {
  EXPECT_EQ(difference(range({reads(5), reads(8)}), range({reads(1), reads(4)})),
            "each has 5 Write chunks or more, while answered Calls have at most 4");
  EXPECT_EQ(difference(range({reads(1, 20000000)}), range({reads(1)})),
            "each has Write chunks of 19.07 MiB, while answered Calls have at most 1000 B");
  EXPECT_EQ(difference(range({reads(1)}), range({reads(0)})),
            "each has 1 Write chunk, while answered Calls have none");
}

TEST(Difference, IsNothingWhereAnsweredCallsHaveAsMuch) {
  EXPECT_EQ(difference(range({reads(1), reads(5)}), range({reads(2)})), "");
  EXPECT_EQ(difference(range({reads(0)}), {}), "");
}

TEST(Difference, WithoutAnsweredCallsIsWhatTheyHave) {
  EXPECT_EQ(difference(range({reads(2)}), {}), "each has 2 Write chunks, 2 segments");
}

}  // namespace
}  // namespace rpcrdma::rules
