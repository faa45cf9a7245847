#include "upper_for_tests.h"

#include <gtest/gtest.h>

namespace rpcrdma::decode {
namespace {

void expect_range(const FileRange& range, std::uint64_t offset, std::uint32_t count) {
  EXPECT_TRUE(range.valid);
  EXPECT_EQ(range.offset, offset);
  EXPECT_EQ(range.count, count);
}

TEST(FileRangeTest, Nfs2) {
  expect_range(file_range({kProgNfs, 2, 6}, stream("*32 2000 1000 0"), {}), 0x2000, 0x1000);
  expect_range(file_range({kProgNfs, 2, 8}, stream("*32 0 2000 0 5 *8"), {}), 0x2000, 5);
}

TEST(FileRangeTest, Nfs3) {
  expect_range(file_range({kProgNfs, 3, 6}, stream("14 *20 1 2000 1000"), {}), 0x100002000, 0x1000);
  expect_range(file_range({kProgNfs, 3, 7}, stream("14 *20 1 2000 1000 2 1000"), {}), 0x100002000,
               0x1000);
}

TEST(FileRangeTest, Nfs4) {
  expect_range(file_range(kCompound, stream("0 1 2 16 5 *8 19 *16 1 2000 1000"), {}), 0x100002000,
               0x1000);
  expect_range(file_range(kCompound, stream("0 1 2 16 5 *8 26 *16 1 2000 2 5 *8"), {}), 0x100002000,
               5);
}

TEST(FileRangeTest, OfAWriteWhoseDataIsInAChunk) {
  const Removed removed[] = {{48, 0x3009}};
  expect_range(file_range(kCompound, stream("0 1 2 26 *16 0 2000 2 3009 9 0"), removed), 0x2000,
               0x3009);
}

TEST(FileRangeTest, IsFoundBehindALinkWhoseTextIsInAChunk) {
  const Removed removed[] = {{24, 0x3e9}};
  expect_range(file_range(kCompound, stream("0 1 2 6 5 3e9 1 *4 0 0 19 *16 0 2000 1000"), removed),
               0x2000, 0x1000);
}

TEST(FileRangeTest, IsTheFirstOfSeveral) {
  expect_range(file_range(kCompound, stream("0 1 2 19 *16 0 0 1000 19 *16 0 1000 2000"), {}), 0,
               0x1000);
}

TEST(FileRangeTest, OtherProceduresHaveNone) {
  EXPECT_FALSE(file_range({kProgNfs, 3, 1}, stream("14 *20 1 2000 1000"), {}).valid);
  EXPECT_FALSE(file_range({kProgNfs, 4, 0}, stream("0 1 1 19 *16 0 0 1000"), {}).valid);
  EXPECT_FALSE(file_range({kProgMount, 3, 6}, stream("14 *20 1 2000 1000"), {}).valid);
  EXPECT_FALSE(file_range(kCompound, stream("0 1 1 9 0"), {}).valid);
  EXPECT_FALSE(file_range(kCallbackCompound, stream("0 1 0 1 a 0"), {}).valid);
}

TEST(FileRangeTest, NeedsAllOfItsWords) {
  EXPECT_FALSE(file_range({kProgNfs, 3, 6}, stream("14 *20 1 2000"), {}).valid);
  EXPECT_FALSE(file_range({kProgNfs, 2, 6}, stream("*32 2000"), {}).valid);
  EXPECT_FALSE(file_range(kCompound, stream("0 1 1 19 *16 1 2000"), {}).valid);
  EXPECT_FALSE(file_range({kProgNfs, 3, 6}, stream("ffffffff *20 1 2000 1000"), {}).valid);
}

}  // namespace
}  // namespace rpcrdma::decode
