#include "nfs_faults.h"

#include <gtest/gtest.h>

namespace rpcrdma::rules {
namespace {

StatusKind kind(std::uint32_t status) {
  model::RpcInfo rpc;
  rpc.has_status = true;
  rpc.status = status;
  return status_kind(rpc);
}

TEST(NfsFaults, AreNoAnswersThatProgramsExpect) {
  for (const std::uint32_t ordinary : {0U, 1U, 2U, 13U, 17U, 66U, 10004U, 10009U, 10027U}) {
    EXPECT_EQ(kind(ordinary), StatusKind::kOrdinary) << ordinary;
  }
  for (const std::uint32_t later : {10008U, 10013U}) EXPECT_EQ(kind(later), StatusKind::kLater);
  // IO, NOSPC, STALE, BADHANDLE, SERVERFAULT, BADSESSION, and an unknown status.
  for (const std::uint32_t fault : {5U, 28U, 70U, 10001U, 10006U, 10052U, 4204U}) {
    EXPECT_EQ(kind(fault), StatusKind::kFault) << fault;
  }
}

TEST(NfsFaults, AreReportedForALargeShareOnly) {
  EXPECT_FALSE(is_many(StatusKind::kFault, 1, 1));
  EXPECT_FALSE(is_many(StatusKind::kFault, 2, 2));
  EXPECT_TRUE(is_many(StatusKind::kFault, 3, 3));
  EXPECT_TRUE(is_many(StatusKind::kFault, 25, 100));
  EXPECT_FALSE(is_many(StatusKind::kFault, 24, 100));
  EXPECT_FALSE(is_many(StatusKind::kLater, 5, 5));
  EXPECT_TRUE(is_many(StatusKind::kLater, 50, 100));
  EXPECT_FALSE(is_many(StatusKind::kOrdinary, 100, 100));
}

}  // namespace
}  // namespace rpcrdma::rules
