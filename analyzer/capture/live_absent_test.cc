#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/capture/source.h>

namespace rpcrdma::capture {
namespace {

TEST(LiveAbsent, SaysThatTheBuildHasNone) {
  EXPECT_THAT(open_live({}).error().message, ::testing::HasSubstr("RPCRDMA_LIVE=OFF"));
  EXPECT_THAT(list_interfaces().error().message, ::testing::HasSubstr("RPCRDMA_LIVE=OFF"));
}

}  // namespace
}  // namespace rpcrdma::capture
