// Which data Read chunks removed from a Call's arguments.
#include "upper_for_tests.h"

#include <array>

#include <gtest/gtest.h>

namespace rpcrdma::decode {
namespace {

struct Taken {
  std::vector<TakenItem> items;
  std::size_t passed = 0;
};

Taken taken(const ProcedureId& id, std::string_view args, const std::vector<Removed>& removed) {
  std::array<TakenItem, 4> items;
  const TakenItems found = find_taken_items(id, stream(args), removed, items);
  return {{items.begin(), items.begin() + static_cast<std::ptrdiff_t>(found.found)}, found.passed};
}

void expect_item(const TakenItem& item, std::uint32_t chunk, std::uint32_t count_offset,
                 std::uint32_t length, bool eligible) {
  EXPECT_EQ(item.chunk, chunk);
  EXPECT_EQ(item.count_offset, count_offset);
  EXPECT_EQ(item.length, length);
  EXPECT_EQ(item.eligible, eligible);
}

TEST(TakenItemsTest, Nfs3WriteData) {
  const Taken t = taken({kProgNfs, 3, 7}, "4 *4 *16 64", {{28, 0x64}});
  ASSERT_EQ(t.items.size(), 1U);
  expect_item(t.items[0], 0, 24, 0x64, true);
  EXPECT_EQ(t.passed, 1U);
}

TEST(TakenItemsTest, Nfs3SymlinkTextBehindAttributes) {
  // Directory, name; mode set; uid and gid not set; size set; both times set by the client.
  const Taken t = taken({kProgNfs, 3, 10}, "4 *4 2 *4 1 1a4 0 0 1 *8 2 *8 2 *8 7d0", {{72, 2000}});
  ASSERT_EQ(t.items.size(), 1U);
  expect_item(t.items[0], 0, 68, 2000, true);
}

TEST(TakenItemsTest, Nfs3FileHandleIsNotEligible) {
  const Taken t = taken({kProgNfs, 3, 7}, "4 *16 0", {{4, 4}});
  ASSERT_EQ(t.items.size(), 1U);
  expect_item(t.items[0], 0, 0, 4, false);
}

TEST(TakenItemsTest, Nfs2WriteAndSymlink) {
  const Taken write = taken({kProgNfs, 2, 8}, "*44 64", {{48, 0x64}});
  ASSERT_EQ(write.items.size(), 1U);
  expect_item(write.items[0], 0, 44, 0x64, true);
  const Taken symlink = taken({kProgNfs, 2, 13}, "*32 1 *4 64 *32", {{44, 0x64}});
  ASSERT_EQ(symlink.items.size(), 1U);
  expect_item(symlink.items[0], 0, 40, 0x64, true);
}

TEST(TakenItemsTest, Nfs4WriteBehindPutfh) {
  const Taken t = taken(kCompound, "0 1 2 16 4 *4 26 *28 64", {{60, 0x64}});
  ASSERT_EQ(t.items.size(), 1U);
  expect_item(t.items[0], 0, 56, 0x64, true);
  EXPECT_EQ(t.passed, 1U);
}

TEST(TakenItemsTest, Nfs4LinkTextIsEligibleAndItsNameIsNot) {
  const Taken text = taken(kCompound, "0 1 1 6 5 64 1 *4 0 0", {{24, 0x64}});
  ASSERT_EQ(text.items.size(), 1U);
  expect_item(text.items[0], 0, 20, 0x64, true);
  const Taken name = taken(kCompound, "0 1 1 6 2 64 0 0", {{24, 0x64}});
  ASSERT_EQ(name.items.size(), 1U);
  expect_item(name.items[0], 0, 20, 0x64, false);
}

TEST(TakenItemsTest, TwoWritesTakeTwoChunks) {
  const Taken t = taken(kCompound, "0 1 2 26 *28 5 26 *28 6", {{48, 5}, {84, 6}});
  ASSERT_EQ(t.items.size(), 2U);
  expect_item(t.items[0], 0, 44, 5, true);
  expect_item(t.items[1], 1, 80, 6, true);
}

TEST(TakenItemsTest, ChunkInAFixedFieldIsPassedWithoutAnItem) {
  const Taken t = taken(kCompound, "0 1 2 26 *28 4 *4 18", {{20, 16}});
  EXPECT_TRUE(t.items.empty());
  EXPECT_EQ(t.passed, 1U);
}

TEST(TakenItemsTest, ChunkOfAProcedureWithoutEligibleArguments) {
  const Taken t = taken({kProgNfs, 3, 1}, "4 *4", {{8, 16}});
  EXPECT_TRUE(t.items.empty());
  EXPECT_EQ(t.passed, 1U);
}

TEST(TakenItemsTest, NothingIsPassedInArgumentsThatCannotBeRead) {
  EXPECT_EQ(taken(kCompound, "0 1 2 4c", {{40, 16}}).passed, 0U);    // an unknown operation
  EXPECT_EQ(taken(kCompound, "0 1 2 26 *8", {{48, 5}}).passed, 0U);  // truncated
  EXPECT_EQ(taken({kProgNfs, 3, 7}, "4 *4 *8", {{28, 5}}).passed, 0U);
}

TEST(TakenItemsTest, OtherProgramsHaveNoBinding) {
  EXPECT_FALSE(has_binding({kProgMount, 3, 1}));
  EXPECT_FALSE(has_binding({400123, 1, 1}));
  EXPECT_TRUE(has_binding({kProgNfs, 3, 1}));
  EXPECT_TRUE(has_binding(kCallbackCompound));
  EXPECT_EQ(taken({kProgMount, 3, 1}, "4 *4", {{4, 4}}).passed, 0U);
}

TEST(TakenItemsTest, EmptyChunkTakesNothing) {
  const Taken t = taken({kProgNfs, 3, 7}, "4 *4 *16 4 *4", {{28, 0}});
  EXPECT_TRUE(t.items.empty());
}

TEST(TakenItemsTest, FindsOnlyAsManyAsThereIsRoomFor) {
  std::array<TakenItem, 1> items;
  const std::vector<Removed> removed{{48, 5}, {84, 6}};
  const TakenItems t =
      find_taken_items(kCompound, stream("0 1 2 26 *28 5 26 *28 6"), removed, items);
  EXPECT_EQ(t.found, 1U);
  EXPECT_EQ(t.passed, 2U);
}

}  // namespace
}  // namespace rpcrdma::decode
