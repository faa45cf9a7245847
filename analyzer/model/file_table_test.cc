#include "file_table.h"

#include <array>

#include <gtest/gtest.h>

namespace rpcrdma::model {
namespace {

constexpr std::uint64_t kServerKey = 1;

struct FileTableTest : ::testing::Test {
  FileTable table{8};

  FileRef file(std::uint8_t handle, std::uint64_t server = kServerKey) {
    return table.at(server, std::array{handle});
  }
  std::string path(FileRef of) {
    std::string out;
    table.append_path(of, out);
    return out;
  }
};

TEST_F(FileTableTest, AHandleIsOneFileOfOneServer) {
  EXPECT_EQ(file(1), file(1));
  EXPECT_NE(file(1), file(2));
  EXPECT_NE(file(1), file(1, 2));
  EXPECT_EQ(table.size(), 3U);
  EXPECT_EQ(table.hash(file(1)), decode::handle_hash(std::array<std::uint8_t, 1>{1}));
}

TEST_F(FileTableTest, PathsFollowTheParents) {
  table.set_name(file(2), file(1), "dir");
  table.set_name(file(3), file(2), "big");
  EXPECT_EQ(path(file(3)), "dir/big");
  EXPECT_EQ(path(file(1)), "");
  table.set_root(file(1));
  EXPECT_EQ(path(file(3)), "/dir/big");
  EXPECT_EQ(path(file(1)), "/");
  table.set_name(file(2), file(1), "moved");
  EXPECT_EQ(path(file(3)), "/moved/big");
  table.set_name(file(4), {}, "/srv/export", true);
  table.set_name(file(3), file(4), "big");
  EXPECT_EQ(path(file(3)), "/srv/export/big");
}

TEST_F(FileTableTest, ChildrenAreFoundByName) {
  table.set_name(file(2), file(1), "a");
  EXPECT_EQ(table.child(file(1), "a"), file(2));
  EXPECT_EQ(table.child(file(2), "a"), FileRef{});
  table.set_name(file(2), file(1), "b");
  EXPECT_EQ(table.child(file(1), "a"), FileRef{});
  EXPECT_EQ(table.child(file(1), "b"), file(2));
  table.remove(file(1), "b");
  EXPECT_EQ(table.child(file(1), "b"), FileRef{});
  EXPECT_EQ(path(file(2)), "b") << "it may still be open";
  table.set_name(file(3), file(1), "b");
  EXPECT_EQ(table.child(file(1), "b"), file(3));
}

TEST_F(FileTableTest, NamesThatAreNoneAreIgnored) {
  for (const char* const name : {"", ".", ".."}) table.set_name(file(2), file(1), name);
  table.set_name(file(1), file(1), "itself");
  EXPECT_FALSE(table.is_named(file(1)));
  EXPECT_FALSE(table.is_named(file(2)));
}

TEST_F(FileTableTest, TheFileUsedLongestAgoIsEvicted) {
  const FileRef first = file(1);
  const FileRef second = file(2);
  table.set_name(second, first, "a");
  table.set_name(file(3), second, "b");
  for (std::uint8_t i = 4; i < 10; ++i) (void)file(i);
  EXPECT_EQ(table.size(), 8U);
  EXPECT_FALSE(table.hash(first));
  EXPECT_EQ(path(first), "");
  EXPECT_NE(file(1), first);  // evicts 2
  EXPECT_EQ(path(file(3)), "b") << "its directory is not known any more";
  EXPECT_EQ(table.child(file(1), "a"), FileRef{});
}

TEST_F(FileTableTest, HostileNamesAreBounded) {
  table.set_name(file(2), file(1), "a");
  table.set_name(file(1), file(2), "b");  // a circle
  EXPECT_LE(path(file(1)).size(), FileTable::kMaxPath + 4);
  EXPECT_TRUE(path(file(1)).starts_with(".../"));
  table.set_name(file(3), {}, std::string(5000, 'x'));
  EXPECT_EQ(path(file(3)).size(), FileTable::kMaxName);
  table.set_name(file(4), file(3), std::string(300, 'y'));
  table.set_name(file(5), file(4), std::string(300, 'z'));
  EXPECT_LE(path(file(5)).size(), FileTable::kMaxPath + 4);
  EXPECT_TRUE(path(file(5)).ends_with(std::string(FileTable::kMaxName, 'z')));
}

}  // namespace
}  // namespace rpcrdma::model
