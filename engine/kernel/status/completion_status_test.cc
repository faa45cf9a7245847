#include <gtest/gtest.h>

#include <rpcrdma/kernel_status/completion_status.h>

namespace rpcrdma::kernel {
namespace {

TEST(CompletionStatusTest, HasNames) {
  EXPECT_EQ(completion_status_name(12), "retries exceeded (IB_WC_RETRY_EXC_ERR)");
  EXPECT_EQ(completion_status_name(21), "general error (IB_WC_GENERAL_ERR)");
  EXPECT_EQ(completion_status_name(22), "completion status 22");
  EXPECT_EQ(completion_status(0), fabric::Status::kSuccess);
  EXPECT_EQ(completion_status(13), fabric::Status::kRnrRetriesExceeded);
  EXPECT_EQ(completion_status(0xffffffff), fabric::Status::kLocalOperation);
}

}  // namespace
}  // namespace rpcrdma::kernel
