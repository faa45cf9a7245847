// Tests chunk lists that no scene has: long ones, and the limits of the arithmetic.
#include "checks.h"
#include "nothing_for_tests.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rpcrdma::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::size_t kMany = 1'000'000;

class Lists : public ::testing::Test {
 protected:
  Lists() {
    call_.message.kind = model::Kind::kCall;
    call_.message.version = 1;
    call_.message.header_length = 28;
    call_.message.wire_length = 128;
  }

  void read(std::uint32_t position, std::uint32_t length) {
    call_.message.reads.push_back({position, {0x100, length, 0x1000}});
  }
  void offer(model::ChunkList list, const wire::Segment& target) {
    model::CallSegment& s = call_.segments.emplace_back();
    s.list = list;
    s.target = target;
  }

  const std::vector<std::string>& found_in_read_list() {
    check_read_list(call_.message, scene_, scratch_);
    return found_;
  }
  const std::vector<std::string>& found_in_segments() {
    check_segments(call_.message, call_, scene_, scratch_);
    return found_;
  }

  model::Call call_;
  std::vector<std::string> found_;
  testing::Nothing nothing_;
  Findings findings_{{Profile::k8166,
                      [this](const Occurrence& o) {
                        found_.emplace_back(o.rule.name);
                        EXPECT_FALSE(o.text.empty());
                      }},
                     nothing_.tracker,
                     nothing_.model};
  roce::Connection connection_;
  model::ConnectionModel model_;
  History history_;
  CheckContext scene_{findings_, connection_, model_, false, history_.of(0), history_};
  Scratch scratch_;
};

TEST_F(Lists, ChunkMayStandAtTheEndOfTheMessage) {
  read(100, 10);  // 128 bytes minus the header
  EXPECT_THAT(found_in_read_list(), IsEmpty());
}

TEST_F(Lists, ChunkBehindTheEnd) {
  read(104, 10);
  EXPECT_THAT(found_in_read_list(), ElementsAre("RD-05"));
}

TEST_F(Lists, RoundupBeforeAChunkCountsInItsPosition) {
  read(40, 10);
  read(112, 4);  // 100 bytes inline and 12
  EXPECT_THAT(found_in_read_list(), IsEmpty());
}

TEST_F(Lists, RoundupInTheChunkCountsOnce) {
  read(40, 12);
  read(116, 4);
  EXPECT_THAT(found_in_read_list(), ElementsAre("RD-05"));
}

TEST_F(Lists, EndOfAMessageThatWasCutIsNotKnown) {
  call_.message.complete = false;
  read(4000, 10);
  EXPECT_THAT(found_in_read_list(), IsEmpty());
}

TEST_F(Lists, ChunkMayFollowTheOneBefore) {
  read(40, 8);
  read(48, 8);
  EXPECT_THAT(found_in_read_list(), IsEmpty());
}

TEST_F(Lists, ChunkInTheRoundupOfTheOneBefore) {
  read(40, 9);
  read(48, 8);
  EXPECT_THAT(found_in_read_list(), ElementsAre("RD-06"));
}

TEST_F(Lists, ChunksThatReachBeyondFourGiB) {
  for (int i = 0; i < 3; ++i) read(40, 0xfffffffc);
  read(0xfffffff8, 8);
  EXPECT_THAT(found_in_read_list(), ElementsAre("RD-06"));
}

TEST_F(Lists, OutOfOrderIsJudgedInOrder) {
  read(60, 8);
  read(40, 8);
  EXPECT_THAT(found_in_read_list(), ElementsAre("RD-03"));
}

TEST_F(Lists, PositionZeroBesideOthersInALongCall) {
  call_.message.proc = 1;  // RDMA_NOMSG
  read(0, 100);
  read(60, 8);
  EXPECT_THAT(found_in_read_list(), IsEmpty());
  read(120, 8);
  EXPECT_THAT(found_in_read_list(), ElementsAre("RD-05"));
}

TEST_F(Lists, OneFindingAMessageAndRule) {
  for (std::uint32_t i = 0; i < kMany; ++i) read(42, 0);
  EXPECT_THAT(found_in_read_list(), ElementsAre("RD-08", "RD-02"));
}

TEST_F(Lists, MillionChunksInTheWrongOrder) {
  for (std::uint32_t i = kMany; i > 0; --i) read(40 + i * 4, 4);
  EXPECT_THAT(found_in_read_list(), ElementsAre("RD-03"));
}

TEST_F(Lists, MillionSegmentsOfOneHandle) {
  for (std::size_t i = kMany; i > 0; --i) {
    offer(model::ChunkList::kWrite, {0x100, 16, i * 16});
  }
  EXPECT_THAT(found_in_segments(), IsEmpty());
  offer(model::ChunkList::kWrite, {0x100, 1, 5000 * 16 + 3});
  EXPECT_THAT(found_in_segments(), ElementsAre("RD-09"));
}

// This is harmless and only a note: see the scene RD-09-read-twice.
TEST_F(Lists, SegmentsThatAreOnlyReadOverlap) {
  offer(model::ChunkList::kRead, {0x100, 100, 0x1000});
  offer(model::ChunkList::kRead, {0x100, 100, 0x1000});
  EXPECT_THAT(found_in_segments(), ElementsAre("RD-09"));
}

TEST_F(Lists, WrittenSegmentInsideALongOneThatIsRead) {
  offer(model::ChunkList::kRead, {0x100, 1000, 0x1000});
  offer(model::ChunkList::kRead, {0x100, 10, 0x1010});
  offer(model::ChunkList::kWrite, {0x100, 10, 0x1100});
  EXPECT_THAT(found_in_segments(), ElementsAre("RD-09"));
}

TEST_F(Lists, OtherHandlesAndEmptySegmentsDoNotOverlap) {
  offer(model::ChunkList::kWrite, {0x100, 100, 0x1000});
  offer(model::ChunkList::kWrite, {0x101, 100, 0x1000});
  offer(model::ChunkList::kWrite, {0x100, 0, 0x1010});
  EXPECT_THAT(found_in_segments(), IsEmpty());
}

TEST_F(Lists, SegmentMayEndAtTheLastAddress) {
  offer(model::ChunkList::kWrite, {0x100, 16, 0xffff'ffff'ffff'fff0});
  EXPECT_THAT(found_in_segments(), IsEmpty());
  offer(model::ChunkList::kWrite, {0x101, 17, 0xffff'ffff'ffff'fff0});
  EXPECT_THAT(found_in_segments(), ElementsAre("RD-09"));
}

}  // namespace
}  // namespace rpcrdma::rules
