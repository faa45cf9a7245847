#include "file_names.h"

#include <gtest/gtest.h>

namespace rpcrdma::cli {
namespace {

model::FileUse file(const std::string& name, std::uint32_t handle) {
  model::FileUse use;
  use.text = name;
  use.name_length = static_cast<std::uint16_t>(name.size());
  use.handle = handle;
  return use;
}

TEST(FileNamesTest, ArePathsWithoutFolders) {
  FileNames names;
  EXPECT_EQ(names.of(file("big", 1)), "big");
  EXPECT_EQ(names.of(file("/export/dir/big", 2)), "export_dir_big");
  EXPECT_EQ(names.of(file("", 0x1a2b3c4d)), "fh-1a2b3c4d");
  EXPECT_EQ(names.of(file("/", 3)), "fh-00000003");
}

TEST(FileNamesTest, HostileNamesStayInTheFolderAndShort) {
  FileNames names;
  EXPECT_EQ(names.of(file("../../etc/passwd", 1)), "_._.._etc_passwd");
  EXPECT_EQ(names.of(file("..", 2)), "_.");
  EXPECT_EQ(names.of(file("-rf", 3)), "_rf");
  EXPECT_EQ(names.of(file(std::string("a\0b\n\x1b[2J\xff", 9), 4)), "a_b___2J_");
  EXPECT_EQ(names.of(file(std::string(4000, 'x'), 5)).size(), 100U);
}

TEST(FileNamesTest, TwoFilesDoNotShareAName) {
  FileNames names;
  EXPECT_EQ(names.of(file("dir/big", 1)), "dir_big");
  EXPECT_EQ(names.of(file("dir_big", 2)), "dir_big-00000002");
  EXPECT_EQ(names.of(file("dir/big", 1)), "dir_big");
  EXPECT_EQ(names.of(file("dir_big", 2)), "dir_big-00000002");
  model::FileUse other = file("dir/big", 1);
  other.server = 9;
  EXPECT_EQ(names.of(other), "dir_big-00000001");
}

}  // namespace
}  // namespace rpcrdma::cli
