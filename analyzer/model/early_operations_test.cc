#include "early_operations.h"

#include <gtest/gtest.h>

namespace rpcrdma::model {
namespace {

roce::Operation operation(roce::OpKind kind, std::uint32_t handle, std::uint64_t offset) {
  roce::Operation op;
  op.kind = kind;
  op.handle = handle;
  op.offset = offset;
  op.length = 8;
  return op;
}

Call offering(ChunkList list, const wire::Segment& memory, std::uint64_t message) {
  Call call;
  call.message.id = message;
  CallSegment& s = call.segments.emplace_back();
  s.list = list;
  s.target = memory;
  return call;
}

constexpr wire::Segment kMemory{7, 100, 1000};
constexpr auto kWrite = roce::OpKind::kWrite;

TEST(EarlyOperations, ACallThatOffersWhatWasWrittenBefore) {
  EarlyOperations early_operations;
  EXPECT_FALSE(early_operations.offered_late(offering(ChunkList::kWrite, kMemory, 1)));
  early_operations.unmatched(operation(kWrite, 7, 1050), 2);
  EXPECT_TRUE(early_operations.offered_late(offering(ChunkList::kWrite, kMemory, 2)));
  EXPECT_TRUE(early_operations.offered_late(offering(ChunkList::kReply, kMemory, 3)));
}

TEST(EarlyOperations, OtherMemoryIsNone) {
  EarlyOperations early_operations;
  early_operations.unmatched(operation(kWrite, 7, 1100), 2);  // after its end
  early_operations.unmatched(operation(kWrite, 8, 1050), 2);
  EXPECT_FALSE(early_operations.offered_late(offering(ChunkList::kWrite, kMemory, 2)));
  early_operations.unmatched(operation(kWrite, 7, 1050), 2);
  EXPECT_FALSE(early_operations.offered_late(offering(ChunkList::kRead, kMemory, 2)));
  early_operations.unmatched(operation(roce::OpKind::kRead, 7, 1050), 2);
  EXPECT_TRUE(early_operations.offered_late(offering(ChunkList::kRead, kMemory, 2)));
}

TEST(EarlyOperations, LongBeforeIsNoDisorder) {
  EarlyOperations early_operations;
  early_operations.unmatched(operation(kWrite, 7, 1050), 2);
  EXPECT_FALSE(early_operations.offered_late(offering(ChunkList::kWrite, kMemory, 40)));
}

TEST(EarlyOperations, WorkOnTheMemoryOfACallBeforeIsLateAndNotEarly) {
  EarlyOperations early_operations;
  early_operations.ended(offering(ChunkList::kWrite, kMemory, 1));
  early_operations.unmatched(operation(kWrite, 7, 1050), 3);
  EXPECT_FALSE(early_operations.offered_late(offering(ChunkList::kWrite, kMemory, 3)));
}

}  // namespace
}  // namespace rpcrdma::model
