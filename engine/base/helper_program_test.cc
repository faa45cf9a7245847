#include <filesystem>

#include <gmock/gmock.h>

#include <rpcrdma/base/helper_program.h>

namespace rpcrdma::base {
namespace {

TEST(HelperProgram, IsFoundBesideTheRunningProgram) {
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  const auto found = find_helper_program(self.filename().string());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(*found, self.string());
}

TEST(HelperProgram, AMissingOneIsNamed) {
  const auto found = find_helper_program("rpcrdma-no-such-helper");
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, ::testing::HasSubstr("rpcrdma-no-such-helper"));
}

TEST(HelperProgram, AFolderIsNone) {
  EXPECT_FALSE(find_helper_program("."));
}

}  // namespace
}  // namespace rpcrdma::base
