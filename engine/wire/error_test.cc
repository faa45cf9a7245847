#include <gtest/gtest.h>

#include <rpcrdma/wire/error.h>

namespace rpcrdma::wire {
namespace {

TEST(DescribeTest, NamesOffsetFaultAndRule) {
  EXPECT_EQ(describe({Errc::kBadValue, 12, "HDR-05", "rdma_proc is not one of 0..4"}),
            "offset 12: rdma_proc is not one of 0..4 (HDR-05)");
}

TEST(DescribeTest, LeavesOutTheRuleWhereNoneIsBroken) {
  EXPECT_EQ(describe({Errc::kNoSpace, 8, "", "output is too small"}),
            "offset 8: output is too small");
}

}  // namespace
}  // namespace rpcrdma::wire
