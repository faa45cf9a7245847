// Which Write chunk carried which result.
#include "upper_for_tests.h"

#include <array>

#include <gtest/gtest.h>

namespace rpcrdma::decode {
namespace {

using Chunks = std::vector<std::uint64_t>;

std::vector<DdpItem> items_of(const ProcedureId& id, std::string_view text, const Chunks& chunks) {
  std::array<DdpItem, 4> items;
  const std::size_t count = find_result_items(id, stream(text), chunks, items);
  return {items.begin(), items.begin() + static_cast<std::ptrdiff_t>(count)};
}

void expect_item(const DdpItem& item, std::uint32_t count_offset, std::uint32_t length,
                 std::uint32_t operation, std::int32_t chunk) {
  EXPECT_EQ(item.count_offset, count_offset);
  EXPECT_EQ(item.length, length);
  EXPECT_EQ(item.operation, operation);
  EXPECT_EQ(item.chunk, chunk);
  EXPECT_FALSE(item.guessed);
}

// A count without its data, neither in a chunk nor inline, is an item only if the stream's end is
// known.
TEST(ResultItems, WhatIsNowhereIsAbsent) {
  const ByteVector results = stream("0 0 138b 1 138b");
  const Chunks empty{0};
  std::array<DdpItem, 4> items;
  EXPECT_EQ(find_result_items({kProgNfs, 3, 6}, results, empty, items), 0U);
  ASSERT_EQ(find_result_items({kProgNfs, 3, 6}, results, empty, items, nullptr, 20), 1U);
  EXPECT_TRUE(items[0].absent);
  EXPECT_EQ(items[0].length, 5003U);
  // The front of a longer stream.
  ASSERT_EQ(find_result_items({kProgNfs, 3, 6}, results, empty, items, nullptr, 20 + 5004), 1U);
  EXPECT_FALSE(items[0].absent);
}

// ---- versions 2 and 3

TEST(Nfs3DdpTest, ReadWithAttributes) {
  const auto items = items_of({kProgNfs, 3, 6}, "0 1 *84 138b 1 138b", {5003});
  ASSERT_EQ(items.size(), 1U);
  expect_item(items[0], 100, 5003, 0, 0);
}

TEST(Nfs3DdpTest, ReadWithoutAttributes) {
  const auto items = items_of({kProgNfs, 3, 6}, "0 0 138b 1 138b", {5003});
  ASSERT_EQ(items.size(), 1U);
  expect_item(items[0], 16, 5003, 0, 0);
}

TEST(Nfs3DdpTest, ReadInline) {
  const auto items = items_of({kProgNfs, 3, 6}, "0 0 5 1 5 *8", {});
  ASSERT_EQ(items.size(), 1U);
  expect_item(items[0], 16, 5, 0, -1);
}

TEST(Nfs3DdpTest, ReadInlineAlthoughAChunkWasOffered) {
  const auto items = items_of({kProgNfs, 3, 6}, "0 0 5 1 5 *8", {0});
  ASSERT_EQ(items.size(), 1U);
  expect_item(items[0], 16, 5, 0, -1);
}

TEST(Nfs3DdpTest, FailedReadHasNoItem) {
  EXPECT_TRUE(items_of({kProgNfs, 3, 6}, "46 1 *84", {0}).empty());
}

TEST(Nfs3DdpTest, Readlink) {
  const auto items = items_of({kProgNfs, 3, 5}, "0 1 *84 3e8", {1000});
  ASSERT_EQ(items.size(), 1U);
  expect_item(items[0], 92, 1000, 0, 0);
}

TEST(Nfs3DdpTest, OtherProceduresHaveNone) {
  EXPECT_TRUE(items_of({kProgNfs, 3, 17}, "0 0 *8 3e8", {1000}).empty());
}

TEST(Nfs2DdpTest, Read) {
  const auto items = items_of({kProgNfs, 2, 6}, "0 *68 2000", {8192});
  ASSERT_EQ(items.size(), 1U);
  expect_item(items[0], 72, 8192, 0, 0);
}

TEST(Nfs2DdpTest, Readlink) {
  const auto items = items_of({kProgNfs, 2, 5}, "0 3e8", {1000});
  ASSERT_EQ(items.size(), 1U);
  expect_item(items[0], 4, 1000, 0, 0);
}

TEST(Nfs3DdpTest, LengthRaisedToRoundupIsTheSameChunk) {  // RFC 5666 section 3.7
  const auto items = items_of({kProgNfs, 3, 6}, "0 0 138b 1 138b", {5004});
  ASSERT_EQ(items.size(), 1U);
  expect_item(items[0], 16, 5003, 0, 0);
}

// ---- version 4

TEST(Nfs4DdpTest, ReadIsFoundBehindOtherOperations) {
  const auto items = items_of(kCompound, "0 0 3 35 0 *36 16 0 19 0 1 138b", {5003});
  ASSERT_EQ(items.size(), 1U);
  expect_item(items[0], 76, 5003, 2, 0);
}

TEST(Nfs4DdpTest, ReadlinkIsEligible) {
  const auto items = items_of(kCompound, "0 0 2 16 0 1b 0 3e9", {1001});
  ASSERT_EQ(items.size(), 1U);
  expect_item(items[0], 28, 1001, 1, 0);
}

TEST(Nfs4DdpTest, FileHandlesAndAttributesAreNot) {
  EXPECT_TRUE(items_of(kCompound, "0 0 2 a 0 4 *4 9 0 0 8 *8", {0}).empty());
}

TEST(Nfs4DdpTest, ReadPlusIsNot) {
  EXPECT_TRUE(items_of(kCompound, "0 0 1 44 0 1 1 0 *8 5 *8", {0}).empty());
}

TEST(Nfs4DdpTest, ItemsTakeChunksInOrder) {
  const auto items =
      items_of(kCompound, "0 0 3 19 0 0 1000 19 0 0 5 *8 19 0 1 2000", {4096, 0, 8192});
  ASSERT_EQ(items.size(), 3U);
  expect_item(items[0], 24, 4096, 0, 0);
  expect_item(items[1], 40, 5, 1, -1);
  expect_item(items[2], 64, 8192, 2, 2);
}

TEST(Nfs4DdpTest, ItemsBehindTheLastChunkAreInline) {
  const auto items = items_of(kCompound, "0 0 2 19 0 0 1000 19 0 1 5 *8", {4096});
  ASSERT_EQ(items.size(), 2U);
  expect_item(items[1], 40, 5, 1, -1);
}

TEST(Nfs4DdpTest, GetattrIsFoundBehindRemovedData) {
  CompoundOps ops;
  const Chunks chunks = {5003};
  (void)find_result_items(kCompound, stream("0 0 2 19 0 1 138b 9 0 0 0"), chunks, {}, &ops);
  EXPECT_TRUE(ops.complete);
  EXPECT_EQ(kept(ops), (std::vector<std::uint32_t>{25, 9}));
}

// A sender that moves the data but leaves its roundup (5003 bytes: one) in the stream.
TEST(Nfs4DdpTest, StrayRoundupIsSkipped) {
  ByteVector reply = stream("0 0 2 19 0 1 138b");
  reply.push_back(0);
  const ByteVector rest = stream("9 0 0 0");
  reply.insert(reply.end(), rest.begin(), rest.end());
  CompoundOps ops;
  const Chunks chunks = {5003};
  (void)find_result_items(kCompound, reply, chunks, {}, &ops);
  EXPECT_TRUE(ops.complete);
  EXPECT_EQ(kept(ops), (std::vector<std::uint32_t>{25, 9}));
}

TEST(Nfs4DdpTest, StrayRoundupAtTheEndChangesNothing) {
  ByteVector reply = stream("0 0 1 19 0 1 138b");
  reply.push_back(0);
  CompoundOps ops;
  const Chunks chunks = {5003};
  (void)find_result_items(kCompound, reply, chunks, {}, &ops);
  EXPECT_TRUE(ops.complete);
}

TEST(Nfs4DdpTest, CountsOnlyAsManyAsThereIsRoomFor) {
  std::array<DdpItem, 1> items;
  const Chunks chunks = {4096, 8192};
  CompoundOps ops;
  EXPECT_EQ(
      find_result_items(kCompound, stream("0 0 2 19 0 0 1000 19 0 1 2000"), chunks, items, &ops),
      1U);
  expect_item(items[0], 24, 4096, 0, 0);
  EXPECT_TRUE(ops.complete);
}

TEST(Nfs4DdpTest, InlineDataThatIsCutShortIsNoItem) {
  EXPECT_TRUE(items_of(kCompound, "0 0 1 19 0 1 ffffffff *8", {}).empty());
}

// ---- programs with unknown bindings

constexpr ProcedureId kUnknown{0x20000001, 1, 7};

TEST(GuessedItemTest, IsTheLastWordWithTheChunksLength) {
  const auto items = items_of(kUnknown, "0 1000 7 1000 9", {4096});
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items[0].count_offset, 12U);
  EXPECT_EQ(items[0].length, 4096U);
  EXPECT_EQ(items[0].chunk, 0);
  EXPECT_TRUE(items[0].guessed);
}

TEST(GuessedItemTest, SkipsUnusedChunks) {
  const auto items = items_of(kUnknown, "1000", {0, 4096, 0});
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items[0].chunk, 1);
}

TEST(GuessedItemTest, NeedsExactlyOneUsedChunk) {
  EXPECT_TRUE(items_of(kUnknown, "1000 0", {}).empty());
  EXPECT_TRUE(items_of(kUnknown, "1000 0", {0}).empty());
  EXPECT_TRUE(items_of(kUnknown, "1000 2000", {4096, 8192}).empty());
}

TEST(GuessedItemTest, NeedsAWordWithThatLength) {
  EXPECT_TRUE(items_of(kUnknown, "0 1001", {4096}).empty());
  EXPECT_TRUE(items_of(kUnknown, "1000", {0x100001000}).empty());
}

TEST(GuessedItemTest, IsNotMadeForAKnownBinding) {
  EXPECT_TRUE(items_of({kProgMount, 3, 5}, "1000", {4096}).empty());
}

TEST(GuessedItemTest, IsMadeForAnUnknownVersionOfAKnownProgram) {
  EXPECT_EQ(items_of({kProgNfs, 5, 1}, "1000", {4096}).size(), 1U);
}

TEST(GuessedItemTest, IsMadeForAProgramThatHasNamesAlone) {
  EXPECT_EQ(items_of({kProgEcho, 1, 3}, "1000", {4096}).size(), 1U);
}

}  // namespace
}  // namespace rpcrdma::decode
